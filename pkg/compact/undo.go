package compact

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/sessctl/sessctl/pkg/chunk"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/secrets"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// UndoRequest says which compaction to reverse, and how.
type UndoRequest struct {
	Receipt    Receipt
	Force      bool // also if the runtime has gone on: what is newer is compacted first
	KeepMemory bool // leave what it stored in memory
	Policy     Policy
}

// UndoPlan says what an undo would do. It is data; making one changes nothing.
type UndoPlan struct {
	UndoRequest
	Outcome Outcome // Planned or NothingToDo
	Reason  string
	Archive Archived
	// Undo is of a rotation that the store itself reverses; Restore is of
	// every other change. nil if that is not known before what is newer has
	// been put away.
	Undo    *session.Undo
	Restore *RestorePlan
	// First is what must be put away before, or nil.
	First *session.NewerError

	again string // receipt of the last compaction of the same log that stands
}

// Result is what the plan says of the session.
func (p *UndoPlan) Result() Result {
	r := p.Receipt
	return Result{Compaction: Compaction{
		Runtime: r.Runtime, Agent: r.Agent, Session: r.Session, Key: r.Key, Path: p.Receipt.Source.Path, Outcome: p.Outcome,
		Reason: p.Reason, Strategy: r.Strategy, TokensAfter: r.TokensBefore, TokenSource: r.TokenSource, Bytes: p.Receipt.Source.Bytes,
		Archive: r.Archive,
	}}
}

// PlanUndo looks what there is to do. A [*session.NewerError] is returned when
// the runtime has gone on, unless Force; a [*StuckError] when an earlier change of
// the session is not finished; an error that wraps [session.ErrUnsupported] when
// the compaction cannot be reversed any more, and one that wraps
// [ErrNotWithdrawn] when memory could not be made what it was.
func (c *Compactor) PlanUndo(ctx context.Context, store session.Store, r UndoRequest) (*UndoPlan, error) {
	p := &UndoPlan{UndoRequest: r, Outcome: Planned}
	receipts, err := c.Receipts.forUndo(r.Receipt)
	if err != nil {
		return nil, err
	}
	if by, undone := UndoneBy(receipts)[r.Receipt.ID]; undone {
		p.Outcome, p.Reason = NothingToDo, session.ReasonUndone.Text(by.ID)
		return p, nil
	}
	if r.Receipt.Outcome != Compacted || r.Receipt.Rotation == nil || r.Receipt.Archive == nil {
		p.Outcome, p.Reason = NothingToDo, session.ReasonNotChanged.Text()
		return p, nil
	}
	if err := c.Journal.notStuck(session.Ref{Runtime: r.Receipt.Runtime, Agent: r.Receipt.Agent, ID: r.Receipt.Session, Path: r.Receipt.Source.Path}); err != nil {
		return nil, err
	}
	p.takeReceipt(receipts)
	if undoer := session.CapabilitiesOf(store).Undoer; undoer != nil && r.Receipt.After == nil {
		err = c.undoing().planLogUndo(ctx, undoer, p)
	} else {
		err = c.undoing().planPutBack(ctx, store, p)
	}
	if err != nil || p.KeepMemory {
		return p, err
	}
	return p, c.withdrawing().canWithdraw(ctx, p)
}

// takeReceipt takes the receipt as it is on disk now: what reached the old log
// late may have been noted in it since it was read.
func (p *UndoPlan) takeReceipt(receipts []Receipt) {
	for _, r := range receipts {
		if r.ID == p.Receipt.ID {
			p.Receipt = r
		}
	}
	p.Archive = p.Receipt.whole()
	p.again = compactedAgain(receipts, p.Receipt)
}

// compactedAgain is the receipt of the last compaction of a log that came after the
// given one and was not undone, or "".
func compactedAgain(receipts []Receipt, first Receipt) (id string) {
	undone, last := UndoneBy(receipts), first.At
	for _, r := range receipts {
		if _, gone := undone[r.ID]; gone || r.Outcome != Compacted || r.Rotation == nil || r.Rotation.Live != first.Rotation.Live {
			continue
		}
		if same := r.Runtime == first.Runtime && r.Agent == first.Agent && r.Session == first.Session; same && r.At.After(last) {
			id, last = r.ID, r.At
		}
	}
	return id
}

