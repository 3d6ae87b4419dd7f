package schedule

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// State is a schedule that is installed.
type State struct {
	Manager Manager
	System  bool
	Profile string
	Account string // of a job of the system
	Name    string // as the manager knows it
	When    string // as the manager has it
	Path    string // of the file that says when
	Data    string // the data directory of the job; "" where its file does not say
	// Active says that the manager will start it; Offline that the manager does not
	// run, or cannot be asked.
	Active, Offline bool
	// Next and Last are the zero time where the manager does not tell. Last is of a
	// start by hand too, where systemd tells.
	Next, Last time.Time
	// Result is what systemd says of the last run: success, exit-code, timeout,
	// signal, oom-kill; "" if it does not tell.
	Result string
}

// States returns every schedule of ours that is installed, for the user and for
// the system, of every manager whose files are there.
func (h Host) States(ctx context.Context, now time.Time) ([]State, error) {
	var all []State
	for _, system := range []bool{false, true} {
		for _, path := range glob(h.Places.units(system), namePrefix+"*.timer") {
			if s, ok := h.stateOf(path, Systemd, system); ok {
				all = append(all, h.timerState(ctx, s))
			}
		}
		for _, path := range glob(h.Places.agents(system), labelPrefix+"*.plist") {
			if s, ok := h.stateOf(path, Launchd, system); ok {
				s.Active = h.launchdKnows(ctx, system, s.Name)
				all = append(all, s)
			}
		}
	}
	var lines []State
	for _, path := range glob(h.Places.CronDir, namePrefix+"*") {
		if s, ok := h.stateOf(path, Cron, true); ok {
			lines = append(lines, s.withNext(now))
		}
	}
	ofUser, err := h.cronStates(ctx, now)
	if lines = append(lines, ofUser...); len(lines) > 0 && !h.cronRuns(ctx) {
		for i := range lines {
			lines[i].Active, lines[i].Offline = false, true
		}
	}
	return append(all, lines...), err
}

func glob(dir, pattern string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // not there, or not ours to read
	}
	var paths []string
	for _, e := range entries {
		if ok, _ := filepath.Match(pattern, e.Name()); ok {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths
}

// stateOf is what a file says; false if it is not ours.
func (h Host) stateOf(path string, m Manager, system bool) (State, bool) {
	text, err := readOwn(path)
	mark := markerIn(text)
	if err != nil || mark == "" {
		return State{}, false
	}
	s := State{Manager: m, System: system, Path: path, Active: m == Cron}
	s.Profile, s.Account, _ = strings.Cut(strings.TrimPrefix(mark, marker), " for ")
	s.Name = strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".timer"), ".plist")
	s.When = whenIn(text, m)
	if service, isTimer := strings.CutSuffix(path, ".timer"); isTimer {
		text, _ = readOwn(service + ".service") // one that cannot be read says nothing
	}
	s.Data = dataDirectory(text, m)
	return s, true
}

// whenIn finds what a file of ours says of the times.
func whenIn(text string, m Manager) string {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch m {
		case Systemd:
			if at, ok := strings.CutPrefix(line, "OnCalendar="); ok {
				return strings.ReplaceAll(at, "%%", "%")
			}
			if every, ok := strings.CutPrefix(line, "OnUnitActiveSec="); ok {
				return "every " + every
			}
		case Cron:
			if fields := strings.Fields(line); len(fields) > 5 && (isDigit(fields[0]) || fields[0][0] == '*') {
				return strings.Join(fields[:5], " ")
			}
		}
	}
	if _, rest, ok := strings.Cut(text, "<key>StartInterval</key>"); ok && m == Launchd {
		_, rest, _ = strings.Cut(rest, "<integer>")
		number, _, _ := strings.Cut(rest, "<")
		seconds, _ := strconv.Atoi(number)
		return "every " + span(time.Duration(seconds)*time.Second)
	}
	return "at times of the calendar"
}

