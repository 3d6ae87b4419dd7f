package jsonl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Edit is a value of a record that becomes another one.
type Edit struct {
	From, To int // where it stands in the record
	Value    string
}

// AppendEdited appends a record to dst in which edits are made, which are given in
// their order. Every other byte stays.
func AppendEdited(dst, raw []byte, edits []Edit) []byte {
	at := 0
	for _, e := range edits {
		dst = append(append(dst, raw[at:e.From]...), e.Value...)
		at = e.To
	}
	return append(dst, raw[at:]...)
}

// Member is a member of an object, and where its value stands in the record.
type Member struct {
	Key      string
	From, To int
}

// Members lists the members of the object that stands at raw[from:to].
func Members(raw []byte, from, to int) ([]Member, error) {
	dec := json.NewDecoder(bytes.NewReader(raw[from:to]))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, errors.Join(errors.New("not an object"), err)
	}
	var all []Member
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("read a record: %w", err)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, fmt.Errorf("read a record: %w", err)
		}
		end := from + int(dec.InputOffset())
		name, _ := key.(string)
		all = append(all, Member{name, end - len(value), end})
	}
	return all, nil
}

// Within lists the members of the objects at a path below top, the members of a
// record.
func Within(raw []byte, top []Member, path ...string) []Member {
	level := top
	for _, key := range path {
		var next []Member
		for _, m := range level {
			if m.Key != key {
				continue
			}
			if inner, err := Members(raw, m.From, m.To); err == nil {
				next = append(next, inner...)
			}
		}
		level = next
	}
	return level
}
