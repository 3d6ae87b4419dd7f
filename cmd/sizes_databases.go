package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	// Parts are what its pages are for, where that is known.
	Parts []databasePart `json:"parts,omitempty"`
}

// databasePart is what one kind of tables and indexes takes up.
type databasePart struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
	Rows  int    `json:"rows,omitempty"` // of a part that is rows, not pages
}

// addParts says what databases are made of, of which their store knows it.
func (a *invocation) addParts(ctx context.Context, rows []databaseRow) {
	stores, err := a.openStores()
	if err != nil {
		return
	}
	for _, store := range stores {
		measurer := store.Capabilities().Parts
		if measurer == nil || !slices.ContainsFunc(rows, func(r databaseRow) bool { return r.Runtime == store.Runtime() }) {
			continue
		}
		parts, err := measurer.DatabaseParts(ctx)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			a.tellUnread(store.Root(), err)
		}
		for _, p := range parts {
			if i := slices.IndexFunc(rows, func(r databaseRow) bool { return r.Path == p.Database }); i >= 0 {
				rows[i].Parts = append(rows[i].Parts, databasePart{p.Name, p.Bytes, p.Rows})
			}
		}
	}
}

// besideStores are the databases of other programs, and of runtimes for other
// things, that are known to fill disks: below a home directory, or below the
// store of a runtime.
var besideStores = []struct{ runtime, below string }{
	{session.RuntimeOpenClaw, "lcm.db"},                 // lossless-claw
	{session.RuntimeOpenClaw, "memory/*.sqlite"},        // OpenClaw's index of memory and its cache of embeddings
	{session.RuntimeCline, "data/db/hub-events-*.db"},   // what its hub has told: everything that was said, often
	{session.RuntimeCline, "data/db/session-search.db"}, // its index of what was said
	{"", ".claude-mem/claude-mem.db"},                   // claude-mem
}

// databasesOf measures the databases in which sessions lie, and those that are
// found beside them.
func (a *invocation) databasesOf(ctx context.Context, sessions []found) []databaseRow {
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
	a.addParts(ctx, rows)
	return rows
}

// rootsOf are the stores of a runtime that this run works on.
func (a *invocation) rootsOf(runtime string) (roots []string) {
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
	if err := a.printList(t, rows); err != nil {
		return err
	}
	return a.printParts(databases)
}

// printParts prints what databases are made of.
func (a *app) printParts(databases []databaseRow) error {
	t := table{columns: []column{{name: "DATABASE", least: 20}, {name: "PART", least: 16}, {name: "SIZE", right: true}, {name: "OF LIVE", right: true}}}
	var rows [][]string
	for _, d := range databases {
		for _, p := range d.Parts {
			name, size, share := p.Name, formatBytes(p.Bytes), fmt.Sprintf("%.1f%%", percentOf(p.Bytes, d.Live))
			if p.Rows > 0 {
				name += ", " + plural(p.Rows, "row")
			}
			rows = append(rows, []string{"part", visible(d.Path), name, size, share})
			t.rows = append(t.rows, []string{a.tilde(d.Path), name, size, share})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return a.printList(t, rows)
}
