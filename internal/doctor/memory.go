package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/memory"
)

// examineMemory checks the memory without leaving a trace in it.
func (d *checkup) examineMemory(ctx context.Context) error {
	examineSetAside(d.Run, d.findings)
	path := filepath.Join(d.MemoryDir(), "memory.db")
	before := statOf(path)
	err := d.verifyMemory(ctx)
	if err != nil { // it was not asked for these
		for _, l := range memory.LostForgottenFiles(d.MemoryDir()) {
			d.damaged(l.Path, l.Message(), workspace.AdviseForgotten)
		}
	}
	changed := before != statOf(path) || workspace.AtWork(&d.Run.Settings)
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
	if len(problems) > 0 && workspace.AtWork(&d.Run.Settings) {
		return errUnsound
	}
	for _, p := range problems {
		d.damaged(p.Path, p.Message, audit.AdviseMemory(p.Path, d.MemoryDir()))
	}
	stats, err := store.Stats(ctx)
	if err != nil || len(problems) > 0 {
		return err
	}
	if lacking := d.lacking(ctx, store); lacking > 0 && workspace.AtWork(&d.Run.Settings) {
		return errUnsound
	} else if lacking > 0 {
		for _, f := range d.proofs.Found[len(d.proofs.Found)-lacking:] {
			d.damaged(f.Path, f.About(), workspace.AdviseRebuild)
		}
		return nil
	}
	reportMemory(d.Run, d.findings, stats)
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

func reportMemory(run *workspace.Run, report *findings, stats memory.Stats) {
	records, pending := 0, 0
	for _, s := range stats.Agents {
		records += s.Records
		pending += s.Unembedded
	}
	if pending > 0 {
		report.note(run.MemoryDir(), fmt.Sprintf("%s without a vector; found by their words until then", wording.Plural(pending, "record")), "sessctl memory reindex --pending")
	}
	report.ok(run.MemoryDir(), "%s, %s, sound", wording.Plural(records, "record"), wording.Bytes(stats.Bytes))
}

// examineSetAside reports damaged memories that are kept.
func examineSetAside(run *workspace.Run, report *findings) {
	for _, path := range audit.SetAside(&run.Settings) {
		report.note(path, "a damaged memory that was set aside", audit.AdviseSetAside)
	}
}

// errUnsound ends the check of a memory in which something was found.
var errUnsound = errors.New("something is wrong in it")

// statOf tells whether a file has changed.
func statOf(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprint(info.Size(), info.ModTime().UnixNano())
}
