package claude

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/directory"
)

// CountMessages returns how many records of type user and assistant a log
// has, tool results and repeated ones included. It decodes nothing else.
func (s *Store) CountMessages(ctx context.Context, ref session.Ref) (int, error) {
	d, name, err := directory.Of(s.projects, ref.Path, depth)
	if err != nil {
		return 0, err
	}
	defer d.Close()
	log, info, err := d.OpenLog(name)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	var c counter
	_, err = jsonl.Scan(ctx, io.NewSectionReader(log, 0, info.Size()), jsonl.Options{}, c.record)
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

// isMessage reports whether raw is a record that counts. It returns an error
// that wraps [jsonl.ErrSyntax] if raw is not one JSON object.
func (c *counter) isMessage(raw []byte) (bool, error) {
	cursor := &c.cursor
	cursor.Reset(raw)
	if cursor.Kind() != jsonl.Object {
		if err := cursor.End(); err != nil {
			return false, err
		}
		return false, fmt.Errorf("%w: not an object", jsonl.ErrSyntax)
	}
	typed, body := false, false
	cursor.EnterObject()
	for cursor.NextKey() {
		switch string(cursor.Key()) {
		case "type":
			name, _ := cursor.Bytes()
			typed = string(name) == "user" || string(name) == "assistant"
		case "message":
			body = cursor.Kind() == jsonl.Object
		}
	}
	if err := cursor.End(); err != nil {
		return false, err
	}
	return typed && body, nil
}
