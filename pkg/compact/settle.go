package compact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// Stores finds the open store of an intent: by runtime and root.
type Stores func(runtime, root string) (session.Store, bool)

// Settle finishes what earlier runs began. An intent whose switch did not
// happen and cannot happen any more is dropped (the session is as the agent
// left it, its archive and memory stay). Bytes that reached an old log after
// its snapshot are archived and remembered, and carried into the session that
// followed when that is idle. An intent is done when nobody can write the old
// log any more and nothing waits to be carried. Settle returns how many intents
// it looked after.
//
// What cannot be finished is set aside, and the rest is looked after all the
// same: a [*UnfinishedError] says which and why.
func (c *Compactor) Settle(ctx context.Context, stores Stores, policy Policy) (int, error) {
	intents, unreadable, err := c.Journal.Examine()
	if err != nil {
		return 0, err
	}
	var unfinished UnfinishedError
	for _, u := range unreadable {
		entry := Unfinished{Path: u.Path, SetAside: SetAside{ID: entryID(u.Path)}}
		unfinished.add(c.Journal.setAside(entry, u.Err, c.Now()))
	}
	settled := 0
	for _, in := range intents {
		store, ok := stores(in.Rotation.Runtime, in.Rotation.Store)
		if !ok && in.Rotation.Store != "" {
			continue // its store is not part of this run
		}
		if in.ID == c.Undoing && in.Switched && takesBack(store, in) {
			continue // its old log is left to the undo
		}
		err := c.recovery().settle(ctx, store, in, policy)
		if errors.Is(err, session.ErrBusy) {
			continue // its intent stays: the next run looks again
		}
		settled++
		if err == nil {
			err = c.Journal.dropNote(in.ID)
		}
		if ctx.Err() != nil {
			return settled, ctx.Err()
		}
		if err != nil {
			err = fmt.Errorf("settle %s of %s: %w", in.Rotation.Session, in.Rotation.Agent, err)
			entry := Unfinished{Path: c.Journal.Path(in.ID), Intent: in, SetAside: SetAside{ID: in.ID}}
			unfinished.add(c.Journal.setAside(entry, err, c.Now()))
		}
	}
	if err := unfinished.orNil(); err != nil {
		return settled, err
	}
	return settled, c.Journal.dropOrphanedNotes()
}

// takesBack reports whether the undo of a change gives the old log its place
// again. Where it makes the log of the archive, the old one is settled first.
func takesBack(store session.Store, in Intent) bool {
	return session.CapabilitiesOf(store).Undoer != nil && in.Shortening == nil
}

// recovery finishes changes that earlier runs began.
type recovery struct {
	logs    oldLogs
	undoing undoing
}

func (r recovery) settle(ctx context.Context, store session.Store, in Intent, policy Policy) error {
	if in.Rotation.Store != "" {
		r.logs.files.pins.Top(in.Rotation.Store)
	}
	if in.Rotation.Live != "" { // a kill may have left half a log, or half an index, beside it
		if err := r.logs.files.pins.Sweep(filepath.Dir(in.Rotation.Live), 0); err != nil {
			return err
		}
	}
	if err := in.endMoves(r.logs.files.pins); err != nil {
		return err
	}
	switch in.Kind {
	case KindRotation:
		return r.logs.settle(ctx, store, in, policy)
	case KindShortening:
		return r.settleShortening(ctx, store, in, policy)
	case KindReset:
		return r.settleReset(ctx, store, in, policy)
	case KindAnnotation:
		return r.settleAnnotation(ctx, store, in)
	case KindUndo:
		return r.undoing.settle(ctx, store, in, policy)
	case KindRestore:
		return r.undoing.restoring.settle(ctx, store, in)
	}
	return fmt.Errorf("the journal entry %s is of the kind %q, which this version does not know", in.ID, in.Kind)
}

func (o oldLogs) settle(ctx context.Context, store session.Store, in Intent, policy Policy) error {
	if !in.Switched {
		dropped, err := o.finishSwitch(ctx, store, in)
		if err != nil || dropped {
			return err
		}
		in.Switched = true
		if err := o.changes.journal.Write(in); err != nil {
			return err
		}
	}
	kept, err := o.files.pins.OpenRegular(in.Rotation.Kept)
	if errors.Is(err, fs.ErrNotExist) {
		return o.gone(in)
	}
	if err != nil {
		return err
	}
	defer kept.Close()
	return o.settleKept(ctx, store, in, policy, kept)
}

