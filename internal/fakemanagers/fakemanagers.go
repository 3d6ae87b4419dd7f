package fakemanagers

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Variable names the directory in which the programs keep their state: which
// timers are active, which jobs are loaded, the crontab, and log, with a line for
// each call. Without it nothing is installed.
const Variable = "FAKE_MANAGERS"

// manager is one call of a program.
type manager struct {
	dir  string
	in   io.Reader
	out  io.Writer
	home string
}

// Program runs one of the programs and returns its exit code.
func Program(arguments []string, in io.Reader, out, errOut io.Writer) int {
	m := manager{dir: os.Getenv(Variable), in: in, out: out, home: os.Getenv("HOME")}
	if m.dir == "" {
		fmt.Fprintln(errOut, Variable+" is not set")
		return 127
	}
	name := filepath.Base(arguments[0])
	if err := m.note(name + " " + strings.Join(arguments[1:], " ")); err != nil {
		fmt.Fprintln(errOut, err)
		return 1
	}
	run := map[string]func([]string) error{"systemctl": m.systemctl, "launchctl": m.launchctl, "crontab": m.crontab, "pgrep": m.pgrep}[name]
	if err := run(arguments[1:]); err != nil {
		fmt.Fprintln(errOut, err)
		return 1
	}
	return 0
}

func (m manager) note(line string) error {
	f, err := os.OpenFile(filepath.Join(m.dir, "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, line)
	return errors.Join(err, f.Close())
}

func (m manager) has(name string) bool {
	_, err := os.Lstat(filepath.Join(m.dir, name))
	return err == nil
}

func (m manager) set(name string) error {
	return os.WriteFile(filepath.Join(m.dir, name), nil, 0o600)
}

func (m manager) clear(name string) error { return gone(os.Remove(filepath.Join(m.dir, name))) }

// gone takes what was not there for removed.
func gone(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

func (m manager) say(yes bool, word, other string) error {
	if yes {
		fmt.Fprintln(m.out, word)
		return nil
	}
	fmt.Fprintln(m.out, other)
	return errors.New("")
}

func (m manager) systemctl(arguments []string) error {
	ofUser := slices.Contains(arguments, "--user")
	arguments = slices.DeleteFunc(slices.Clone(arguments), func(a string) bool { return a == "--user" })
	unit := arguments[len(arguments)-1]
	units := filepath.Join(m.home, ".config", "systemd", "user")
	link := filepath.Join(units, "timers.target.wants", unit)
	stamp := filepath.Join(m.home, ".local", "share", "systemd", "timers", "stamp-"+unit)
	switch arguments[0] {
	case "is-system-running":
		return m.say(!m.has("offline") && !(ofUser && m.has("no-session")), "running", "offline")
	case "enable":
		if _, err := os.Stat(filepath.Join(units, unit)); err != nil {
			return err
		}
		return errors.Join(os.MkdirAll(filepath.Dir(link), 0o755), gone(os.Remove(link)), os.Symlink(filepath.Join(units, unit), link))
	case "disable":
		err := gone(os.Remove(link))
		_ = os.Remove(filepath.Dir(link)) // unless other links are in it
		return err
	case "is-enabled":
		_, err := os.Lstat(link)
		return m.say(err == nil, "enabled", "disabled")
	case "is-active":
		return m.say(m.has("active "+unit), "active", "inactive")
	case "restart":
		if m.has("broken") {
			return errors.New("Job for " + unit + " failed.")
		}
		return errors.Join(os.MkdirAll(filepath.Dir(stamp), 0o755), os.WriteFile(stamp, nil, 0o600), m.set("active "+unit))
	case "stop":
		return m.clear("active " + unit)
	case "clean":
		err := gone(os.Remove(stamp))
		_ = os.Remove(filepath.Dir(stamp)) // unless other stamps are in it
		_ = os.Remove(filepath.Dir(filepath.Dir(stamp)))
		return err
	case "list-timers":
		fmt.Fprintf(m.out, `[{"next":1893466800000000,"left":1,"last":1893380400000000,"passed":1,"unit":%q,"activates":"x"}]`+"\n", unit)
	case "show":
		fmt.Fprintln(m.out, "Result=success")
	}
	return nil // daemon-reload, reset-failed, --version
}

// pgrep sees the first process, and cron unless it is stopped.
func (m manager) pgrep(arguments []string) error {
	return m.say(arguments[0] == "-P" || !m.has("no-cron"), "1", "")
}

func (m manager) launchctl(arguments []string) error {
	if len(arguments) < 2 {
		return nil // version
	}
	label := "loaded " + strings.TrimSuffix(filepath.Base(arguments[len(arguments)-1]), ".plist")
	switch arguments[0] {
	case "bootstrap":
		if m.has(label) {
			return errors.New("Bootstrap failed: 5: Input/output error") //nolint:staticcheck // the words of launchctl
		}
		return m.set(label)
	case "bootout":
		return m.clear(label)
	}
	return m.say(m.has(label), label, "Could not find service")
}

// replace writes a file as the real crontab does: beside it, and then in its place.
func replace(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "crontab-")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func (m manager) crontab(arguments []string) error {
	path := filepath.Join(m.dir, "crontab")
	if arguments[0] != "-l" && m.has("broken") {
		return errors.New("crontab: the spool cannot be written")
	}
	switch arguments[0] {
	case "-r":
		return os.Remove(path)
	case "-":
		text, err := io.ReadAll(m.in)
		return errors.Join(err, replace(path, text))
	}
	text, err := os.ReadFile(path)
	switch {
	case m.has("unreadable"):
		return errors.New("crontab: permission denied")
	case errors.Is(err, os.ErrNotExist):
		return errors.New("no crontab for lea")
	}
	_, errOut := m.out.Write(text)
	return errors.Join(err, errOut)
}
