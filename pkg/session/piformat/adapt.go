package piformat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/sessctl/sessctl/pkg/jsonl"
)

// lateCalls is what a record has to do with tools.
type lateCalls struct {
	asks    []string // ids of the calls in it
	answers string   // id of the call that it is the result of
}

func callsOf(line []byte) (c lateCalls) {
	var record struct {
		Message struct {
			Role       string          `json:"role"`
			ToolCallID string          `json:"toolCallId"`
			Content    json.RawMessage `json:"content"`
		} `json:"message"`
	}
	var blocks []struct{ Type, ID string }
	if json.Unmarshal(line, &record) != nil {
		return c // what could be read of it was read before
	}
	if record.Message.Role == "toolResult" {
		c.answers = record.Message.ToolCallID
	}
	_ = json.Unmarshal(record.Message.Content, &blocks) // a string has no calls
	for _, b := range blocks {
		if b.Type == "toolCall" {
			c.asks = append(c.asks, b.ID)
		}
	}
	return c
}

// withoutOrphans leaves out results of tools that no record before them calls,
// and counts them.
func withoutOrphans(records []*late) (rest []*late, orphans int) {
	asked := map[string]bool{"": true}
	for _, r := range records {
		for _, id := range r.asks {
			asked[id] = true
		}
		if asked[r.answers] {
			rest = append(rest, r)
		}
	}
	return rest, len(records) - len(rest)
}

// sameButAdapted reports whether two records are the same but for what adapt
// changes.
func sameButAdapted(a, b []byte) bool {
	var x, y bytes.Buffer
	return adapt(&x, a, "") == nil && adapt(&y, b, "") == nil && bytes.Equal(bytes.TrimSpace(x.Bytes()), bytes.TrimSpace(y.Bytes()))
}

// adapt writes a record with another parent, "" for none, and without the
// token counts of a context that is not this one.
func adapt(w *bytes.Buffer, raw []byte, parent string) error {
	edits, err := adaptions(raw, parent)
	if err != nil {
		return err
	}
	at := 0
	for _, e := range edits {
		w.Write(raw[at:e.from])
		w.WriteString(e.value)
		at = e.to
	}
	w.Write(raw[at:])
	return nil
}

// edit is a value of a record that becomes another one.
type edit struct {
	from, to int
	value    string
}

// adaptions lists what adapt changes, in order. There is nothing to change in
// a record without a parentId: it is no entry of a tree.
func adaptions(raw []byte, parent string) ([]edit, error) {
	top, err := members(raw, 0, len(raw))
	if err != nil {
		return nil, err
	}
	value := "null"
	if parent != "" {
		value = string(jsonl.AppendQuoted(nil, parent))
	}
	var edits []edit
	for _, m := range top {
		if m.key == "parentId" {
			edits = append(edits, edit{m.from, m.to, value})
		}
	}
	if len(edits) == 0 {
		return nil, nil
	}
	for _, m := range slices.Concat(within(raw, top, "message", "usage")...) {
		if c := raw[m.from]; c >= '0' && c <= '9' {
			edits = append(edits, edit{m.from, m.to, "0"})
		}
	}
	slices.SortFunc(edits, func(a, b edit) int { return a.from - b.from })
	return edits, nil
}

// within returns the members of the objects at a path.
func within(raw []byte, top []member, path ...string) [][]member {
	level := [][]member{top}
	for _, key := range path {
		var next [][]member
		for _, m := range slices.Concat(level...) {
			if m.key != key {
				continue
			}
			if inner, err := members(raw, m.from, m.to); err == nil {
				next = append(next, inner)
			}
		}
		level = next
	}
	return level
}

// member is a member of an object, and where its value stands in the record.
type member struct {
	key      string
	from, to int
}

// members lists the members of the object that stands at raw[from:to].
func members(raw []byte, from, to int) ([]member, error) {
	dec := json.NewDecoder(bytes.NewReader(raw[from:to]))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, errors.Join(errors.New("not an object"), err)
	}
	var all []member
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
		all = append(all, member{name, end - len(value), end})
	}
	return all, nil
}
