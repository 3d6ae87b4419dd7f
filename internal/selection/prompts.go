package selection

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/session"
)

// WithoutArchivedPrompts leaves out the prompts of sessions of which there is an
// archive that was made after the last of them: it has them with their answers.
func WithoutArchivedPrompts(ctx context.Context, run *workspace.Run, sessions []workspace.Found) ([]workspace.Found, error) {
	if !havePrompts(sessions) {
		return sessions, nil
	}
	store, err := run.OpenArchive()
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
	return slices.DeleteFunc(sessions, func(s workspace.Found) bool {
		of, isPrompts := session.PromptsOf(s.ID)
		return s.Kind == session.KindPrompts && isPrompts && !archived[named{s.Runtime, of}].Before(s.ModTime)
	}), nil
}

func havePrompts(sessions []workspace.Found) bool {
	for i := range sessions { // not by value: there may be 100,000
		if sessions[i].Kind == session.KindPrompts {
			return true
		}
	}
	return false
}

// PromptsOnly says whether what memory has of a session is only what was typed in
// it.
func PromptsOnly(id string) bool {
	_, only := session.PromptsOf(id)
	return only
}

// RefusePrompts is why prompts are not put back: the file that they are from still
// has them.
func RefusePrompts(e archive.Entry) error {
	if session.Kind(e.Kind) != session.KindPrompts {
		return nil
	}
	return &failure.Error{
		Code: "unsupported", Exit: failure.ExitFailed, Path: e.Source,
		Hint: "sessctl restore " + e.ID + " --to FILE puts them into a file elsewhere",
		Err:  fmt.Errorf("%w: it holds what was typed in a session whose log is gone, from a file that only %s changes", session.ErrUnsupported, e.Runtime),
	}
}
