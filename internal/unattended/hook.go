package unattended

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/hooks"
)

// HookOptions are the options of hook.
type HookOptions struct {
	Runtime string
	DryRun  bool
	Program string
}

// HookDocument is `hook install --json` and `hook remove --json`.
type HookDocument struct {
	Schema  int              `json:"schema"`
	Runtime string           `json:"runtime"`
	DryRun  bool             `json:"dry_run"`
	Changed bool             `json:"changed"`
	Files   []hookFile       `json:"files"`
	Notes   []workspace.Note `json:"notes"`
}

type hookFile struct {
	Path   string `json:"path"`
	What   string `json:"what"`
	Change string `json:"change"` // none, made, changed, removed

	Before, After []byte `json:"-"`
}

// HookFailure says what can be done about an error.
func HookFailure(err error, t hooks.Target) error {
	f := &failure.Error{Code: "failed", Exit: failure.ExitFailed, Err: err}
	switch {
	case errors.Is(err, hooks.ErrNoRuntime):
		f.Code, f.Path, f.Hint = "no_runtime", t.Dir, "start "+t.Runtime+" once, or make the directory"
	case errors.Is(err, hooks.ErrForeign):
		f.Code, f.Hint = "foreign", "move the file away, or merge the two by hand: --dry-run --json shows what would be written"
	case errors.Is(err, hooks.ErrNoRecord):
		f.Hint = AdviseNoRecord(t.Runtime)
	case errors.Is(err, hooks.ErrDangling):
		f.Code, f.Hint = "dangling", "make the file that it leads to, or remove the link"
	case errors.Is(err, fs.ErrPermission):
		f.Code, f.Hint = "permission", "check who owns the file and its directory; nothing was installed"
	case errors.Is(err, hooks.ErrChanged):
		f.Code, f.Exit, f.Hint = "changed", failure.ExitBusy, "run the command again; if "+t.Runtime+" is running, end it first"
	default:
		f.Hint = "comments and trailing commas are fine, other extensions of JSON and inline tables are not: correct the file, or write our part by hand (docs/hooks.md)"
	}
	return f
}

// AdviseNoRecord is what to do about a record of settings that says nothing.
func AdviseNoRecord(runtime string) string {
	return "restore it from a backup, or move it away: sessctl hook remove " + runtime + " takes away what is its own without it, but does not know what was there before"
}

// HookTarget is a runtime, as this user has it.
func HookTarget(a *workspace.Run, runtime, program string) (hooks.Target, error) {
	path, err := programFor(a, program)
	if err != nil {
		return hooks.Target{}, err
	}
	p := hooks.Program{Path: path, Args: typedGlobals(&a.Settings)}
	target, known := hooks.For(runtime, hookHome(&a.Settings), p)
	if !known {
		return target, failure.Usage(wording.DidYouMean(runtime, hooks.Names(), "runtimes: "+strings.Join(hooks.Names(), ", ")), "unknown runtime %q", runtime)
	}
	return target, nil
}

// typedGlobals are the options that a runtime's calls need too.
func typedGlobals(a *workspace.Settings) []string {
	var args []string
	if a.Global.ConfigFile != "" {
		args = append(args, "--config="+workspace.Absolute(a.Global.ConfigFile))
	}
	if dir := a.DataDir(); dir != filepath.Join(a.Home(), ".local", "share", "sessctl") {
		args = append(args, "--data-dir="+dir) // the runtime may have another environment
	}
	return args
}

// hookHome says where the runtimes of this user keep their settings.
func hookHome(a *workspace.Settings) hooks.Home {
	home := a.Home()
	at := func(variable, below string) string {
		if dir := a.Getenv(variable); dir != "" {
			return workspace.Absolute(dir)
		}
		return filepath.Join(home, below)
	}
	h := hooks.Home{
		Claude: at("CLAUDE_CONFIG_DIR", ".claude"), ClaudeJSON: filepath.Join(home, ".claude.json"), Codex: at("CODEX_HOME", ".codex"),
		Gemini: filepath.Join(home, ".gemini"), OpenClaw: at("OPENCLAW_STATE_DIR", ".openclaw"), Pi: at("PI_CODING_AGENT_DIR", filepath.Join(".pi", "agent")),
	}
	if a.Getenv("CLAUDE_CONFIG_DIR") != "" {
		h.ClaudeJSON = filepath.Join(h.Claude, ".claude.json")
	}
	return h
}