// finishSwitch repeats the rotation. It reports true if there is no more to do
// in this run: the session went on without the rotation and the intent was
// dropped, or a writer is in the way and the intent stays.
func (o oldLogs) finishSwitch(ctx context.Context, store session.Store, in Intent) (bool, error) {
	rotator := session.CapabilitiesOf(store).Rotator
	if rotator == nil {
		return false, fmt.Errorf("sessions of %s cannot be rotated", in.Rotation.Runtime)
	}
	err := rotator.Rotate(ctx, in.Rotation)
	var busy *session.BusyError
	if errors.As(err, &busy) && busy.Begun {
		return true, nil // half done: the next run tries again
	}
	if errors.Is(err, session.ErrBusy) {
		return true, o.changes.journal.remove(in.ID)
	}
	if err != nil {
		return false, err
	}
	_, err = o.changes.receipts.Write(in.Receipt)
	return false, err
}

// settleKept looks after the inode of a log that was rotated away. Its bytes
// are hashed again: whatever they are now, they are archived before it goes.
func (o oldLogs) settleKept(ctx context.Context, store session.Store, in Intent, policy Policy, kept *os.File) error {
	free, release := o.files.unheld(kept, in.Rotation.At)
	defer release()
	snap, err := session.TakeSnapshot(ctx, kept, filepath.Clean(in.Rotation.Kept))
	if errors.Is(err, session.ErrBusy) {
		return nil // it is being written: look again in the next run
	}
	if err != nil {
		return fmt.Errorf("look at the old log: %w", err)
	}
	if snap.SHA256 != in.Archive.SHA256 || o.memories.archives.Lasts(ctx, in.Archive) != nil {
		if in, err = o.saveLate(ctx, store, in, policy, lateLog{kept, snap}); err != nil {
			return err
		}
	}
	waits, err := o.carryLate(ctx, store, in, carry{late: lateLog{kept, snap}, free: free, quiet: policy.quietOf(in.Rotation)})
	if err != nil {
		return err
	}
	if waits || !free {
		return nil // look again in the next run
	}
	if disposer := session.CapabilitiesOf(store).Disposer; disposer != nil {
		if err := disposer.Dispose(ctx, in.Rotation); err != nil {
			return err
		}
	}
	return o.changes.journal.remove(in.ID)
}

// oldLogs looks after the logs that rotations have put aside, until nobody can
// write them any more.
type oldLogs struct {
	memories memories
	files    logFiles
	changes  changes
	tellLate func(old session.Rotation, late LateProof) // nil for nobody
}

// saveLate archives and remembers an old log that changed after its snapshot,
// or whose archive does not verify any more.
func (o oldLogs) saveLate(ctx context.Context, store session.Store, in Intent, policy Policy, late lateLog) (Intent, error) {
	ref := in.refOf(in.Rotation.Kept)
	if len(in.Rotation.Keys) > 0 {
		ref.Key = in.Rotation.Keys[0]
	}
	archived, err := o.memories.archives.put(ctx, ref, late, "archive late lines")
	if err != nil {
		return in, err
	}
	if _, err := o.memories.rememberArchived(ctx, store, ref, archived, policy); err != nil {
		return in, err
	}
	in.Settled, in.Archive = late.snap.Size, archived
	if err := o.noteLate(ctx, &in, late.file); err != nil {
		return in, err
	}
	return in, o.changes.journal.Write(in)
}

// noteLate notes in the receipt where the log is archived as it was in the end,
// if it only grew: an undo brings that back.
func (o oldLogs) noteLate(ctx context.Context, in *Intent, kept *os.File) error {
	grown, err := in.Rotation.Snapshot.Begins(ctx, kept)
	if err != nil || !grown || in.Receipt.ID == "" {
		return err
	}
	archived := in.Archive
	in.Receipt.Late = &archived
	if _, err := o.changes.receipts.Write(in.Receipt); err != nil {
		return fmt.Errorf("note late lines: %w", err)
	}
	return nil
}

// ToDelete is an archived log that is about to be deleted.
type ToDelete struct {
	Archived
	// Why is the reason that its receipt gives.
	Why string
}

