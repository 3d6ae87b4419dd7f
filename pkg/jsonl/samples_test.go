package jsonl

import (
	"bytes"
	"context"
	"testing"
)

// entry is what the tests read of a record.
type entry struct {
	Type, ID, StopReason string
	Texts                []string
}

// entryDecoder decodes the few fields of a record that tests look at, in the
// way an adapter does.
type entryDecoder struct {
	cursor  Cursor
	entries []entry
	raws    []string
}

func (d *entryDecoder) decode(r *Record) error {
	c := &d.cursor
	c.Reset(r.Raw)
	if c.Kind() != Object {
		return ErrSyntax
	}
	e := entry{}
	for ok := c.EnterObject(); ok && c.NextKey(); {
		switch string(c.Key()) {
		case "type":
			e.Type = text(c)
		case "id":
			e.ID = text(c)
		case "message":
			message(c, &e)
		}
	}
	if err := c.End(); err != nil {
		return err
	}
	d.entries = append(d.entries, e)
	d.raws = append(d.raws, string(r.Raw))
	return nil
}

func text(c *Cursor) string {
	b, _ := c.Bytes()
	return string(b)
}

func message(c *Cursor, e *entry) {
	for ok := c.EnterObject(); ok && c.NextKey(); {
		switch string(c.Key()) {
		case "stopReason":
			e.StopReason = text(c)
		case "content":
			content(c, e)
		}
	}
}

func content(c *Cursor, e *entry) {
	for ok := c.EnterArray(); ok && c.NextElement(); {
		for ok := c.EnterObject(); ok && c.NextKey(); {
			if string(c.Key()) == "text" {
				e.Texts = append(e.Texts, text(c))
			}
		}
	}
}

// texts returns all texts of all entries.
func (d *entryDecoder) texts() []string {
	var all []string
	for _, e := range d.entries {
		all = append(all, e.Texts...)
	}
	return all
}

// scanBytes scans data, decompressed if need be.
func scanBytes(t *testing.T, data []byte, o Options) (*entryDecoder, Counts, error) {
	t.Helper()
	plain, _, err := Decompress(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	d := &entryDecoder{}
	counts, err := Scan(context.Background(), plain, o, d.decode)
	return d, counts, err
}
