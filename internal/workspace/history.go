package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/ledger"
	"github.com/sessctl/sessctl/pkg/retention"
)

// What a run does is entered in the ledger, after the fact: an archive when it has its
// entry, a session when its receipt is written. So what the ledger names was there. What
// is about to go is entered before it goes. A run that is killed between the two leaves
// something that the ledger does not know, or still has, and neither is an alarm: the
// next run completes the first.

// history is what a run has to enter in the ledger. Archives wait for the receipt of
// their session, so that both take one sync.
type history struct {
	mutex   sync.Mutex
	waiting []ledger.Leaf
	rules   *ledger.Leaf // the rules of what is deleted, if the ledger has others
	refused error        // why nothing can be entered
	entered bool         // something was
	told    bool         // that it cannot be entered
}

// mostWaiting bounds how many archives wait: those of a run that writes no receipts.
const mostWaiting = 64

// LedgerDir is the directory of the ledger.
func (s *Settings) LedgerDir() string { return filepath.Join(s.DataDir(), "ledger") }

// LedgerOf is the ledger of a data directory.
func LedgerOf(run *Run) *ledger.Log {
	return ledger.Open(run.LedgerDir(), run.Pins)
}

// Witness enters leaves in the ledger, and before them what waits.
func Witness(run *Run, leaves ...ledger.Leaf) error {
	h := run.history
	if h == nil {
		return nil
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	all := append(h.waiting, leaves...)
	if h.rules != nil && (len(all) > 0 || Exists(run.LedgerDir())) {
		all = append([]ledger.Leaf{*h.rules}, all...)
	}
	if len(all) == 0 || h.refused != nil {
		return h.refused
	}
	// What was done is entered after an interrupt too.
	if err := LedgerOf(run).Append(context.Background(), all...); err != nil {
		return err
	}
	h.waiting, h.entered = nil, true
	if h.rules == nil {
		return nil
	}
	h.rules = nil
	return noteRules(run)
}

// Entered reports whether the run has entered something in the ledger.
func Entered(run *Run) bool {
	h := run.history
	if h == nil {
		return false
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.entered
}

// Enter is Witness for what was done and cannot be taken back: that it could not be
// entered is told once, and makes the run incomplete. The next run enters it.
func Enter(run *Run, leaves ...ledger.Leaf) {
	if err := Witness(run, leaves...); err != nil {
		leaveToNext(run)
		tellNoLedger(run, err)
	}
}

// leaveToNext lets the next run look for what this one could not enter. Where that
// cannot be noted either, the run has told that its ledger is incomplete.
func leaveToNext(run *Run) {
	if !Exists(unadoptedFile(run)) {
		_ = UseReserve(run, func() error { return markUnadopted(run) })
	}
}

// noteFact lets a leaf wait for the next one that is entered.
func noteFact(run *Run, f ledger.Leaf) {
	h := run.history
	if h == nil {
		return
	}
	h.mutex.Lock()
	h.waiting = append(h.waiting, f)
	full := len(h.waiting) >= mostWaiting
	h.mutex.Unlock()
	if full {
		Enter(run)
	}
}

// tellNoLedger tells once that the ledger cannot be written.
func tellNoLedger(run *Run, err error) {
	run.history.mutex.Lock()
	told := run.history.told
	run.history.told = true
	run.history.mutex.Unlock()
	if told {
		return
	}
	lacking := "what is done is not entered in the ledger"
	if errors.Is(err, ledger.ErrDamaged) {
		run.PassOver(Note{Path: run.LedgerDir(), Message: lacking + ": " + err.Error(), Hint: AdviseLedger})
		return
	}
	run.PassOverBroken(run.LedgerDir(), lacking, err)
}

// AdviseLedger is what to do about a damaged ledger.
const AdviseLedger = "sessctl doctor --fix makes hashes again from sound leaves; else restore the directory from a backup, or move it away and a new one is begun"

// EndHistory enters what waits.
func EndHistory(run *Run) { Enter(run) }

// unadoptedFile says that what is there could not be read when it was to be entered.
func unadoptedFile(run *Run) string { return filepath.Join(run.LedgerDir(), "unadopted") }

// beginHistory enters what the ledger does not know: all that is there, if there is no
// ledger yet, and what the run before has not entered, if it was killed. What cannot be
// read is entered by the next run that can.
func beginHistory(ctx context.Context, run *Run, killed bool) {
	if run.history == nil {
		return
	}
	if err := endAnew(run); err != nil {
		run.history.refused = err
		tellNoLedger(run, err)
	}
	begun, due := Exists(run.LedgerDir()), Exists(unadoptedFile(run))
	run.history.rules = changedRules(ctx, run)
	if !begun || killed || due {
		adoptDue(ctx, run, !begun || due, due)
	}
}

// adoptDue enters what the ledger does not know; due says that an earlier run could not.
func adoptDue(ctx context.Context, run *Run, adopted, due bool) {
	_, err := AdoptUnknown(ctx, run, adopted)
	switch {
	case err == nil && due:
		err = run.Pins.RemoveFile(unadoptedFile(run))
	case err != nil && !due:
		run.history.refused = markUnadopted(run)
	}
	switch {
	case errors.Is(err, ErrUnlisted), due && errors.Is(err, errUnreadLedger):
		run.Notice(Note{Path: run.LedgerDir(), Message: err.Error() + ": the next run that can enters it in the ledger"})
	case err != nil && ctx.Err() == nil:
		tellNoLedger(run, err)
	}
}

// markUnadopted leaves word to the next run. Without it nothing can be entered: the next
// run would take the ledger for complete.
func markUnadopted(run *Run) error {
	err := run.Pins.MakeDir(run.LedgerDir(), 0o700)
	if err == nil {
		err = run.Pins.ReplaceFile(unadoptedFile(run), 0o600, func(io.Writer) error { return nil })
	}
	return err
}

// ErrUnlisted is returned where archives or receipts cannot be listed.
var ErrUnlisted = errors.New("what is there cannot be listed")

// errUnreadLedger is of a ledger that cannot be read: the run that had something to enter
// has told so, and doctor tells it until it is mended.
var errUnreadLedger = errors.New("look up what the ledger has")

// AdoptFound enters what was found elsewhere and brought here. What cannot be read is
// entered by the next run.
func AdoptFound(ctx context.Context, run *Run) {
	if run.history != nil {
		adoptDue(ctx, run, true, false)
	}
}

// AdoptUnknown enters the archives, receipts and pins that the ledger does not know, and
// returns how many there were. adopted says so of them: nobody has seen them made. What
// cannot be listed is an error, and the rest is entered.
func AdoptUnknown(ctx context.Context, run *Run, adopted bool) (int, error) {
	known, err := LedgerOf(run).State(ctx)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errUnreadLedger, err)
	}
	adopted = adopted || known.Size == 0
	found, archivesErr := unknownArchives(ctx, run, known, adopted)
	more, receiptsErr := unknownReceipts(run, known, adopted)
	pins, pinsErr := unknownPins(run, known, adopted)
	found = slices.Concat(found, more, pins)
	err = errors.Join(archivesErr, receiptsErr, pinsErr)
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrUnlisted, err)
	}
	return len(found), errors.Join(Witness(run, found...), err)
}

