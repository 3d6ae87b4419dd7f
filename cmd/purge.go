package cmd

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/session"
)

// purgeWarning is how long before a runtime deletes a session a person is told.
const purgeWarning = 7 * 24 * time.Hour

// warnOfPurge says which sessions their runtime is about to delete of which
// there is no archive as they are now.
func (a *invocation) warnOfPurge(ctx context.Context, sessions []found) {
	soon := a.soonPurged(sessions)
	if len(soon) == 0 {
		return
	}
	archived, err := a.archivedNow(ctx)
	if err != nil {
		a.notice(note{Path: a.dataDir(), Message: "which sessions have an archive is not known: " + err.Error()})
	}
	for _, n := range a.purgeNotes(soon, archived) {
		a.notice(n)
	}
}

// soonPurged are the sessions that their runtime is about to delete.
func (a *settings) soonPurged(sessions []found) (soon []found) {
	for i := range sessions {
		if s := &sessions[i]; !s.Expires.IsZero() && s.Bytes > 0 && s.Expires.Sub(a.now()) <= purgeWarning {
			soon = append(soon, *s)
		}
	}
	return soon
}

// purgeNotes say, agent by agent, which of these sessions have no archive.
func (a *settings) purgeNotes(soon []found, archived map[fileState]bool) (notes []note) {
	var owners []owner
	losing := map[owner][]found{}
	for _, s := range soon {
		if archived[s.state()] {
			continue
		}
		if _, known := losing[s.owner()]; !known {
			owners = append(owners, s.owner())
		}
		losing[s.owner()] = append(losing[s.owner()], s)
	}
	for _, o := range owners {
		notes = append(notes, a.purgeNote(o, losing[o]))
	}
	return notes
}

// meant are the sessions that a run is about: all, or those of the agents whose
// sessions it compacts.
func (s selection) meant(o compactOptions) []found {
	if o.All {
		return s.all.sessions
	}
	return slices.DeleteFunc(slices.Clone(s.all.sessions), func(f found) bool {
		chosen := slices.ContainsFunc(s.targets, func(t found) bool { return t.owner() == f.owner() })
		return !chosen && (o.Agent == "" || f.Agent != o.Agent)
	})
}

// purgeNote is about one agent.
func (a *settings) purgeNote(o owner, sessions []found) note {
	first := slices.MinFunc(sessions, func(x, y found) int { return x.Expires.Compare(y.Expires) })
	when := "at its next start"
	if first.Expires.After(a.now()) {
		when = "at its next start from " + first.Expires.UTC().Format(time.DateOnly) + " on"
	}
	what := plural(len(sessions), "log") + " of " + o.agent + ", the first of them " + first.ID
	if len(sessions) == 1 {
		what = first.ID + " of " + o.agent
	}
	return note{
		Path:    o.store,
		Message: fmt.Sprintf("%s deletes %s, %s; there is no archive", o.runtime, what, when),
		Hint:    "sessctl archive --runtime " + o.runtime + " --agent " + o.agent,
	}
}

// archivedNow says of which files, as they are, there is an archive.
func (a *invocation) archivedNow(ctx context.Context) (map[fileState]bool, error) {
	store, err := a.openArchive()
	if err != nil {
		return nil, err
	}
	entries, err := store.List(ctx, archive.Filter{Runtime: a.global.Runtime})
	return archivedStates(entries), err
}

// archivedStates are the files, as they were, that archives are copies of.
func archivedStates(entries []archive.Entry) map[fileState]bool {
	archived := make(map[fileState]bool, len(entries))
	for _, e := range entries {
		state := stateOf(e.Source, e.Bytes, e.SourceModTime)
		if !session.Kind(e.Kind).InFile() {
			state.bytes = 0
		}
		archived[state] = true
	}
	return archived
}

// fileState is what can be seen of a file without reading it.
type fileState struct {
	path  string
	bytes int64
	mod   int64 // nanoseconds
}

// state is what can be seen of a session's log. One that is rows of a database is
// known by when it was used last: how long its log is shows when it is written out.
func (s found) state() fileState {
	if !s.Kind.InFile() {
		return stateOf(s.Path, 0, s.ModTime)
	}
	return stateOf(s.Path, s.Bytes, s.ModTime)
}

func stateOf(path string, bytes int64, mod time.Time) fileState {
	return fileState{path, bytes, mod.UnixNano()}
}
