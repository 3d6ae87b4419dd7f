//go:build linux && amd64

package faults

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sessctl/sessctl/internal/crashloop"
)

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
	h.Command.Env = append(p.env(), h.Command.Env...)
	m := &machine{Home: &h, disks: b.disks, mounts: p.mounts()}
	if err := errors.Join(m.clear(), m.makeTemplates(b.template), m.plugIn("template")); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.clear()) }()
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
	err := errors.Join(copyTree(template+"/.", m.Dir), m.pull())
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

func (m *machine) duplicate(i int, from, to string) error {
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
		_ = command("umount", m.mountpoint(i)) // usually it is not mounted
	}
	return os.RemoveAll(m.Dir)
}
