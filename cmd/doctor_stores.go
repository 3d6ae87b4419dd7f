package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/session"
)

// examineStores reports the stores that are found and what is odd in them.
func (d *checkup) examineStores(ctx context.Context) error {
	stores, err := d.openStores()
	if f := (*failure)(nil); errors.As(err, &f) {
		d.problem(f.path, err.Error(), f.hint)
		return nil
	}
	if err != nil {
		return err
	}
	d.stores = stores
	if len(stores) == 0 {
		d.note(d.home(), "no session store is found", "name one with --store runtime=path")
	}
	for _, store := range stores {
		listing, err := store.List(ctx)
		if err != nil {
			d.problem(store.Root(), err.Error(), "")
			continue
		}
		d.sessions.add(store, listing)
		d.ok(store.Root(), "%s: %s, %s", store.Runtime(), plural(len(listing.Agents), "agent"), plural(len(listing.Refs), "log"))
		for _, n := range listing.Notices {
			d.note(n.Path, n.Message, n.Hint)
		}
		d.examineReaders(listing.Refs)
	}
	return nil
}

// examineReaders reports directories whose logs other users can read.
func (d *checkup) examineReaders(refs []session.Ref) {
	open := map[string]int{}
	for _, ref := range refs {
		info, err := os.Stat(ref.Path)
		if err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o004 != 0 && othersReach(filepath.Dir(ref.Path)) {
			open[filepath.Dir(ref.Path)]++
		}
	}
	dirs := make([]string, 0, len(open))
	for dir := range open {
		dirs = append(dirs, dir)
	}
	slices.Sort(dirs)
	for _, dir := range dirs {
		d.note(dir, fmt.Sprintf("every user of this machine can read %s in it", plural(open[dir], "log")), "chmod o-rx one of the directories above them, if that is not meant")
	}
}

// othersReach says whether any user can come to what is in a directory.
func othersReach(dir string) bool {
	for {
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm()&0o001 == 0 {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
		dir = filepath.Dir(dir)
	}
}

// ownDir is a directory in which this tool makes files.
type ownDir struct {
	dir    string
	advice string // what to do about a temporary file in it
}

// ownDirs lists where runs that are cut off can leave something: directories
// of ours, and those of the logs that they change.
func (d *checkup) ownDirs(ctx context.Context) ([]ownDir, error) {
	var dirs []ownDir
	add := func(dir, advice string) {
		if !slices.ContainsFunc(dirs, func(o ownDir) bool { return o.dir == dir }) {
			dirs = append(dirs, ownDir{dir, advice})
		}
	}
	data := d.dataDir()
	for _, dir := range []string{d.journalDir(), d.app.receipts().Dir, filepath.Join(data, "archives"), d.memoryDir(), memory.ForgottenDir(d.memoryDir())} {
		add(dir, "sessctl doctor --fix removes it")
	}
	store, err := d.openArchive()
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
	for _, s := range d.sessions.sessions {
		add(filepath.Dir(s.Path), "settling removes it if a run that began there is unfinished; else look at it and remove it")
	}
	return dirs, nil
}

// examineSpace compares what is free with twice the largest session: a copy of
// it, and its memory.
func (d *checkup) examineSpace(ctx context.Context) error {
	var largest int64
	roots := []string{d.dataDir()}
	for _, s := range d.sessions.sessions {
		if s.Kind == session.KindDatabase {
			continue
		}
		largest = max(largest, s.Bytes)
		roots = append(roots, d.archiveDir(archiveMeta(s.Ref)), filepath.Dir(s.Path))
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
			d.warn(root, fmt.Sprintf("%s free, less than twice the largest session (%s)", formatBytes(int64(min(free, 1<<62))), formatBytes(largest)), "make room, or point archive.dir or --data-dir elsewhere")
		}
	}
	d.ok("", "the largest session has %s", formatBytes(largest))
	return nil
}
