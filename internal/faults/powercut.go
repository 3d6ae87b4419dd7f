//go:build linux && amd64

package faults

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Power is cut by copying the image of a mounted file system while the program
// stands still: what it has not synced is not in the copy. An unrelated fsync
// on the same file system commits its journal and with it names whose content
// is not written yet, so each cut is tried with and without one
// (research/reliability.md section B).

// disks is where the images of file systems are kept.
type disks struct{ dir string }

// newDisks returns an error that says why there can be no power cuts here.
func newDisks(dir string) (*disks, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("mounting a file system needs root")
	}
	for _, tool := range []string{"mkfs.ext4", "mount", "umount"} {
		if _, err := exec.LookPath(tool); err != nil {
			return nil, err
		}
	}
	d := &disks{dir: filepath.Join(dir, "disks")}
	probe := filepath.Join(d.dir, "probe")
	if err := os.MkdirAll(probe, 0o700); err != nil {
		return nil, err
	}
	image := filepath.Join(d.dir, "probe.img")
	if err := errors.Join(format(image), mount(image, probe)); err != nil {
		return nil, fmt.Errorf("no loop devices: %w", err)
	}
	return d, errors.Join(unmount(probe), os.Remove(image))
}

func command(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(string(out)))
	}
	return nil
}

const imageSize = 32 << 20

func format(image string) error {
	f, err := os.Create(image)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Truncate(imageSize), f.Close()); err != nil {
		return err
	}
	return command("mkfs.ext4", "-q", "-F", image)
}

// mount uses the options under which least is written by itself: no commit in
// the background, and no writing of a file because it is renamed over another.
func mount(image, dir string) error {
	return command("mount", "-t", "ext4", "-o", "loop,commit=300,noauto_da_alloc", image, dir)
}

func unmount(dir string) error {
	if command("umount", dir) == nil {
		return nil
	}
	return command("umount", "-l", dir)
}

func powerCuts() []Fault {
	var all []Fault
	for _, two := range []bool{false, true} {
		for _, commit := range []bool{false, true} {
			cut := powerCut{two: two, commit: commit}
			all = append(all, Fault{Name: cut.name(), env: cut.env(), exit: true, fits: cut.fits, try: cut.try})
		}
	}
	return all
}

// powerCut is one way to lose power.
type powerCut struct {
	two    bool // the data directory is on a file system of its own
	commit bool // somebody else's fsync commits the journal just before
}

func (p powerCut) name() string {
	name := "power cut"
	if p.commit {
		name += " after a foreign fsync"
	}
	if p.two {
		name += ", two file systems"
	}
	return name
}

// env sees to it that archives and sessions never share one of two file
// systems.
func (p powerCut) env() []string {
	if p.two {
		return []string{"SESSCTL_ARCHIVE_DIR=$DIR/data/sessctl/archive"}
	}
	return nil
}

func (p powerCut) fits(b *Bench) string {
	if b.PowerCuts != nil {
		return b.PowerCuts.Error()
	}
	return ""
}
