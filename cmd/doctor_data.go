package cmd

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/sessctl/sessctl/pkg/durable"
)

// shownFiles is how many files of one kind are named; the rest is counted.
const shownFiles = 5

// examineData looks at the data directory: whose it is, and who else gets in.
func (d *checkup) examineData(context.Context) error {
	path := d.dataDir()
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

// examineParents looks for directories above in which anybody can put another
// in the place of ours.
func (d *checkup) examineParents(path string) {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && replaceable(info) {
			d.problem(dir, fmt.Sprintf("anybody can rename what is in it (mode %v)", info.Mode().Perm()), "chmod o-w it, or choose another place with --data-dir")
		}
		if dir == filepath.Dir(dir) {
			return
		}
	}
}

// replaceable: everybody may write, and nothing keeps names to their owners.
func replaceable(info os.FileInfo) bool {
	return runtime.GOOS != "windows" && info.Mode().Perm()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0
}

// writableByOthers says whether group or others may change a file.
func writableByOthers(info os.FileInfo) bool {
	return runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0
}

// examineModes looks for files of ours that others can read. They are made for
// their user alone; a copy or a restored backup may have lost that.
func (d *checkup) examineModes(root string) error {
	open, err := openToOthers(root)
	if err != nil {
		return err
	}
	for i, path := range open {
		if i == shownFiles {
			d.warn(root, fmt.Sprintf("%d more files are open to others", len(open)-shownFiles), "chmod -R go= "+root)
			return nil
		}
		d.warn(path, "open to other users", "chmod go= it")
	}
	if len(open) == 0 {
		d.ok(root, "only its user gets in")
	}
	return nil
}

// openToOthers lists what below root has a permission for group or others.
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

// examineLock says whether somebody is at work, or was cut off.
func (d *checkup) examineLock(context.Context) error {
	path := filepath.Join(d.dataDir(), "lock")
	state, err := durable.LookAtLock(path)
	switch {
	case err != nil:
		d.problem(path, err.Error(), "look at what it is; sessctl cannot lock it")
	case state.Held:
		who := ""
		if state.Process != 0 {
			who = fmt.Sprintf(" (process %d)", state.Process)
		}
		d.note(path, "another sessctl is at work"+who+"; what is seen here may change", "")
	case state.Process != 0:
		d.note(path, fmt.Sprintf("process %d ended without giving it back; it is free", state.Process), "the next run finishes what that one began; or sessctl doctor --fix")
	default:
		d.ok(path, "nobody is at work")
	}
	return nil
}
