package steps

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/hooks"
)

// SessionOf is the session that an event is about, or nil if it has no log: one
// that ended before anything was said. One that is about to be compacted has a log.
func SessionOf(ctx context.Context, run *workspace.Run, e hooks.Event) (*workspace.Found, error) {
	all, _, err := run.ListStores(ctx)
	if err != nil {
		return nil, err
	}
	named := func(s workspace.Found) bool {
		switch {
		case e.Runtime != hooks.Any && s.Runtime != e.Runtime || !workspace.Shown(s.Kind) || e.Agent != "" && s.Agent != e.Agent:
			return false
		case e.Path != "" && s.Path == realPath(e.Path):
			return true
		}
		return e.Session != "" && s.ID == e.Session
	}
	if i := slices.IndexFunc(all.Sessions, named); i >= 0 {
		return &all.Sessions[i], nil
	}
	switch {
	case e.Session == "" && e.Path == "":
		return nil, fmt.Errorf("the event names no session")
	case e.Path != "" && workspace.Exists(e.Path):
		return nil, fmt.Errorf("%s is in none of the stores that sessctl reads; sessctl stores shows them", e.Path)
	case e.Runtime != hooks.Any && !ReadsStoresOf(&run.Settings, e.Runtime):
		return nil, fmt.Errorf("no store of %s is among those in the configuration", e.Runtime)
	case e.Compacts():
		return nil, fmt.Errorf("session %s is in none of the stores that sessctl reads; sessctl stores shows them", cmp.Or(e.Session, e.Path))
	}
	return nil, nil // it ended before anything was said
}

// ReadsStoresOf reports whether stores of a runtime are read: all are, unless
// only those to read are named.
func ReadsStoresOf(a *workspace.Settings, runtime string) bool {
	return !a.Global.OnlyNamed() || slices.ContainsFunc(a.Global.NamedStores(), func(s string) bool { return strings.HasPrefix(s, runtime+"=") })
}

// realPath is where a log is, whatever links lead there.
func realPath(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return filepath.Clean(path)
}
