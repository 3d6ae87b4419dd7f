package doctor

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// examineLeftovers reports temporary files of killed runs.
func (d *checkup) examineLeftovers(ctx context.Context) error {
	places, err := d.placesOfLeftovers(ctx)
	if err != nil {
		return err
	}
	found := 0
	for _, place := range places {
		paths, err := durable.Leftovers(place.Dir, 0)
		if err != nil {
			d.warn(place.Dir, err.Error(), "")
			continue
		}
		found += len(paths)
		for _, path := range paths {
			d.note(path, "half-written by a run that was cut off", place.Advice)
		}
	}
	if found == 0 {
		d.ok("", "no temporary files")
	}
	return nil
}

// ownDir is a directory in which this tool makes files.
type ownDir struct {
	Dir    string
	Advice string // what to do about a temporary file in it
}

// placesOfLeftovers lists where killed runs can leave something: our own
// directories, and those of the logs that they change.
func (d *checkup) placesOfLeftovers(ctx context.Context) ([]ownDir, error) {
	var dirs []ownDir
	add := func(dir, advice string) {
		if !slices.ContainsFunc(dirs, func(o ownDir) bool { return o.Dir == dir }) {
			dirs = append(dirs, ownDir{Dir: dir, Advice: advice})
		}
	}
	for _, dir := range d.OwnDirs() {
		add(dir, "sessctl doctor --fix removes it")
	}
	store, err := d.OpenArchive()
	if err != nil {
		return nil, err
	}
	entries, err := store.List(ctx, archive.Filter{})
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		add(filepath.Dir(e.Path), "the next archiving of that agent removes it, or puts it in its place if the archive it belongs to is missing")
	}
	for _, s := range d.sessions.Sessions {
		add(filepath.Dir(s.Path), "settling removes it if a run that began there is unfinished; else look at it and remove it")
	}
	return dirs, nil
}

// examineSpace compares what is free with twice the largest session: a copy of
// it, and its memory.
func (d *checkup) examineSpace(ctx context.Context) error {
	var largest int64
	roots := []string{d.DataDir()}
	for _, s := range d.sessions.Sessions {
		if s.Kind == session.KindDatabase {
			continue
		}
		largest = max(largest, s.Bytes)
		roots = append(roots, d.ArchiveDir(workspace.ArchiveMeta(s.Ref)), filepath.Dir(s.Path))
	}
	slices.Sort(roots)
	for _, root := range slices.Compact(roots) {
		if err := ctx.Err(); err != nil {
			return err
		}
		free, err := durable.FreeSpace(root)
		switch {
		case err != nil:
			d.warn(root, err.Error(), "")
		case free < uint64(2*largest):
			d.warn(root, fmt.Sprintf("%s free, less than twice the largest session (%s)", wording.Bytes(int64(min(free, 1<<62))), wording.Bytes(largest)), "make room, or choose another place (archive.dir, data_dir)")
		}
	}
	d.ok("", "the largest session is %s", wording.Bytes(largest))
	return nil
}
