package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/sessctl/sessctl/pkg/jsonl"
)

// MessageRecords tells which records of a log are messages: those of some types
// that have an object "message". It decodes nothing else of a record.
type MessageRecords struct {
	Types []string

	cursor jsonl.Cursor
}

// Count returns how many records of a log are messages, exact copies included.
func (m *MessageRecords) Count(ctx context.Context, log io.Reader) (int, error) {
	n := 0
	_, err := jsonl.Scan(ctx, log, jsonl.Options{}, func(r *jsonl.Record) error {
		is, err := m.Has(r.Raw)
		if is {
			n++
		}
		return err
	})
	if err != nil && !errors.Is(err, jsonl.ErrUTF16) {
		return 0, fmt.Errorf("count messages: %w", err)
	}
	return n, nil
}

// Has reports whether raw is a message. It returns an error that wraps
// [jsonl.ErrSyntax] if raw is not one JSON object.
func (m *MessageRecords) Has(raw []byte) (bool, error) {
	if err := m.cursor.BeginObject(raw); err != nil {
		return false, err
	}
	typed, body := false, false
	for m.cursor.NextKey() {
		switch string(m.cursor.Key()) {
		case "type":
			name, _ := m.cursor.Bytes()
			typed = slices.Contains(m.Types, string(name))
		case "message":
			body = m.cursor.Kind() == jsonl.Object
		}
	}
	if err := m.cursor.End(); err != nil {
		return false, err
	}
	return typed && body, nil
}
