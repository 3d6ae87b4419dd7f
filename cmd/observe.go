package cmd

import (
	"context"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/workspace"
)

// observe looks at everything. Only a context that ended is an error, and that
// there is no store, after the rest was looked at.
func observe(ctx context.Context, a *app, options audit.LookOptions) (audit.Observed, error) {
	o := audit.NewObserver(a.Run, options)
	defer workspace.CloseStores(o.Run)
	err := o.Look(ctx)
	return o.Observed, err
}
