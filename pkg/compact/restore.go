package compact

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// Restored is the outcome of a restore, beside Planned and NothingToDo.
const Restored Outcome = "restored"

// RestoreRequest says what to put back and where.
type RestoreRequest struct {
	Archive Archived
	ModTime time.Time     // of the log when it was archived, or zero
	Place   session.Place // where it goes
	Store   session.Store // that the place is in; nil outside of every store
	Force   bool          // replace a log with other bytes, once it is archived
	Quiet   time.Duration // how long such a log must have been untouched, unless it is as a compaction left it
}

// Destination says where an archived log is wanted.
type Destination struct {
	Log session.Ref // the session as it was archived; its Path is where the log was
	To  string      // the path of another file instead, or ""
}

// path is where the log goes.
func (d Destination) path() string { return cmp.Or(d.To, d.Log.Path) }

// ErrDirectory is returned for a destination that is a directory.
var ErrDirectory = errors.New("is a directory")

// FindPlace finds the place of a destination: in the store that it lies in, or
// with To in a file outside of every store. It changes nothing.
//
// An error that wraps [session.ErrElsewhere] is returned when the log was in no
// store of its runtime into which a log can be put, [ErrDirectory] for a To that
// is a directory, and what [session.Restorer].Place returns for its store.
func FindPlace(ctx context.Context, stores []session.Store, d Destination, now time.Time) (session.Place, session.Store, error) {
	for _, s := range stores {
		restorer := s.Capabilities().Restorer
		if restorer == nil || d.To == "" && s.Runtime() != d.Log.Runtime {
			continue // of a runtime whose logs are put back by hand, with To
		}
		place, err := restorer.Place(ctx, d.path(), now)
		if !errors.Is(err, session.ErrElsewhere) {
			return place, s, err
		}
	}
	if d.To == "" {
		return session.Place{}, nil, fmt.Errorf("%s: %w", d.Log.Path, session.ErrElsewhere)
	}
	place, err := placeAnywhere(d, now)
	return place, nil, err
}

// placeAnywhere is a file outside of every store.
func placeAnywhere(d Destination, now time.Time) (session.Place, error) {
	name := func(t time.Time) string { return d.To + ".replaced." + t.UTC().Format("2006-01-02T15-04-05.000Z") }
	p := session.Place{Path: d.To, Kept: name(now), SecondKept: name(now.Add(time.Second)), Ref: session.Ref{
		Runtime: d.Log.Runtime, Agent: d.Log.Agent, ID: d.Log.ID, Path: d.To, Kind: session.KindOrphan,
	}}
	info, err := os.Lstat(d.To)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return p, nil
	case err != nil:
		return p, fmt.Errorf("look at %s: %w", d.To, err)
	case info.IsDir():
		return p, fmt.Errorf("%s %w", d.To, ErrDirectory)
	}
	p.There, p.Like = true, info
	return p, nil
}

// RestorePlan says what a restore would do. It is data and keeps nothing open;
// making one changes nothing.
type RestorePlan struct {
	RestoreRequest
	Outcome Outcome // Planned or NothingToDo
	Reason  string
	// There is what is at the place now and would be archived and replaced,
	// nil if there is nothing.
	There *session.Snapshot
}

// DifferentError is returned when a log is to be put back where other bytes
// are, and they were not to be replaced.
type DifferentError struct {
	Path string
	// Reason says how they differ: which is newer and which is longer.
	Reason string
	// Owned is true where only the runtime changes its logs, so that they are
	// never replaced.
	Owned bool
}

// Error implements error.
func (e *DifferentError) Error() string { return e.Path + " is there already: " + e.Reason }

// PlanRestore reads the archive to its end, so that a damaged one is noticed
// before anything is done, and looks at what is at the place. A
// [*DifferentError] is returned for other bytes without Force, a
// [*session.BusyError] if somebody may be writing them, a [*StuckError] if an
// earlier change of the session is not finished, and an error that wraps
// [session.ErrUnsupported] if the store is no [session.Restorer].
func (c *Compactor) PlanRestore(ctx context.Context, r RestoreRequest) (*RestorePlan, error) {
	return c.restoring().plan(ctx, r)
}

