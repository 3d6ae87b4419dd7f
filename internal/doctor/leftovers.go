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
			text, advice := "half-written by a run that was cut off", place.Advice
			if advice == "" {
				text, advice = d.adviseBeside(ctx, path, text)
			}
			d.note(path, text, advice)
		}
	}
	if found == 0 {
		d.ok("", "no temporary files")
	}
	return nil
}

// adviseBeside says what a temporary file beside logs is, and what to do about it. It may be
// the old log of a change that was cut off: only an archive of the same bytes shows that it
// can go.
func (d *checkup) adviseBeside(ctx context.Context, path, text string) (is, advice string) {
	const settled = "the next run removes it if it is of an unfinished change; else "
	sum := hashOf(ctx, path)
	if store, err := d.OpenArchive(); err == nil {
		entries, _ := store.List(ctx, archive.Filter{}) // without them nothing is said to be in one
		if i := slices.IndexFunc(entries, func(e archive.Entry) bool { return e.SHA256 == sum }); i >= 0 {
			return text + ", with the bytes of archive " + entries[i].ID, settled + "it can go once sessctl archives verify ends with 0"
		}
	}
	return text + ", with bytes that no archive has", settled + "keep it"
}

// hashOf is the SHA-256 of a file, "" if it cannot be read.
func hashOf(ctx context.Context, path string) string {
	f, err := durable.OpenRegular(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	snap, err := session.TakeSnapshot(ctx, f, path)
	if err != nil {
		return ""
	}
	return snap.SHA256
}

// ownDir is a directory in which this tool makes files.
type ownDir struct {
	Dir    string
	Advice string // what to do about a temporary file in it; "" where only its bytes say that
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
		add(filepath.Dir(s.Path), "")
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
