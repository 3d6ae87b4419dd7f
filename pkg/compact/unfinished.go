package compact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// SetAside is the note beside a journal entry that recovery could not finish.
// Every run tries again; the note goes with the entry, or when it was finished.
type SetAside struct {
	Schema int       `json:"schema"` // 1
	ID     string    `json:"id"`     // of the entry
	Since  time.Time `json:"since"`  // when a run could not finish it for the first time
	Reason string    `json:"reason"`
}

// Unfinished is an entry of the journal that recovery could not finish.
type Unfinished struct {
	SetAside
	Path   string // of the entry
	Intent Intent // the zero value if the entry cannot be read
	// Known is true if an earlier run had set it aside.
	Known bool
}

// UnfinishedError is returned by [Compactor.Settle] when it could not finish
// some of what earlier runs began. Those entries are set aside, and everything
// else was looked after.
type UnfinishedError struct {
	Entries []Unfinished
	Causes  []error // why, one an entry
}

// Error implements error.
func (e *UnfinishedError) Error() string { return errors.Join(e.Causes...).Error() }

// Unwrap returns the causes.
func (e *UnfinishedError) Unwrap() []error { return e.Causes }

// add notes an entry that could not be finished.
func (e *UnfinishedError) add(u Unfinished, cause error) {
	e.Entries, e.Causes = append(e.Entries, u), append(e.Causes, cause)
}

// orNil is e as an error, nil if it is empty.
func (e *UnfinishedError) orNil() error {
	if len(e.Entries) == 0 {
		return nil
	}
	return e
}

// Note returns the note beside an entry; found is false if there is none that
// can be read.
func (j Journal) Note(id string) (note SetAside, found bool) {
	err := readJSON(j.Pins, j.notePath(id), &note, j.Moves)
	return note, err == nil
}

// setAside notes that an entry could not be finished. The first note stays; an
// error in writing it is part of the cause.
func (j Journal) setAside(u Unfinished, cause error, now time.Time) (Unfinished, error) {
	if note, found := j.Note(u.ID); found {
		u.SetAside, u.Known = note, true
		u.Reason = cause.Error()
		return u, cause
	}
	u.Schema, u.Since, u.Reason = 1, now.UTC(), cause.Error()
	if err := writeJSON(j.Pins, j.notePath(u.ID), u.SetAside); err != nil {
		cause = errors.Join(cause, fmt.Errorf("note that it is set aside: %w", err))
	}
	return u, cause
}

// dropOrphanedNotes removes the notes whose entries are gone: a killed run may
// have come only so far.
func (j Journal) dropOrphanedNotes() error {
	names, err := filepath.Glob(j.notePath("*"))
	if err != nil {
		return fmt.Errorf("list notes of the journal: %w", err)
	}
	for _, name := range names {
		id := strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
		if _, err := j.Pins.Lstat(j.Path(id)); errors.Is(err, os.ErrNotExist) {
			if err := j.dropNote(id); err != nil {
				return err
			}
		}
	}
	return nil
}

// entryID is the id of the entry in a file of the journal.
func entryID(path string) string { return strings.TrimSuffix(filepath.Base(path), ".json") }

// Needs is what the journal still needs: what its entries name must not be
// deleted, and a session whose change was set aside must not be changed.
type Needs struct {
	begun      []named
	aside      map[string]SetAside // by the id of the entry
	unreadable []unread
}

// named is an intent, and the logs that it names.
type named struct {
	Intent
	logs []string
}

// unread is an entry that cannot be read, and the text that is left of it.
type unread struct {
	id   string
	text string
}

// Needs reads what the journal needs.
func (j Journal) Needs() (Needs, error) {
	begun, bad, err := j.Examine()
	if err != nil {
		return Needs{}, err
	}
	n := Needs{aside: map[string]SetAside{}}
	for _, in := range begun {
		n.begun = append(n.begun, named{in, in.logs()})
		if note, found := j.Note(in.ID); found {
			n.aside[in.ID] = note
		}
	}
	for _, u := range bad {
		n.unreadable = append(n.unreadable, unread{entryID(u.Path), textOf(j.Pins, u.Path)})
	}
	return n, nil
}