// plan is [Compactor.PlanRestore].
func (r restoring) plan(ctx context.Context, request RestoreRequest) (*RestorePlan, error) {
	p := &RestorePlan{RestoreRequest: request, Outcome: Planned}
	if request.Store != nil && request.Store.Capabilities().Restorer == nil {
		return nil, fmt.Errorf("%w: logs of %s cannot be put back", session.ErrUnsupported, request.Store.Runtime())
	}
	if err := r.changes.journal.notStuck(request.Place.Ref); err != nil {
		return nil, err
	}
	if err := r.archives.readBack(ctx, request.Archive); err != nil {
		return nil, fmt.Errorf("read the archive: %w", err)
	}
	log, err := r.files.pins.OpenRegular(request.Place.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return p, nil
	case err != nil:
		return nil, fmt.Errorf("open what is there: %w", asBusy(request.Place.Path, err))
	}
	defer log.Close()
	there, err := session.TakeSnapshot(ctx, log, request.Place.Path)
	if err != nil {
		return nil, fmt.Errorf("read what is there: %w", err)
	}
	if there.SHA256 == request.Archive.SHA256 {
		p.Outcome, p.Reason = NothingToDo, session.ReasonSameBytes.Text()
		return p, nil
	}
	p.There = &there
	if p.Store != nil && (there.Size == 0 || p.Place.Blank) && !p.Place.Owned {
		p.Force = true // nothing is in it that could be newer
	}
	return p, r.mayReplace(ctx, p, log)
}

// mayReplace returns an error unless what is there may be replaced.
func (r restoring) mayReplace(ctx context.Context, p *RestorePlan, log *os.File) error {
	if info, err := log.Stat(); err != nil {
		return fmt.Errorf("look at what is there: %w", err)
	} else if durable.Identify(info).Links > 1 {
		return fmt.Errorf("%w: %s: a file with several names (hard links)", session.ErrUnsupported, p.Place.Path)
	}
	if p.Store != nil {
		there := session.Ref{Runtime: p.Store.Runtime(), Path: p.Place.Path, Kind: session.KindLive}
		if reason := logfile.Claimed(p.Store, there); reason != "" {
			return logfile.Unsupported(p.Place.Path, reason)
		}
	}
	if !p.Force || p.Place.Owned {
		grown, err := session.Snapshot{Size: p.Archive.Bytes, SHA256: p.Archive.SHA256}.Begins(ctx, log)
		if err != nil {
			return err
		}
		return &DifferentError{Path: p.Place.Path, Reason: p.difference(grown), Owned: p.Place.Owned}
	}
	if p.Store == nil {
		return nil
	}
	restorer := p.Store.Capabilities().Restorer
	err := restorer.Unused(ctx, p.Place.Path, r.files.now(), p.Quiet)
	if !errors.Is(err, session.ErrBusy) {
		return err
	}
	if ours, listErr := r.changes.receipts.isAsLeft(ctx, p.Place.Path, log); listErr != nil || !ours {
		return errors.Join(err, listErr)
	}
	return restorer.Unused(ctx, p.Place.Path, r.files.now(), 0)
}

// isAsLeft reports whether a log that would be replaced has exactly the bytes
// that a compaction left at its place: the time of its last change is that of
// the compaction then, and tells nothing of a writer. An empty log of a runtime
// that may be rewriting it tells nothing either ([session.CheckWhole]).
func (r Receipts) isAsLeft(ctx context.Context, path string, log *os.File) (bool, error) {
	receipts, _, err := r.Examine() // one that cannot be read proves nothing
	if err != nil {
		return false, err
	}
	for _, by := range receipts {
		if by.Outcome != Compacted || by.After == nil || by.After.Size == 0 || by.Rotation == nil || by.Rotation.Live != path {
			continue
		}
		if same, err := isLog(ctx, log, *by.After, by.Source); err != nil || same {
			return same, err
		}
	}
	return false, nil
}