func unknownArchives(ctx context.Context, run *Run, known ledger.State, adopted bool) (found []ledger.Leaf, err error) {
	store, err := run.OpenArchive()
	if err != nil {
		return nil, err
	}
	entries, _, err := store.Examine(ctx, archive.Filter{})
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if known.Archives[e.ID].SHA256 == "" {
			found = append(found, madeLeaf(adoptedIf(adopted, ledger.Made), e))
		}
	}
	superseded, err := store.Superseded(ctx)
	for _, e := range superseded {
		if by, err := store.Get(ctx, e.SupersededBy); err == nil && known.Archives[e.ID].SHA256 == "" {
			found = append(found, supersededLeaf(e, by))
		}
	}
	return found, err
}

func unknownReceipts(run *Run, known ledger.State, adopted bool) (found []ledger.Leaf, err error) {
	receipts, _, err := run.Receipts().Examine()
	for _, r := range receipts {
		if known.Receipts[r.ID].SHA256 != "" {
			continue
		}
		if f, err := receiptLeaf(run.Receipts(), r); err == nil {
			if adopted {
				f.Kind, f.What = ledger.Adopted, ledger.OfReceipt
			}
			found = append(found, f)
		}
	}
	return found, err
}

func adoptedIf(adopted bool, kind ledger.Kind) ledger.Kind {
	if adopted {
		return ledger.Adopted
	}
	return kind
}

func madeLeaf(kind ledger.Kind, e archive.Entry) ledger.Leaf {
	f := ledger.Leaf{Kind: kind, At: e.CreatedAt.UnixMilli(), ID: e.ID, Runtime: e.Runtime, Agent: e.Agent, Session: e.Session, Bytes: e.Bytes, SHA256: e.SHA256, Archive: e.Begins}
	if kind == ledger.Adopted {
		f.What = ledger.OfArchive
	}
	return f
}

