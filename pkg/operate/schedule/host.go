package schedule

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/sessctl/sessctl/pkg/durable"
)

// Programs runs the programs of the managers: systemctl, launchctl and crontab.
type Programs interface {
	// Run returns what the program writes to its standard output, also where it
	// fails; the error says what it complained about. A program that is not
	// installed is [exec.ErrNotFound].
	Run(ctx context.Context, input []byte, name string, arguments ...string) ([]byte, error)
}

// Host is a machine, or a user of one, whose managers are told what to run.
type Host struct {
	Programs Programs
	Places   Places
	UID      int // of the user whose managers are meant
	// Account is the name of that user.
	Account string
}

// Places are the directories in which managers look.
type Places struct {
	UserUnits, SystemUnits   string // of systemd
	UserAgents, SystemAgents string // of launchd
	CronDir                  string // of cron, for the system
}

func (p Places) units(system bool) string {
	if system {
		return p.SystemUnits
	}
	return p.UserUnits
}

func (p Places) agents(system bool) string {
	if system {
		return p.SystemAgents
	}
	return p.UserAgents
}

// PlacesOf are the usual places for a user with this home directory and this base
// directory for configuration.
func PlacesOf(home, config string) Places {
	return Places{
		UserUnits: filepath.Join(config, "systemd", "user"), SystemUnits: "/etc/systemd/system",
		UserAgents: filepath.Join(home, "Library", "LaunchAgents"), SystemAgents: "/Library/LaunchDaemons",
		CronDir: "/etc/cron.d",
	}
}

// ErrNoManager is wrapped by the error that says that nothing is found that could
// start a job.
var ErrNoManager = errors.New("nothing is found that starts jobs by itself")

// ErrForeign is wrapped by the error about a file that is in the way and that
// does not carry our marker.
var ErrForeign = errors.New("is not from sessctl schedule, or is of another schedule")

// ErrChanged is the error about a crontab that somebody else has changed between
// the plan and its execution. Nothing was written.
var ErrChanged = errors.New("the crontab was changed just now, and nothing was written")

// Default is the manager of this machine: the one that runs, or else one that is
// installed.
func (h Host) Default(ctx context.Context, system string) (Manager, error) {
	if system == "darwin" {
		return Launchd, nil
	}
	if h.systemdRuns(ctx, h.UID == 0) || h.Unreachable(ctx, h.UID == 0) {
		return Systemd, nil
	}
	if h.Installed(ctx, Cron) {
		return Cron, nil
	}
	if h.Installed(ctx, Systemd) {
		return Systemd, nil
	}
	return "", fmt.Errorf("%w: no systemctl and no crontab", ErrNoManager)
}

// Installed reports whether the program of a manager is installed.
func (h Host) Installed(ctx context.Context, m Manager) bool {
	var err error
	switch m {
	case Systemd:
		_, err = h.Programs.Run(ctx, nil, "systemctl", "--version")
	case Launchd:
		_, err = h.Programs.Run(ctx, nil, "launchctl", "version")
	case Cron:
		_, err = h.Programs.Run(ctx, nil, "crontab", "-l")
	}
	return !errors.Is(err, fs.ErrNotExist) && !notFound(err)
}

// systemdRuns reports whether systemd starts jobs here: that of the system, or
// that of the user.
func (h Host) systemdRuns(ctx context.Context, system bool) bool {
	said, err := h.Programs.Run(ctx, nil, "systemctl", scoped(system, "is-system-running")...)
	state := strings.TrimSpace(string(said))
	return !notFound(err) && state != "" && state != "offline" && state != "unknown"
}

// cronRuns reports whether a daemon of cron runs. Where that cannot be known, it
// does: launchd starts cron when there is a crontab, and other processes may be
// hidden.
func (h Host) cronRuns(ctx context.Context) bool {
	if runtime.GOOS == "darwin" {
		return true
	}
	if _, err := h.Programs.Run(ctx, nil, "pgrep", "-x", "cron|crond|fcron"); err == nil || notFound(err) {
		return true
	}
	if _, err := h.Programs.Run(ctx, nil, "pgrep", "-P", "0"); err != nil {
		return true // not even the first process is seen
	}
	_, err := h.Programs.Run(ctx, nil, "systemctl", "is-active", "--quiet", "cron.target") // crontabs as timers
	return err == nil
}

// Unreachable reports whether systemd runs here and its manager for the user cannot
// be reached: the user has no session, or this is not one.
func (h Host) Unreachable(ctx context.Context, system bool) bool {
	return !system && !h.systemdRuns(ctx, false) && h.systemdRuns(ctx, true)
}

// scoped are the arguments of systemctl for the manager that is meant.
func scoped(system bool, arguments ...string) []string {
	if system {
		return arguments
	}
	return append([]string{"--user"}, arguments...)
}

func (h Host) domain(system bool) string {
	if system {
		return "system"
	}
	return "gui/" + strconv.Itoa(h.UID)
}

// maxFile bounds, in bytes, the files of managers that are read.
const maxFile = 1 << 20

// readOwn reads a file that may be ours. One that is not there is "".
func readOwn(path string) (string, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err == nil && !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s %w", path, ErrForeign)
	}
	text, err := durable.ReadSmall(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil // it was removed meanwhile
	}
	return string(text), err
}

// crontab returns the crontab of the user. Only where crontab says that there is
// none it is empty: whatever else goes wrong must not look like an empty one,
// which the next write would make true.
func (h Host) crontab(ctx context.Context) (string, error) {
	text, err := h.Programs.Run(ctx, nil, "crontab", "-l")
	if err == nil {
		return string(text), nil
	}
	if said := strings.ToLower(err.Error()); strings.Contains(said, "no crontab for") || strings.Contains(said, "can't open") && strings.Contains(said, "no such file") {
		return "", nil
	}
	return "", fmt.Errorf("read the crontab: %w", err)
}
