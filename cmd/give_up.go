package cmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/retention"
	"github.com/sessctl/sessctl/pkg/session"
)

// givenUp is what `doctor --give-up` did.
type givenUp struct {
	compact.GivenUp
	Nothing bool `json:"nothing"` // it could be finished after all
}

// giveUp tries once more to finish what earlier runs began, and ends the run
// that is meant, if that cannot be finished.
func giveUp(ctx context.Context, a *invocation, id string) (*givenUp, error) {
	before, err := a.findUnfinished(id)
	if err != nil {
		return nil, err
	}
	w, err := openFixing(ctx, a)
	if err != nil {
		return nil, err
	}
	defer w.close()
	now, err := a.findUnfinished(before.ID)
	var f *failure
	switch {
	case errors.As(err, &f) && f.code == unknownRun:
		return &givenUp{GivenUp: compact.GivenUp{ID: before.ID}, Nothing: true}, nil
	case err != nil:
		return nil, err
	case now.given:
		return &givenUp{GivenUp: compact.GivenUp{ID: now.ID, Entry: now.Path, Change: now.Intent.String(), Archives: []compact.Archived{}}}, nil
	}
	store, err := a.storeOfUnfinished(now.Unfinished)
	if err != nil {
		return nil, err
	}
	given, err := w.compactor.GiveUp(ctx, store, now.Unfinished, a.recoveryPolicy())
	if err != nil {
		return nil, fmt.Errorf("give up %s: %w", now.ID, err)
	}
	return &givenUp{GivenUp: given}, nil
}

// unknownRun is the code of an id that no entry has.
const unknownRun = "unknown_run"

// begun is an entry of the journal, or one that was given up.
type begun struct {
	compact.Unfinished
	given bool
}

// allBegun are all entries of the journal, and those that were given up.
func (a *invocation) allBegun() (all []begun, err error) {
	for _, j := range []compact.Journal{a.journal(), a.journal().GivenUp()} {
		intents, unreadable, err := j.Examine()
		if err != nil {
			return nil, err
		}
		given := j.Dir != a.journalDir()
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
func (a *invocation) findUnfinished(id string) (begun, error) {
	all, err := a.allBegun()
	if err != nil {
		return begun{}, err
	}
	var known []candidate
	for _, b := range all {
		known = append(known, candidate{b.ID, b.Intent.String()})
	}
	whole, err := runIDs().resolve(id, known)
	if err != nil {
		return begun{}, err
	}
	return all[slices.IndexFunc(all, func(b begun) bool { return b.ID == whole })], nil
}

// storeOfUnfinished is the store of a change that no run can finish, nil if it
// is gone. One that only waits is refused.
func (a *invocation) storeOfUnfinished(u compact.Unfinished) (session.Store, error) {
	stores, err := a.openStores()
	if err != nil {
		return nil, err
	}
	store, found := storesByRoot(stores)(u.Intent.Rotation.Runtime, u.Intent.Rotation.Store)
	if !u.Known && (found || u.Intent.Rotation.Store == "") {
		return nil, &failure{
			code: "waiting", exit: exitBusy, path: u.Path, hint: "the next run goes on with it; sessctl doctor says what it waits for",
			err: fmt.Errorf("%s waits and can be finished: it is not given up", u.ID),
		}
	}
	if !found {
		return nil, nil
	}
	return store, nil
}

// describe says what was given up, for people.
func (g *givenUp) describe() string {
	switch {
	case g == nil:
		return ""
	case g.Nothing:
		return fmt.Sprintf("%s: finished, there is nothing to give up\n", visible(g.ID))
	case g.Finished:
		return fmt.Sprintf("%s: %s: finished, memory is left as it is\n", visible(g.ID), visible(g.Change))
	}
	text := fmt.Sprintf("%s: %s: given up, its entry is kept at %s\n", visible(g.ID), visible(g.Change), visible(g.Entry))
	for _, a := range g.Archives {
		text += fmt.Sprintf("  archived  %s, %s\n", visible(a.ID), visible(a.Path))
	}
	return text
}

func adviseGiveUp(id string) string {
	return "sessctl doctor --give-up " + id + " ends it and loses nothing"
}

// adviseStuck says what can be done about a change that no run can finish.
func (d *checkup) adviseStuck(in compact.Intent) string {
	advice := ""
	items, _ := d.archiveTrash().List() // what cannot be listed cannot be brought back either
	for _, item := range items {
		e, err := retention.ArchiveOf(item)
		if err == nil && e.Runtime == in.Rotation.Runtime && e.Agent == in.Rotation.Agent && e.Session == in.Rotation.Session {
			advice += "sessctl archive prune --undelete " + e.ID + " brings back an archive of the session; "
		}
	}
	return advice + "sessctl doctor --fix tries again; " + adviseGiveUp(in.ID)
}
