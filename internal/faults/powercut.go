//go:build linux && amd64

package faults

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/sessctl/sessctl/internal/crashloop"
)

// Power is cut by copying the image of a mounted file system while the program
// stands still: what it has not synced is not in the copy. An unrelated fsync
// on the same file system commits its journal and with it names whose content
// is not written yet, so each cut is tried with and without one
// (docs/dev/decisions.md D15).

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

// unmount asks the kernel itself: the tool looks into the table of mounts first,
// which changes while it is read. A file system is busy for a moment while another
// row's child, which was forked with our files open, has not come to its own
// program yet. Only one that stays busy is detached, and told: what is not written
// to its image then is not known.
func unmount(dir string) error {
	err := syscall.Unmount(dir, 0)
	for deadline := time.Now().Add(time.Minute); errors.Is(err, syscall.EBUSY) && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
		err = syscall.Unmount(dir, 0)
	}
	if errors.Is(err, syscall.EBUSY) {
		return errors.Join(fmt.Errorf("unmount %s: %w", dir, err), syscall.Unmount(dir, syscall.MNT_DETACH))
	}
	return err
}

func powerCuts() []Fault {
	var all []Fault
	for _, two := range []bool{false, true} {
		for _, commit := range []bool{false, true} {
			cut := powerCut{two: two, commit: commit}
			all = append(all, Fault{Name: cut.name(), kind: "power cut", env: cut.env(), exit: true, fits: cut.fits, try: cut.try})
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

// mounts lists what is on a file system of its own, by the path below the
// home's directory.
func (p powerCut) mounts() []string {
	if p.two {
		return []string{"home", "data"}
	}
	return []string{"."}
}

// machine is a home on mounted images.
type machine struct {
	*Home
	disks  *disks
	mounts []string
}

func (m *machine) mountpoint(i int) string { return filepath.Join(m.Dir, m.mounts[i]) }

// image is the file of a file system: "template", "run" or "cut".
func (m *machine) image(i int, state string) string {
	return filepath.Join(m.disks.dir, fmt.Sprintf("%d-of-%d-%s.img", i+1, len(m.mounts), state))
}

// each does something with every file system.
func (m *machine) each(do func(i int) error) error {
	for i := range m.mounts {
		if err := do(i); err != nil {
			return err
		}
	}
	return nil
}

func (p powerCut) try(b *Bench, c crashloop.Call) (problem, err error) {
	h := b.home
	if err := h.serversAsBefore(); err != nil {
		return nil, err
	}
	h.twice = b.Twice
	h.Command.Env = append(p.env(), h.Command.Env...)
	m := &machine{Home: &h, disks: b.disks, mounts: p.mounts()}
	if err := errors.Join(m.clear(), m.makeTemplates(b.template), m.plugIn("template")); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.clear()) }()
	if err := m.each(func(i int) error { return os.RemoveAll(m.image(i, "cut")) }); err != nil { // of an earlier try
		return nil, err
	}
	var cut error
	decide := once(c.N, crashloop.Fault{Kill: true, Hook: func() { cut = m.cut(p.commit) }})
	got, err := m.trace(false, decide)
	if err == nil && c.Name == exitCall {
		if got.Exit != 0 {
			return fmt.Errorf("exit %d: %s", got.Exit, got.Output), nil
		}
		cut = m.cut(p.commit)
	}
	if err = errors.Join(err, cut); err != nil {
		return nil, err
	}
	if _, err := os.Stat(m.image(0, "cut")); errors.Is(err, fs.ErrNotExist) {
		return nil, nil // a run makes some calls in another order: this one had no such call
	}
	if err := errors.Join(m.pull(), m.plugIn("cut")); err != nil {
		return nil, err
	}
	if c.Name == exitCall {
		problem = m.Command.Done(m.Home)
	}
	return errors.Join(problem, m.survived()), nil
}

// makeTemplates makes the file systems of the home as the command finds it.
func (m *machine) makeTemplates(template string) error {
	if _, err := os.Stat(m.image(0, "template")); err == nil {
		return nil
	}
	if err := m.each(func(i int) error {
		return errors.Join(format(m.image(i, "run")), os.MkdirAll(m.mountpoint(i), 0o700), mount(m.image(i, "run"), m.mountpoint(i)))
	}); err != nil {
		return err
	}
	err := errors.Join(copyTree(template, m.Dir), m.pull())
	return errors.Join(err, m.each(func(i int) error { return os.Rename(m.image(i, "run"), m.image(i, "template")) }))
}

// plugIn mounts a copy of the images.
func (m *machine) plugIn(state string) error {
	return m.each(func(i int) error {
		if err := errors.Join(os.MkdirAll(m.mountpoint(i), 0o700), m.duplicate(i, state, "run")); err != nil {
			return err
		}
		return mount(m.image(i, "run"), m.mountpoint(i))
	})
}

// duplicate copies an image to a new file: one that is still mounted somewhere
// goes on writing to the file it was.
func (m *machine) duplicate(i int, from, to string) error {
	if err := os.RemoveAll(m.image(i, to)); err != nil {
		return err
	}
	return command("cp", "--sparse=always", m.image(i, from), m.image(i, to))
}

// cut takes the images as they are now, after a foreign fsync if commit is set.
func (m *machine) cut(commit bool) error {
	return m.each(func(i int) error {
		if commit {
			if err := foreignSync(filepath.Join(m.mountpoint(i), "other-program")); err != nil {
				return err
			}
		}
		return m.duplicate(i, "run", "cut")
	})
}

func foreignSync(path string) error {
	return quietly(func() error {
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		_, err = f.WriteString("x")
		return errors.Join(err, f.Sync(), f.Close())
	})
}

// pull unmounts everything.
func (m *machine) pull() error {
	return m.each(func(i int) error { return unmount(m.mountpoint(i)) })
}

// clear leaves nothing mounted, whatever an earlier trial left, and no home.
func (m *machine) clear() error {
	for i := range m.mounts {
		for unmount(m.mountpoint(i)) == nil { // usually it is not mounted
		}
	}
	return os.RemoveAll(m.Dir)
}