// difference says which of the two is newer and which is longer.
func (p *RestorePlan) difference(grown bool) string {
	there, length := p.There, "as long as the archive"
	switch n := there.Size - p.Archive.Bytes; {
	case grown:
		length = fmt.Sprintf("it has the archived bytes and %d more", n)
	case n > 0:
		length = fmt.Sprintf("%d bytes longer than the archive", n)
	case n < 0:
		length = fmt.Sprintf("%d bytes shorter than the archive", -n)
	}
	stamp := there.ModTime.Format(time.RFC3339)
	switch {
	case p.ModTime.IsZero():
		return fmt.Sprintf("changed %s, with other bytes, %s", stamp, length)
	case there.ModTime.After(p.ModTime):
		return fmt.Sprintf("it is newer (changed %s, archived as of %s) and %s", stamp, p.ModTime.UTC().Format(time.RFC3339), length)
	}
	return fmt.Sprintf("it is not newer (changed %s, archived as of %s), but has other bytes, %s", stamp, p.ModTime.UTC().Format(time.RFC3339), length)
}

// RestoreResult says what a restore did.
type RestoreResult struct {
	Outcome  Outcome
	Replaced *Archived // the verified copy of what was there, or nil
	Kept     string    // where that log lies now, or ""
}

// Restore carries a plan out. A log that was not there is written to a
// temporary file, synced, and gets its name, which must still be free. A log
// that is there is archived first, the restored bytes are written beside it,
// and the two files are exchanged in one step while a lease proves that nobody
// has the old one open; its inode is kept and looked after by later runs, as
// after a rotation.
//
// The restored file has the time of the restore as its modification time, not
// that of the archived log: runtimes delete by age (Claude Code at its start,
// after 30 days) and continue what was written last (pi), so a log with its
// old time could be gone, or passed over, before anybody has looked at it.
//
// A journal entry is durable before the first change, so that the next run
// removes what a killed one leaves. A [*session.BusyError] changes nothing.
func (c *Compactor) Restore(ctx context.Context, p *RestorePlan) (RestoreResult, error) {
	if p.Outcome != Planned {
		return RestoreResult{Outcome: p.Outcome}, nil
	}
	in := Intent{Schema: 1, ID: c.NewID(), Kind: KindRestore, Restore: &Restoration{Path: p.Place.Path, Archive: p.Archive}}
	in.Rotation = session.Rotation{
		Runtime: p.Place.Ref.Runtime, Agent: p.Place.Ref.Agent, Session: p.Place.Ref.ID, Store: p.Place.Ref.Store, Live: p.Place.Path, At: c.Now().UTC(),
	}
	if p.There == nil {
		result, err := c.restoring().putNew(ctx, p, in)
		if err != nil {
			return result, err
		}
		return result, c.Journal.remove(in.ID)
	}
	return c.restoring().putOver(ctx, p, in)
}

// restoring puts archived logs where they were.
type restoring struct {
	archives archives
	files    logFiles
	changes  changes
}

// putNew puts a log where there is none. Its intent stays.
func (r restoring) putNew(ctx context.Context, p *RestorePlan, in Intent) (RestoreResult, error) {
	if err := r.changes.journal.Write(in); err != nil {
		return RestoreResult{}, fmt.Errorf("write the intent: %w", err)
	}
	place, err := r.files.makePlace(ctx, p)
	if err == nil {
		err = r.writeNew(ctx, place, p.Archive)
	}
	if errors.Is(err, durable.ErrExists) {
		err = &session.BusyError{Path: p.Place.Path, Reason: session.ReasonJustMade.Text()}
	}
	if err != nil {
		return RestoreResult{}, errors.Join(err, r.drop(in))
	}
	return RestoreResult{Outcome: Restored}, record(ctx, p.Store, in)
}

// record lets the store say beside the log what is in it now.
func record(ctx context.Context, store session.Store, in Intent) error {
	recorder := session.CapabilitiesOf(store).Recorder
	if recorder == nil {
		return nil
	}
	if err := recorder.Record(ctx, in.Restore.Path, in.Restore.Before); err != nil {
		return fmt.Errorf("note beside the log what is in it: %w", err)
	}
	return nil
}

