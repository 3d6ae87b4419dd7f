package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/removal"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/retention"
	"github.com/sessctl/sessctl/pkg/session"
)

// examineData looks at the data directory: who owns it, and who else can read it.
func (d *checkup) examineData(context.Context) error {
	path := d.DataDir()
	info, err := os.Lstat(path)
	switch {
	case os.IsNotExist(err):
		d.ok(path, "no data directory yet; the first compaction makes it")
		return nil
	case err != nil:
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		if info, err = os.Stat(path); err != nil {
			d.problem(path, "a symbolic link that leads nowhere", "remove the link, or make the directory it names")
			return nil
		}
		d.note(path, "a symbolic link", "")
	}
	if !info.IsDir() {
		d.problem(path, "not a directory", "choose another place with --data-dir")
		return nil
	}
	d.examineOwner(path, info)
	d.examineWritable()
	d.examineParents(path)
	return d.examineModes(path)
}

func (d *checkup) examineOwner(path string, info os.FileInfo) {
	if uid, known := durable.Owner(info); known && uid != os.Geteuid() {
		d.warn(path, fmt.Sprintf("belongs to user %d, and this is user %d", uid, os.Geteuid()), "run sessctl as its owner")
	}
	mode := info.Mode().Perm()
	switch {
	case runtime.GOOS == "windows":
	case mode&0o002 != 0:
		d.problem(path, fmt.Sprintf("everybody can change what is in it (mode %v): no command that changes something works there", mode), "chmod 700 it")
	case mode&0o020 != 0:
		d.warn(path, fmt.Sprintf("its group can change what is in it (mode %v)", mode), "chmod 700 it")
	}
}

// examineWritable looks for directories of ours in which this user can make no
// file: reading goes on there, and every command that changes something fails.
func (d *checkup) examineWritable() {
	for _, dir := range append(d.app.OwnDirs(), d.CatalogueDir()) {
		if err := durable.MayWrite(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			d.warn(dir, "cannot be written ("+errors.Unwrap(err).Error()+"): every command that changes something fails", "chmod -R u+w "+d.DataDir()+", or run sessctl as its owner")
			return // what is below it is likely the same
		}
	}
}

// examineParents looks for directories above in which anybody can put another
// in the place of ours.
func (d *checkup) examineParents(path string) {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && audit.Replaceable(info) {
			d.problem(dir, fmt.Sprintf("anybody can rename what is in it (mode %v)", info.Mode().Perm()), "chmod o-w it, or choose another place with --data-dir")
		}
		if dir == filepath.Dir(dir) {
			return
		}
	}
}

// examineModes looks for files of ours that others can read. They are made for
// their user alone; a copy or a restored backup may have lost that.
func (d *checkup) examineModes(root string) error {
	open, err := audit.OpenToOthers(root)
	if err != nil {
		return err
	}
	for i, path := range open {
		if i == audit.ShownFiles {
			d.warn(root, fmt.Sprintf("%d more files that other users can read or change", len(open)-audit.ShownFiles), "chmod -R go= "+root)
			return nil
		}
		d.warn(path, "other users can read or change it", "chmod go= it")
	}
	if len(open) == 0 {
		d.ok(root, "private: no other user can read it")
	}
	return nil
}

