package cmd

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/session"
)

// withoutArchivedPrompts leaves out the prompts of sessions of which there is an
// archive that was made after the last of them: it has them with their answers.
func (a *invocation) withoutArchivedPrompts(ctx context.Context, sessions []found) ([]found, error) {
	if !slices.ContainsFunc(sessions, func(s found) bool { return s.Kind == session.KindPrompts }) {
		return sessions, nil
	}
	store, err := a.openArchive()
	if err != nil {
		return nil, err
	}
	entries, err := store.List(ctx, archive.Filter{})
	if err != nil {
		return nil, fmt.Errorf("look for archives of sessions whose logs are gone: %w", err)
	}
	type named struct{ runtime, session string }
	archived := map[named]time.Time{}
	for _, e := range entries {
		if of := (named{e.Runtime, e.Session}); e.SourceModTime.After(archived[of]) {
			archived[of] = e.SourceModTime
		}
	}
	return slices.DeleteFunc(sessions, func(s found) bool {
		of, isPrompts := session.PromptsOf(s.ID)
		return s.Kind == session.KindPrompts && isPrompts && !archived[named{s.Runtime, of}].Before(s.ModTime)
	}), nil
}

// promptsOnly says whether what memory has of a session is only what was typed in
// it.
func promptsOnly(id string) bool {
	_, only := session.PromptsOf(id)
	return only
}

// refusePrompts is why prompts are not put back: the file that they are from still
// has them.
func refusePrompts(e archive.Entry) error {
	if session.Kind(e.Kind) != session.KindPrompts {
		return nil
	}
	return &failure{
		code: "unsupported", exit: exitFailed, path: e.Source,
		hint: "sessctl archive restore " + e.ID + " --to FILE puts them into a file elsewhere",
		err:  fmt.Errorf("%w: it holds what was typed in a session whose log is gone, from a file that only %s changes", session.ErrUnsupported, e.Runtime),
	}
}
