package session

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/sessctl/sessctl/pkg/jsonl"
)

// Lineage is the tree of a log from which lines are taken out: every record that
// stays hangs on the nearest one before it that stays. Make one with
// [NewLineage].
type Lineage struct {
	ids     []string
	parents []int32 // -1 for a root
	index   map[string]int32
}

// NewLineage returns an empty one.
func NewLineage() *Lineage { return &Lineage{index: map[string]int32{}} }

// Add takes in the next record of the log; parent is "" for a root. It returns an
// error that wraps [ErrUnsupported] for an id that was there before, and for a
// parent that was not: nobody can tell then what hangs on what.
func (l *Lineage) Add(id, parent string) error {
	at := int32(-1)
	if parent != "" {
		known := false
		if at, known = l.index[parent]; !known {
			return fmt.Errorf("%w: its record %.36q hangs on one that is not before it", ErrUnsupported, id)
		}
	}
	if _, again := l.index[id]; again || id == "" {
		return fmt.Errorf("%w: two of its records have the id %.36q", ErrUnsupported, id)
	}
	l.index[id] = int32(len(l.ids)) //nolint:gosec // no log has so many records
	l.ids, l.parents = append(l.ids, id), append(l.parents, at)
	return nil
}

// Find is the record of an id.
func (l *Lineage) Find(id string) (record int, found bool) {
	at, found := l.index[id]
	return int(at), found
}

// Len is how many records were added.
func (l *Lineage) Len() int { return len(l.ids) }

// Path lists the records from the root to the last one, by the order in which
// they were added.
func (l *Lineage) Path() []int {
	var path []int
	for at := int32(len(l.ids)) - 1; at >= 0; at = l.parents[at] { //nolint:gosec // see Add
		path = append(path, int(at))
	}
	for i, j := 0, len(path)-1; i < j; i, j = i+1, j-1 {
		path[i], path[j] = path[j], path[i]
	}
	return path
}

// Parent is the id of what a record hangs on when others have gone, "" for
// nothing. moved says that it is another one than before.
func (l *Lineage) Parent(record int, goes func(record int) bool) (id string, moved bool) {
	at := l.parents[record]
	for at >= 0 && goes(int(at)) {
		at, moved = l.parents[at], true
	}
	if at < 0 {
		return "", moved
	}
	return l.ids[at], moved
}

// Records is a log of so many records, which stand on the lines that are not blank.
// Behind them there is a torn line, or nothing.
type Records struct {
	Log    io.ReaderAt
	Size   int64
	Number int
	Torn   bool
}

// Write hands out each record with its number from 0, to be written or left out, and
// copies the torn line. An error is returned for a log that grew while it was read.
func (r Records) Write(ctx context.Context, w io.Writer, write func(whole *io.SectionReader, record int) error) error {
	record := -1
	return jsonl.NewReader(io.NewSectionReader(r.Log, 0, r.Size), jsonl.Options{}).Each(ctx, func(l jsonl.Line) error {
		if len(bytes.TrimSpace(l.Raw)) == 0 {
			return nil
		}
		whole := io.NewSectionReader(r.Log, l.Offset, l.Length)
		record++
		switch {
		case record == r.Number && r.Torn && !l.Complete:
			_, err := io.Copy(w, whole)
			return err
		case record >= r.Number:
			return io.ErrUnexpectedEOF
		}
		return write(whole, record)
	})
}

// maxChanged is the longest line, in bytes, in which something is changed.
const maxChanged = 256 << 20

// WriteChanged writes one line of a log in which edits are made; every other byte of
// it stays. change gets the line and its members. It returns an error that wraps
// [ErrUnsupported] for a line that is no object, and for one longer than 256 MiB.
func WriteChanged(w io.Writer, line *io.SectionReader, change func(raw []byte, top []jsonl.Member) []jsonl.Edit) error {
	if line.Size() > maxChanged {
		return fmt.Errorf("%w: it is longer than %d bytes", ErrUnsupported, maxChanged)
	}
	raw, err := io.ReadAll(line)
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	top, err := jsonl.Members(raw, 0, len(raw))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	edits := change(raw, top)
	slices.SortFunc(edits, func(a, b jsonl.Edit) int { return a.From - b.From })
	_, err = w.Write(jsonl.AppendEdited(nil, raw, edits))
	return err
}

// HangOn is the edit by which a record hangs on another one, whose id stands under
// key; "" is none.
func HangOn(top []jsonl.Member, key, id string) (edits []jsonl.Edit) {
	value := "null"
	if id != "" {
		value = string(jsonl.AppendQuoted(nil, id))
	}
	for _, m := range top {
		if m.Key == key {
			edits = append(edits, jsonl.Edit{From: m.From, To: m.To, Value: value})
		}
	}
	return edits
}

// leastTrimmed is how much of a log must go for a trim to be worth it: a tenth.
const leastTrimmed = 10

// WorthTrimming returns an error that wraps [ErrNothingToTrim], and names the command
// of the runtime that may help, if a trim leaves more than nine tenths of a log.
func WorthTrimming(before, after int64, command string) error {
	if before-after >= before/leastTrimmed {
		return nil
	}
	return fmt.Errorf("%w: %d of its %d bytes would stay (%s first)", ErrNothingToTrim, after, before, command)
}

// dueBytes is the size from which a log is trimmed in a run over all sessions.
const dueBytes = 4 << 20

// DueToTrim reports whether a log is to be trimmed: it is large, or somebody asked
// for it. reason says why it is not, for people.
func DueToTrim(q DueQuestion) (due bool, reason string) {
	if q.Asked || q.Requested || q.Ref.Bytes >= dueBytes {
		return true, ""
	}
	return false, ReasonLogSmall.Text(q.Ref.Bytes, dueBytes)
}
