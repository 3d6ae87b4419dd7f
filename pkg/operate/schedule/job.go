package schedule

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Manager is what starts jobs at their times.
type Manager string

// The managers.
const (
	Systemd Manager = "systemd"
	Launchd Manager = "launchd"
	Cron    Manager = "cron"
)

// Managers returns all managers.
func Managers() []Manager { return []Manager{Systemd, Launchd, Cron} }

// Monitor is the name of the schedule that runs the monitor, and no profile.
const Monitor = "monitor"

// Job is what is to run, and when.
type Job struct {
	// Profile is the name of the schedule: of a profile, or [Monitor].
	Profile string
	// Program is the path of the executable, Arguments what it is run with.
	Program   string
	Arguments []string
	// Failed is what the program is run with when the job could not be run to its
	// end; only systemd does that.
	Failed []string
	// Environment is NAME=value for each variable.
	Environment []string
	When        When
	// Deadline is when systemd ends a run; 0 is the usual one, some hours.
	Deadline time.Duration
	// System says that it is a job of the system and not of a user.
	System  bool
	Account Account
	Needs   Needs
	// Log is where launchd writes what the job prints; the other managers have a
	// place of their own.
	Log string
}

// Account is who a job runs as.
type Account struct {
	Name string
	UID  int
	Home string
}

// When says when a job runs. One of the two is set.
type When struct {
	Every    time.Duration
	Calendar string // as OnCalendar= of systemd has it: daily, *-*-* 03:00
}

// String is the schedule for people.
func (w When) String() string {
	if w.Every > 0 {
		return "every " + span(w.Every)
	}
	return w.Calendar
}

// Network is what of the network a job needs.
type Network int

// How much of the network a job needs.
const (
	NoNetwork Network = iota
	Loopback          // servers of this machine
	Internet
)

// Needs is what a job cannot do without: the sandbox leaves it open.
type Needs struct {
	// Data is the data directory; Writable are other directories that the job
	// changes. They need not exist. Scratch is where large files are for a moment,
	// "" for the usual place.
	Data     string
	Writable []string
	Scratch  string
	Network  Network
	// Temporary says that files which others put into the temporary directories
	// are looked at.
	Temporary bool
	// Programs says that other programs are run, whose interpreters may make
	// code while they run.
	Programs bool
}

// profileName is what a schedule can be called: it becomes part of file names.
var profileName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,39}$`) })

const failedSuffix = "-failed"

// shortest is the shortest interval: launchd and cron know no shorter one that
// makes sense.
const shortest = time.Minute

// Check returns what is wrong with a job, nil if nothing is.
func (j Job) Check() error {
	switch {
	case !profileName().MatchString(j.Profile) || strings.HasSuffix(j.Profile, failedSuffix):
		return fmt.Errorf("%q cannot be the name of a schedule: small letters, digits, - and _, at most 40, not ending in %s", j.Profile, failedSuffix)
	case !filepath.IsAbs(j.Program):
		return fmt.Errorf("the path of the program, %q, is not absolute", j.Program)
	case (j.When.Every > 0) == (j.When.Calendar != ""):
		return errors.New("a job runs either every so often or at times of the calendar")
	case j.When.Every != 0 && j.When.Every < shortest:
		return fmt.Errorf("every %s is more often than once a minute", span(j.When.Every))
	}
	for _, text := range slices.Concat([]string{j.Program, j.When.Calendar, j.Account.Name, j.Account.Home, j.Log, j.Needs.Data, j.Needs.Scratch}, j.Arguments, j.Failed, j.Environment, j.Needs.Writable) {
		if i := strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }); i >= 0 {
			return fmt.Errorf("%q holds a control character: no manager takes that", text)
		}
	}
	return nil
}

// Name is what the job is called by its manager.
func (j Job) Name() string {
	if j.System && j.Account.Name != "" && j.Account.Name != rootName {
		return namePrefix + j.Profile + "-" + safeName(j.Account.Name)
	}
	return namePrefix + j.Profile
}

const (
	namePrefix = "sessctl-"
	rootName   = "root"
)

// safeName is the name of an account as a part of a file name.
func safeName(account string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, account)
}

// marker is the first comment of everything that is installed. Only what carries
// it is replaced or removed.
const marker = "Made by sessctl schedule: "

func (j Job) marker() string {
	text := marker + j.Profile
	if j.System {
		text += " for " + j.Account.Name
	}
	return text
}

// markerIn returns what a text says of whose it is, "" if it is not ours.
func markerIn(text string) string {
	_, rest, found := strings.Cut(text, marker)
	if !found || strings.Count(text[:len(text)-len(rest)], "\n") > 3 {
		return ""
	}
	line, _, _ := strings.Cut(rest, "\n")
	return marker + strings.TrimSpace(strings.TrimSuffix(line, "-->"))
}

// File is a file that a manager reads.
type File struct {
	Path string
	Text string
}

func (j Job) describe() string {
	if j.Profile == Monitor {
		return "sessctl: look at all sessions once"
	}
	return "sessctl: run the profile " + j.Profile
}

// span is a duration as systemd and people write it: 30min, 1h, 90min.
func span(d time.Duration) string {
	switch {
	case d >= 24*time.Hour && d%(24*time.Hour) == 0:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	case d >= time.Hour && d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d >= time.Minute && d%time.Minute == 0:
		return fmt.Sprintf("%dmin", d/time.Minute)
	}
	return fmt.Sprintf("%ds", d/time.Second)
}