// NewHookDocument is what was done to hooks, as JSON.
func NewHookDocument(p hooks.Plan, dryRun bool) HookDocument {
	doc := HookDocument{Schema: 1, Runtime: p.Runtime, DryRun: dryRun, Changed: p.Needed(), Files: []hookFile{}}
	for _, c := range p.Changes {
		f := hookFile{Path: c.Path, What: c.What, Change: "none", Before: c.Before, After: c.After}
		switch {
		case !c.Needed():
		case c.Before == nil:
			f.Change = "made"
		case c.After == nil:
			f.Change = "removed"
		default:
			f.Change = "changed"
		}
		doc.Files = append(doc.Files, f)
	}
	return doc
}

// HookStatusDocument is `hook status --json`.
type HookStatusDocument struct {
	Schema   int              `json:"schema"`
	Runtimes []HookStatus     `json:"runtimes"`
	Failures []HookFailureRow `json:"failures"` // of the last week, newest last
}

// HookFailureRow is a hook that went wrong ([HookFailed]).
type HookFailureRow struct {
	At      time.Time `json:"at"`
	Runtime string    `json:"runtime"`
	Event   string    `json:"event"`
	Session string    `json:"session"`
	Error   string    `json:"error"`
}

// HookStatus is the state of the hooks of a runtime, as JSON.
type HookStatus struct {
	Runtime string   `json:"runtime"`
	State   string   `json:"state"` // installed, not installed, differs, absent, unreadable
	Reason  string   `json:"reason"`
	Paths   []string `json:"paths"`
}

// NewHookStatus is the state of the hooks of a runtime.
func NewHookStatus(s hooks.State, err error) HookStatus {
	row := HookStatus{Runtime: s.Runtime, State: "not installed", Paths: append([]string{}, s.Paths...)}
	switch {
	case err != nil:
		row.State, row.Reason = "unreadable", err.Error()
	case !s.Present:
		row.State = "absent"
	case s.Installed:
		row.State = "installed"
	case s.Partly:
		row.State, row.Reason = "differs", "some of it is missing, or calls another sessctl; sessctl hook install "+s.Runtime+" mends it"
	}
	return row
}

// HookFailed is a hook that went wrong: a line of <data>/hooks/failures.jsonl.
type HookFailed struct {
	At      time.Time `json:"at"`
	Runtime string    `json:"runtime"`
	Event   string    `json:"event"`
	Session string    `json:"session"`
	Error   string    `json:"error"`
}

// failuresKept is how long a failure of a hook is shown.
const failuresKept = 7 * 24 * time.Hour

// HookFailuresFile is where failures of hooks are kept.
func HookFailuresFile(a *workspace.Settings) string {
	return filepath.Join(a.HooksDir(), "failures.jsonl")
}

// KeepFailure adds a failure to those that are kept.
func KeepFailure(run *workspace.Run, f HookFailed) error {
	line, err := json.Marshal(f)
	if err == nil {
		err = run.Pins.MakeDir(run.HooksDir(), 0o700)
	}
	if err == nil {
		err = BoundFailures(run)
	}
	if err == nil {
		err = run.Pins.AppendLine(HookFailuresFile(&run.Settings), line, 0o600)
	}
	return err
}

// HookFailures are the failures of the last week, oldest first.
func HookFailures(a *workspace.Settings) []HookFailed {
	failures := []HookFailed{}
	text, err := readHookFailures(HookFailuresFile(a))
	if err != nil {
		return failures
	}
	for line := range strings.Lines(text) {
		var f HookFailed
		if json.Unmarshal([]byte(line), &f) == nil && a.Now().Sub(f.At) < failuresKept {
			failures = append(failures, f)
		}
	}
	return failures[max(0, len(failures)-mostFailures):]
}

// HookFailureRows is what is printed of these failures.
func HookFailureRows(a *workspace.Settings) []HookFailureRow {
	rows := []HookFailureRow{}
	for _, f := range HookFailures(a) {
		rows = append(rows, HookFailureRow(f))
	}
	return rows
}

// What says which hook it was.
func (f HookFailed) What() string {
	if f.Runtime == "" {
		return "of an unknown runtime"
	}
	return f.Event + " of " + f.Runtime
}

// mostFailures is how many failures are shown.
const mostFailures = 20
