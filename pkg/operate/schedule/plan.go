package schedule

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/sessctl/sessctl/pkg/durable"
)

// Action is what happens to a file.
type Action string

// The actions of a plan.
const (
	Create  Action = "create"
	Replace Action = "replace"
	Keep    Action = "keep" // it is as it should be
	Remove  Action = "remove"
)

// Change is a file, or a crontab, before and after.
type Change struct {
	Path          string
	Action        Action
	Before, After string
	crontab       bool
}

// Command is a program of a manager that is run.
type Command struct {
	Name      string
	Arguments []string
	// Optional says that its failure is no failure of the plan.
	Optional bool
}

// String is the command as it is typed.
func (c Command) String() string { return c.Name + " " + strings.Join(c.Arguments, " ") }

// Plan is what installing or removing a schedule changes. It is data: what is
// shown is what is executed.
type Plan struct {
	Manager Manager
	Profile string
	Name    string // of the job, as the manager knows it
	System  bool
	Changes []Change
	Before  []Command // are run before files change
	After   []Command // are run when they have changed
	// Left are files that belong to the schedule and are not ours: they stay.
	Left []string
	// Offline says that the manager does not run: the job begins when it does.
	Offline bool
}

// Nothing reports whether everything is as it should be already.
func (p *Plan) Nothing() bool {
	for _, c := range p.Changes {
		if c.Action != Keep {
			return false
		}
	}
	return len(p.Before)+len(p.After) == 0
}

// Files are the texts of a job for a manager, with the places where they go. The
// path of a crontab is "".
func (h Host) Files(j Job, m Manager) ([]File, error) {
	if err := j.Check(); err != nil {
		return nil, err
	}
	switch {
	case m == Systemd && strings.ContainsAny(j.Program, "\"'\\"):
		return nil, fmt.Errorf("the path of the program, %s, holds a quotation mark or a backslash: systemd runs no such program", j.Program)
	case m == Systemd:
		return j.Units(h.Places.units(j.System)), nil
	case m == Launchd:
		f, err := j.PropertyList(h.Places.agents(j.System))
		return []File{f}, err
	case j.System:
		f, err := j.cronFile(h.Places.CronDir)
		return []File{f}, err
	}
	lines, err := j.CronLines()
	return []File{{"", lines}}, err
}

// PlanInstall says what has to change so that a manager runs a job. It changes
// nothing.
func (h Host) PlanInstall(ctx context.Context, j Job, m Manager) (*Plan, error) {
	files, err := h.Files(j, m)
	if err != nil {
		return nil, err
	}
	p := &Plan{Manager: m, Profile: j.Profile, Name: j.Name(), System: j.System}
	for _, f := range files {
		change, err := h.compare(ctx, f, j.marker())
		if err != nil {
			return nil, err
		}
		p.Changes = append(p.Changes, change)
	}
	if m == Systemd { // by its timer a schedule is known: after an install that was killed remove finds the rest
		p.Changes[0], p.Changes[1] = p.Changes[1], p.Changes[0]
	}
	h.activate(ctx, p, j)
	return p, nil
}

// compare says what installing a file changes.
func (h Host) compare(ctx context.Context, f File, mark string) (Change, error) {
	c := Change{Path: f.Path, After: f.Text, Action: Replace}
	var err error
	if f.Path == "" {
		c.crontab, c.Path = true, h.crontabName()
		if c.Before, err = h.crontab(ctx); err == nil {
			c.After, err = withLines(c.Before, mark, f.Text)
		}
	} else if c.Before, err = readOwn(f.Path); err == nil && c.Before != "" && markerIn(c.Before) != mark {
		err = fmt.Errorf("%s %w", f.Path, ErrForeign)
	}
	switch {
	case err != nil:
		return c, err
	case c.Before == c.After:
		c.Action = Keep
	case c.Before == "":
		c.Action = Create
	}
	return c, nil
}

func (h Host) crontabName() string { return "crontab of " + h.Account }

