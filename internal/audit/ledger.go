package audit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/ledger"
	"github.com/sessctl/sessctl/pkg/memory"
)

// WitnessedProblem is what the ledger knows and what is not so.
type WitnessedProblem struct {
	Problem
	OfArchive   bool // an archive that memory may name is missing
	OfForgotten bool // that something was forgotten is what is lost
}

// AgainstLedger holds what is there against the ledger: archives, receipts, pins, lines
// of the audit log, what was forgotten. What the ledger does not know is no problem. It
// returns how many leaves there are. Of a ledger that cannot be read that is a problem.
func AgainstLedger(ctx context.Context, run *workspace.Run) ([]WitnessedProblem, int64, error) {
	found, leaves, err := againstLedger(ctx, run)
	if err != nil || len(found) == 0 || !run.OthersAtWork() {
		return found, leaves, err
	}
	notCompared(run)
	return nil, leaves, nil
}

func notCompared(run *workspace.Run) {
	run.Notice(workspace.Note{Path: run.LedgerDir(), Message: "another sessctl is running: what is there is not compared with the ledger"})
}

// againstLedger is AgainstLedger, whoever is at work.
func againstLedger(ctx context.Context, run *workspace.Run) ([]WitnessedProblem, int64, error) {
	known, err := workspace.LedgerOf(run).State(ctx) // before all else: what it names was there by now
	if ctx.Err() != nil {
		return nil, 0, ctx.Err()
	}
	if err != nil {
		return []WitnessedProblem{{Problem: Problem{Path: run.LedgerDir(), Message: err.Error(), Advice: workspace.AdviseLedger}}}, 0, nil
	}
	if known.Size == 0 {
		return nil, 0, nil
	}
	found, err := (&witness{run: run, known: known}).compare(ctx)
	return found, known.Size, err
}

// witness compares with the ledger.
type witness struct {
	run   *workspace.Run
	known ledger.State
	found []WitnessedProblem
}

func newWitness(ctx context.Context, run *workspace.Run) (*witness, error) {
	known, err := workspace.LedgerOf(run).State(ctx)
	return &witness{run: run, known: known}, err
}

func (w *witness) compare(ctx context.Context) ([]WitnessedProblem, error) {
	for _, look := range []func(context.Context) error{w.archives, w.receipts, w.lines, w.pins, w.forgotten, w.trash} {
		if err := look(ctx); err != nil {
			return nil, err
		}
	}
	return w.found, nil
}

func (w *witness) problem(p Problem, advice, format string, args ...any) {
	p.Message, p.Advice = fmt.Sprintf(format, args...), advice
	w.found = append(w.found, WitnessedProblem{Problem: p})
}

// AdviseAdopt is what to do about an archive whose entry is lost.
const AdviseAdopt = "sessctl archives adopt enters an archive again whose file is still there; else restore file and entry from a backup"

func (w *witness) archives(ctx context.Context) error {
	store, err := w.run.OpenArchive()
	if err != nil {
		return err
	}
	entries, damaged, err := store.Examine(ctx, archive.Filter{})
	if err != nil {
		return err
	}
	superseded, err := store.Superseded(ctx)
	if err != nil {
		return err
	}
	there := map[string]archive.Entry{}
	for _, e := range append(entries, superseded...) {
		there[e.ID] = e
	}
	for _, d := range damaged { // told by others
		there[idOf(d.Path)] = archive.Entry{}
	}
	for _, id := range slices.Sorted(maps.Keys(w.known.Archives)) {
		f := w.known.Archives[id]
		e, ok := there[id]
		p := Problem{ID: id, Path: filepath.Join(w.run.CatalogueDir(), id+".json")}
		switch {
		case !ok && f.Kind == ledger.Superseded && len(damaged) == 0: // else it may be in one of those
			w.problem(p, AdviseBackup, "the ledger has archive %s of session %s, read in another, and the catalogue does not", id, f.Session)
		case !ok && f.Kind == ledger.Superseded:
		case !ok:
			w.problem(p, AdviseAdopt, "the ledger has archive %s of session %s, made %s, and the catalogue does not", id, f.Session, dayOf(f))
			w.found[len(w.found)-1].OfArchive = true
		case e.SHA256 != "" && f.SHA256 != "" && e.SHA256 != f.SHA256 && f.Kind != ledger.Returned:
			w.problem(p, AdviseBackup, "the ledger has archive %s with sha256 %s, the catalogue says %s", id, f.SHA256, e.SHA256)
		}
	}
	return nil
}