// whole is the archive of the log as it was in the end: with what reached it late.
func (r Receipt) whole() Archived {
	if r.Late != nil {
		return *r.Late
	}
	return *r.Archive
}

// undoing reverses compactions: the log comes back, and what was stored of it
// goes out of memory.
type undoing struct {
	restoring
	withdrawing withdrawing
	oldLogs     oldLogs
	deleted     func(path string, since time.Time) ([]Archived, error) // nil if that is not known
}

func (u undoing) planLogUndo(ctx context.Context, undoer session.Undoer, p *UndoPlan) error {
	undo, err := undoer.PlanUndo(ctx, *p.Receipt.Rotation, session.UndoOptions{Now: u.files.now(), Quiet: p.Policy.Quiet, Force: p.Force})
	if newer := (*session.NewerError)(nil); errors.As(err, &newer) && p.Force {
		p.First = newer
		return nil
	}
	if err != nil {
		return err
	}
	p.Undo = &undo
	if undo.From != "" {
		return nil // its inode is there: the archive is not needed
	}
	if err := u.archives.readBack(ctx, p.Archive); err != nil {
		return fmt.Errorf("read the archive: %w", err)
	}
	return nil
}

// PutAwayFirst compacts what is newer than the session that is to come back:
// its log is archived, remembered and closed like any other.
func (c *Compactor) PutAwayFirst(ctx context.Context, store session.Store, p *UndoPlan) (Result, error) {
	listing, err := store.List(ctx)
	if err != nil {
		return Result{}, fmt.Errorf("list sessions of %s: %w", store.Root(), err)
	}
	for _, ref := range listing.Refs {
		if ref.Path == p.First.Path {
			return c.putAway(ctx, store, ref, p.Policy)
		}
	}
	return Result{}, fmt.Errorf("the newer session %s is not listed", p.First.Session)
}

func (c *Compactor) putAway(ctx context.Context, store session.Store, ref session.Ref, policy Policy) (Result, error) {
	policy.Force, policy.Strategy, policy.SkipArchive = true, session.StrategyRotate, false
	plan, err := NewPlan(ctx, store, ref, policy, c.Now())
	if err != nil {
		return Result{}, err
	}
	result := plan.Result()
	if plan.Outcome == Planned {
		if result, err = c.Execute(ctx, store, plan, policy); err != nil {
			return result, err
		}
	}
	switch result.Outcome {
	case Compacted:
		return result, nil
	case Busy:
		return result, &session.BusyError{Path: ref.Path, Reason: result.Reason}
	}
	return result, fmt.Errorf("%s cannot be put away: %s", ref.Path, result.Reason)
}

// Undone is the outcome of an undo.
const Undone Outcome = "undone"

// Undo carries a plan out. A journal entry is durable before the first change.
// Then the log comes back, as it was, and the runtime continues it; then what
// the compaction had stored is taken out of memory, so that at no time the
// session is neither in its runtime nor in memory; and then the receipt of the
// undo is written. Each step is recognised as done when it is repeated.
//
// A [*session.BusyError] without Begun changes nothing.
func (c *Compactor) Undo(ctx context.Context, store session.Store, p *UndoPlan) (Receipt, error) {
	if p.Outcome != Planned {
		return Receipt{Compaction: p.Result().Compaction}, nil
	}
	u, in := c.undoing(), c.newUndo(p)
	if p.Restore != nil {
		return u.putBack(ctx, store, p, in)
	}
	in.Undo = p.Undo
	if err := c.Journal.Write(in); err != nil {
		return Receipt{}, fmt.Errorf("write the intent: %w", err)
	}
	if err := u.undoRotation(ctx, store, in); err != nil {
		return Receipt{}, err
	}
	receipt, err := u.prove(ctx, store, in, p.Policy)
	if err != nil {
		return receipt, err
	}
	return receipt, u.end(in)
}

