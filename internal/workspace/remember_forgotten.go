package workspace

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

// begun are the archives of a session of which pieces were forgotten, and with
// whose bytes a longer one begins: what stands there is not to come back with it.
// Where nothing was forgotten nothing is read. An archive whose entry is gone or
// cannot be used stops no session: it is found by its id, which its bytes have.
func (m MemoryAdapter) begun(ctx context.Context, ref session.Ref, from compact.Origin) (ids []string, err error) {
	if from.ID == "" && from.Live == nil || m.Archives == nil {
		return nil, nil
	}
	entries, lost, err := m.forgotten(ctx, ref)
	if err != nil {
		return nil, err
	}
	shorter := slices.DeleteFunc(entries, func(e archive.Entry) bool { return from.ID != "" && e.Bytes >= from.Bytes })
	if len(shorter) > 0 {
		if ids, err = m.BeginsWith(ctx, from, shorter); err != nil {
			return nil, err
		}
	}
	more, err := m.beginsWithLost(ctx, ref, from, lost)
	return append(ids, more...), err
}

// BegunAndLost are the archives without a file of their own with whose bytes some
// archives of a session begin, by the ids of those, and of which pieces were forgotten.
func (m MemoryAdapter) BegunAndLost(ctx context.Context, ref session.Ref, archives []compact.Origin) (map[string][]string, error) {
	entries, lost, err := m.forgotten(ctx, ref)
	if err != nil {
		return nil, err
	}
	superseded := slices.DeleteFunc(entries, func(e archive.Entry) bool { return e.SupersededBy == "" })
	ids := map[string][]string{}
	for _, from := range archives {
		if from.In.ID != "" {
			continue // it is in a longer one
		}
		if ids[from.ID], err = m.beginsWithLost(ctx, ref, from, lost); err != nil {
			return nil, err
		}
		shorter := slices.DeleteFunc(slices.Clone(superseded), func(e archive.Entry) bool { return e.Bytes >= from.Bytes })
		if len(shorter) == 0 {
			continue
		}
		begun, err := m.BeginsWith(ctx, from, shorter)
		if err != nil {
			return nil, err
		}
		ids[from.ID] = append(ids[from.ID], begun...)
	}
	return ids, nil
}

// forgotten are the archives of which pieces were forgotten: the entries of those of
// a session, and the ids of those of which nobody can tell whose they are.
func (m MemoryAdapter) forgotten(ctx context.Context, ref session.Ref) (entries []archive.Entry, lost map[string]bool, err error) {
	ids, err := m.Store.ForgottenArchives(ctx)
	if err != nil {
		return nil, nil, err
	}
	lost = map[string]bool{}
	for _, id := range ids {
		e, err := m.Archives.Get(ctx, id)
		switch {
		case errors.Is(err, archive.ErrNotFound), errors.Is(err, archive.ErrUnusableEntry):
			lost[id] = true // it was pruned, or doctor tells of it
		case err != nil:
			return nil, nil, err
		case e.Runtime == ref.Runtime && e.Agent == ref.Agent && e.Session == ref.ID:
			entries = append(entries, e)
		}
	}
	return entries, lost, nil
}

// beginsWithLost are those of some archives without an entry with whose bytes an
// archive begins. The bytes of an archive give its id, so they are hashed up to each
// place where a log can have been archived: the ends of its lines, and, of a log whose
// last line was being written, where a receipt says that the archive ended.
func (m MemoryAdapter) beginsWithLost(ctx context.Context, ref session.Ref, from compact.Origin, lost map[string]bool) ([]string, error) {
	if len(lost) == 0 {
		return nil, nil
	}
	log, err := from.Open(ctx, Archiver{Store: m.Archives})
	if err != nil {
		return nil, err
	}
	defer log.Close()
	begins := beginnings{of: archive.Meta{Runtime: ref.Runtime, Agent: ref.Agent, Session: ref.ID}, lost: lost, read: sha256.New()}
	if begins.ends, err = m.endsOf(lost); err != nil {
		return nil, err
	}
	if _, err := io.Copy(&begins, log); err != nil {
		return nil, fmt.Errorf("read the archive %s: %w", from.ID, err)
	}
	return begins.found, nil
}

// endsOf are the lengths of some archives, in order, as far as they are known.
func (m MemoryAdapter) endsOf(lost map[string]bool) (ends []int64, err error) {
	if m.Lengths == nil {
		return nil, nil
	}
	known, err := m.Lengths()
	for id := range lost {
		if known[id] > 0 {
			ends = append(ends, known[id])
		}
	}
	slices.Sort(ends)
	return ends, err
}

// archivedLengths are the lengths, in bytes, of the archives that receipts name, by
// their ids: also of those that were pruned since.
func archivedLengths(run *Run) (map[string]int64, error) {
	receipts, _, err := run.Receipts().Examine() // of one that cannot be read doctor and archives verify tell
	if err != nil {
		return nil, fmt.Errorf("read the receipts: %w", err)
	}
	lengths := map[string]int64{}
	for _, r := range receipts {
		if r.Archive != nil {
			lengths[r.Archive.ID] = r.Archive.Bytes
		}
		for _, other := range OthersOf(r) {
			lengths[other.ID] = other.Bytes
		}
	}
	return lengths, nil
}

// beginnings finds the archives among some whose bytes the log that is written to it
// begins with.
type beginnings struct {
	of    archive.Meta
	lost  map[string]bool
	read  hash.Hash
	at    int64   // how much was read
	ends  []int64 // further places to look at, in order
	found []string
}

// Write implements io.Writer.
func (b *beginnings) Write(part []byte) (int, error) {
	rest := part
	for len(b.ends) > 0 && b.ends[0] <= b.at+int64(len(rest)) {
		n := b.ends[0] - b.at
		b.lines(rest[:n])
		b.look(nil)
		rest, b.ends = rest[n:], b.ends[1:]
	}
	b.lines(rest)
	return len(part), nil
}

// lines reads on. A log is archived up to the end of a line, with or without what
// ends it.
func (b *beginnings) lines(part []byte) {
	b.at += int64(len(part))
	rest := part
	for end := bytes.IndexByte(rest, '\n'); end >= 0; end = bytes.IndexByte(rest, '\n') {
		b.look(rest[:end])
		b.look(rest[end : end+1])
		rest = rest[end+1:]
	}
	b.read.Write(rest)
}

// look reads on, and looks whether one of the archives ends here.
func (b *beginnings) look(more []byte) {
	b.read.Write(more)
	if id := archive.ID(b.of, hex.EncodeToString(b.read.Sum(nil))); b.lost[id] {
		b.found = append(b.found, id)
	}
}

// BeginsWith are those with whose bytes an archive begins.
func (m MemoryAdapter) BeginsWith(ctx context.Context, from compact.Origin, shorter []archive.Entry) (ids []string, err error) {
	slices.SortFunc(shorter, func(x, y archive.Entry) int { return cmp.Compare(x.Bytes, y.Bytes) })
	log, err := from.Open(ctx, Archiver{Store: m.Archives})
	if err != nil {
		return nil, err
	}
	defer log.Close()
	hash, at := sha256.New(), int64(0)
	for _, e := range shorter {
		if _, err := io.CopyN(hash, log, e.Bytes-at); errors.Is(err, io.EOF) && from.ID == "" {
			break // how long a log without an archive is nobody has said
		} else if err != nil {
			return nil, fmt.Errorf("read the archive %s: %w", from.ID, err)
		}
		if at = e.Bytes; hex.EncodeToString(hash.Sum(nil)) == e.SHA256 {
			ids = append(ids, e.ID)
		}
	}
	return ids, nil
}
