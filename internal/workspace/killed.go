package workspace

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/retention"
)

// endDeletions ends what a killed run began to delete, before this one moves logs that
// are still at their places: their records would look as if the trash had lost them.
func endDeletions(ctx context.Context, run *Run) {
	clean := retention.Clean{Trash: run.SessionTrash(), Audit: run.Audit(), Now: run.Now}
	err := clean.Recover()
	if archives, openErr := run.OpenArchive(); openErr == nil && err == nil {
		prune := retention.Prune{Archives: archives, Trash: run.ArchiveTrash(), Audit: run.Audit(), Now: run.Now}
		err = prune.Recover(ctx)
	}
	if err != nil && ctx.Err() == nil {
		run.Notice(Note{Message: err.Error()})
	}
}

// sweepOwn removes what killed runs left half-written in our own directories, and
// reports whether the catalogue could be swept. The lock makes it safe.
func sweepOwn(run *Run) (catalogued bool) {
	catalogued = true
	sweepHeads(&run.Settings)
	for _, dir := range run.OwnDirs() {
		sweep := func() error { return run.Pins.Sweep(dir, 0) }
		if dir == run.LedgerDir() { // it is written under a lock of its own
			sweep = LedgerOf(run).Sweep
		}
		if err := sweep(); err != nil {
			run.PassOverBroken(dir, unfinished, err)
			catalogued = catalogued && dir != run.CatalogueDir()
		}
	}
	return catalogued
}

// sweepHeads removes what killed runs have left beside the copy of the head of this
// data directory, where others have theirs too, and beside the files that are to have
// it. The caller holds the lock.
func sweepHeads(s *Settings) {
	files := []string{StateHead(s).Path}
	for _, address := range s.Config.Ledger.Heads {
		if path := strings.TrimPrefix(address, "file:"); filepath.IsAbs(path) {
			files = append(files, path)
		}
	}
	for _, file := range files {
		dir, base := filepath.Split(file)
		names, _ := os.ReadDir(dir) // usually there is none
		for _, name := range names {
			if strings.HasPrefix(name.Name(), "."+base+".") && strings.HasSuffix(name.Name(), ".tmp") {
				_ = durable.RemoveFile(filepath.Join(dir, name.Name())) // the next run tries again
			}
		}
	}
}