func (h Host) cronStates(ctx context.Context, now time.Time) ([]State, error) {
	crontab, err := h.crontab(ctx)
	if notFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []State
	for line := range strings.Lines(crontab) {
		mark, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), cronBegin+marker)
		if !ok {
			continue
		}
		_, own, _, found, err := cutLines(crontab, marker+mark)
		if err != nil || !found {
			return all, err
		}
		s := State{Manager: Cron, Profile: mark, Name: namePrefix + mark, Path: h.crontabName(), Active: true, When: whenIn(own, Cron), Data: dataDirectory(own, Cron)}
		all = append(all, s.withNext(now))
	}
	return all, nil
}

// withNext works out when cron starts the job next.
func (s State) withNext(now time.Time) State {
	fields := strings.Fields(s.When)
	if len(fields) != 5 {
		return s
	}
	var c calendar
	for i, field := range []struct {
		values      *[]int
		least, most int
	}{{&c.minutes, 0, 59}, {&c.hours, 0, 23}, {&c.days, 1, 31}, {&c.months, 1, 12}, {&c.weekdays, 0, 6}} {
		values, err := parseList(fields[i], field.least, field.most)
		if err != nil {
			return s
		}
		*field.values = values
	}
	s.Next = c.next(now)
	return s
}

// next is the first minute after now that the calendar means, by the clock on the
// wall; the zero time if there is none within four years.
func (c calendar) next(now time.Time) time.Time {
	has := func(values []int, v int) bool { return len(values) == 0 || slices.Contains(values, v) }
	at := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	for range 4*366 + 1 {
		if has(c.months, int(at.Month())) && has(c.days, at.Day()) && has(c.weekdays, int(at.Weekday())) {
			for minute := range 24 * 60 {
				if t := time.Date(at.Year(), at.Month(), at.Day(), minute/60, minute%60, 0, 0, now.Location()); t.After(now) && has(c.hours, minute/60) && has(c.minutes, minute%60) {
					return t
				}
			}
		}
		at = at.AddDate(0, 0, 1)
	}
	return time.Time{}
}

// timerState asks systemd about a timer.
func (h Host) timerState(ctx context.Context, s State) State {
	p := &Plan{Name: s.Name, System: s.System}
	s.Active, s.Offline = h.systemdActive(ctx, p), !h.systemdRuns(ctx, s.System)
	listed, err := h.Programs.Run(ctx, nil, "systemctl", scoped(s.System, "list-timers", "--all", "--output=json", p.timer())...)
	var timers []struct {
		Unit string `json:"unit"`
		Next any    `json:"next"`
		Last any    `json:"last"`
	}
	if err == nil && json.Unmarshal(listed, &timers) == nil {
		for _, t := range timers {
			if t.Unit == p.timer() {
				s.Next, s.Last = microseconds(t.Next), microseconds(t.Last)
			}
		}
	}
	h.serviceState(ctx, &s)
	return s
}

// serviceState asks systemd how the service of a timer ended, and when it was
// started last: by the timer or by hand.
func (h Host) serviceState(ctx context.Context, s *State) {
	said, err := h.Programs.Run(ctx, nil, "systemctl", scoped(s.System, "show", "--property=Result,ExecMainStartTimestamp", s.Name+".service")...)
	if err != nil {
		return
	}
	result := ""
	for line := range strings.Lines(string(said)) {
		switch name, value, _ := strings.Cut(strings.TrimSpace(line), "="); name {
		case "Result":
			result = value
		case "ExecMainStartTimestamp":
			if at, err := time.Parse("Mon 2006-01-02 15:04:05 MST", value); err == nil && at.After(s.Last) {
				s.Last = at
			}
		}
	}
	if !s.Last.IsZero() {
		s.Result = result
	}
}

// microseconds reads a time as systemd writes it into JSON: microseconds since
// 1970, 0 or null for none.
func microseconds(value any) time.Time {
	if n, ok := value.(float64); ok && n > 0 && n < 1<<60 {
		return time.UnixMicro(int64(n)).UTC()
	}
	return time.Time{}
}