// examineLock says whether a run is under way, or was killed.
func (d *checkup) examineLock(context.Context) error {
	path := filepath.Join(d.DataDir(), "lock")
	state, err := durable.LookAtLock(path)
	switch {
	case err != nil:
		d.problem(path, err.Error(), "look at what it is; sessctl cannot lock it")
	case state.Held:
		who := ""
		if state.Process != 0 {
			who = fmt.Sprintf(" (process %d)", state.Process)
		}
		d.note(path, "another sessctl is running"+who+"; what is seen here may change", "")
	case state.Process != 0:
		d.note(path, fmt.Sprintf("process %d ended without giving it back; it is free", state.Process), "the next run finishes what that one began; or sessctl doctor --fix")
	default:
		d.ok(path, "not locked: no other sessctl is running")
	}
	return nil
}

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
	if len(stores) == 0 {
		d.note(d.Home(), "no session store is found", "name one with --store runtime=path")
	}
	for _, store := range stores {
		listing, err := store.List(ctx)
		if err != nil {
			d.problem(store.Root(), err.Error(), "")
			continue
		}
		d.sessions.Add(store, listing)
		d.ok(store.Root(), "%s: %s, %s", store.Runtime(), wording.Plural(len(listing.Agents), "agent"), wording.Plural(len(listing.Refs), "log"))
		d.tellNotices(listing)
		d.examineReadable(listing.Refs)
		d.examineReaders(listing.Refs, store.Capabilities().DatabaseFile)
		if lister := store.Capabilities().Leftovers; lister != nil {
			if err := d.examineMigration(ctx, lister); err != nil {
				return err
			}
		}
		if attacher := store.Capabilities().Attacher; attacher != nil {
			if err := d.examineUnnamed(ctx, store.Runtime(), attacher); err != nil {
				return err
			}
		}
		if lister := store.Capabilities().Deleted; lister != nil {
			if err := d.examineDeleted(ctx, store.Runtime(), lister); err != nil {
				return err
			}
		}
	}
	return nil
}

// examineDeleted says what a runtime's own delete has left of sessions.
func (d *checkup) examineDeleted(ctx context.Context, runtime string, store session.DeletedLister) error {
	all, err := store.Deleted(ctx)
	for _, x := range all {
		switch {
		case x.Err != nil:
			d.warn(x.Database, "whether it has rows of deleted sessions is not known: "+x.Err.Error(), "")
		case x.Rows > 0:
			d.note(x.Database, fmt.Sprintf("%s (%s) of %s can still be read in it", wording.Plural(x.Rows, "row"), wording.Bytes(x.Bytes), wording.Plural(x.Sessions, "deleted session")),
				"stop the program, then: sessctl compact --runtime "+runtime+" --shrink=deleted,vacuum archives and removes them")
		}
	}
	return err
}

// examineUnnamed says how much of the disk files fill that no log names any more,
// and whether an archive has them.
func (d *checkup) examineUnnamed(ctx context.Context, runtime string, store session.Attacher) error {
	found, err := store.Unnamed(ctx)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		d.warn(found.Dir, "whether it has files that no log names is not known: "+err.Error(), "")
		return nil
	case len(found.Files) == 0:
		return nil
	}
	archives, err := d.OpenArchive()
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
	text := fmt.Sprintf("%s (%s) that no log names any more", wording.Plural(len(found.Files), "file"), wording.Bytes(bytes))
	if without > 0 {
		text += fmt.Sprintf(", %d in no archive", without)
	}
	d.note(found.Dir, text, found.Command+" removes them; sessctl does not touch them")
	return nil
}

// tellNotices reports what was skipped. That all sessions of an agent are, is
// more than a note, and that nobody knows what was skipped is a problem: as long
// as it lasts, nothing of it is archived.
func (d *checkup) tellNotices(listing session.Listing) {
	for _, n := range listing.Notices {
		tell := d.note
		if slices.ContainsFunc(listing.Refs, func(ref session.Ref) bool { return ref.Kind == session.KindDatabase && ref.Path == n.Path }) {
			tell = d.warn
		}
		if n.Unread {
			tell = d.problem
		}
		tell(n.Path, n.Message, n.Hint)
	}
}

// examineMigration says of every leftover whether the database has all of it.
func (d *checkup) examineMigration(ctx context.Context, store session.LeftoverLister) error {
	all, err := store.Leftovers(ctx)
	contained := 0
	for _, l := range all {
		if l.Contained() {
			contained++
		}
	}
	if len(all) > 1 {
		d.ok("", "%s of the migration to the database, which has all of %d of them", wording.Plural(len(all), "leftover"), contained)
	}
	for _, l := range all {
		if l.Headed != "" && l.Headed != l.Named {
			d.note(l.Path, "its header names another session than its name: "+l.Headed, "the runtime's own doctor may leave such a log where it is")
		}
		switch {
		case l.Err != nil:
			d.warn(l.Path, "a leftover of the migration to the database, and whether that has it is not known: "+l.Err.Error(), "keep it")
		case l.Contained():
			d.note(l.Path, fmt.Sprintf("a leftover of the migration to the database, which has all %s of it", wording.Plural(l.Records, "record")),
				"nothing is lost if the runtime's own doctor takes it away (openclaw doctor --fix); sessctl does not touch it")
		default:
			d.warn(l.Path, fmt.Sprintf("a leftover of the migration to the database, which lacks %d of %s (%s)", l.Missing, wording.Plural(l.Records, "record"), l.First),
				"keep it; sessctl archive --agent "+l.Agent+" makes sure that its bytes are in the archive")
		}
	}
	return err
}

