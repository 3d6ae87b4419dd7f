package workspace

import (
	"context"

	"github.com/sessctl/sessctl/pkg/naming"
	"github.com/sessctl/sessctl/pkg/session"
)

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
		return session.Name{Title: ref.Title, Project: ref.Project}
	}
}
