package selection

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/session"
)

// PurgeWarning is how long before a runtime deletes a session a person is told.
const PurgeWarning = 7 * 24 * time.Hour

// WarnOfPurge says which sessions their runtime is about to delete of which
// there is no archive as they are now.
func WarnOfPurge(ctx context.Context, run *workspace.Run, sessions []workspace.Found) {
	soon := SoonPurged(&run.Settings, sessions)
	if len(soon) == 0 {
		return
	}
	archived, err := archivedNow(ctx, run)
	if err != nil {
		run.Notice(workspace.Note{Path: run.DataDir(), Message: "which sessions have an archive is not known: " + err.Error()})
	}
	for _, n := range PurgeNotes(&run.Settings, soon, archived) {
		run.Notice(n)
	}
}

// SoonPurged are the sessions that their runtime is about to delete.
func SoonPurged(a *workspace.Settings, sessions []workspace.Found) (soon []workspace.Found) {
	for i := range sessions {
		if s := &sessions[i]; !s.Expires.IsZero() && s.Bytes > 0 && s.Expires.Sub(a.Now()) <= PurgeWarning {
			soon = append(soon, *s)
		}
	}
	return soon
}

// PurgeNotes say, store by store, which of these sessions have no archive.
func PurgeNotes(a *workspace.Settings, soon []workspace.Found, archived map[FileState]bool) (notes []workspace.Note) {
	var stores []workspace.Owner // without an agent
	losing := map[workspace.Owner][]workspace.Found{}
	for _, s := range soon {
		if archived[State(s)] {
			continue
		}
		of := workspace.Owner{Runtime: s.Runtime, Store: s.Store}
		if _, known := losing[of]; !known {
			stores = append(stores, of)
		}
		losing[of] = append(losing[of], s)
	}
	for _, of := range stores {
		notes = append(notes, purgeNote(a, losing[of]))
	}
	return notes
}

// purgeNote is about the sessions of one store.
func purgeNote(a *workspace.Settings, sessions []workspace.Found) workspace.Note {
	first := slices.MinFunc(sessions, func(x, y workspace.Found) int { return x.Expires.Compare(y.Expires) })
	when := "at its next start"
	if first.Expires.After(a.Now()) {
		when = "at its next start from " + first.Expires.UTC().Format(time.DateOnly) + " on"
	}
	agents := map[string]bool{}
	for _, s := range sessions {
		agents[s.Agent] = true
	}
	what, which := wording.Plural(len(sessions), "log")+" of "+first.Agent+", the first of them "+first.ID, " --agent "+first.Agent
	switch {
	case len(sessions) == 1:
		what = first.ID + " of " + first.Agent
	case len(agents) > 1:
		what = wording.Plural(len(sessions), "log") + " of " + wording.Plural(len(agents), "agent") + ", the first of them " + first.ID + " of " + first.Agent
		which = " --all"
	}
	return workspace.Note{
		Path:    first.Store,
		Message: fmt.Sprintf("%s deletes %s, %s; there is no archive", first.Runtime, what, when),
		Hint:    "sessctl archive --runtime " + first.Runtime + which,
	}
}

// archivedNow says of which files, as they are, there is an archive.
func archivedNow(ctx context.Context, run *workspace.Run) (map[FileState]bool, error) {
	store, err := run.OpenArchive()
	if err != nil {
		return nil, err
	}
	entries, err := store.List(ctx, archive.Filter{Runtime: run.Global.Runtime})
	return ArchivedStates(entries), err
}

// ArchivedStates are the files, as they were, that archives are copies of.
func ArchivedStates(entries []archive.Entry) map[FileState]bool {
	archived := make(map[FileState]bool, len(entries))
	for _, e := range entries {
		state := stateOf(e.Source, e.Bytes, e.SourceModTime)
		if !session.Kind(e.Kind).InFile() {
			state.bytes = 0
		}
		archived[state] = true
	}
	return archived
}

// FileState is what can be seen of a file without reading it.
type FileState struct {
	path  string
	bytes int64
	mod   int64 // nanoseconds
}

// State is what can be seen of a session's log. One that is rows of a database is
// known by when it was used last: how long its log is shows when it is written out.
func State(s workspace.Found) FileState {
	if !s.Kind.InFile() {
		return stateOf(s.Path, 0, s.ModTime)
	}
	return stateOf(s.Path, s.Bytes, s.ModTime)
}

func stateOf(path string, bytes int64, mod time.Time) FileState {
	return FileState{path, bytes, mod.UnixNano()}
}