// activate adds the commands after which the manager runs the job.
func (h Host) activate(ctx context.Context, p *Plan, j Job) {
	changed := !p.Nothing()
	switch p.Manager {
	case Cron:
		p.Offline = !h.cronRuns(ctx)
	case Systemd:
		p.Offline = !h.systemdRuns(ctx, p.System)
		if !changed && h.systemdActive(ctx, p) {
			return
		}
		if !p.Offline {
			p.After = append(p.After, Command{Name: "systemctl", Arguments: scoped(p.System, "daemon-reload")})
		}
		p.After = append(p.After, Command{Name: "systemctl", Arguments: scoped(p.System, "enable", p.timer())})
		if !p.Offline {
			p.After = append(p.After, Command{Name: "systemctl", Arguments: scoped(p.System, "restart", p.timer())})
		}
	case Launchd:
		known := h.launchdKnows(ctx, p.System, j.label())
		if !changed && known {
			return
		}
		if known {
			p.Before = append(p.Before, Command{Name: "launchctl", Arguments: []string{"bootout", h.domain(p.System) + "/" + j.label()}})
		}
		p.After = append(p.After, Command{Name: "launchctl", Arguments: []string{"bootstrap", h.domain(p.System), p.Changes[0].Path}})
	}
}

func (p *Plan) timer() string { return p.Name + ".timer" }

// systemdActive reports whether the timer is enabled, and runs where systemd does.
func (h Host) systemdActive(ctx context.Context, p *Plan) bool {
	enabled, _ := h.Programs.Run(ctx, nil, "systemctl", scoped(p.System, "is-enabled", p.timer())...)
	if strings.TrimSpace(string(enabled)) != "enabled" {
		return false
	}
	if p.Offline {
		return true
	}
	active, _ := h.Programs.Run(ctx, nil, "systemctl", scoped(p.System, "is-active", p.timer())...)
	return strings.TrimSpace(string(active)) == "active"
}

func (h Host) launchdKnows(ctx context.Context, system bool, label string) bool {
	_, err := h.Programs.Run(ctx, nil, "launchctl", "print", h.domain(system)+"/"+label)
	return err == nil
}

