package piformat

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/sessctl/sessctl/pkg/jsonl"
)

// CountMessages returns how many records of type message a log has, exact
// copies included. It decodes nothing else.
func CountMessages(ctx context.Context, r io.Reader) (int, error) {
	var c counter
	_, err := jsonl.Scan(ctx, r, jsonl.Options{}, c.record)
	if err != nil && !errors.Is(err, jsonl.ErrUTF16) {
		return 0, fmt.Errorf("count messages: %w", err)
	}
	return c.messages, nil
}

// counter counts messages.
type counter struct {
	cursor   jsonl.Cursor
	messages int
}

func (c *counter) record(r *jsonl.Record) error {
	is, err := c.isMessage(r.Raw)
	if is {
		c.messages++
	}
	return err
}

// isMessage reports whether raw is a record of type message. It returns an
// error that wraps [jsonl.ErrSyntax] if raw is not one JSON object.
func (c *counter) isMessage(raw []byte) (bool, error) {
	cursor := &c.cursor
	cursor.Reset(raw)
	if cursor.Kind() != jsonl.Object {
		return false, notObject(cursor)
	}
	typed, body := false, false
	cursor.EnterObject()
	for cursor.NextKey() {
		switch string(cursor.Key()) {
		case "type":
			name, _ := cursor.Bytes()
			typed = string(name) == "message"
		case "message":
			body = cursor.Kind() == jsonl.Object
		}
	}
	if err := cursor.End(); err != nil {
		return false, err
	}
	return typed && body, nil
}