// supersededLeaf says in which archive another one is from when that was made on.
func supersededLeaf(e, by archive.Entry) ledger.Leaf {
	f := madeLeaf(ledger.Superseded, e)
	f.At, f.Archive = by.CreatedAt.UnixMilli(), by.ID
	return f
}

// ReceiptHash is the hash of the part of a receipt's file that no later run changes.
func ReceiptHash(receipts compact.Receipts, id string) (string, error) {
	core, err := receipts.Core(id)
	if err != nil {
		return "", err
	}
	return HashOfCore(core), nil
}

// HashOfCore is the hash of that part as the ledger has it.
func HashOfCore(core []byte) string {
	sum := sha256.Sum256(core)
	return hex.EncodeToString(sum[:])
}

func receiptLeaf(receipts compact.Receipts, r compact.Receipt) (ledger.Leaf, error) {
	hash, err := ReceiptHash(receipts, r.ID)
	f := ledger.Leaf{Kind: ledger.Remembered, At: r.At.UnixMilli(), ID: r.ID, Runtime: r.Runtime, Agent: r.Agent, Session: r.Session, SHA256: hash}
	switch {
	case r.Undo != nil:
		f.Kind = ledger.Undone
	case r.Outcome == compact.Compacted:
		f.Kind, f.What = ledger.Switched, string(r.Strategy)
	}
	if r.Archive != nil {
		f.Archive = r.Archive.ID
	}
	return f, err
}

func witnessReceipt(run *Run, r compact.Receipt) {
	receipts := run.Receipts()
	f, err := receiptLeaf(receipts, r)
	if err != nil {
		leaveToNext(run)
		tellNoLedger(run, err)
		return
	}
	Enter(run, f)
}

// actionKind is the kind of the leaf of a line of the audit log. What was asked of a
// server is no history of anything that was kept.
func actionKind(action string) (ledger.Kind, bool) {
	switch action {
	case retention.ActionTrash, retention.ActionShrink:
		return ledger.Removed, true
	case retention.ActionPurge:
		return ledger.Purged, true
	case retention.ActionUndelete:
		return ledger.Returned, true
	case retention.ActionRestore:
		return ledger.Restored, true
	}
	return "", false
}

// LineLeaf is the leaf of a line of the audit log, false for one that has none.
func LineLeaf(l retention.Line) (ledger.Leaf, bool) {
	kind, ok := actionKind(l.Action)
	return ledger.Leaf{Kind: kind, At: l.Time.UnixMilli(), ID: l.Archive, Agent: l.Agent, What: l.Kind, Bytes: l.Bytes, SHA256: l.SHA256, Why: shortRule(l.Rule), Line: l.Hash, Record: l.Record}, ok
}

// witnessRecord enters that what waits in the trash gets another record.
func witnessRecord(run *Run, item retention.Item) error {
	of, _ := retention.SessionOf(item) // of an archive its hash says enough
	return Witness(run, ledger.Leaf{Kind: ledger.Recorded, At: run.Now().UnixMilli(), ID: of.Archive, What: item.Kind, Bytes: item.Bytes, SHA256: item.SHA256, Record: item.Sum()})
}

// LeafLine is the line of the audit log that a leaf is of, without the path, which the
// ledger does not have.
func LeafLine(f ledger.Leaf) retention.Line {
	l := retention.Line{Time: f.When(), Kind: f.What, SHA256: f.SHA256, Bytes: f.Bytes, Archive: f.ID, Agent: f.Agent, Rule: f.Why}
	actions := map[ledger.Kind]string{ledger.Removed: retention.ActionShrink, ledger.Purged: retention.ActionPurge, ledger.Returned: retention.ActionUndelete, ledger.Restored: retention.ActionRestore}
	if l.Action = actions[f.Kind]; f.Kind == ledger.Removed && retention.GoesToTrash(f.What) {
		l.Action = retention.ActionTrash
	}
	return l
}

// shortRule is a rule as far as a leaf has room for it.
func shortRule(rule string) string {
	const most = 80
	for i := range rule {
		if i >= most {
			return rule[:i]
		}
	}
	return rule
}

// witnessLine enters a line of the audit log. What is about to go does not go if it
// cannot be entered.
func witnessLine(run *Run, l retention.Line) error {
	f, ok := LineLeaf(l)
	switch {
	case !ok:
		return nil
	case f.Kind == ledger.Removed || f.Kind == ledger.Purged:
		return Witness(run, f)
	}
	Enter(run, f) // it is there again, whoever knows
	return nil
}
