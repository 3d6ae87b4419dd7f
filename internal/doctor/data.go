package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/durable"
)

// examineData looks at the data directory: who owns it, and who else can read it.
func examineData(_ context.Context, run *workspace.Run, report *findings) error {
	path := run.DataDir()
	info, err := os.Lstat(path)
	switch {
	case os.IsNotExist(err):
		report.ok(path, "no data directory yet; the first compaction makes it")
		return nil
	case err != nil:
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		if info, err = os.Stat(path); err != nil {
			report.problem(path, "a symbolic link that leads nowhere", "remove the link, or make the directory it names")
			return nil
		}
		report.note(path, "a symbolic link", "")
	}
	if !info.IsDir() {
		report.problem(path, "not a directory", "choose another place with --data-dir")
		return nil
	}
	examineOwner(report, path, info)
	examineWritable(run, report)
	examineParents(report, path)
	return examineModes(report, path)
}

func examineOwner(report *findings, path string, info os.FileInfo) {
	if uid, known := durable.Owner(info); known && uid != os.Geteuid() {
		report.warn(path, fmt.Sprintf("belongs to user %d, and this is user %d", uid, os.Geteuid()), "run sessctl as its owner")
	}
	mode := info.Mode().Perm()
	switch {
	case runtime.GOOS == "windows":
	case mode&0o002 != 0:
		report.problem(path, fmt.Sprintf("everybody can change what is in it (mode %v): no command that changes something works there", mode), "chmod 700 it")
	case mode&0o020 != 0:
		report.warn(path, fmt.Sprintf("its group can change what is in it (mode %v)", mode), "chmod 700 it")
	}
}

// examineWritable looks for directories of ours in which this user can make no
// file: reading goes on there, and every command that changes something fails.
func examineWritable(run *workspace.Run, report *findings) {
	for _, dir := range append(run.OwnDirs(), run.CatalogueDir()) {
		if err := durable.MayWrite(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			report.warn(dir, "cannot be written ("+errors.Unwrap(err).Error()+"): every command that changes something fails", "chmod -R u+w "+run.DataDir()+", or run sessctl as its owner")
			return // what is below it is likely the same
		}
	}
}

// examineParents looks for directories above in which anybody can put another
// in the place of ours.
func examineParents(report *findings, path string) {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && replaceable(info) {
			report.problem(dir, fmt.Sprintf("anybody can rename what is in it (mode %v)", info.Mode().Perm()), "chmod o-w it, or choose another place with --data-dir")
		}
		if dir == filepath.Dir(dir) {
			return
		}
	}
}

// examineModes looks for files of ours that others can read. They are made for
// their user alone; a copy or a restored backup may have lost that.
func examineModes(report *findings, root string) error {
	open, err := openToOthers(root)
	if err != nil {
		return err
	}
	for i, path := range open {
		if i == shownFiles {
			report.warn(root, fmt.Sprintf("%d more files that other users can read or change", len(open)-shownFiles), "chmod -R go= "+root)
			return nil
		}
		report.warn(path, "other users can read or change it", "chmod go= it")
	}
	if len(open) == 0 {
		report.ok(root, "private: no other user can read it")
	}
	return nil
}

// examineLock says whether a run is under way, or was killed.
func examineLock(_ context.Context, run *workspace.Run, report *findings) error {
	path := filepath.Join(run.DataDir(), "lock")
	state, err := durable.LookAtLock(path)
	switch {
	case err != nil:
		report.problem(path, err.Error(), "sessctl doctor --fix sets a directory aside; remove anything else")
	case state.Held:
		who := ""
		if state.Process != 0 {
			who = fmt.Sprintf(" (process %d)", state.Process)
		}
		report.note(path, "another sessctl is running"+who+"; what is seen here may change", "")
	case state.Process != 0:
		report.note(path, fmt.Sprintf("process %d ended without giving it back; it is free", state.Process), "the next run finishes what that one began; or sessctl doctor --fix")
	default:
		report.ok(path, "not locked: no other sessctl is running")
	}
	return nil
}

// shownFiles is how many files of one kind are named; the rest is counted.
const shownFiles = 5

// replaceable says whether everybody may write, and no sticky bit keeps names
// to their owners.
func replaceable(info os.FileInfo) bool {
	return runtime.GOOS != "windows" && info.Mode().Perm()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0
}

// writableByOthers says whether group or others may change a file.
func writableByOthers(info os.FileInfo) bool {
	return runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0
}

// openToOthers lists the files below root with a permission for group or others.
func openToOthers(root string) (open []string, err error) {
	if runtime.GOOS == "windows" {
		return nil, nil // modes mean nothing there
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return nil, err
	}
	err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // gone since, or not ours to see
		}
		info, err := e.Info()
		if err == nil && info.Mode()&fs.ModeSymlink == 0 && info.Mode().Perm()&0o077 != 0 {
			open = append(open, path)
		}
		return nil
	})
	return open, err
}