// makePlace makes the directory, if it is missing, and asks the store again:
// what is on the way to it may lead elsewhere.
func (f logFiles) makePlace(ctx context.Context, p *RestorePlan) (session.Place, error) {
	if err := f.pins.MakeDir(filepath.Dir(p.Place.Path), 0o700); err != nil || p.Store == nil {
		return p.Place, err
	}
	place, err := p.Store.Capabilities().Restorer.Place(ctx, p.Place.Path, f.now())
	if err == nil && place.There {
		err = durable.ErrExists
	}
	place.Like = p.Place.Like
	return place, err
}

// openPlace opens the directory of a place, if it is the one that was looked at:
// what is done there is done in it, wherever its path leads by then.
func (f logFiles) openPlace(p session.Place) (*logfile.Dir, error) {
	d, err := logfile.DirOf(f.pins, p.Ref.Store, p.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, logfile.Gone(p.Path)
	}
	if err != nil || p.In == nil {
		return d, err
	}
	opened, err := d.Root.Stat(".")
	if err == nil && !os.SameFile(opened, p.In) {
		err = &session.BusyError{Path: d.Path, Reason: session.ReasonDirectoryReplaced.Text()}
	}
	if err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// writeNew makes the log at a place where there is none.
func (r restoring) writeNew(ctx context.Context, place session.Place, a Archived) error {
	d, err := r.files.openPlace(place)
	if err != nil {
		return err
	}
	defer d.Close()
	return r.writeCopy(ctx, d, copyOf{filepath.Base(place.Path), place.Like, a})
}

// drop ends a restore that changed nothing.
func (r restoring) drop(in Intent) error {
	if err := in.Restore.sweep(r.files.pins, in.Rotation.Kept); err != nil {
		return err
	}
	return r.changes.journal.remove(in.ID)
}

// copyOf is a file that is to be made of an archive's bytes.
type copyOf struct {
	name    string
	like    os.FileInfo
	archive Archived
}

// writeCopy makes a file of an archive's bytes. They are read back before it
// gets its name: from then on an agent may write it.
func (r restoring) writeCopy(ctx context.Context, d *logfile.Dir, of copyOf) error {
	write := func(w io.Writer) error { return r.archives.copyTo(ctx, w, of.archive) }
	return durable.CreateCheckedIn(d.Root, of.name, of.like, write, func(temp string) error { return confirm(ctx, d, temp, of.archive) })
}

// copyTo copies an archived log. The reader checks length and hash at its
// end, so nothing else is ever given the log's name.
func (a archives) copyTo(ctx context.Context, w io.Writer, of Archived) error {
	r, err := a.Open(ctx, of)
	if err != nil {
		return fmt.Errorf("open the archive: %w", err)
	}
	defer r.Close()
	n, err := io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{r}, make([]byte, 256<<10))
	if err != nil {
		return fmt.Errorf("copy the archive: %w", err)
	}
	if n != of.Bytes {
		return fmt.Errorf("copy the archive: %d bytes, expected %d", n, of.Bytes)
	}
	return nil
}

// confirm reads a file of a directory and compares it with an archive's hash.
func confirm(ctx context.Context, d *logfile.Dir, path string, a Archived) error {
	f, err := durable.OpenRegularIn(d.Root, filepath.Base(path))
	if err != nil {
		return fmt.Errorf("read back: %w", err)
	}
	defer f.Close()
	snap, err := session.TakeSnapshot(ctx, f, path)
	if err != nil {
		return fmt.Errorf("read back: %w", err)
	}
	if snap.SHA256 != a.SHA256 {
		return fmt.Errorf("read back %s: it has sha256 %s, expected %s", path, snap.SHA256, a.SHA256)
	}
	return nil
}

// snapshot hashes the log at a path as it is now.
func (f logFiles) snapshot(ctx context.Context, path string) (session.Snapshot, error) {
	log, err := f.pins.OpenRegular(path)
	if err != nil {
		return session.Snapshot{}, err
	}
	defer log.Close()
	return session.TakeSnapshot(ctx, log, path)
}

