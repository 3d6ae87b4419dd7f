package jsonl

import (
	"errors"
	"fmt"
)

// ErrSyntax is returned, wrapped, for text that is not JSON where JSON is
// read. The decode function of [Scan] returns it for a line that is not one
// JSON object.
var ErrSyntax = errors.New("invalid JSON")

// SyntaxError says where a text stopped being JSON. It unwraps to [ErrSyntax].
type SyntaxError struct {
	Offset int // bytes from the start of the text
	Reason string
}

// Error implements error.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%v at byte %d: %s", ErrSyntax, e.Offset, e.Reason)
}

// Unwrap returns [ErrSyntax].
func (e *SyntaxError) Unwrap() error { return ErrSyntax }

// Err returns the first error, a [*SyntaxError], or nil.
func (c *Cursor) Err() error {
	if c.reason == "" {
		return nil
	}
	return &SyntaxError{Offset: c.badAt, Reason: c.reason}
}

// fail keeps the first error and stops the cursor. It returns false.
func (c *Cursor) fail(at int, reason string) bool {
	if c.reason == "" {
		c.reason, c.badAt = reason, at
	}
	c.where = atNothing
	return false
}
