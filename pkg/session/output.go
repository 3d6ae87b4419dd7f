package session

import (
	"bytes"
	"context"
	"fmt"
	"io"
)

// ReadOutput returns a store that reads files of kind [KindOutput]: all of one is
// one message, the result of a tool. It is for stores with [Traits].Outputs.
func ReadOutput(s Store) Store { return outputStore{s} }

// outputStore reads a tool's output where another store lists it.
type outputStore struct{ Store }

// maxOutput bounds how much of an output is held at once, in bytes; what is
// beyond counts as left out.
const maxOutput = 16 << 20

// Tail implements [Store]. It reads nothing: an output is no conversation.
func (outputStore) Tail(context.Context, Ref) (Tail, error) {
	return Tail{TokenSource: TokensFromEstimate, Messages: 1, MessagesExact: true, LastRole: RoleToolResult, Answered: true}, nil
}

// Scan implements [Store]. What is no text is [ErrUnknownFormat].
func (outputStore) Scan(ctx context.Context, r io.Reader, _ ScanOptions, emit func(*Message) error) (scan Scan, err error) {
	r = contextReader{ctx, r}
	text, err := io.ReadAll(io.LimitReader(r, maxOutput))
	if err != nil {
		return scan, fmt.Errorf("read the output: %w", err)
	}
	beyond, err := io.Copy(io.Discard, r)
	if err != nil {
		return scan, fmt.Errorf("read the output: %w", err)
	}
	if bytes.IndexByte(text, 0) >= 0 {
		return scan, fmt.Errorf("%w: the output of a tool that is no text", ErrUnknownFormat)
	}
	m := Message{
		Role: RoleToolResult, Line: 1, LastLine: bytes.Count(text, []byte("\n")) + 1, Length: int64(len(text)) + beyond, LeftOut: beyond,
		Parts: []Part{{Kind: PartText, Text: bytes.ToValidUTF8(text, []byte("\uFFFD"))}},
	}
	if bytes.HasSuffix(text, []byte("\n")) {
		m.LastLine--
	}
	scan.Counts.Lines, scan.Counts.Bytes, scan.Counts.Records = m.LastLine, m.Length, 1
	if len(bytes.TrimSpace(text)) == 0 {
		return scan, nil
	}
	scan.Records = 1
	scan.Count(&m)
	return scan, emit(&m)
}

// contextReader stops reading when its context has ended.
type contextReader struct {
	ctx context.Context
	io.Reader
}

// Read implements io.Reader.
func (c contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.Reader.Read(p)
}

// ExitNumber reads an exit code in decimal digits; false if it is none.
func ExitNumber(digits []byte) (n int, ok bool) {
	digits, minus := bytes.CutPrefix(digits, []byte("-"))
	if len(digits) == 0 || len(digits) > 9 {
		return 0, false
	}
	for _, b := range digits {
		if b < '0' || b > '9' {
			return 0, false
		}
		n = 10*n + int(b-'0')
	}
	if minus {
		n = -n
	}
	return n, true
}