// putOver puts a log in the place of another.
func (r restoring) putOver(ctx context.Context, p *RestorePlan, in Intent) (RestoreResult, error) {
	replaced, err := r.secureReplaced(ctx, p)
	if err != nil {
		return RestoreResult{}, err
	}
	in.Archive, in.Settled = replaced, p.There.Size
	in.Rotation.Kept, in.Rotation.Snapshot, in.Restore.SecondKept = p.Place.Kept, *p.There, p.Place.SecondKept
	if err := r.changes.journal.Write(in); err != nil {
		return RestoreResult{}, fmt.Errorf("write the intent: %w", err)
	}
	kept, err := r.exchange(ctx, in, p.Place)
	if err != nil {
		return RestoreResult{}, errors.Join(err, r.abandon(ctx, in))
	}
	result := RestoreResult{Outcome: Restored, Replaced: &replaced, Kept: kept}
	if err := record(ctx, p.Store, in); err != nil {
		return result, err
	}
	in.Switched = true
	return result, r.changes.journal.Write(in)
}

// secureReplaced archives what is at the place, as the plan has read it; an
// empty log has nothing to archive.
func (r restoring) secureReplaced(ctx context.Context, p *RestorePlan) (Archived, error) {
	log, err := openLog(r.files.pins, p.Place.Ref.Store, p.Place.Path)
	if err != nil {
		return Archived{}, err
	}
	defer log.Close()
	info, err := log.Stat()
	if err != nil {
		return Archived{}, fmt.Errorf("look at what is there: %w", err)
	}
	if err := p.There.Matches(info); err != nil {
		return Archived{}, err
	}
	if p.There.Size == 0 {
		return Archived{SHA256: p.There.SHA256}, nil
	}
	archived, err := r.archives.Put(ctx, p.Place.Ref, *p.There, io.NewSectionReader(log, 0, p.There.Size))
	if err != nil {
		return Archived{}, fmt.Errorf("archive what is there: %w", cutShort(p.Place.Ref, err))
	}
	if archived.SHA256 != p.There.SHA256 {
		return Archived{}, &session.BusyError{Path: p.Place.Path, Reason: session.ReasonChangedArchived.Text()}
	}
	return archived, nil
}

// abandon removes the copy that was written beside the place, if the log there
// was not replaced. Otherwise the intent stays for the next run.
func (r restoring) abandon(ctx context.Context, in Intent) error {
	snap, err := r.files.snapshot(ctx, in.Restore.Path)
	if err != nil || snap.SHA256 == in.Restore.Archive.SHA256 || ctx.Err() != nil {
		return nil // the first error says what happened; the next run settles
	}
	return r.settle(ctx, nil, in)
}

// exchange writes the restored bytes beside the log and exchanges the two, once
// nobody has the log open and it still is what was archived. It returns where
// the old log's inode is then.
func (r restoring) exchange(ctx context.Context, in Intent, place session.Place) (kept string, err error) {
	d, err := r.files.openPlace(place)
	if err != nil {
		return "", err
	}
	defer d.Close()
	if err := r.writeCopy(ctx, d, copyOf{filepath.Base(in.Rotation.Kept), place.Like, in.Restore.Archive}); err != nil {
		return "", err
	}
	held, err := r.files.replacement(in, d).Hold()
	if err != nil {
		return "", err
	}
	defer held.Close()
	if err := held.Check(); err != nil {
		return "", err
	}
	return held.Exchange(ctx, in.Rotation.Kept)
}

// replacement is the change of the log that is replaced. The restored bytes wait
// where it goes when the two are exchanged.
func (f logFiles) replacement(in Intent, d *logfile.Dir) *logfile.Change {
	plan := session.Shortening{
		Rotation: session.Rotation{Live: in.Restore.Path, Kept: in.Restore.SecondKept, Snapshot: in.Rotation.Snapshot},
		After:    session.LogProof{Size: in.Restore.Archive.Bytes, SHA256: in.Restore.Archive.SHA256},
	}
	return &logfile.Change{Dir: d, Plan: plan, System: f.system}
}

// replaces reports whether a restore takes the place of a log: only then there
// is a second name for that one.
func (in Intent) replaces() bool { return in.Restore.SecondKept != "" }

