//go:build linux && amd64

package faults

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sessctl/sessctl/internal/fakemanagers"
	"github.com/sessctl/sessctl/internal/fakestatedb"
)

// PlayManager ends the process if it was started as systemctl, crontab, pgrep or hermes, of
// which it then has played the part: homes have links of these names to the program
// that tries faults.
func PlayManager() {
	if filepath.Base(os.Args[0]) == hermesProgram {
		os.Exit(fakestatedb.Program(os.Args[1:], os.Stdout, os.Stderr))
	}
	if os.Getenv(fakemanagers.Variable) != "" {
		os.Exit(fakemanagers.Program(os.Args, os.Stdin, os.Stdout, os.Stderr))
	}
}

// The times of a schedule before and after it is installed anew.
const (
	timeBefore = "6h"
	timeAfter  = "12h"
)

// othersLines are the lines of a crontab that are somebody else's.
const othersLines = "MAILTO=lea\n17 * * * * /usr/bin/backup --what \"100\\%\"\n\n# the end\n"

// schedulings are installs and removals of a schedule. What a manager keeps of its
// own is not looked at, but for the crontab.
func schedulings() []Command {
	scheduling := func(name, action, manager string, done func(*Home) error) Command {
		return Command{
			Name: "schedule " + name, Runtime: "pi", Args: strings.Fields("schedule " + action + " --user --manager " + manager),
			Env:     []string{"PATH=$DIR/home/bin", fakemanagers.Variable + "=$DIR/home/managers", "SESSCTL_ARCHIVE_DIR=$DIR/data/sessctl/archive"},
			Prepare: func(h *Home) error { return scheduled(h, manager) }, Done: done, Whole: scheduleIsWhole, Slow: true,
		}
	}
	install := "install --program /bin/true --every " + timeAfter
	return []Command{
		scheduling("install, systemd", install, "systemd", func(h *Home) error { return unitsAre(h, timeAfter) }),
		scheduling("remove, systemd", "remove", "systemd", func(h *Home) error { return unitsAre(h, "") }),
		scheduling("install, cron", install, "cron", func(h *Home) error { return crontabIs(h, timeAfter) }),
		scheduling("remove, cron", "remove", "cron", func(h *Home) error { return crontabIs(h, "") }),
	}
}

// scheduled is a home with a schedule that runs at another time, and with a crontab.
func scheduled(h *Home, manager string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	bin := filepath.Join(h.Dir, "home/bin")
	err = errors.Join(os.MkdirAll(bin, 0o700), os.MkdirAll(filepath.Join(h.Dir, "home/managers"), 0o700), os.MkdirAll(filepath.Join(h.Dir, "home/.config"), 0o700))
	for _, name := range []string{"systemctl", "crontab", "pgrep"} {
		err = errors.Join(err, os.Symlink(program, filepath.Join(bin, name)))
	}
	return errors.Join(err, os.WriteFile(h.crontab(), []byte(othersLines), 0o600), h.show(),
		h.must([]int{0}, "schedule", "install", "--user", "--manager", manager, "--program", "/bin/true", "--every", timeBefore))
}

func (h *Home) crontab() string { return filepath.Join(h.Dir, "home/managers/crontab") }

// units are the texts of the units that are there, by name.
func (h *Home) units() (map[string]string, error) {
	texts := map[string]string{}
	for _, suffix := range []string{".service", ".timer", "-failed.service"} {
		text, err := os.ReadFile(filepath.Join(h.Dir, "home/.config/systemd/user/sessctl-nightly"+suffix))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		texts[suffix] = string(text)
	}
	return texts, nil
}

// show notes what install would write for both times, with the stores that are there
// now.
func (h *Home) show() error {
	h.shown = map[string]string{}
	for _, manager := range []string{"systemd", "cron"} {
		for _, every := range []string{timeBefore, timeAfter} {
			code, out, err := h.Run("schedule", "show", "--user", "--manager", manager, "--program", "/bin/true", "--every", every)
			if err != nil || code != 0 {
				return fmt.Errorf("schedule show: exit %d, %v: %s", code, err, out)
			}
			h.shown[manager+every] = out
		}
	}
	return nil
}

// unitsAre checks that all units are there as they are for a time, or that there is
// none.
func unitsAre(h *Home, every string) error {
	texts, err := h.units()
	if err != nil {
		return err
	}
	if every == "" {
		if len(texts) > 0 { // directories that are empty may stay where one could not be removed
			return fmt.Errorf("units are left: %v", texts)
		}
		return nil
	}
	want := h.shown["systemd"+every]
	for suffix, text := range texts {
		if !strings.Contains(want, text) {
			err = errors.Join(err, fmt.Errorf("the unit %s is another: %s", suffix, text))
		}
	}
	if _, linked := os.Lstat(filepath.Join(h.Dir, "home/.config/systemd/user/timers.target.wants/sessctl-nightly.timer")); len(texts) != 3 || linked != nil {
		err = errors.Join(err, fmt.Errorf("%d units, enabled: %v", len(texts), linked))
	}
	return err
}

// crontabIs checks that a crontab has the lines of others, and after them ours for a
// time, or none.
func crontabIs(h *Home, every string) error {
	want := othersLines
	if every != "" {
		want += h.shown["cron"+every]
	}
	text, err := os.ReadFile(h.crontab())
	if err != nil || string(text) != want {
		return fmt.Errorf("the crontab is %q (%v), want %q", text, err, want)
	}
	return nil
}

// scheduleIsWhole checks that each file is the old one or the new one, or is not
// there, and that no line of others is lost.
func scheduleIsWhole(h *Home) error {
	texts, err := h.units()
	for suffix, text := range texts {
		if !strings.Contains(h.shown["systemd"+timeBefore], text) && !strings.Contains(h.shown["systemd"+timeAfter], text) {
			err = errors.Join(err, fmt.Errorf("the unit %s is neither the old one nor the new one: %s", suffix, text))
		}
	}
	if crontabIs(h, timeBefore) != nil && crontabIs(h, timeAfter) != nil {
		err = errors.Join(err, crontabIs(h, ""))
	}
	return err
}
