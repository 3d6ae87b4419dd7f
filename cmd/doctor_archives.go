package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/memory"
)

// examineArchives holds catalogue, receipts and files against each other. The
// bytes themselves are read by archive verify.
func (d *checkup) examineArchives(ctx context.Context) error {
	store, err := d.openArchive()
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
		d.damaged(b.Path, b.Err.Error(), "archive that session again: the entry is written anew; the archive itself is still there")
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
	if err := d.examineReceipts(entries); err != nil {
		return err
	}
	d.ok("", "%s, %s; sessctl archive verify reads them in full", plural(len(entries), "archive"), plural(len(d.receipts), "receipt"))
	return nil
}

func (d *checkup) examineArchive(e archive.Entry) {
	info, err := os.Lstat(e.Path)
	const restore = "restore it from a backup; what memory has of it stays"
	switch {
	case os.IsNotExist(err):
		d.damaged(e.Path, "archive "+e.ID+" is missing", restore)
	case err != nil:
		d.problem(e.Path, err.Error(), "")
	case !info.Mode().IsRegular():
		d.damaged(e.Path, "archive "+e.ID+" is not a regular file", restore)
	case info.Size() != e.StoredBytes:
		d.damaged(e.Path, fmt.Sprintf("archive %s has %d bytes, its entry says %d", e.ID, info.Size(), e.StoredBytes), restore)
	case info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows":
		d.warn(e.Path, "open to other users", "chmod go= it")
	}
}

// examineReceipts reports receipts without an archive, and archives of
// compactions without a receipt.
func (d *checkup) examineReceipts(entries []archive.Entry) error {
	receipts, unreadable, err := d.app.receipts().Examine()
	if err != nil {
		return err
	}
	for _, u := range unreadable {
		d.damaged(u.Path, u.Err.Error(), "restore it from a backup; without it nothing proves what that run did")
	}
	d.receipts = receipts
	known, proven := map[string]bool{}, map[string]bool{}
	pruned, err := d.app.prunedArchives()
	if err != nil {
		return err
	}
	for _, e := range entries {
		known[e.ID] = true
	}
	for _, r := range receipts {
		if r.Archive == nil {
			continue
		}
		proven[r.Archive.ID] = true
		if !known[r.Archive.ID] && !pruned[r.Archive.ID] {
			d.damaged(r.Archive.Path, "receipt "+r.ID+" names an archive that is not in the catalogue", "sessctl archive verify says more")
		}
	}
	for _, in := range d.intents {
		proven[in.Archive.ID] = true
	}
	for _, e := range entries {
		if e.Reason == "compact" && !proven[e.ID] {
			d.note(e.Path, "archive "+e.ID+" has no receipt: its compaction was cut off or found the session busy, or it is of late lines", "")
		}
	}
	return nil
}

// examineMemory checks the memory without leaving a trace in it.
func (d *checkup) examineMemory(ctx context.Context) error {
	d.examineSetAside()
	path := filepath.Join(d.memoryDir(), "memory.db")
	before := statOf(path)
	err := d.verifyMemory(ctx)
	changed := before != statOf(path) || d.atWork()
	switch {
	case errors.Is(err, fs.ErrNotExist) && len(d.receipts) > 0 && !changed:
		d.damaged(path, "there are receipts and no memory", "sessctl memory reindex --from-archives")
	case errors.Is(err, fs.ErrNotExist):
		d.ok(path, "no memory yet")
	case errors.Is(err, memory.ErrInUse):
		d.note(path, err.Error(), "sessctl doctor --fix, or any next run, writes it down; sessctl memory verify checks it as it is")
	case errors.Is(err, memory.ErrCorrupt) && !changed:
		d.damaged(path, err.Error(), "sessctl memory reindex --from-archives")
	case err != nil && changed:
		d.note(path, "not checked: another sessctl is at work in it", "")
	case errors.Is(err, memory.ErrNewerSchema):
		d.problem(path, err.Error(), "use that sessctl")
	default:
		return err
	}
	return nil
}

// errUnsound ends the check of a memory in which something was found.
var errUnsound = errors.New("something is wrong in it")

func (d *checkup) verifyMemory(ctx context.Context) error {
	store, err := memory.Open(ctx, d.memoryDir(), memory.Options{NoTrace: true})
	if err != nil {
		return err
	}
	defer store.Close()
	problems, err := store.Verify(ctx)
	if err != nil {
		return err
	}
	if len(problems) > 0 && d.atWork() {
		return errUnsound
	}
	for _, p := range problems {
		d.damaged(p.Path, p.Message, "lost vectors: sessctl memory reindex --pending; a damaged database: sessctl memory reindex --from-archives")
	}
	stats, err := store.Stats(ctx)
	if err != nil || len(problems) > 0 {
		return err
	}
	d.reportMemory(stats)
	return nil
}

func (d *checkup) reportMemory(stats memory.Stats) {
	records, pending := 0, 0
	for _, s := range stats.Agents {
		records += s.Records
		for _, n := range s.Pending {
			pending += n
		}
	}
	if pending > 0 {
		d.note(d.memoryDir(), fmt.Sprintf("%s without a vector; found by their words until then", plural(pending, "record")), "sessctl memory reindex --pending")
	}
	d.ok(d.memoryDir(), "%s, %s, sound", plural(records, "record"), formatBytes(stats.Bytes))
}

// statOf tells whether a file has changed.
func statOf(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprint(info.Size(), info.ModTime().UnixNano())
}

// examineSetAside reports damaged memories that are kept.
func (d *checkup) examineSetAside() {
	entries, err := os.ReadDir(d.dataDir())
	if err != nil {
		return
	}
	for _, e := range entries {
		if ok, _ := filepath.Match("memory.damaged-*", e.Name()); ok {
			d.note(filepath.Join(d.dataDir(), e.Name()), "a damaged memory that was set aside", "remove it when you are sure that you do not need it")
		}
	}
}

// tolerance is how far clocks of two machines on one file system may differ.
const tolerance = 5 * time.Minute

// examineClock looks for runs that have not happened yet.
func (d *checkup) examineClock(context.Context) error {
	limit := d.now().Add(tolerance)
	for _, r := range d.receipts {
		if r.At.After(limit) {
			d.warn(d.app.receipts().Path(r.ID), "a run at "+r.At.UTC().Format(time.RFC3339)+", which is in the future", "look at the clock: what goes by age (clean, quiet periods) cannot be trusted")
			return nil
		}
	}
	d.ok("", "no run is in the future")
	return nil
}
