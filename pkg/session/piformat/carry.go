package piformat

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// late is one record of a tail.
type late struct {
	raw    []byte // with its line feed
	id     string
	parent string // "" for none
	known  bool   // the log has it already
}

// Carried is what becomes of a tail.
type Carried struct {
	Text    string // what is appended to the log
	Records int    // in Text
	LeftOut int    // lines of the tail that are not carried
}

// Carry makes the text that, appended to a log of exactly size bytes, adds the
// records of a tail to its session. Records that the log has already are not
// added again. Every byte of a record stays but the value of its parentId: a
// record whose parent is not in the text hangs on the last entry before it,
// or is the root if there is none.
//
// Headers, records without an id or a parentId, and lines that are no JSON
// object are left out, and so are compactions and resets: they speak of a
// context that the log does not have, and would hide the one it has.
//
// An error that wraps [session.ErrUnsupported] is returned for a log that is
// not of version 3 or does not begin with its header, and when it has another
// record with the id of one in the tail.
func Carry(ctx context.Context, log io.ReaderAt, size int64, tail []byte) (Carried, error) {
	if err := takesOverlay(io.NewSectionReader(log, 0, size)); err != nil {
		return Carried{}, err
	}
	records, leftOut, err := lateRecords(tail)
	if err != nil {
		return Carried{}, err
	}
	leaf, err := markKnown(ctx, io.NewSectionReader(log, 0, size), records)
	if err != nil {
		return Carried{}, err
	}
	c := Carried{LeftOut: leftOut}
	var text bytes.Buffer
	here := map[string]bool{}
	for _, r := range records {
		if r.known {
			continue
		}
		if here[r.parent] {
			text.Write(r.raw)
		} else if err := relink(&text, r.raw, leaf); err != nil {
			return Carried{}, err
		}
		here[r.id], leaf = true, r.id
		c.Records++
	}
	c.Text = text.String()
	return c, nil
}

// lateRecords reads the records of a tail and counts the lines that are none.
func lateRecords(tail []byte) (records []*late, leftOut int, err error) {
	var d decoder
	byID := map[string]*late{}
	for len(tail) > 0 {
		line, rest, whole := bytes.Cut(tail, []byte("\n"))
		raw := tail[:len(tail)-len(rest)]
		tail = rest
		switch {
		case len(bytes.TrimSpace(line)) == 0:
			continue
		case !whole || !carriable(&d, line):
			leftOut++
			continue
		}
		r := &late{raw: raw, id: string(d.entry.id), parent: string(d.entry.parent)}
		if before := byID[r.id]; before != nil {
			if !bytes.Equal(before.raw, r.raw) {
				return nil, 0, collision(r.id)
			}
			continue
		}
		byID[r.id] = r
		records = append(records, r)
	}
	return records, leftOut, nil
}

func carriable(d *decoder, line []byte) bool {
	if d.decode(line) != nil || len(d.entry.id) == 0 {
		return false
	}
	switch d.entry.kind {
	case header, compaction, reset:
		return false
	}
	spans, err := parentSpans(line)
	return err == nil && len(spans) > 0
}

func collision(id string) error {
	return fmt.Errorf("%w: two records have the id %q", session.ErrUnsupported, id)
}

// markKnown marks the records that a log has already, and returns the id of
// its last entry.
func markKnown(ctx context.Context, log io.Reader, records []*late) (leaf string, err error) {
	wanted := map[string]*late{}
	for _, r := range records {
		wanted[r.id] = r
	}
	var d decoder
	_, err = jsonl.Scan(ctx, log, jsonl.Options{MaxLine: session.MaxCarry + 1}, func(record *jsonl.Record) error {
		if err := d.decode(record.Raw); err != nil || d.entry.kind == header || len(d.entry.id) == 0 {
			return err
		}
		leaf = string(d.entry.id)
		r := wanted[leaf]
		if r == nil {
			return nil
		}
		if !sameButParent(record.Raw, bytes.TrimRight(r.raw, "\r\n")) {
			return collision(leaf)
		}
		r.known = true
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("read the log: %w", err)
	}
	return leaf, nil
}

// sameButParent reports whether two records are the same but for the values of
// parentId.
func sameButParent(a, b []byte) bool {
	var x, y bytes.Buffer
	return relink(&x, a, "") == nil && relink(&y, b, "") == nil && bytes.Equal(bytes.TrimSpace(x.Bytes()), bytes.TrimSpace(y.Bytes()))
}

// relink writes a record with another parent; "" is none.
func relink(w *bytes.Buffer, raw []byte, parent string) error {
	spans, err := parentSpans(raw)
	if err != nil {
		return err
	}
	value := []byte("null")
	if parent != "" {
		value = jsonl.AppendQuoted(nil, parent)
	}
	at := 0
	for _, s := range spans {
		w.Write(raw[at:s.from])
		w.Write(value)
		at = s.to
	}
	w.Write(raw[at:])
	return nil
}

// span is where a value stands in a record.
type span struct{ from, to int }

// parentSpans finds the values of parentId in a record: usually one, and none
// if it has no such field.
func parentSpans(raw []byte) ([]span, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, errors.Join(errors.New("not an object"), err)
	}
	var spans []span
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("read a record: %w", err)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, fmt.Errorf("read a record: %w", err)
		}
		if key == "parentId" {
			to := int(dec.InputOffset())
			spans = append(spans, span{to - len(value), to})
		}
	}
	return spans, nil
}
