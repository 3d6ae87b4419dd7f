package cmd

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/sqlitefile"
)

// databaseRow is one SQLite database of `sizes --by-type`: what it takes up on
// the disk and what of that is used.
type databaseRow struct {
	Runtime string `json:"runtime"` // "" for one that is no runtime's
	Path    string `json:"path"`
	// Sessions says that sessions lie in it. Others only fill the disk beside
	// them: they are measured and never opened.
	Sessions bool `json:"sessions"`
	spaceRow
}

// besideStores are the databases of other programs, and of runtimes for other
// things, that are known to fill disks: below a home directory, or below the
// store of a runtime.
var besideStores = []struct{ runtime, below string }{
	{session.RuntimeOpenClaw, "lcm.db"},          // lossless-claw
	{session.RuntimeOpenClaw, "memory/*.sqlite"}, // OpenClaw's index of memory and its cache of embeddings
	{"", ".claude-mem/claude-mem.db"},            // claude-mem
}

// databasesOf measures the databases in which sessions lie, and those that are
// found beside them.
func (a *app) databasesOf(ctx context.Context, sessions []found) []databaseRow {
	rows := []databaseRow{}
	add := func(runtime, path string, holds bool) {
		if path == "" || slices.ContainsFunc(rows, func(r databaseRow) bool { return r.Path == path }) {
			return
		}
		s, err := sqlitefile.Measure(ctx, sqlitefile.File{Base: filepath.Dir(path), Name: filepath.Base(path)})
		switch {
		case errors.Is(err, sqlitefile.ErrNotDatabase) && !holds, errors.Is(err, fs.ErrNotExist):
		case err != nil:
			a.tellUnread(path, err)
		default:
			rows = append(rows, databaseRow{Runtime: runtime, Path: path, Sessions: holds, spaceRow: newSpaceRow(s)})
		}
	}
	for _, s := range sessions {
		switch file := s.store.Capabilities().DatabaseFile; {
		case s.Kind == session.KindDatabase:
			add(s.Runtime, s.Path, true)
		case s.Kind == session.KindStored && file != nil:
			add(s.Runtime, file(s.Ref), true)
		}
	}
	for _, known := range besideStores {
		roots := []string{a.home()}
		if known.runtime != "" {
			roots = a.rootsOf(known.runtime)
		} else if a.global.Runtime != "" {
			continue
		}
		for _, root := range roots {
			paths, _ := filepath.Glob(filepath.Join(root, filepath.FromSlash(known.below))) // the pattern is ours
			for _, path := range paths {
				add(known.runtime, path, false)
			}
		}
	}
	slices.SortStableFunc(rows, func(x, y databaseRow) int { return cmp.Compare(y.Disk, x.Disk) })
	return rows
}

// rootsOf are the stores of a runtime that this run works on.
func (a *app) rootsOf(runtime string) (roots []string) {
	stores, err := a.openStores()
	if err != nil {
		return nil
	}
	for _, s := range stores {
		if s.Runtime() == runtime {
			roots = append(roots, s.Root())
		}
	}
	return roots
}

// printDatabases prints them after what fills the logs.
func (a *app) printDatabases(databases []databaseRow) error {
	if len(databases) == 0 {
		return nil
	}
	t := table{columns: []column{
		{name: "DATABASE", least: 20}, {name: "DISK", right: true}, {name: "LIVE", right: true}, {name: "FREE", right: true}, {name: "WAL", right: true}, {name: "VACUUM GIVES", right: true},
	}}
	rows := make([][]string, 0, len(databases))
	for _, d := range databases {
		sizes := []string{formatBytes(d.Disk), formatBytes(d.Live), formatBytes(d.Free), formatBytes(d.Log), formatBytes(d.Reclaimable)}
		rows = append(rows, append([]string{"database", visible(d.Path)}, sizes...))
		t.rows = append(t.rows, append([]string{a.tilde(d.Path)}, sizes...))
	}
	return a.printList(t, rows)
}
