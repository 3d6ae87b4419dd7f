package session

import "slices"

// Context is what a runtime would send of a log, built while the log is read:
// one value for each message of the active branch and, after a compaction,
// only for those that it kept.
//
// A compaction names the first record that it kept, and that record need not
// be a message with text: pi names the change of the model before a message,
// Claude Code a record of thinking. What counts is where the record stands on
// the branch: the first message at or after it is the first that stays.
type Context[T any] struct {
	Entries []T
	dropped int // entries that came before Entries[0]
	places  []recordPlace
}

// recordPlace says to which entry a record of the branch leads: its own, or
// the next one.
type recordPlace struct {
	record uint64 // recordKey of its id
	entry  int    // counted from the beginning of the log
}

// Add takes in the next message of the branch, for which x stands.
func (c *Context[T]) Add(m *Message, x T) {
	c.Pass(m)
	c.Entries = append(c.Entries, x)
}

// Pass takes in a message of the branch that is no entry, such as one without
// text, or a compaction.
func (c *Context[T]) Pass(m *Message) {
	next := c.dropped + len(c.Entries)
	for _, record := range m.Passed {
		c.places = append(c.places, recordPlace{record, next})
	}
	if len(m.ID) > 0 {
		c.places = append(c.places, recordPlace{recordKey(m.ID), next})
	}
}

// Kept returns the index in Entries of the first one that stays after the
// compaction m: the number of entries if none does. It is called after
// Pass(m). found is false if m names a record that has not been seen, or that
// lies before what was dropped: then nothing stays, as in pi.
func (c *Context[T]) Kept(m *Message) (index int, found bool) {
	if len(m.FirstKept) == 0 {
		return len(c.Entries), true
	}
	key := recordKey(m.FirstKept)
	i := slices.IndexFunc(c.places, func(p recordPlace) bool { return p.record == key })
	if i < 0 {
		return len(c.Entries), false
	}
	return c.places[i].entry - c.dropped, true
}

// Before puts entries before the others: what the record of a compaction itself
// has of the messages that it took the place of.
func (c *Context[T]) Before(entries ...T) {
	c.Entries = append(entries, c.Entries...)
	c.dropped -= len(entries)
}

// Drop forgets the first n entries and every record before them.
func (c *Context[T]) Drop(n int) {
	clear(c.Entries[:n]) // what they point to can go
	c.Entries = c.Entries[n:]
	c.dropped += n
	first, _ := slices.BinarySearchFunc(c.places, c.dropped, func(p recordPlace, at int) int { return p.entry - at })
	c.places = c.places[first:]
}

// recordKey is a hash of a record's id (FNV-1a, 64 bits), by which
// [Message.Passed] names records in a few bytes.
func recordKey(id []byte) uint64 {
	key := uint64(14695981039346656037)
	for _, b := range id {
		key = (key ^ uint64(b)) * 1099511628211
	}
	return key
}

// maxPassed bounds how many records between two messages are remembered.
const maxPassed = 1 << 16

// PassedRecords collects the records of a branch that are no messages, for the
// [Message.Passed] of the next one.
type PassedRecords struct{ keys []uint64 }

// Add takes in a record by its id.
func (p *PassedRecords) Add(id []byte) {
	if len(p.keys) < maxPassed {
		p.keys = append(p.keys, recordKey(id))
	}
}

// Give makes m the message that follows the records.
func (p *PassedRecords) Give(m *Message) {
	m.Passed = p.keys
	p.keys = p.keys[:0]
}
