package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// examineStores reports the stores that are found and what is odd in them.
func (d *checkup) examineStores(ctx context.Context) error {
	stores, err := d.OpenStores()
	if f := (*failure.Error)(nil); errors.As(err, &f) {
		d.problem(f.Path, err.Error(), f.Hint)
		return nil
	}
	if err != nil {
		return err
	}
	d.stores = stores
	defer func() { tellUnread(d.findings, workspace.UnreadRows(d.UnreadOf(d.sessions))) }()
	if len(stores) == 0 {
		d.note(d.Home(), "no session store is found", "name one with --store runtime=path")
	}
	for _, store := range stores {
		listing, err := d.List(ctx, store)
		if err != nil {
			hint := ""
			if f := (*failure.Error)(nil); errors.As(err, &f) {
				hint = f.Hint
			}
			d.problem(store.Root(), err.Error(), hint)
			continue
		}
		d.sessions.Add(store, listing)
		logs := slices.DeleteFunc(slices.Clone(listing.Refs), func(r session.Ref) bool { return r.Kind == session.KindDatabase })
		d.ok(store.Root(), "%s: %s, %s", store.Runtime(), wording.Plural(len(listing.Agents), "agent"), wording.Plural(len(logs), "log"))
		tellNotices(d.findings, listing.Notices)
		examineReadable(d.findings, listing.Refs)
		examineReaders(d.findings, listing.Refs, store.Capabilities().DatabaseFile)
		if lister := store.Capabilities().Leftovers; lister != nil {
			if err := examineMigration(ctx, d.findings, lister); err != nil {
				return err
			}
		}
		if attacher := store.Capabilities().Attacher; attacher != nil {
			if err := examineUnnamed(ctx, d.Run, d.findings, store.Runtime(), attacher); err != nil {
				return err
			}
		}
		if lister := store.Capabilities().Deleted; lister != nil {
			if err := examineDeleted(ctx, d.findings, store.Runtime(), lister); err != nil {
				return err
			}
		}
	}
	for _, n := range d.SameStores() {
		d.note(n.Path, n.Message, n.Hint)
	}
	return d.examineRefused(ctx)
}

// examineRefused reports sessions that are due and that compact changes nothing of.
func (d *checkup) examineRefused(ctx context.Context) error {
	selection.OpenTailCache(d.Run, true) // and never written
	m := selection.NewMeasurer(d.Run, selection.InDatabase(d.sessions), d.Config.Compaction.Due(), false)
	m.Names = false
	used := slices.DeleteFunc(d.sessions.Readable(), func(s workspace.Found) bool { return !workspace.Shown(s.Kind) })
	rows, err := m.Rows(ctx, used)
	for _, row := range rows {
		if row.Refusal() != "" {
			n := row.Note()
			d.note(n.Path, n.Message, n.Hint)
		}
	}
	return err
}

// examineDeleted says what a runtime's own delete has left of sessions.
func examineDeleted(ctx context.Context, report *findings, runtime string, store session.DeletedLister) error {
	all, err := store.Deleted(ctx)
	for _, x := range all {
		switch {
		case x.Err != nil:
			report.warn(x.Database, "whether it has rows of deleted sessions is not known: "+x.Err.Error(), "")
		case x.Rows > 0:
			report.note(x.Database, fmt.Sprintf("%s (%s) of %s can still be read in it", wording.Plural(x.Rows, "row"), wording.Bytes(x.Bytes), wording.Plural(x.Sessions, "deleted session")),
				"stop the program, then: sessctl shrink deleted vacuum --runtime "+runtime+" archives and removes them")
		}
	}
	return err
}

// examineUnnamed says how much of the disk files fill that no log of the store names,
// and whether an archive has them. Logs may lie elsewhere: nothing is to be removed
// that no archive has.
func examineUnnamed(ctx context.Context, run *workspace.Run, report *findings, runtime string, store session.Attacher) error {
	found, err := store.Unnamed(ctx)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		report.warn(found.Dir, "whether it has files that no log names is not known: "+err.Error(), "")
		return nil
	case len(found.Files) == 0:
		return nil
	}
	archives, err := run.OpenArchive()
	if err != nil {
		return err
	}
	entries, err := archives.List(ctx, archive.Filter{Runtime: runtime})
	if err != nil {
		return err
	}
	archived := map[string]bool{}
	for _, e := range entries {
		archived[e.SHA256] = archived[e.SHA256] || selection.IsAttachment(e)
	}
	bytes, without := int64(0), 0
	for _, f := range found.Files {
		bytes += f.Bytes
		if !archived[f.Hash] {
			without++
		}
	}
	text := fmt.Sprintf("%s (%s) that no log in %s names", wording.Plural(len(found.Files), "file"), wording.Bytes(bytes), filepath.Dir(found.Dir))
	advice := "all of them are archived; " + found.Command + " removes them, and sessctl does not touch them"
	if without > 0 {
		text += fmt.Sprintf(", %d in no archive", without)
		advice = "keep them: sessions in other directories may name them. To archive them first: sessctl archive --all --store " + runtime + "=DIRECTORY of those sessions; then copy what is left"
	}
	report.note(found.Dir, text, advice)
	return nil
}

