package cmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/hooks"
	"github.com/spf13/cobra"
)

func newHookCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "hook",
		Short: "Register sessctl with runtimes: recall for agents, archives before changes",
		Long: `Register sessctl in a runtime's own settings: as MCP server, so that agents can
recall, and as a hook, so that a session is archived and remembered before the
runtime compacts, resets or leaves it. Only our part of each file is added;
remove takes it away again.
` + exitHelp,
		Example: `  sessctl hook install claude --dry-run
  sessctl hook install claude
  sessctl hook status
  sessctl hook remove claude`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newHookInstallCommand(a), newHookRemoveCommand(a), newHookStatusCommand(a), newHookRunCommand(a))
	return c
}

type hookOptions struct {
	Runtime string
	DryRun  bool
	Program string
}

func newHookInstallCommand(a *app) *cobra.Command {
	o := hookOptions{}
	c := &cobra.Command{
		Use:   "install RUNTIME",
		Short: "Register sessctl with a runtime: " + strings.Join(hooks.Names(), ", "),
		Long: `Write into the runtime's settings what calls sessctl. Every other byte of them
stays. A second install changes nothing. --dry-run shows the difference.
` + exitHelp,
		Example: `  sessctl hook install claude --dry-run
  sessctl hook install openclaw
  sessctl hook install codex --program /usr/local/bin/sessctl`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			o.Runtime = args[0]
			return runHookChange(c.Context(), a, o, hooks.PlanInstall)
		},
	}
	c.Flags().BoolVar(&o.DryRun, "dry-run", false, "show the difference and change nothing")
	c.Flags().StringVar(&o.Program, "program", "", "let the runtime call the sessctl at `path` (default: this one)")
	return c
}

func newHookRemoveCommand(a *app) *cobra.Command {
	o := hookOptions{}
	c := &cobra.Command{
		Use:   "remove RUNTIME",
		Short: "Remove what install wrote",
		Long: `Make a runtime's settings what they were before install: byte for byte, if nobody
has changed them since, else by taking our part away.
` + exitHelp,
		Example: `  sessctl hook remove claude --dry-run
  sessctl hook remove claude`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			o.Runtime = args[0]
			return runHookChange(c.Context(), a, o, hooks.PlanRemove)
		},
	}
	c.Flags().BoolVar(&o.DryRun, "dry-run", false, "show the difference and change nothing")
	return c
}

// hookDocument is `hook install --json` and `hook remove --json`.
type hookDocument struct {
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

	before, after []byte
}

func runHookChange(ctx context.Context, a *app, o hookOptions, plan func(hooks.Target, string) (hooks.Plan, error)) error {
	target, err := hookTarget(a.Run, o.Runtime, o.Program)
	if err != nil {
		return err
	}
	if !o.DryRun {
		a.Global.LockWait = cmp.Or(a.Global.LockWait, registerLockWait)
		lock, err := a.Lock(ctx)
		if err != nil {
			return err
		}
		defer lock.Unlock()
		if err := errors.Join(durable.Sweep(a.DataDir(), 0), target.Sweep(a.HooksDir())); err != nil {
			return hookFailure(err, target)
		}
	}
	p, err := plan(target, a.HooksDir())
	if err != nil {
		return hookFailure(err, target)
	}
	doc := newHookDocument(p, o.DryRun)
	if !o.DryRun && p.Needed() {
		if err := p.Execute(); err != nil {
			return hookFailure(err, target)
		}
	}
	for _, text := range p.Notes {
		if doc.Changed {
			a.Notice(workspace.Note{Message: text})
		}
	}
	if p.Installs() && !steps.ReadsStoresOf(&a.Run.Settings, o.Runtime) {
		a.Tell(workspace.Note{Path: workspace.ConfigFile(&a.Run.Settings), Message: "no store of " + o.Runtime + " is among those in the configuration: its hooks keep nothing", Hint: "add it to stores"})
	}
	if p.Installs() && doc.Changed && o.Program == "" {
		tellTemporary(a.Run, target.Program, "the hooks fail")
	}
	doc.Notes = a.Notes
	return a.renderHooks(doc)
}

// registerLockWait is how long hook install and remove wait for another sessctl
// if --lock-wait does not say so.
const registerLockWait = 10 * time.Second

