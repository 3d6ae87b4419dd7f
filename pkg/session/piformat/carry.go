package piformat

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// late is one record of a tail.
type late struct {
	raw    []byte // with its line feed
	id     string
	parent string // "" for none
	target string // of a context edit: the id of what it takes out or replaces
	known  bool   // the log has it already
	lateCalls
}

// Carried is what becomes of a tail.
type Carried struct {
	Text    string // what is appended to the log
	Records int    // in Text
	Known   int    // records that the log has already
	LeftOut int    // lines of the tail that are not carried
}

// Carry makes the text that, appended to a log of exactly size bytes, adds the
// messages of a tail to its session. Records that the log has already are not
// added again. Every byte of a record stays but two things:
//
//   - the value of parentId: a record whose parent is not in the text hangs on
//     the last entry before it, or is the root if there is none
//   - the token counts in an answer's usage, which become 0: they are of the
//     context that was rotated away, and runtimes decide by the last of them
//     whether a session is full
//
// Records without an id or a parentId and lines that are no JSON object are
// left out, and so is all that is no message: compactions, resets and changes
// of the model speak of a session that the log is not. So is the result of a
// tool whose call is not in the tail: models refuse a context with one. An edit of the
// context goes with the record in the tail that it is about.
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
	records, orphans := withoutOrphans(records)
	leaf, err := markKnown(ctx, io.NewSectionReader(log, 0, size), records)
	if err != nil {
		return Carried{}, err
	}
	c := Carried{LeftOut: leftOut + orphans}
	var text bytes.Buffer
	here := map[string]bool{}
	for _, r := range records {
		if r.known {
			c.Known++
			continue
		}
		parent := leaf
		if here[r.parent] {
			parent = r.parent
		}
		if err := adapt(&text, r.raw, parent); err != nil {
			return Carried{}, err
		}
		here[r.id], leaf = true, r.id
		c.Records++
	}
	if c.Text = text.String(); c.Text == "" {
		return c, nil
	}
	before, err := session.LineBreak(log, size)
	c.Text = before + c.Text
	return c, err
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
		r := &late{raw: raw, id: string(d.entry.id), parent: string(d.entry.parent), target: string(d.entry.target), lateCalls: callsOf(line)}
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

// carriable reports whether a line is an entry of the conversation itself.
func carriable(d *decoder, line []byte) bool {
	if d.decode(line) != nil || len(d.entry.id) == 0 || d.entry.kind != message && d.entry.kind != customMessage && d.entry.kind != contextEdit {
		return false
	}
	edits, err := adaptions(line, "")
	return err == nil && len(edits) > 0
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
		if !sameButAdapted(record.Raw, bytes.TrimRight(r.raw, "\r\n")) {
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

// withoutOrphans leaves out results of tools that no record before them calls, and
// edits of what is not before them, and counts them.
func withoutOrphans(records []*late) (rest []*late, orphans int) {
	asked, there := map[string]bool{"": true}, map[string]bool{"": true}
	for _, r := range records {
		for _, id := range r.asks {
			asked[id] = true
		}
		if asked[r.answers] && there[r.target] {
			rest = append(rest, r)
			there[r.id] = true
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
	w.Write(jsonl.AppendEdited(nil, raw, edits))
	return nil
}

// adaptions lists what adapt changes, in order. There is nothing to change in
// a record without a parentId: it is no entry of a tree.
func adaptions(raw []byte, parent string) ([]jsonl.Edit, error) {
	top, err := jsonl.Members(raw, 0, len(raw))
	if err != nil {
		return nil, err
	}
	value := "null"
	if parent != "" {
		value = string(jsonl.AppendQuoted(nil, parent))
	}
	var edits []jsonl.Edit
	for _, m := range top {
		if m.Key == "parentId" {
			edits = append(edits, jsonl.Edit{From: m.From, To: m.To, Value: value})
		}
	}
	if len(edits) == 0 {
		return nil, nil
	}
	for _, m := range jsonl.Within(raw, top, "message", "usage") {
		if c := raw[m.From]; c >= '0' && c <= '9' {
			edits = append(edits, jsonl.Edit{From: m.From, To: m.To, Value: "0"})
		}
	}
	slices.SortFunc(edits, func(a, b jsonl.Edit) int { return a.From - b.From })
	return edits, nil
}
