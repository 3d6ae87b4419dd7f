package workspace

import (
	"context"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/naming"
	"github.com/sessctl/sessctl/pkg/session"
)

// ArchivedTitle is what the session of an archive was called, without secrets that the
// rules of then have left.
func ArchivedTitle(e archive.Entry) string { return naming.Tidy(e.Title) }

// Naming returns what says how a session is called: by the store of this run that it
// is in, else by a reader of its runtime.
func Naming(run *Run) func(context.Context, session.Ref) session.Name {
	return func(ctx context.Context, ref session.Ref) session.Name {
		for _, store := range run.Opened {
			if store.Runtime() == ref.Runtime && store.Root() == ref.Store {
				return naming.Of(ctx, store, ref)
			}
		}
		if ref.Kind.InFile() {
			if reader := ReaderOf(&run.Settings, ref.Runtime); reader != nil {
				return naming.Of(ctx, reader, ref)
			}
		}
		return session.Name{Title: naming.Tidy(ref.Title), Project: ref.Project}
	}
}
