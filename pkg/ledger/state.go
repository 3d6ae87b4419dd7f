package ledger

import (
	"context"
	"maps"
)

// State is what the leaves say is there now, or was done.
type State struct {
	Size     int64           // leaves
	Archives map[string]Leaf // by id: made, found, brought back or superseded, and not deleted since
	Receipts map[string]Leaf // by id: the last leaf about each
	Pins     map[Pin]Leaf    // sessions that are kept
	Lines    []Leaf          // each is a line of the audit log
	Records  map[string]bool // hashes of the records that what waits in the trash may have
	// Forgotten is how many records were forgotten and must stay so, at least.
	Forgotten int
	Settings  string // hash of the rules of what is deleted, "" for none yet
	// superseded are archives by their ids, whatever became of them since.
	superseded map[string]Leaf
}

// Pin names a session that is kept.
type Pin struct{ Runtime, Agent, Session string }

// What a leaf of a kind that is about several is about.
const (
	OfArchive = "archive"
	OfReceipt = "receipt"
	OfPin     = "pin"
)

// GivenUp is why a memory was made again without what was to stay forgotten.
const GivenUp = "what was forgotten was given up"

// State reads all leaves. Leaves of kinds that a newer version wrote say nothing.
func (l *Log) State(ctx context.Context) (State, error) {
	s := State{Archives: map[string]Leaf{}, Receipts: map[string]Leaf{}, Pins: map[Pin]Leaf{}, Records: map[string]bool{}, superseded: map[string]Leaf{}}
	err := l.Leaves(ctx, 0, func(_ int64, f Leaf) error {
		s.Size++
		s.add(f)
		return nil
	})
	s.within()
	return s, err
}

// within adds the archives that have no file of their own any more, and are there in
// that of a longer one.
func (s *State) within() {
	found := map[string]Leaf{}
	for id, f := range s.superseded {
		if _, own := s.Archives[id]; !own && s.kept(f.Archive) {
			found[id] = f
		}
	}
	maps.Copy(s.Archives, found)
}

// kept reports whether an archive is there, or the one that took its place.
func (s *State) kept(id string) bool {
	for range len(s.superseded) + 1 { // leaves that name each other in a circle end too
		if _, own := s.Archives[id]; own {
			return true
		}
		id = s.superseded[id].Archive
	}
	return false
}

func (s *State) add(f Leaf) {
	pin := Pin{f.Runtime, f.Agent, f.Session}
	switch f.Kind {
	case Made:
		s.Archives[f.ID] = f
	case Adopted:
		s.adopt(f, pin)
	case Switched, Undone, Remembered:
		s.Receipts[f.ID] = f
	case Removed, Purged, Returned, Restored:
		s.deleted(f)
	case Recorded:
		s.Records[f.Record] = true
	case Pinned:
		s.Pins[pin] = f
	case Unpinned:
		delete(s.Pins, pin)
	case Forgotten:
		s.Forgotten += f.Count
	case Rebuilt:
		if f.Why == GivenUp {
			s.Forgotten = 0
		}
	case Settings:
		s.Settings = f.SHA256
	case Superseded:
		s.superseded[f.ID] = f
	case Verified, Clock, Begun, Redacted: // nothing is there because of them
	}
}

func (s *State) adopt(f Leaf, pin Pin) {
	switch f.What {
	case OfArchive:
		s.Archives[f.ID] = f
	case OfReceipt:
		s.Receipts[f.ID] = f
	case OfPin:
		s.Pins[pin] = f
	}
}

// deleted notes a line of the audit log. What is of the kind archive was the whole
// archive, with its entry.
func (s *State) deleted(f Leaf) {
	s.Lines = append(s.Lines, f)
	if f.Record != "" {
		s.Records[f.Record] = true
	}
	switch {
	case f.What != OfArchive:
	case f.Kind == Removed:
		delete(s.Archives, f.ID)
	case f.Kind == Returned:
		s.Archives[f.ID] = f
	}
}
