package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/removal"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/retention"
)

// examineArchives compares catalogue, receipts and files with each other. The
// bytes themselves are read by archives verify.
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
			if info, err := os.Stat(dir); err == nil && writableByOthers(info) {
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
	d.ok("", "%s%s, %s; sessctl archives verify reads them in full", wording.Plural(len(entries), "archive"), only, wording.Plural(len(d.receipts), "receipt"))
	if len(entries) > 0 {
		examineChecks(d.Run, d.findings)
	}
	d.examinePurges(entries)
	return nil
}

// examineChecks warns of what archives verify has found, until a verify that is as
// thorough finds nothing: only that reads the bytes, so nothing else here sees a
// rotten one.
func examineChecks(run *workspace.Run, report *findings) {
	checks, err := audit.RecordedChecks(run)
	if err != nil {
		report.warn(audit.ChecksPath(&run.Settings), err.Error(), "")
	}
	if bad, found := audit.Unsettled(checks); found {
		report.warn("", audit.AboutCheck(bad), "sessctl archives verify lists what is damaged")
	}
}

// examinePurges says what runtimes are about to delete, and whether there is an
// archive of it.
func (d *checkup) examinePurges(entries []archive.Entry) {
	soon := selection.SoonPurged(&d.Run.Settings, d.sessions.Sessions)
	notes := selection.PurgeNotes(&d.Run.Settings, soon, selection.ArchivedStates(entries))
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
	if d.proofs, err = audit.NewReceiptAudit(ctx, d.Run); err != nil {
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

// examineClock looks for what has not happened yet.
func (d *checkup) examineClock(context.Context) error {
	recorded, err := audit.Recorded(d.Run)
	if err != nil {
		return err
	}
	for _, r := range d.receipts {
		recorded = append(recorded, retention.Recorded{At: r.At, Path: d.Receipts().Path(r.ID), What: "the last run"})
	}
	wrong, err := audit.Clock(d.Run).Check(d.Now(), recorded)
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
