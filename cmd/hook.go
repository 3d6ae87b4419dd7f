package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/unattended"
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
remove takes it away again.`,
		Example: `  sessctl hook install claude --dry-run
  sessctl hook install claude
  sessctl hook status
  sessctl hook remove claude`,
	}
	c.AddCommand(newHookInstallCommand(a), newHookRemoveCommand(a), newHookStatusCommand(a), newHookRunCommand(a))
	return c
}

func newHookInstallCommand(a *app) *cobra.Command {
	o := unattended.HookOptions{}
	c := &cobra.Command{
		Use:   "install RUNTIME",
		Short: "Register sessctl with a runtime: " + strings.Join(hooks.Names(), ", "),
		Long: `Write into the runtime's settings what calls sessctl. Every other byte of them
stays. A second install changes nothing. --dry-run shows the difference.`,
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
	o := unattended.HookOptions{}
	c := &cobra.Command{
		Use:   "remove RUNTIME",
		Short: "Remove what install wrote",
		Long: `Make a runtime's settings what they were before install: byte for byte, if nobody
has changed them since, else by taking our part away.`,
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

func runHookChange(ctx context.Context, a *app, o unattended.HookOptions, plan func(hooks.Target, string) (hooks.Plan, error)) error {
	target, err := unattended.HookTarget(a.Run, o.Runtime, o.Program)
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
			return unattended.HookFailure(err, target)
		}
	}
	p, err := plan(target, a.HooksDir())
	if err != nil {
		return unattended.HookFailure(err, target)
	}
	doc := unattended.NewHookDocument(p, o.DryRun)
	if !o.DryRun && p.Needed() {
		if err := p.Execute(); err != nil {
			return unattended.HookFailure(err, target)
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
		unattended.TellTemporary(a.Run, target.Program, "the hooks fail")
	}
	doc.Notes = a.Notes
	return renderHooks(a, doc)
}

// registerLockWait is how long hook install and remove wait for another sessctl
// if --lock-wait does not say so.
const registerLockWait = 10 * time.Second

func renderHooks(a *app, doc unattended.HookDocument) error {
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
			b.WriteString(wording.VisibleText(steps.Difference(f.Path, splitLines(f.Before), splitLines(f.After))))
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
		Long:    "Show with which runtimes sessctl is registered, and the latest error of a hook.",
		Example: "  sessctl hook status",
		RunE:    func(*cobra.Command, []string) error { return runHookStatus(a) },
	}
}

func runHookStatus(a *app) error {
	doc := unattended.HookStatusDocument{Schema: 1, Runtimes: []unattended.HookStatus{}, Failures: unattended.HookFailureRows(&a.Run.Settings)}
	for _, runtime := range hooks.Names() {
		target, err := unattended.HookTarget(a.Run, runtime, "")
		if err != nil {
			return err
		}
		doc.Runtimes = append(doc.Runtimes, unattended.NewHookStatus(hooks.Look(target, a.HooksDir())))
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