// PlanRemove says what has to go so that nothing is left of a schedule. The job
// needs its profile, its account and whether it is of the system.
func (h Host) PlanRemove(ctx context.Context, j Job, m Manager) (*Plan, error) {
	p := &Plan{Manager: m, Profile: j.Profile, Name: j.Name(), System: j.System}
	var err error
	switch {
	case m == Systemd:
		err = h.removeUnits(ctx, p, j)
	case m == Launchd:
		err = h.removeFile(p, filepath.Join(h.Places.agents(j.System), j.label()+".plist"), j.marker())
		if err == nil && len(p.Changes) > 0 && h.launchdKnows(ctx, p.System, j.label()) {
			p.Before = append(p.Before, Command{Name: "launchctl", Arguments: []string{"bootout", h.domain(p.System) + "/" + j.label()}})
		}
	case j.System:
		err = h.removeFile(p, filepath.Join(h.Places.CronDir, j.Name()), j.marker())
	default:
		err = h.removeLines(ctx, p, j)
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

func (h Host) removeFile(p *Plan, path, mark string) error {
	text, err := readOwn(path)
	switch {
	case err != nil && !errors.Is(err, ErrForeign):
		return err
	case err != nil, text != "" && markerIn(text) != mark:
		p.Left = append(p.Left, path)
	case text != "":
		p.Changes = append(p.Changes, Change{Path: path, Action: Remove, Before: text})
	}
	return nil
}

func (h Host) removeUnits(ctx context.Context, p *Plan, j Job) error {
	dir := h.Places.units(p.System)
	for _, suffix := range []string{failedSuffix + ".service", ".service", ".timer"} { // the timer last: by it a second remove knows of the rest
		if err := h.removeFile(p, filepath.Join(dir, p.Name+suffix), j.marker()); err != nil {
			return err
		}
		if dropIns := filepath.Join(dir, p.Name+suffix+".d"); isThere(dropIns) {
			p.Left = append(p.Left, dropIns)
		}
	}
	if len(p.Changes) == 0 {
		return nil
	}
	link := filepath.Join(dir, "timers.target.wants", p.timer())
	if p.Offline = !h.systemdRuns(ctx, p.System); h.Installed(ctx, Systemd) {
		p.systemctl(&p.Before, false, scoped(p.System, "disable", p.timer())...)
	} else if isThere(link) {
		p.Changes = append([]Change{{Path: link, Action: Remove}}, p.Changes...)
	}
	if p.Offline {
		return nil
	}
	p.systemctl(&p.Before, false, scoped(p.System, "stop", p.timer())...)
	p.systemctl(&p.Before, true, scoped(p.System, "clean", "--what=state", p.timer())...)
	p.systemctl(&p.After, false, scoped(p.System, "daemon-reload")...)
	p.systemctl(&p.After, true, scoped(p.System, "reset-failed", p.Name+".service", p.Name+failedSuffix+".service")...)
	return nil
}

func (p *Plan) systemctl(to *[]Command, optional bool, arguments ...string) {
	*to = append(*to, Command{Name: "systemctl", Arguments: arguments, Optional: optional})
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func (h Host) removeLines(ctx context.Context, p *Plan, j Job) error {
	crontab, err := h.crontab(ctx)
	if notFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	before, _, after, found, err := cutLines(crontab, j.marker())
	if err == nil && found {
		p.Changes = append(p.Changes, Change{Path: h.crontabName(), Action: Remove, Before: crontab, After: before + after, crontab: true})
	}
	return err
}

// Execute carries a plan out, and looks afterwards whether the manager does as it
// was told. What it did before it failed stays: the same command again goes on
// from there.
func (h Host) Execute(ctx context.Context, p *Plan) error {
	if err := h.runAll(ctx, p.Before); err != nil {
		return err
	}
	for _, c := range p.Changes {
		if err := h.apply(ctx, c); err != nil {
			return err
		}
	}
	h.removeEmpty(p)
	if err := h.runAll(ctx, p.After); err != nil {
		return err
	}
	return h.verify(ctx, p)
}

func (h Host) runAll(ctx context.Context, commands []Command) error {
	for _, c := range commands {
		if _, err := h.Programs.Run(ctx, nil, c.Name, c.Arguments...); err != nil && !c.Optional {
			return fmt.Errorf("%s: %w", c, err)
		}
	}
	return nil
}

func (h Host) apply(ctx context.Context, c Change) error {
	switch {
	case c.Action == Keep:
		return nil
	case c.crontab:
		return h.writeCrontab(ctx, c)
	case c.Action == Remove:
		if err := durable.RemoveFile(c.Path); !errors.Is(err, fs.ErrNotExist) { // another remove was faster
			return err
		}
		return nil
	}
	if err := durable.MakeDir(filepath.Dir(c.Path), 0o755); err != nil {
		return err
	}
	_ = durable.Sweep(filepath.Dir(c.Path)) // what a killed install left; the next one tries again
	return durable.ReplaceFile(c.Path, 0o644, func(w io.Writer) error {
		_, err := io.WriteString(w, c.After)
		return err
	})
}

// writeCrontab replaces the crontab if it still is what the plan has read.
func (h Host) writeCrontab(ctx context.Context, c Change) error {
	now, err := h.crontab(ctx)
	if err != nil {
		return err
	}
	if now != c.Before {
		return ErrChanged
	}
	if c.After == "" {
		_, err = h.Programs.Run(ctx, nil, "crontab", "-r")
	} else {
		_, err = h.Programs.Run(ctx, []byte(c.After), "crontab", "-")
	}
	if err != nil {
		return fmt.Errorf("write the crontab: %w", err)
	}
	if now, err = h.crontab(ctx); err == nil && now != c.After {
		err = errors.New("the crontab is not what was written: look at it with crontab -l")
	}
	return err
}

// removeEmpty removes the directories of a user's manager that are empty now.
func (h Host) removeEmpty(p *Plan) {
	levels := 1
	if p.Manager == Systemd {
		levels = 2 // systemd/user
	}
	for _, c := range p.Changes {
		if c.Action != Remove || c.crontab || p.System {
			continue
		}
		_ = durable.Sweep(filepath.Dir(c.Path)) // what a killed install left; the next one tries again
		for dir, n := filepath.Dir(c.Path), 0; n < levels; n++ {
			_ = durable.RemoveEmptyDir(dir) // others may have files in it
			dir = filepath.Dir(dir)
		}
	}
}

// verify looks whether the manager does as the plan says.
func (h Host) verify(ctx context.Context, p *Plan) error {
	if len(p.Changes) == 0 || p.Changes[0].Action == Remove || p.Manager == Cron {
		return nil
	}
	if p.Manager == Systemd && !h.systemdActive(ctx, p) {
		return fmt.Errorf("%s is not active: see systemctl %s", p.timer(), strings.Join(scoped(p.System, "status", p.timer()), " "))
	}
	if p.Manager == Launchd && !h.launchdKnows(ctx, p.System, strings.TrimSuffix(filepath.Base(p.Changes[0].Path), ".plist")) {
		return fmt.Errorf("launchd does not know the job: see launchctl print %s", h.domain(p.System))
	}
	return nil
}

func notFound(err error) bool { return errors.Is(err, exec.ErrNotFound) }