// settle finishes a restore that an earlier run began. A log that was
// not there before is there whole or not at all; one that was replaced is
// looked after like a rotated one.
func (r restoring) settle(ctx context.Context, store session.Store, in Intent) error {
	if err := in.Restore.sweep(r.files.pins, in.Rotation.Kept); err != nil {
		return err
	}
	if err := r.recordRestored(ctx, store, in); err != nil {
		return err
	}
	if !in.replaces() {
		return r.drop(in)
	}
	for _, kept := range []string{in.Rotation.Kept, in.Restore.SecondKept} {
		if kept == "" {
			continue
		}
		held, err := r.settleAside(ctx, store, in, kept)
		if err == nil { // the log may have come to its place only now
			err = r.recordRestored(ctx, store, in)
		}
		if err != nil || held {
			return err
		}
	}
	return r.changes.journal.remove(in.ID)
}

// recordRestored is record for a restore that was killed before it came to it.
func (r restoring) recordRestored(ctx context.Context, store session.Store, in Intent) error {
	if in.Switched || session.CapabilitiesOf(store).Recorder == nil {
		return nil
	}
	back, err := r.files.isBack(ctx, in)
	if err != nil || !back {
		return err
	}
	return record(ctx, store, in)
}

// settleAside deals with one of the files beside a restored log: a copy of the
// archive that was not needed, or the log that was replaced. held is true when
// a writer may still have that one open, so that the next run must look again.
func (r restoring) settleAside(ctx context.Context, store session.Store, in Intent, path string) (held bool, err error) {
	kept, err := r.files.pins.OpenRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer kept.Close()
	in.Rotation.Kept = path
	free, release := r.files.unheld(kept, in.Rotation.At)
	defer release()
	snap, err := session.TakeSnapshot(ctx, kept, path)
	if errors.Is(err, session.ErrBusy) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at %s: %w", path, err)
	}
	if snap.SHA256 == in.Restore.Archive.SHA256 {
		return false, r.files.settleUnused(in, path)
	}
	if snap.Size > 0 && (snap.SHA256 != in.Archive.SHA256 || r.archives.Lasts(ctx, in.Archive) != nil) {
		if _, err := r.archives.put(ctx, in.refOf(path), lateLog{kept, snap}, "archive late lines"); err != nil {
			return false, err
		}
	}
	if !free {
		return true, nil
	}
	return false, r.disposeReplaced(ctx, store, in, path)
}

// settleUnused deals with a copy that did not come to its place: where files
// cannot be exchanged, the log may be missing for a moment, and a run that was
// killed in it is finished; else the copy goes.
func (f logFiles) settleUnused(in Intent, path string) error {
	if _, err := f.pins.Lstat(in.Restore.Path); !errors.Is(err, fs.ErrNotExist) {
		return f.pins.RemoveFile(path)
	}
	d, err := f.openPlace(session.Place{Path: in.Restore.Path, Ref: session.Ref{Store: in.Rotation.Store}})
	if err != nil {
		return err
	}
	defer d.Close()
	return f.replacement(in, d).Place(path)
}

// disposeReplaced removes a replaced log where that is this tool's to do, like
// a rotated one: with pi, and outside of every store.
func (r restoring) disposeReplaced(ctx context.Context, store session.Store, in Intent, path string) error {
	if in.Rotation.Store == "" {
		return r.files.pins.RemoveFile(path)
	}
	if disposer := session.CapabilitiesOf(store).Disposer; disposer != nil {
		return disposer.Dispose(ctx, in.Rotation)
	}
	return nil
}

// sweep removes the temporary files that a killed run left beside a path for
// this restore; those of others stay.
func (r *Restoration) sweep(pins *durable.Pins, kept string) error {
	left, err := pins.Leftovers(filepath.Dir(r.Path), 0)
	if err != nil {
		return fmt.Errorf("sweep beside %s: %w", r.Path, err)
	}
	for _, temp := range left {
		ours := slices.ContainsFunc([]string{r.Path, kept}, func(path string) bool {
			base := filepath.Base(path)
			return path != "" && strings.HasPrefix(filepath.Base(temp), "."+base[:min(len(base), 200)]) // durable cuts longer ones
		})
		if !ours {
			continue
		}
		if err := pins.RemoveFile(temp); err != nil {
			return err
		}
	}
	return nil
}

func (c *Compactor) restoring() restoring {
	return restoring{c.archives(), c.files(), c.changes()}
}