// examineReadable reports logs that this user cannot read: nothing archives them.
func (d *checkup) examineReadable(refs []session.Ref) {
	closed := 0
	for _, ref := range refs {
		err := durable.MayRead(ref.Path)
		if !ref.Kind.InFile() || err == nil || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if closed++; closed <= audit.ShownFiles {
			d.problem(ref.Path, "cannot be read: "+errors.Unwrap(err).Error(), "let this user read it (chmod u+r), or run sessctl as its owner: as it is, nothing archives it")
		}
	}
	if closed > audit.ShownFiles {
		d.problem("", fmt.Sprintf("%d more logs that cannot be read", closed-audit.ShownFiles), "")
	}
}

// examineReaders reports directories whose logs other users can read. database
// tells the file of a session that is no file; nil if it lies in none.
func (d *checkup) examineReaders(refs []session.Ref, database func(session.Ref) string) {
	open := map[string]int{}
	seen := map[string]bool{}
	for _, ref := range refs {
		path := ref.Path
		if ref.Kind == session.KindStored && database != nil {
			path = database(ref)
		}
		info, err := os.Stat(path)
		if err == nil && !seen[path] && runtime.GOOS != "windows" && info.Mode().Perm()&0o004 != 0 && audit.OthersReach(filepath.Dir(path)) {
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
		d.note(dir, fmt.Sprintf("every user of this machine can read %s in it", wording.Plural(open[dir], "log")), "chmod o-rx one of the directories above them, if that is not meant")
	}
}

// placesOfLeftovers lists where killed runs can leave something: our own
// directories, and those of the logs that they change.
func (d *checkup) placesOfLeftovers(ctx context.Context) ([]audit.OwnDir, error) {
	var dirs []audit.OwnDir
	add := func(dir, advice string) {
		if !slices.ContainsFunc(dirs, func(o audit.OwnDir) bool { return o.Dir == dir }) {
			dirs = append(dirs, audit.OwnDir{Dir: dir, Advice: advice})
		}
	}
	for _, dir := range d.app.OwnDirs() {
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

// examineArchives compares catalogue, receipts and files with each other. The
// bytes themselves are read by archive verify.
func (d *checkup) examineArchives(ctx context.Context) error {
	store, err := d.OpenArchive()
	if err != nil {
		return err
	}
	entries, err := store.List(ctx, archive.Filter{})
	if err != nil {
		return err
	}
	broken, err := store.Damaged(ctx)
	if err != nil {
		return err
	}
	for _, b := range broken {
		d.damaged(b.Path, b.Err.Error(), "archive that session again: that writes the entry again; the archive itself is still there")
	}
	dirs := map[string]bool{}
	for _, e := range entries {
		d.examineArchive(e)
		if dir := filepath.Dir(e.Path); !dirs[dir] {
			dirs[dir] = true
			if info, err := os.Stat(dir); err == nil && audit.WritableByOthers(info) {
				d.warn(dir, "others can change what is in it", "chmod go-w it")
			}
		}
	}
	if err := d.examineReceipts(ctx, entries); err != nil {
		return err
	}
	only := ""
	if d.offSite > 0 {
		only = fmt.Sprintf(" (%d only on object storage)", d.offSite)
	}
	d.ok("", "%s%s, %s; sessctl archive verify reads them in full", wording.Plural(len(entries), "archive"), only, wording.Plural(len(d.receipts), "receipt"))
	if len(entries) > 0 {
		d.examineChecks()
	}
	d.examinePurges(entries)
	return nil
}

// examineChecks warns of what archive verify has found, until a verify that is as
// thorough finds nothing: only that reads the bytes, so nothing else here sees a
// rotten one.
func (d *checkup) examineChecks() {
	checks, err := audit.RecordedChecks(d.app.Run)
	if err != nil {
		d.warn(audit.ChecksPath(&d.app.Run.Settings), err.Error(), "")
	}
	if bad, found := audit.Unsettled(checks); found {
		d.warn("", audit.AboutCheck(bad), "sessctl archive verify lists what is damaged")
	}
}

// examinePurges says what runtimes are about to delete, and whether there is an
// archive of it.
func (d *checkup) examinePurges(entries []archive.Entry) {
	soon := selection.SoonPurged(&d.app.Run.Settings, d.sessions.Sessions)
	notes := selection.PurgeNotes(&d.app.Run.Settings, soon, selection.ArchivedStates(entries))
	for _, n := range notes {
		d.note(n.Path, n.Message, n.Hint)
	}
	if len(soon) > 0 && len(notes) == 0 {
		d.ok("", "runtimes delete %s within %d days by themselves; all of them are archived", wording.Plural(len(soon), "log"), int(selection.PurgeWarning.Hours()/24))
	}
}

func (d *checkup) examineArchive(e archive.Entry) {
	info, err := os.Lstat(e.Path)
	restore := "restore it from a backup; what memory has of it stays"
	if e.Remote != nil {
		restore = "move the file away: the copy " + e.Remote.URL + " is read in its place"
	}
	switch {
	case os.IsNotExist(err) && e.Remote != nil && d.Config.Archive.Remote != "":
		d.offSite++
	case os.IsNotExist(err) && e.Remote != nil:
		d.damaged(e.Path, "archive "+e.ID+" is only on object storage", "set archive.remote, so that "+e.Remote.URL+" can be read")
	case os.IsNotExist(err):
		d.damaged(e.Path, "archive "+e.ID+" is missing", restore)
	case err != nil:
		d.problem(e.Path, err.Error(), "")
	case !info.Mode().IsRegular():
		d.damaged(e.Path, "archive "+e.ID+" is not a regular file", restore)
	case info.Size() != e.StoredBytes:
		d.damaged(e.Path, fmt.Sprintf("archive %s has %d bytes, its entry says %d", e.ID, info.Size(), e.StoredBytes), restore)
	case info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows":
		d.warn(e.Path, "other users can read or change it", "chmod go= it")
	}
}

// examineReceipts reports receipts that do not fit their archives, and archives
// of compactions without a receipt.
func (d *checkup) examineReceipts(ctx context.Context, entries []archive.Entry) (err error) {
	if d.proofs, err = audit.NewReceiptAudit(ctx, d.app.Run); err != nil {
		return err
	}
	d.receipts = d.proofs.Receipts
	d.proofs.AgainstCatalogue(ctx)
	for _, f := range d.proofs.Found {
		d.damaged(f.Path, f.About(), "restore it from a backup; without it nothing proves what that run did")
	}
	proven := d.provenArchives()
	for _, e := range entries {
		if e.Reason == "compact" && !proven[e.ID] {
			d.note(e.Path, "no receipt names archive "+e.ID+": its compaction was cut off or found the session busy, or it is of late lines, or an undo has replaced that log", "")
		}
	}
	return nil
}

// provenArchives are the ids of the archives that receipts or the journal name.
func (d *checkup) provenArchives() map[string]bool {
	proven := map[string]bool{}
	for _, r := range d.receipts {
		if r.Archive != nil {
			proven[r.Archive.ID] = true
		}
		if r.Late != nil {
			proven[r.Late.ID] = true
		}
		if r.Undo != nil && r.Undo.Newer != nil {
			proven[r.Undo.Newer.ID] = true
		}
	}
	for _, in := range d.intents {
		proven[in.Archive.ID] = true
	}
	return proven
}

// examineMemory checks the memory without leaving a trace in it.
func (d *checkup) examineMemory(ctx context.Context) error {
	d.examineSetAside()
	path := filepath.Join(d.MemoryDir(), "memory.db")
	before := audit.StatOf(path)
	err := d.verifyMemory(ctx)
	if err != nil { // it was not asked for these
		for _, l := range memory.LostForgottenFiles(d.MemoryDir()) {
			d.damaged(l.Path, l.Message(), workspace.AdviseForgotten)
		}
	}
	changed := before != audit.StatOf(path) || workspace.AtWork(&d.app.Run.Settings)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !changed && d.lacking(ctx, nil) > 0:
		d.damaged(path, "there are receipts and no memory", "sessctl memory reindex --from-archives")
	case errors.Is(err, fs.ErrNotExist):
		d.ok(path, "no memory yet")
	case errors.Is(err, memory.ErrInUse):
		d.note(path, err.Error(), "sessctl doctor --fix, or any next run, writes it down; sessctl memory verify checks it as it is")
	case errors.Is(err, memory.ErrCorrupt) && !changed:
		d.damaged(path, err.Error(), "sessctl memory reindex --from-archives")
	case err != nil && changed:
		d.note(path, "not checked: another sessctl is using it", "")
	case errors.Is(err, memory.ErrNewerSchema):
		d.problem(path, err.Error(), "use that sessctl")
	default:
		return err
	}
	return nil
}

func (d *checkup) verifyMemory(ctx context.Context) error {
	store, err := memory.Open(ctx, d.MemoryDir(), memory.Options{NoTrace: true})
	if err != nil {
		return err
	}
	defer store.Close()
	problems, err := store.Verify(ctx)
	if err != nil {
		return err
	}
	if len(problems) > 0 && workspace.AtWork(&d.app.Run.Settings) {
		return audit.ErrUnsound
	}
	for _, p := range problems {
		d.damaged(p.Path, p.Message, audit.AdviseMemory(p.Path, d.MemoryDir()))
	}
	stats, err := store.Stats(ctx)
	if err != nil || len(problems) > 0 {
		return err
	}
	if lacking := d.lacking(ctx, store); lacking > 0 && workspace.AtWork(&d.app.Run.Settings) {
		return audit.ErrUnsound
	} else if lacking > 0 {
		for _, f := range d.proofs.Found[len(d.proofs.Found)-lacking:] {
			d.damaged(f.Path, f.About(), workspace.AdviseRebuild)
		}
		return nil
	}
	d.reportMemory(stats)
	due, err := store.WipeIsDue(ctx)
	if err != nil || due {
		d.warn(d.MemoryDir(), "a forget was cut off: traces of what was forgotten are still in its files", audit.AdviseFix)
	}
	return err
}

// lacking counts what receipts say was stored and memory, nil if there is none,
// does not have.
func (d *checkup) lacking(ctx context.Context, store *memory.Store) int {
	if d.proofs == nil {
		return 0 // the archives could not be looked at, which was said
	}
	before := len(d.proofs.Found)
	if err := d.proofs.AgainstMemory(ctx, store); err != nil {
		d.problem(d.MemoryDir(), err.Error(), "")
	}
	return len(d.proofs.Found) - before
}

func (d *checkup) reportMemory(stats memory.Stats) {
	records, pending := 0, 0
	for _, s := range stats.Agents {
		records += s.Records
		pending += s.Unembedded
	}
	if pending > 0 {
		d.note(d.MemoryDir(), fmt.Sprintf("%s without a vector; found by their words until then", wording.Plural(pending, "record")), "sessctl memory reindex --pending")
	}
	d.ok(d.MemoryDir(), "%s, %s, sound", wording.Plural(records, "record"), wording.Bytes(stats.Bytes))
}

// examineSetAside reports damaged memories that are kept.
func (d *checkup) examineSetAside() {
	for _, path := range audit.SetAside(&d.app.Run.Settings) {
		d.note(path, "a damaged memory that was set aside", "remove it when you are sure that you do not need it")
	}
}

// examineClock looks for what has not happened yet.
func (d *checkup) examineClock(context.Context) error {
	recorded, err := audit.Recorded(d.app.Run)
	if err != nil {
		return err
	}
	for _, r := range d.receipts {
		recorded = append(recorded, retention.Recorded{At: r.At, Path: d.app.Receipts().Path(r.ID), What: "the last run"})
	}
	wrong, err := audit.Clock(d.app.Run).Check(d.Now(), recorded)
	if wrong == nil && err == nil {
		d.ok("", "no receipt and no deletion has a date in the future")
		return nil
	}
	if wrong == nil {
		return err
	}
	d.warn(wrong.Path, err.Error()+", which is in the future", removal.AdviseClock)
	return nil
}