// newUndo says what is about to be done.
func (c *Compactor) newUndo(p *UndoPlan) Intent {
	in := Intent{Schema: 1, ID: c.NewID(), Kind: KindUndo, Rotation: *p.Receipt.Rotation, Archive: p.Archive}
	undone := p.Result().Compaction
	undone.Outcome, undone.Receipt = Undone, c.Receipts.Path(in.ID)
	in.Receipt = Receipt{
		Schema: 1, ID: in.ID, Version: c.Version, At: c.Now().UTC(), Compaction: undone, Source: p.Receipt.Source,
		Content: Content{Chunker: chunk.Version, Redaction: secrets.Version, OutputLimit: p.Policy.recordedLimit()}, // of what is newer
		Undo:    &UndoProof{Receipt: p.Receipt.ID, MemoryKept: p.KeepMemory},
	}
	return in
}

// undoRotation lets the store reverse the rotation. An undo that changed nothing is
// dropped.
func (u undoing) undoRotation(ctx context.Context, store session.Store, in Intent) error {
	undoer := session.CapabilitiesOf(store).Undoer
	if undoer == nil || in.Undo == nil {
		return fmt.Errorf("a rotation of %s cannot be reversed", in.Rotation.Runtime)
	}
	err := undoer.Undo(ctx, *in.Undo, func(w io.Writer) error { return u.archives.copyTo(ctx, w, in.Archive) })
	var busy *session.BusyError
	if errors.As(err, &busy) && !busy.Begun {
		return errors.Join(err, u.changes.journal.remove(in.ID))
	}
	if err != nil {
		return fmt.Errorf("reverse the rotation: %w", err)
	}
	return nil
}

// prove comes after the log is back: memory, and the receipt. A run that was
// killed after it wrote the receipt has done both: what it had taken out of memory
// cannot be counted again.
func (u undoing) prove(ctx context.Context, store session.Store, in Intent, policy Policy) (Receipt, error) {
	receipt := in.Receipt
	if done, err := u.changes.receipts.Read(u.changes.receipts.Path(in.ID)); err == nil && done.Undo != nil && done.Undo.MemoryKept == receipt.Undo.MemoryKept {
		return done, nil
	}
	if !receipt.Undo.MemoryKept {
		var err error
		if receipt.Undo.Withdrawn, receipt.Undo.Kept, err = u.withdrawing.withdraw(ctx, store, receipt, policy); err != nil {
			return receipt, fmt.Errorf("take it out of memory: %w", err)
		}
	}
	if _, err := u.changes.receipts.Write(receipt); err != nil {
		return receipt, fmt.Errorf("write the receipt: %w", err)
	}
	return receipt, nil
}

// UndoneBy returns, by the id of a compaction's receipt, the receipt of the
// undo that has reversed it.
func UndoneBy(receipts []Receipt) map[string]Receipt {
	undone := map[string]Receipt{}
	for _, r := range receipts {
		if r.Undo != nil && r.Outcome == Undone {
			undone[r.Undo.Receipt] = r
		}
	}
	return undone
}

// settle finishes an undo that an earlier run began.
func (u undoing) settle(ctx context.Context, store session.Store, in Intent, policy Policy) error {
	if in.Receipt.Undo == nil {
		return fmt.Errorf("the journal entry %s is not whole", in.ID)
	}
	if in.Restore != nil {
		return u.settlePutBack(ctx, store, in, policy)
	}
	var busy *session.BusyError
	if err := u.undoRotation(ctx, store, in); errors.As(err, &busy) && !busy.Begun {
		return nil // the runtime has gone on: the session stays put away
	} else if err != nil {
		return err
	}
	if _, err := u.prove(ctx, store, in, policy); err != nil {
		return err
	}
	return u.end(in)
}

// end drops the entry of an undo that is done, and that of the rotation
// which it has reversed: its old log is the session's again, and nothing is left
// to look after. An entry that cannot be read is left to recovery.
func (u undoing) end(in Intent) error {
	if err := u.changes.journal.remove(in.ID); err != nil {
		return err
	}
	undone, err := u.changes.journal.find(in.Receipt.Undo.Receipt)
	if err != nil || undone == nil || undone.Kind != KindRotation || !undone.Switched {
		return nil
	}
	if _, err := u.files.pins.Lstat(undone.Rotation.Kept); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return u.oldLogs.gone(*undone)
}