// textOf is what can be read of a file, "" if nothing can.
func textOf(pins *durable.Pins, path string) string {
	f, err := pins.OpenRegular(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	b, _ := io.ReadAll(io.LimitReader(f, maxRecord)) // whatever is left of it
	return string(b)
}

// Keeps returns why nothing of a session may be deleted, "" if it may: no logs,
// no archives. An entry that cannot be read may need anything.
func (n Needs) Keeps(ref session.Ref) string {
	for _, in := range n.begun {
		if in.concerns(ref) {
			return session.ReasonRunUnfinished.Text(in.ID)
		}
	}
	for _, u := range n.unreadable {
		return session.ReasonJournalUnread.Text(u.id)
	}
	return ""
}

// KeepsArchive is Keeps for an archive, by its id and the session that it is of.
func (n Needs) KeepsArchive(id string, of session.Ref) string {
	for _, in := range n.begun {
		if slices.Contains(in.archives(), id) {
			return session.ReasonRunUnfinished.Text(in.ID)
		}
	}
	return n.Keeps(of)
}

// Stuck returns a [*StuckError] for a session whose change was set aside. An
// entry that cannot be read holds the sessions whose ids are left in it.
func (n Needs) Stuck(ref session.Ref) error {
	for _, in := range n.begun {
		if note, set := n.aside[in.ID]; set && in.concerns(ref) {
			return &StuckError{ID: in.ID, Reason: note.Reason}
		}
	}
	for _, u := range n.unreadable {
		if ref.ID != "" && strings.Contains(u.text, `"`+ref.ID+`"`) {
			return &StuckError{ID: u.id, Reason: "its journal entry cannot be read"}
		}
	}
	return nil
}

// StuckError is returned for a session that an earlier run began to change and
// that recovery could not finish: it is not changed before that is decided.
type StuckError struct {
	ID     string // of the journal entry
	Reason string
}

// Error implements error.
func (e *StuckError) Error() string {
	return fmt.Sprintf("an earlier change of this session is not finished (%s): %s", e.ID, e.Reason)
}

// notStuck returns a [*StuckError] for a session whose change was set aside.
func (j Journal) notStuck(ref session.Ref) error {
	needs, err := j.Needs()
	if err != nil {
		return err
	}
	return needs.Stuck(ref)
}

// ready is notStuck for a plan. A session that is not to be changed needs no journal
// that can be read.
func (j Journal) ready(p *Plan) error {
	err := j.notStuck(p.Ref)
	if p.Strategy == session.StrategyNone && !errors.As(err, new(*StuckError)) {
		return nil
	}
	return err
}

// concerns reports whether a change is of this session or names its log.
func (in named) concerns(ref session.Ref) bool {
	r := in.Rotation
	if r.Runtime == ref.Runtime && r.Agent == ref.Agent && ref.ID != "" && (r.Session == ref.ID || r.NewSession == ref.ID) {
		return true
	}
	return ref.Path != "" && slices.Contains(in.logs, filepath.Clean(ref.Path))
}

// logs are the paths that a change names.
func (in Intent) logs() []string {
	paths := []string{in.Rotation.Live}
	for _, pair := range in.movedPairs() {
		paths = append(paths, pair.place, pair.other)
	}
	for i, path := range paths {
		if path != "" {
			paths[i] = filepath.Clean(path)
		}
	}
	slices.Sort(paths)
	return slices.DeleteFunc(slices.Compact(paths), func(path string) bool { return path == "" })
}

// archives are the ids of the archives that a change names.
func (in Intent) archives() []string {
	ids := []string{in.Archive.ID}
	if in.Restore != nil {
		ids = append(ids, in.Restore.Archive.ID)
	}
	for _, a := range []*Archived{in.Receipt.Archive, in.Receipt.Late} {
		if a != nil {
			ids = append(ids, a.ID)
		}
	}
	return slices.DeleteFunc(ids, func(id string) bool { return id == "" })
}

// GivenUp is what became of an entry that a person gave up.
type GivenUp struct {
	ID     string
	Entry  string // where it is kept
	Change string // of what, for people
	// Finished is true if only a part had to be given up: an undo whose log is
	// back leaves memory as it is.
	Finished bool
	// Archives hold the logs that the change had put aside, as they are now.
	Archives []Archived
}

// GiveUp ends a change that recovery cannot finish, without losing anything: no
// log is moved, changed or removed, every log that the change had put aside is
// archived and remembered as it is now, and the entry is kept beside the
// journal. An undo whose log is back only leaves memory as it is. An entry that
// cannot be read names nothing, and is only put away.
//
// An error that wraps [session.ErrBusy] is returned while somebody writes one of
// the logs, and any other where one of them cannot be archived; nothing is given
// up then. store is nil if it is gone.
func (c *Compactor) GiveUp(ctx context.Context, store session.Store, u Unfinished, policy Policy) (GivenUp, error) {
	given := GivenUp{ID: u.ID, Change: u.Intent.String(), Archives: []Archived{}}
	if u.Intent.ID == "" {
		return given, c.Journal.putAway(&given)
	}
	in := u.Intent
	if in.Kind == KindUndo && in.Receipt.Undo != nil && store != nil && !in.Receipt.Undo.MemoryKept {
		in.Receipt.Undo.MemoryKept = true
		if err := c.Journal.Write(in); err != nil {
			return given, err
		}
		c.memories().rememberAgain(ctx, store, in, policy)
		if c.recovery().settle(ctx, store, in, policy) == nil {
			given.Finished = true
			return given, c.Journal.dropNote(in.ID)
		}
	}
	for _, path := range in.logs() {
		if path == filepath.Clean(in.Rotation.Live) {
			continue // it is where its runtime has it
		}
		archived, err := c.oldLogs().saveAside(ctx, store, in, path, policy)
		if err != nil {
			return given, fmt.Errorf("make sure of %s: %w", path, err)
		}
		if archived.ID != "" {
			given.Archives = append(given.Archives, archived)
		}
	}
	return given, c.Journal.putAway(&given)
}

// rememberAgain remembers what an undo had archived: it may have been taken out
// of memory by the part of the undo that was done. Where it cannot be read,
// memory stays as it is, and archives verify says what is missing.
func (m memories) rememberAgain(ctx context.Context, store session.Store, in Intent, policy Policy) {
	ref := session.Ref{Runtime: in.Rotation.Runtime, Agent: in.Rotation.Agent, ID: in.Rotation.Session, Path: in.Rotation.Live}
	_, _ = m.rememberArchived(ctx, store, ref, in.Archive, policy)
}

// saveAside archives and remembers a log that a change had put aside; the zero
// value is returned if there is none, or an empty one.
func (o oldLogs) saveAside(ctx context.Context, store session.Store, in Intent, path string, policy Policy) (Archived, error) {
	log, err := o.files.pins.OpenRegular(path)
	if errors.Is(err, os.ErrNotExist) {
		return Archived{}, nil
	}
	if err != nil {
		return Archived{}, asBusy(path, err)
	}
	defer log.Close()
	snap, err := session.TakeSnapshot(ctx, log, path)
	if err != nil || snap.Size == 0 {
		return Archived{}, err
	}
	archived, err := o.memories.archives.put(ctx, in.refOf(path), lateLog{log, snap}, "archive it")
	if err != nil {
		return archived, err
	}
	if store == nil {
		return archived, nil // nothing here can read it; the archive has every byte
	}
	_, err = o.memories.rememberArchived(ctx, store, in.refOf(path), archived, policy)
	return archived, err
}

// GivenUp is where the entries are that people gave up: beside the journal, where
// no run looks for them.
func (j Journal) GivenUp() Journal {
	return Journal{filepath.Join(filepath.Dir(j.Dir), "given-up"), j.Moves, j.Pins}
}

// Names reports whether an entry names this log.
func (in Intent) Names(path string) bool { return slices.Contains(in.logs(), filepath.Clean(path)) }

// putAway moves an entry where no run looks for it any more.
func (j Journal) putAway(given *GivenUp) error {
	dir := j.GivenUp().Dir
	if err := j.Pins.MakeDir(dir, 0o700); err != nil {
		return fmt.Errorf("make the directory of entries that were given up: %w", err)
	}
	given.Entry = filepath.Join(dir, given.ID+".json")
	if err := j.Pins.MoveFile(j.Path(given.ID), given.Entry); err != nil {
		return fmt.Errorf("put the journal entry away: %w", err)
	}
	return j.dropNote(given.ID)
}

// String says which change an entry is about, for people.
func (in Intent) String() string {
	if in.ID == "" {
		return "a change that cannot be read"
	}
	name := string(in.Kind)
	if in.Kind == KindRotation {
		name = "rotation"
	}
	return fmt.Sprintf("%s of session %s of %s", name, in.Rotation.Session, in.Rotation.Agent)
}