// tellNotices reports what is odd in a store, without what was not read.
func tellNotices(report *findings, notices []session.Notice) {
	for _, n := range notices {
		if !n.Unread && n.Cause == "" {
			report.note(n.Path, n.Message, n.Hint)
		}
	}
}

// tellUnread reports what was seen and not read. That sessions are missing which
// should be read is a problem: as long as it lasts, nothing of them is archived.
func tellUnread(report *findings, rows []workspace.UnreadRow) {
	for _, r := range rows {
		tell := report.note
		if r.Broken {
			tell = report.problem
		}
		n := r.Note()
		tell(n.Path, n.Message, n.Hint)
	}
}

// examineMigration says of every leftover whether the database has all of it.
func examineMigration(ctx context.Context, report *findings, store session.LeftoverLister) error {
	all, err := store.Leftovers(ctx)
	contained := 0
	for _, l := range all {
		if l.Contained() {
			contained++
		}
	}
	if len(all) > 1 {
		report.ok("", "%s of the migration to the database, which has all of %d of them", wording.Plural(len(all), "leftover"), contained)
	}
	for _, l := range all {
		if l.Headed != "" && l.Headed != l.Named {
			report.note(l.Path, "its header names another session than its name: "+l.Headed, "the runtime's own doctor may leave such a log where it is")
		}
		switch {
		case l.Err != nil:
			report.warn(l.Path, "a leftover of the migration to the database, and whether that has it is not known: "+l.Err.Error(), "keep it")
		case l.Contained():
			report.note(l.Path, fmt.Sprintf("a leftover of the migration to the database, which has all %s of it", wording.Plural(l.Records, "record")),
				"nothing is lost if the runtime's own doctor takes it away (openclaw doctor --fix); sessctl does not touch it")
		default:
			report.warn(l.Path, fmt.Sprintf("a leftover of the migration to the database, which lacks %d of %s (%s)", l.Missing, wording.Plural(l.Records, "record"), l.First),
				"keep it; sessctl archive --agent "+l.Agent+" makes sure that its bytes are in the archive")
		}
	}
	return err
}

// examineReadable reports logs that this user cannot read: nothing archives them.
func examineReadable(report *findings, refs []session.Ref) {
	closed := 0
	for _, ref := range refs {
		err := durable.MayRead(ref.Path)
		if !ref.Kind.InFile() || err == nil || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if closed++; closed <= shownFiles {
			report.problem(ref.Path, "cannot be read: "+errors.Unwrap(err).Error(), "let this user read it (chmod u+r), or run sessctl as its owner: as it is, nothing archives it")
		}
	}
	if closed > shownFiles {
		report.problem("", fmt.Sprintf("%d more logs that cannot be read", closed-shownFiles), "")
	}
}

// examineReaders reports directories whose logs other users can read. database
// tells the file of a session that is no file; nil if it lies in none.
func examineReaders(report *findings, refs []session.Ref, database func(session.Ref) string) {
	open := map[string]int{}
	seen := map[string]bool{}
	for _, ref := range refs {
		path := ref.Path
		if ref.Kind == session.KindStored && database != nil {
			path = database(ref)
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
		report.note(dir, fmt.Sprintf("every user of this machine can read %s in it", wording.Plural(open[dir], "log")), "chmod o-rx one of the directories above them, if that is not meant")
	}
}

// othersReach says whether every user can reach what is in a directory.
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

// examineRuntimeLocks reports the runtimes' own locks: whose they are, and
// whether they still count.
func (d *checkup) examineRuntimeLocks(ctx context.Context) error {
	seen := 0
	for _, store := range d.stores {
		lister := store.Capabilities().Locks
		if lister == nil {
			continue
		}
		locks, err := lister.Locks(ctx, d.Now())
		if err != nil {
			return err
		}
		for _, lock := range locks {
			examineRuntimeLock(d.Run, d.findings, lock)
		}
		seen += len(locks)
	}
	if seen == 0 {
		d.ok("", "no runtime holds a lock")
	}
	return nil
}

func examineRuntimeLock(run *workspace.Run, report *findings, l session.RuntimeLock) {
	age := wording.Age(run.Now().Sub(l.Since))
	const remove = "the runtime removes it by itself"
	switch {
	case !l.Stale && l.Process == 0:
		report.note(l.Path, fmt.Sprintf("a lock that does not say whose it is, %s old: the session is taken for busy", age), "")
	case !l.Stale && l.Unseen:
		report.note(l.Path, fmt.Sprintf("names process %d since %s, which is not seen here: the session is busy until neither has changed for a day", l.Process, age),
			"if nobody uses the session, in another container or on another machine, remove this file")
	case !l.Stale:
		report.note(l.Path, fmt.Sprintf("process %d holds it since %s: the session is busy", l.Process, age), "")
	case l.Process == 0:
		report.note(l.Path, fmt.Sprintf("a lock that does not say whose it is, %s old: it does not count", age), remove)
	case l.Alive:
		report.note(l.Path, fmt.Sprintf("process %d has had it for %s, longer than the runtime itself allows: it does not count", l.Process, age), remove)
	case l.Unseen:
		report.note(l.Path, fmt.Sprintf("names process %d since %s, which is not seen here, and nobody has used the session for a day: it does not count", l.Process, age), remove)
	default:
		report.note(l.Path, fmt.Sprintf("left by process %d, which is gone, %s ago: it does not count", l.Process, age), remove)
	}
}