// planPutBack is for a change that the store does not reverse by itself: the
// archived log takes its place again, if what is there is what the compaction
// left.
func (u undoing) planPutBack(ctx context.Context, store session.Store, p *UndoPlan) error {
	restorer := session.CapabilitiesOf(store).Restorer
	if restorer == nil {
		return fmt.Errorf("%w: logs of %s cannot be put back", session.ErrUnsupported, p.Receipt.Runtime)
	}
	place, err := restorer.Place(ctx, p.Receipt.Rotation.Live, u.files.now())
	if err != nil {
		return err
	}
	if !p.Force {
		if err := u.notGoneOn(ctx, store, p); err != nil {
			return err
		}
	}
	if err := u.files.letGo(p.Receipt.Rotation.Kept); err != nil {
		return err
	}
	p.Restore, err = u.plan(ctx, RestoreRequest{
		Archive: p.Archive, ModTime: p.Receipt.At, Place: place, Store: store, Force: true, Quiet: p.Policy.Quiet,
	})
	return err
}

// notGoneOn returns a [*session.NewerError] if anything was said since the
// compaction: in the log itself, or in another one that has taken its place. A later
// compaction may have left the log as this one did.
func (u undoing) notGoneOn(ctx context.Context, store session.Store, p *UndoPlan) error {
	if p.again != "" {
		return &session.NewerError{Path: p.Receipt.Rotation.Live, Session: p.Receipt.Session, GoneOn: true, Compacted: p.again}
	}
	if err := u.asItWasLeft(ctx, p); err != nil {
		return err
	}
	if successor := store.Capabilities().Successor; successor != nil {
		return successor.Succeeded(ctx, *p.Receipt.Rotation)
	}
	return nil
}

// letGo returns a [*session.BusyError] while a program has the old log open
// that was moved aside: what it writes there would be missing from the log that
// comes back. Where there are no leases, later runs look after it.
func (f logFiles) letGo(kept string) error {
	if kept == "" {
		return nil
	}
	log, err := f.pins.OpenRegular(kept)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return asBusy(kept, err)
	}
	defer log.Close()
	release, err := logfile.Unheld(f.system, log)
	if errors.Is(err, durable.ErrUnsupported) {
		return nil
	}
	release()
	return asBusy(kept, err)
}

// asItWasLeft returns a [*session.NewerError] unless the log is what the
// compaction left, or what it was before; or was, when it was deleted.
func (u undoing) asItWasLeft(ctx context.Context, p *UndoPlan) error {
	path := p.Receipt.Rotation.Live
	log, err := u.files.pins.OpenRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return u.asItWasDeleted(p)
	}
	if err != nil {
		return fmt.Errorf("open log: %w", asBusy(path, err))
	}
	defer log.Close()
	before := session.LogProof{Size: p.Archive.Bytes, SHA256: p.Archive.SHA256}
	for _, known := range []session.LogProof{p.Receipt.left(), before} {
		same, err := isLog(ctx, log, known, p.Receipt.Source)
		if err != nil {
			return fmt.Errorf("read log: %w", err)
		}
		if same {
			return nil
		}
	}
	return &session.NewerError{Path: path, Session: p.Receipt.Session, GoneOn: true}
}

// asItWasDeleted is asItWasLeft where there is no log any more. Of one that was only
// appended to the length says enough: its bytes may be on object storage alone.
func (u undoing) asItWasDeleted(p *UndoPlan) error {
	if u.deleted == nil {
		return nil
	}
	path, left := p.Receipt.Rotation.Live, p.Receipt.left()
	deleted, err := u.deleted(path, p.Receipt.At)
	if err != nil {
		return fmt.Errorf("look whether its log was deleted: %w", err)
	}
	for _, was := range deleted {
		asLeft := was.SHA256 == left.SHA256 || left.SHA256 == "" && was.Bytes == left.Size
		if !asLeft && was.SHA256 != p.Archive.SHA256 {
			return &session.NewerError{Path: path, Session: p.Receipt.Session, GoneOn: true, Deleted: was.ID}
		}
	}
	return nil
}

