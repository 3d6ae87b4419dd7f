package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/openclaw"
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
		d.tellNotices(listing)
		d.examineReaders(listing.Refs)
		if lister, ok := store.(leftoverLister); ok {
			if err := d.examineMigration(ctx, lister); err != nil {
				return err
			}
		}
	}
	return nil
}

// tellNotices reports what was skipped. That all sessions of an agent are, is
// more than a note.
func (d *checkup) tellNotices(listing session.Listing) {
	for _, n := range listing.Notices {
		tell := d.note
		if slices.ContainsFunc(listing.Refs, func(ref session.Ref) bool { return ref.Kind == session.KindDatabase && ref.Path == n.Path }) {
			tell = d.warn
		}
		tell(n.Path, n.Message, n.Hint)
	}
}

// leftoverLister is a store that finds logs whose sessions have moved into a
// database.
type leftoverLister interface {
	Leftovers(ctx context.Context) ([]openclaw.Leftover, error)
}

// examineMigration says of every leftover whether the database has all of it.
func (d *checkup) examineMigration(ctx context.Context, store leftoverLister) error {
	all, err := store.Leftovers(ctx)
	contained := 0
	for _, l := range all {
		if l.Contained() {
			contained++
		}
	}
	if len(all) > 1 {
		d.ok("", "%s of the migration to the database, which has all of %d of them", plural(len(all), "leftover"), contained)
	}
	for _, l := range all {
		if l.Headed != "" && l.Headed != l.Named {
			d.note(l.Path, "its header names another session than its name: "+l.Headed, "the runtime's own doctor may leave such a log where it is")
		}
		switch {
		case l.Err != nil:
			d.warn(l.Path, "a leftover of the migration to the database, and whether that has it is not known: "+l.Err.Error(), "keep it")
		case l.Contained():
			d.note(l.Path, fmt.Sprintf("a leftover of the migration to the database, which has all %s of it", plural(l.Records, "record")),
				"nothing is lost if the runtime's own doctor takes it away (openclaw doctor --fix); sessctl does not touch it")
		default:
			d.warn(l.Path, fmt.Sprintf("a leftover of the migration to the database, which lacks %d of %s (%s)", l.Missing, plural(l.Records, "record"), l.First),
				"keep it; sessctl archive --agent "+l.Agent+" makes sure that its bytes are in the archive")
		}
	}
	return err
}

// examineReaders reports directories whose logs other users can read.
func (d *checkup) examineReaders(refs []session.Ref) {
	open := map[string]int{}
	seen := map[string]bool{}
	for _, ref := range refs {
		path := ref.Path
		if ref.Kind == session.KindStored {
			path, _, _ = strings.Cut(path, openclaw.DatabaseName)
			path += openclaw.DatabaseName
		}
		info, err := os.Stat(path)
		if err == nil && !seen[path] && runtime.GOOS != "windows" && info.Mode().Perm()&0o004 != 0 && othersReach(filepath.Dir(path)) {
			open[filepath.Dir(path)]++
		}
		seen[path] = true
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

// placesOfLeftovers lists where runs that are cut off can leave something: directories
// of ours, and those of the logs that they change.
func (d *checkup) placesOfLeftovers(ctx context.Context) ([]ownDir, error) {
	var dirs []ownDir
	add := func(dir, advice string) {
		if !slices.ContainsFunc(dirs, func(o ownDir) bool { return o.dir == dir }) {
			dirs = append(dirs, ownDir{dir, advice})
		}
	}
	for _, dir := range append(d.app.ownDirs(), filepath.Join(d.dataDir(), "archives")) {
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
