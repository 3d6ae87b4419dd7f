package selection

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/sqlitefile"
)

// DatabaseRow is one SQLite database of `sizes --by-type`: what it takes up on
// the disk and what of that is used.
type DatabaseRow struct {
	Runtime string `json:"runtime"` // "" for one that is no runtime's
	Path    string `json:"path"`
	// Sessions says that sessions lie in it. Others only fill the disk beside
	// them: they are measured and never opened.
	Sessions bool `json:"sessions"`
	SpaceRow
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
func addParts(ctx context.Context, run *workspace.Run, rows []DatabaseRow) {
	stores, err := run.OpenStores()
	if err != nil {
		return
	}
	for _, store := range stores {
		measurer := store.Capabilities().Parts
		if measurer == nil || !slices.ContainsFunc(rows, func(r DatabaseRow) bool { return r.Runtime == store.Runtime() }) {
			continue
		}
		parts, err := measurer.DatabaseParts(ctx)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			TellUnread(run, store.Root(), err)
		}
		for _, p := range parts {
			if i := slices.IndexFunc(rows, func(r DatabaseRow) bool { return r.Path == p.Database }); i >= 0 {
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

// DatabasesOf measures the databases in which sessions lie, and those that are
// found beside them.
func DatabasesOf(ctx context.Context, run *workspace.Run, sessions []workspace.Found) []DatabaseRow {
	rows := []DatabaseRow{}
	add := func(runtime, path string, holds bool) {
		if path == "" || slices.ContainsFunc(rows, func(r DatabaseRow) bool { return r.Path == path }) {
			return
		}
		s, err := sqlitefile.Measure(ctx, sqlitefile.File{Base: filepath.Dir(path), Name: filepath.Base(path)})
		switch {
		case errors.Is(err, sqlitefile.ErrNotDatabase) && !holds, errors.Is(err, fs.ErrNotExist):
		case err != nil:
			TellUnread(run, path, err)
		default:
			rows = append(rows, DatabaseRow{Runtime: runtime, Path: path, Sessions: holds, SpaceRow: NewSpaceRow(s)})
		}
	}
	for _, s := range sessions {
		switch file := s.Adapter.Capabilities().DatabaseFile; {
		case s.Kind == session.KindDatabase:
			add(s.Runtime, s.Path, true)
		case s.Kind == session.KindStored && file != nil:
			add(s.Runtime, file(s.Ref), true)
		}
	}
	for _, known := range besideStores {
		roots := []string{run.Home()}
		if known.runtime != "" {
			roots = rootsOf(run, known.runtime)
		} else if run.Global.Runtime != "" {
			continue
		}
		for _, root := range roots {
			paths, _ := filepath.Glob(filepath.Join(root, filepath.FromSlash(known.below))) // the pattern is ours
			for _, path := range paths {
				add(known.runtime, path, false)
			}
		}
	}
	slices.SortStableFunc(rows, func(x, y DatabaseRow) int { return cmp.Compare(y.Disk, x.Disk) })
	addParts(ctx, run, rows)
	return rows
}

// rootsOf are the stores of a runtime that this run works on.
func rootsOf(run *workspace.Run, runtime string) (roots []string) {
	stores, err := run.OpenStores()
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