// left is the log as the compaction left it. Where the session starts fresh
// there is none, or an empty one.
func (r Receipt) left() session.LogProof {
	nothing := sha256.Sum256(nil)
	if r.After == nil || r.After.Size == 0 {
		return session.LogProof{SHA256: hex.EncodeToString(nothing[:])}
	}
	return *r.After
}

// putBack is a restore, and what comes after an undo. What was said since the
// compaction is archived and remembered before it goes.
func (u undoing) putBack(ctx context.Context, store session.Store, p *UndoPlan, in Intent) (Receipt, error) {
	in.Restore = &Restoration{Path: p.Restore.Place.Path, Archive: p.Archive, Before: p.Receipt.Rotation.Before}
	if p.Restore.Outcome == NothingToDo { // it is back already
		if err := record(ctx, store, in); err != nil {
			return Receipt{}, err
		}
		return u.prove(ctx, store, in, p.Policy)
	}
	var err error
	if p.Restore.There == nil {
		_, err = u.putNew(ctx, p.Restore, in)
	} else if in.Receipt.Undo.Newer, err = u.rememberReplaced(ctx, store, p); err == nil {
		_, err = u.putOver(ctx, p.Restore, in)
	}
	if err != nil {
		return Receipt{}, err
	}
	return u.concludePutBack(ctx, store, in, p.Policy)
}

// rememberReplaced stores what was said since the compaction, with an archive
// of its own, which it returns; nil if nothing was said.
func (u undoing) rememberReplaced(ctx context.Context, store session.Store, p *UndoPlan) (*Archived, error) {
	newer := (*session.NewerError)(nil)
	if err := u.asItWasLeft(ctx, p); !errors.As(err, &newer) {
		return nil, err
	}
	archived, err := u.secureReplaced(ctx, p.Restore)
	if err != nil {
		return nil, err
	}
	ref := p.Restore.Place.Ref
	ref.ID = p.Receipt.Session
	_, err = u.withdrawing.memories.rememberArchived(ctx, store, ref, archived, p.Policy)
	return &archived, err
}

// concludePutBack proves the undo. What is left of its journal entry is a
// restore, whose replaced log is to be looked after by later runs.
func (u undoing) concludePutBack(ctx context.Context, store session.Store, in Intent, policy Policy) (Receipt, error) {
	receipt, err := u.prove(ctx, store, in, policy)
	if err != nil {
		return receipt, err
	}
	written, err := u.changes.journal.find(in.ID)
	if err != nil || written == nil {
		return receipt, err
	}
	if !written.replaces() {
		return receipt, u.changes.journal.remove(in.ID)
	}
	written.Kind, written.Switched = KindRestore, true
	return receipt, u.changes.journal.Write(*written)
}

// find returns the journal's entry with this id, nil if there is none.
func (j Journal) find(id string) (*Intent, error) {
	in, err := j.read(j.Path(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return &in, err
}

// settlePutBack finishes an undo that an earlier run began: the log is back if
// what was there lies beside it.
func (u undoing) settlePutBack(ctx context.Context, store session.Store, in Intent, policy Policy) error {
	back, err := u.files.isBack(ctx, in)
	if err != nil {
		return err
	}
	if back {
		if err := record(ctx, store, in); err != nil {
			return err
		}
		if _, err := u.concludePutBack(ctx, store, in, policy); err != nil {
			return err
		}
		in.Kind, in.Switched = KindRestore, true
	}
	return u.restoring.settle(ctx, store, in)
}

// begins reports whether there is a log at the place that begins with the
// restored bytes.
func (f logFiles) begins(ctx context.Context, r *Restoration) (bool, error) {
	log, err := f.pins.OpenRegular(r.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, asBusy(r.Path, err)
	}
	defer log.Close()
	return session.Snapshot{Size: r.Archive.Bytes, SHA256: r.Archive.SHA256}.Begins(ctx, log)
}

func (c *Compactor) undoing() undoing {
	return undoing{c.restoring(), c.withdrawing(), c.oldLogs(), c.Deleted}
}
