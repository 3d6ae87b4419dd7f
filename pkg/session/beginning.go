package session

import (
	"slices"

	"github.com/sessctl/sessctl/pkg/jsonl"
)

// mostLooked is how much of the first records tells of which program a log is in which
// no record is known, in bytes.
const mostLooked = 4 << 10

// Beginning is the records of a log of which none is known so far. Unknown is not
// foreign: later versions write new types of records.
type Beginning struct {
	// Own is the format that the log may be taken for all the same: that of its runtime,
	// where records alone do not tell.
	Own Format

	head  []byte
	odd   bool // a record has no type, or says something
	typed bool // one has
}

// Add takes the next record.
func (b *Beginning) Add(raw []byte) {
	b.look(raw)
	if len(b.head) < mostLooked {
		b.head = append(append(b.head, raw[:min(len(raw), mostLooked)]...), '\n')
	}
}

// Says notes whether the record that was taken is one that says something, by the
// rules of its runtime.
func (b *Beginning) Says(something bool) { b.odd = b.odd || something }

// Before takes the record before those that were taken.
func (b *Beginning) Before(raw []byte) {
	b.look(raw)
	raw = raw[:min(len(raw), mostLooked)]
	b.head = slices.Concat(raw, []byte{'\n'}, b.head[:min(len(b.head), mostLooked)])
}

func (b *Beginning) look(raw []byte) {
	typed := false
	eachMember(raw, func(key string, c *jsonl.Cursor) { typed = typed || key == "type" && c.Kind() == jsonl.String })
	b.typed, b.odd = b.typed || typed, b.odd || !typed || says(raw)
}

// Blank reports whether every record has a type, none says anything, and no other
// program begins its logs so: then the log is one without messages.
func (b *Beginning) Blank() bool {
	if !b.typed || b.odd {
		return false
	}
	format := Detect("log.jsonl", b.head)
	return format == FormatUnknown || format == b.Own
}