// hookFailure says what can be done about an error.
func hookFailure(err error, t hooks.Target) error {
	f := &failure.Error{Code: "failed", Exit: failure.ExitFailed, Err: err}
	switch {
	case errors.Is(err, hooks.ErrNoRuntime):
		f.Code, f.Path, f.Hint = "no_runtime", t.Dir, "start "+t.Runtime+" once, or make the directory"
	case errors.Is(err, hooks.ErrForeign):
		f.Code, f.Hint = "foreign", "move the file away, or merge the two by hand: --dry-run --json shows what would be written"
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

// hookTarget is a runtime, as this user has it.
func hookTarget(a *workspace.Run, runtime, program string) (hooks.Target, error) {
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

func newHookDocument(p hooks.Plan, dryRun bool) hookDocument {
	doc := hookDocument{Schema: 1, Runtime: p.Runtime, DryRun: dryRun, Changed: p.Needed(), Files: []hookFile{}}
	for _, c := range p.Changes {
		f := hookFile{Path: c.Path, What: c.What, Change: "none", before: c.Before, after: c.After}
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

func (a *app) renderHooks(doc hookDocument) error {
	if a.JSON {
		return a.printJSON(doc)
	}
	if !doc.Changed {
		if !a.Quiet {
			_, err := fmt.Fprintf(a.Out, "%s: nothing to change\n", doc.Runtime)
			return err
		}
		return nil
	}
	var b strings.Builder
	for _, f := range doc.Files {
		switch {
		case f.Change == "none":
		case doc.DryRun:
			b.WriteString(wording.VisibleText(steps.Difference(f.Path, splitLines(f.before), splitLines(f.after))))
		default:
			fmt.Fprintf(&b, "%s %s (%s)\n", f.Change, wording.Visible(a.Tilde(f.Path)), f.What)
		}
	}
	_, err := io.WriteString(a.Out, b.String())
	return err
}

func splitLines(text []byte) []string { return strings.Split(string(text), "\n") }

func newHookStatusCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "status",
		Short:   "Show with which runtimes sessctl is registered",
		Long:    "Show with which runtimes sessctl is registered, and the latest error of a hook.\n" + exitHelp,
		Example: "  sessctl hook status",
		Args:    usageArgs(cobra.NoArgs),
		RunE:    func(*cobra.Command, []string) error { return runHookStatus(a) },
	}
}

// hookStatusDocument is `hook status --json`.
type hookStatusDocument struct {
	Schema   int          `json:"schema"`
	Runtimes []hookStatus `json:"runtimes"`
	Failures []hookFailed `json:"failures"` // of the last week, newest last
}

type hookStatus struct {
	Runtime string   `json:"runtime"`
	State   string   `json:"state"` // installed, not installed, differs, absent, unreadable
	Reason  string   `json:"reason"`
	Paths   []string `json:"paths"`
}

func runHookStatus(a *app) error {
	doc := hookStatusDocument{Schema: 1, Runtimes: []hookStatus{}, Failures: hookFailures(&a.Run.Settings)}
	for _, runtime := range hooks.Names() {
		target, err := hookTarget(a.Run, runtime, "")
		if err != nil {
			return err
		}
		doc.Runtimes = append(doc.Runtimes, newHookStatus(hooks.Look(target, a.HooksDir())))
	}
	if a.JSON {
		return a.printJSON(doc)
	}
	var b strings.Builder
	for _, s := range doc.Runtimes {
		fmt.Fprintf(&b, "%-10s%s\n", s.Runtime, s.State)
		if s.Reason != "" {
			fmt.Fprintf(&b, "          %s\n", wording.Visible(s.Reason))
		}
	}
	for _, f := range doc.Failures {
		fmt.Fprintf(&b, "failed %s: %s of %s: %s\n", f.At.Local().Format("2006-01-02 15:04"), wording.Visible(f.Event), f.Runtime, wording.Visible(f.Error))
	}
	_, err := io.WriteString(a.Out, b.String())
	return err
}

func newHookStatus(s hooks.State, err error) hookStatus {
	row := hookStatus{Runtime: s.Runtime, State: "not installed", Paths: append([]string{}, s.Paths...)}
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

// hookFailed is a hook that went wrong: a line of <data>/hooks/failures.jsonl.
type hookFailed struct {
	At      time.Time `json:"at"`
	Runtime string    `json:"runtime"`
	Event   string    `json:"event"`
	Session string    `json:"session"`
	Error   string    `json:"error"`
}

// failuresKept is how long a failure of a hook is shown.
const failuresKept = 7 * 24 * time.Hour

func hookFailuresFile(a *workspace.Settings) string {
	return filepath.Join(a.HooksDir(), "failures.jsonl")
}

// hookFailures are the failures of the last week, oldest first.
func hookFailures(a *workspace.Settings) []hookFailed {
	failures := []hookFailed{}
	text, err := readHookFailures(hookFailuresFile(a))
	if err != nil {
		return failures
	}
	for line := range strings.Lines(text) {
		var f hookFailed
		if json.Unmarshal([]byte(line), &f) == nil && a.Now().Sub(f.At) < failuresKept {
			failures = append(failures, f)
		}
	}
	return failures[max(0, len(failures)-mostFailures):]
}

// what says which hook it was.
func (f hookFailed) what() string {
	if f.Runtime == "" {
		return "of an unknown runtime"
	}
	return f.Event + " of " + f.Runtime
}

// mostFailures is how many failures are shown.
const mostFailures = 20

// examineHooks tells of hooks that went wrong, and of registrations that call
// another sessctl.
func (d *checkup) examineHooks(context.Context) error {
	if failures := hookFailures(&d.app.Run.Settings); len(failures) > 0 {
		last := failures[len(failures)-1]
		d.warn(hookFailuresFile(&d.app.Run.Settings), fmt.Sprintf("%s in the last week; the last one, %s: %s", wording.Plural(len(failures), "hook")+" failed", last.what(), last.Error),
			"sessctl hook status lists them; sessctl archive --all --remember takes in what they missed")
	}
	for _, runtime := range hooks.Names() {
		target, err := hookTarget(d.app.Run, runtime, "")
		if err != nil {
			return err
		}
		if s := newHookStatus(hooks.Look(target, d.HooksDir())); s.State == "differs" {
			d.note(target.Dir, "sessctl's registration with "+runtime+" is incomplete, or calls another sessctl", "sessctl hook install "+runtime+" lets it call this one")
		}
	}
	return nil
}
