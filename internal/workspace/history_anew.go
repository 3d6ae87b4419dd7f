package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/ledger"
	"github.com/sessctl/sessctl/pkg/memory"
)

// Anew is a ledger that was begun anew.
type Anew struct {
	Moved   string   // where the one before is kept, "" if there was none
	GivenUp int      // heads of it that were found, and that the new one names
	Unasked []string // places that did not say which head they have
}

// BeginAnew sets the ledger aside and begins another one, which says so in its first
// leaves, with the reason: it names the heads of the one before. What is there is entered:
// archives, receipts, pins, and how much must stay forgotten. The caller holds the lock.
func BeginAnew(ctx context.Context, run *Run, why string) (done Anew, err error) {
	sweepOwn(run) // nobody sweeps the ledger that is set aside
	heads, unasked, err := keptHeads(ctx, run)
	if err != nil {
		return done, err
	}
	carried, err := carriedOver(run)
	if err != nil {
		return done, err
	}
	done.GivenUp, done.Unasked = len(heads), unasked
	first := append(ledger.BegunAfter(run.Now(), why, heads...), carried...)
	if err := ledger.Open(nextLedger(run), run.Pins).Append(ctx, first...); err != nil {
		return done, err
	}
	if Exists(run.LedgerDir()) {
		done.Moved = run.LedgerDir() + ".before-" + run.Now().UTC().Format("20060102T150405.000Z")
		if err := LedgerOf(run).Move(ctx, done.Moved); err != nil {
			return done, fmt.Errorf("set the ledger aside: %w", err)
		}
	}
	if err := run.Pins.MoveDir(nextLedger(run), run.LedgerDir()); err != nil {
		return done, fmt.Errorf("put the new ledger in its place: %w", err)
	}
	run.history.waiting, run.history.refused, run.history.entered = nil, nil, true
	run.history.rules = changedRules(ctx, run)
	adoptDue(ctx, run, true, false)
	return done, nil
}

// nextLedger is where a ledger is made that is begun anew.
func nextLedger(run *Run) string { return run.LedgerDir() + ".next" }

// endAnew does what a run had left to do that was killed while it began a ledger anew:
// once the one before is set aside, the new one takes its place.
func endAnew(run *Run) error {
	switch {
	case !Exists(nextLedger(run)):
		return nil
	case Exists(run.LedgerDir()):
		return os.RemoveAll(nextLedger(run))
	}
	return run.Pins.MoveDir(nextLedger(run), run.LedgerDir())
}

// keptHeads are the different heads that the ledger and the places of heads have, as
// they were signed.
func keptHeads(ctx context.Context, run *Run) (all [][]byte, unasked []string, err error) {
	places, err := HeadPlaces(run)
	if err != nil {
		return nil, nil, err
	}
	add := func(text []byte) {
		if len(text) > 0 && !slices.ContainsFunc(all, func(known []byte) bool { return bytes.Equal(known, text) }) {
			all = append(all, text)
		}
	}
	own, _ := durable.ReadSmall(filepath.Join(run.LedgerDir(), "checkpoint"), 64<<10) // of a damaged one the places tell
	add(own)
	ctx, cancel := context.WithTimeout(ctx, headsTimeout)
	defer cancel()
	for _, place := range places {
		text, err := place.Last(ctx)
		add(text)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			unasked = append(unasked, place.Name()+": "+err.Error())
		}
	}
	return all, unasked, nil
}

// carriedOver are the leaves of what must stay as it is, and of which only the ledger
// before had witnessed that: pins, and how many records were forgotten.
func carriedOver(run *Run) (leaves []ledger.Leaf, err error) {
	if leaves, err = unknownPins(run, ledger.State{}, true); err != nil {
		return nil, err
	}
	if n, known := memory.ForgottenRecords(run.MemoryDir()); known && n > 0 {
		leaves = append(leaves, ledger.Leaf{Kind: ledger.Forgotten, At: run.Now().UnixMilli(), What: "before", Count: n})
	}
	return leaves, nil
}