func idOf(path string) string {
	name := filepath.Base(path)
	return name[:len(name)-len(filepath.Ext(name))]
}

func dayOf(f ledger.Leaf) string { return f.When().Format(time.DateOnly) }

// adviseReceipt is what to do about a receipt.
const adviseReceipt = "restore it from a backup; without it nothing proves what that run did"

func (w *witness) receipts(context.Context) error {
	receipts := w.run.Receipts()
	for _, id := range slices.Sorted(maps.Keys(w.known.Receipts)) {
		f := w.known.Receipts[id]
		hash, err := workspace.ReceiptHash(receipts, id)
		p := Problem{ID: id, Path: receipts.Path(id)}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			w.problem(p, adviseReceipt, "the ledger has a receipt of session %s of %s, and it is missing", f.Session, dayOf(f))
		case err != nil: // told by others
		case hash != f.SHA256:
			w.problem(p, adviseReceipt, "the receipt of session %s is not the one that the ledger has: it was changed", f.Session)
		}
	}
	return nil
}

func (w *witness) lines(context.Context) error {
	lost, err := LostLines(w.run, w.known)
	if len(lost) > 0 {
		w.problem(Problem{Path: w.run.Audit().Path}, AdviseLines, "the audit log lacks %s of what was deleted or brought back, which the ledger has", wording.Plural(len(lost), "line"))
	}
	return err
}

// AdvisePins is what to do about lost pins.
const AdvisePins = "sessctl doctor --fix pins them again; until then nothing is deleted"

func (w *witness) pins(context.Context) error {
	lost, err := workspace.LostPins(w.run, w.known)
	if err != nil { // who deletes says so too, and deletes nothing
		w.problem(Problem{Path: w.run.PinnedFile()}, AdvisePins, "which sessions are pinned cannot be read: %v", err)
	}
	for _, f := range lost {
		w.problem(Problem{Path: w.run.PinnedFile()}, AdvisePins, "session %s of %s is pinned by the ledger, and the list of pins does not have it", f.Session, f.Agent)
	}
	return nil
}

func (w *witness) forgotten(context.Context) error {
	n, known := memory.ForgottenRecords(w.run.MemoryDir())
	if known && n < w.known.Forgotten {
		w.problem(Problem{Path: memory.ForgottenDir(w.run.MemoryDir())}, workspace.AdviseForgotten, "%s were forgotten by the ledger, and the lists here have %d: the others may come back", wording.Plural(w.known.Forgotten, "record"), n)
		w.found[len(w.found)-1].OfForgotten = true
	}
	return nil
}

// VerifyLedger computes the hashes of the ledger again, and compares all that is there
// with it.
func VerifyLedger(ctx context.Context, run *workspace.Run) ([]WitnessedProblem, int64, error) {
	var damage error
	sure, err := workspace.Settled(run, func() (bool, error) {
		_, damage = workspace.LedgerOf(run).Verify(ctx)
		return damage == nil, ctx.Err()
	})
	switch {
	case err != nil:
		return nil, 0, err
	case !sure:
		notCompared(run)
		return nil, 0, nil
	case damage != nil:
		return []WitnessedProblem{{Problem: Problem{Path: run.LedgerDir(), Message: damage.Error(), Advice: workspace.AdviseLedger}}}, 0, nil
	}
	return AgainstLedger(ctx, run)
}
