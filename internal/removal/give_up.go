package removal

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

// GiveUp tries once more to finish what earlier runs began, and ends the run
// that is meant, if that cannot be finished.
func GiveUp(ctx context.Context, run *workspace.Run, id string) (*audit.GivenUp, error) {
	before, err := findUnfinished(run, id)
	if err != nil {
		return nil, err
	}
	w, err := audit.OpenFixing(ctx, run)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	now, err := findUnfinished(run, before.ID)
	var f *failure.Error
	switch {
	case errors.As(err, &f) && f.Code == unknownRun:
		return &audit.GivenUp{ID: before.ID, Nothing: true}, nil
	case err != nil:
		return nil, err
	case now.given:
		return &audit.GivenUp{ID: now.ID, Entry: now.Path, Change: now.Intent.String(), Archives: []audit.AsideArchive{}}, nil
	}
	store, err := storeOfUnfinished(run, now.Unfinished)
	if err != nil {
		return nil, err
	}
	given, err := w.Compactor.GiveUp(ctx, store, now.Unfinished, run.RecoveryPolicy())
	if err != nil {
		return nil, fmt.Errorf("give up %s: %w", now.ID, err)
	}
	doc := &audit.GivenUp{ID: given.ID, Entry: given.Entry, Change: given.Change, Finished: given.Finished, Archives: []audit.AsideArchive{}}
	for _, a := range given.Archives {
		doc.Archives = append(doc.Archives, audit.AsideArchive(a))
	}
	return doc, nil
}

// unknownRun is the code of an id that no entry has.
const unknownRun = "unknown_run"

// begun is an entry of the journal, or one that was given up.
type begun struct {
	compact.Unfinished
	given bool
}

// allBegun are all entries of the journal, and those that were given up.
func allBegun(run *workspace.Run) (all []begun, err error) {
	for _, j := range []compact.Journal{run.Journal(), run.Journal().GivenUp()} {
		intents, unreadable, err := j.Examine()
		if err != nil {
			return nil, err
		}
		given := j.Dir != run.JournalDir()
		for _, in := range intents {
			note, known := j.Note(in.ID)
			note.ID = in.ID
			all = append(all, begun{compact.Unfinished{SetAside: note, Path: j.Path(in.ID), Intent: in, Known: known}, given})
		}
		for _, bad := range unreadable {
			note := compact.SetAside{ID: strings.TrimSuffix(filepath.Base(bad.Path), ".json"), Reason: bad.Err.Error()}
			all = append(all, begun{compact.Unfinished{SetAside: note, Path: bad.Path, Known: true}, given})
		}
	}
	return all, nil
}

// findUnfinished finds the entry that an id, or its start, names.
func findUnfinished(run *workspace.Run, id string) (begun, error) {
	all, err := allBegun(run)
	if err != nil {
		return begun{}, err
	}
	var known []selection.Candidate
	for _, b := range all {
		known = append(known, selection.Candidate{ID: b.ID, What: b.Intent.String()})
	}
	whole, err := selection.RunIDs().Resolve(id, known)
	if err != nil {
		return begun{}, err
	}
	return all[slices.IndexFunc(all, func(b begun) bool { return b.ID == whole })], nil
}

// storeOfUnfinished is the store of a change that no run can finish, nil if it
// is gone. One that only waits is refused.
func storeOfUnfinished(run *workspace.Run, u compact.Unfinished) (session.Store, error) {
	stores, err := run.OpenStores()
	if err != nil {
		return nil, err
	}
	store, found := run.StoresByRoot(stores)(u.Intent.Rotation.Runtime, u.Intent.Rotation.Store)
	if !u.Known && (found || u.Intent.Rotation.Store == "") {
		return nil, &failure.Error{
			Code: "waiting", Exit: failure.ExitBusy, Path: u.Path, Hint: "the next run goes on with it; sessctl doctor says what it waits for",
			Err: fmt.Errorf("%s waits and can be finished: it is not given up", u.ID),
		}
	}
	if !found {
		return nil, nil
	}
	return store, nil
}

// Describe says what was given up, for people.
func Describe(g *audit.GivenUp) string {
	switch {
	case g == nil:
		return ""
	case g.Nothing:
		return fmt.Sprintf("%s: finished, there is nothing to give up\n", wording.Visible(g.ID))
	case g.Finished:
		return fmt.Sprintf("%s: %s: finished, memory is left as it is\n", wording.Visible(g.ID), wording.Visible(g.Change))
	}
	text := fmt.Sprintf("%s: %s: given up, its entry is kept at %s\n", wording.Visible(g.ID), wording.Visible(g.Change), wording.Visible(g.Entry))
	for _, a := range g.Archives {
		text += fmt.Sprintf("  archived  %s, %s\n", wording.Visible(a.ID), wording.Visible(a.Path))
	}
	return text
}

// AdviseGiveUp says how an earlier run that cannot be finished is given up.
func AdviseGiveUp(id string) string {
	return "sessctl doctor --give-up " + id + " ends it and loses nothing"
}