// RememberProven remembers an archived log with a receipt, because the log is about
// to be deleted: nobody else would miss it if memory lost it. A log that says
// nothing needs none.
func (c *Compactor) RememberProven(ctx context.Context, store session.Store, ref session.Ref, a ToDelete, policy Policy) error {
	stored, err := c.memories().rememberArchived(ctx, store, ref, a.Archived, policy)
	if err != nil || stored.survey.Chunks == 0 {
		return err
	}
	r := &run{Compactor: c, store: store, policy: policy, plan: &Plan{Ref: ref}, archived: a.Archived, result: NewResult(ref, Partial, "")}
	r.snapshot = session.Snapshot{Path: ref.Path, Size: a.Bytes, SHA256: a.SHA256}
	r.survey, r.remembered, r.result.ChunksPending = stored.survey, stored.remembered, stored.pending
	r.result.Outcome, r.result.Reason, r.result.Bytes = Partial, a.Why, a.Bytes
	r.result.Chunks, r.result.Messages, r.result.LinesSkipped = r.survey.Chunks, r.survey.Scan.Records, r.survey.skipped()
	r.result.Forgotten, r.result.Unknown = r.remembered.Forgotten, r.survey.Scan.Unknown
	r.result.Archive = &a.Archived
	id := c.NewID()
	r.result.Receipt = c.Receipts.Path(id)
	receipt := r.newReceipt(id)
	receipt.Deleting = true
	if _, err := c.Receipts.Write(receipt); err != nil {
		return fmt.Errorf("write the receipt: %w", err)
	}
	return nil
}

// Pieces are what memory stores of an archived log, without its work.
func (c *Compactor) Pieces(ctx context.Context, store session.Store, ref session.Ref, a Archived, policy Policy) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		open := func() (io.ReadCloser, error) { return c.Archiver.Open(ctx, a) }
		survey, err := takeSurvey(ctx, store, policy.survey(), open)
		if err != nil {
			yield(Record{}, err)
			return
		}
		m := &recorder{store: store, ref: ref, policy: policy, tree: forked(survey.Scan.Tree), secrets: survey.secrets, open: open}
		for r, err := range m.history(ctx) {
			if (err != nil || r.Action == nil) && !yield(r, err) {
				return
			}
		}
	}
}

// EndMoves ends what killed runs have left between the two steps of a move,
// where the file system can only link and unlink: a log that has two names is
// no session to any store, and so no command would come to settle it. What
// cannot be ended is left to [Compactor.Settle], which sets it aside. The caller
// holds the lock.
func (j Journal) EndMoves() error {
	intents, err := j.List()
	for _, in := range intents {
		_ = in.endMoves(j.Pins) // Settle tells
	}
	return err
}

// endMoves leaves a log of an intent one name: the one where agents find it. A
// move aside is undone with that, and a move back is done.
func (in Intent) endMoves(pins *durable.Pins) error {
	if in.Rotation.Live == "" && in.Restore == nil {
		return nil
	}
	for _, pair := range in.movedPairs() {
		dir := filepath.Dir(pair.place)
		if err := pins.Sweep(dir, 0); err != nil { // a kill may have left half a log, or half an index
			return err
		}
		if !durable.SameFile(pins, pair.place, pair.other) {
			continue
		}
		if err := pins.RemoveFile(pair.other); err != nil {
			return err
		}
	}
	return nil
}

// namesOfOne are two names between which a log is moved. The place is where it
// belongs.
type namesOfOne struct{ place, other string }

func (in Intent) movedPairs() []namesOfOne {
	kept := in.Rotation.Kept
	next := logfile.NextPath(kept)
	pairs := []namesOfOne{{in.Rotation.Live, kept}, {in.Rotation.Live, next}, {kept, next}}
	if r := in.Restore; r != nil {
		pairs = append(pairs, namesOfOne{r.Path, kept}, namesOfOne{r.Path, r.SecondKept})
	}
	if u := in.Undo; u != nil {
		pairs = append(pairs, namesOfOne{u.Rotation.Live, u.Rotation.Kept}, namesOfOne{u.Fresh, u.FreshKept})
	}
	some := pairs[:0]
	for _, p := range pairs {
		if p.place != "" && p.other != "" && p.place != p.other {
			some = append(some, p)
		}
	}
	return some
}

// What a Compactor does is done by values that know a part of it, each with one
// subject:
//
//	recovery ── oldLogs ───── memories ──── archives
//	   │           └───────── changes, logFiles
//	undoing ── restoring ──── archives, changes, logFiles
//	   └────── withdrawing ── memories
//
// recovery finishes what earlier runs began.
func (c *Compactor) recovery() recovery { return recovery{c.oldLogs(), c.undoing()} }

func (c *Compactor) oldLogs() oldLogs {
	return oldLogs{c.memories(), c.files(), c.changes(), c.Late}
}
