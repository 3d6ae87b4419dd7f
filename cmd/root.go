package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Main runs the command line and returns the process's exit code. It is the
// only place that sees signals: the first one cancels the context, so that
// the step under way ends and everything is left consistent; a second one
// kills.
func Main(args []string, in io.Reader, out, errOut io.Writer) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	stop := cancelOnSignal(cancel)
	defer stop()

	st := newStreams(in, out, errOut)
	app := newApp(st, os.Getenv, time.Now)
	root := newRootCommand(app)
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		app.addCompletions(root)
	}
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	c, err := root.ExecuteContextC(ctx)
	err = app.blameConfig(c, err)
	changed := app.EventsWait
	if changed {
		workspace.TellEvents(ctx, app.Run)
	}
	app.TellMore()
	app.stopProfile()
	workspace.End(app.Run)
	if changed || workspace.Entered(app.Run) {
		workspace.KeepHeads(ctx, app.Run, false)
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if usage := (*failure.Error)(nil); errors.As(err, &usage) && usage.Exit == failure.ExitUsage {
		usage.Hint = cmp.Or(wording.Moved(args), usage.Hint)
	}
	reportError(errOut, err, app.JSON || asksJSON(args))
	if code := failure.ExitCode(err); code != failure.ExitOK || app.Incomplete == 0 {
		return code
	}
	app.TellUntold()
	return failure.ExitPartly
}

// asksJSON reports whether --json is among the arguments: behind a flag that is
// wrong nothing was read.
func asksJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--json")
}

func cancelOnSignal(cancel context.CancelCauseFunc) (stop func()) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		switch <-signals {
		case syscall.SIGTERM:
			cancel(failure.ErrTerminated)
		case os.Interrupt:
			cancel(context.Canceled)
		}
		signal.Stop(signals) // a second signal has its usual effect
	}()
	return func() { signal.Stop(signals) }
}

func (a *app) addGlobalFlags(fs *pflag.FlagSet) {
	g := &a.Global
	fs.BoolVar(&a.JSON, "json", false, "print one JSON document on stdout, and errors as JSON on stderr")
	fs.BoolVarP(&a.Quiet, "quiet", "q", false, "no progress, no notes and no lines about unchanged sessions; other results and errors are printed")
	fs.StringVar(&g.ConfigFile, "config", "", "read the configuration from `file` (default $XDG_CONFIG_HOME/sessctl/config.yaml)")
	fs.StringVar(&g.DataDir, "data-dir", "", "keep memory, receipts and archives under `dir` (default $XDG_DATA_HOME/sessctl)")
	fs.StringArrayVar(&g.Stores, "store", nil, "read the store at `runtime=path` too, beside those that are found (repeatable)")
	fs.StringArrayVar(&g.OnlyStores, "only-store", nil, "read the store at `runtime=path` instead of those that are found (repeatable)")
	fs.StringVar(&g.Runtime, "runtime", "", "only sessions of this `runtime` ("+workspace.RuntimeNames()+")")
	fs.BoolVar(&g.AllowRoot, "allow-root", false, "as root, change sessions and data of other users too")
	fs.BoolVar(&g.Verbose, "verbose", false, "say on stderr, for every session looked at, which test decided about it (also SESSCTL_LOG=debug)")
	fs.StringVar(&g.Profile, "pprof", "", "write a CPU profile of this run to `file`")
	fs.IntVar(&g.Workers, "workers", 0, "read at most `n` logs at a time where many are read (default 2)")
	fs.DurationVar(&g.LockWait, "lock-wait", 0, "wait up to this `duration` while another sessctl uses the data directory (default: do not wait)")
	fromConfig(fs, "workers", "workers")
	fromConfig(fs, "lock-wait", "lock_wait")
	fromConfig(fs, "data-dir", "data_dir")
	fromConfig(fs, "store", "stores")
	fromConfig(fs, "only-store", "only_stores")
}

func newRootCommand(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "sessctl",
		Short: "Keep the session logs of LLM agents small without losing a word",
		Long: `sessctl reads the session logs of LLM agents, puts verified copies of them in
an archive, cuts them into searchable memory, writes a summary, and starts the
agent on a fresh session. You can find what it took away with recall, and
read it with archives show.`,
		Example: `  sessctl sizes
  sessctl compact --agent coordinator --dry-run
  sessctl compact --agent coordinator
  sessctl recall "which port did we choose for the importer"`,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			return a.prepare(c)
		},
	}
	root.SetFlagErrorFunc(flagError)
	root.Version = programVersion()
	root.SetVersionTemplate(versionLine() + "\n")
	root.Flags().Bool("version", false, "print the version")
	var all bool
	root.SetHelpCommand(newHelpCommand(a, &all))
	a.addGlobalFlags(root.PersistentFlags())
	groups := a.groups()
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
		for _, c := range g.commands {
			c.GroupID = g.title
			root.AddCommand(c)
		}
	}
	completeCommand(root)
	root.SetHelpCommandGroupID("Settings")
	root.SetCompletionCommandGroupID("Settings")
	listTopics(root)
	shortenHelp(a, root, groups, &all)
	root.InitDefaultCompletionCmd()
	checkCompletionArguments(root)
	return root
}

// completeCommand gives a command and those below it what most have: no arguments, help
// where it does nothing itself, and the exit codes at the end of what it says, unless it
// tells its own.
func completeCommand(c *cobra.Command) {
	if c.Args == nil {
		c.Args = usageArgs(cobra.NoArgs)
	}
	if c.RunE == nil {
		c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	}
	if c.Long != "" && !strings.Contains(c.Long, "Exit code") {
		c.Long += "\n" + exitHelp
	}
	for _, below := range c.Commands() {
		completeCommand(below)
	}
}

// CommandTree returns the program's commands below its root, for programs that
// describe them, such as the one that writes the man pages.
func CommandTree() *cobra.Command { return newRootCommand(&app{Run: &workspace.Run{}}) }

// prepare reads the configuration before a command runs. What says what this
// program is works whatever the configuration says.
func (a *app) prepare(c *cobra.Command) error {
	if name := topCommand(c).Name(); name == "version" || name == "help" || name == "completion" {
		return nil
	}
	if err := checkNames(c); err != nil {
		return err
	}
	if err := takePair(c); err != nil {
		return err
	}
	a.takePart(c)
	if err := a.startProfile(); err != nil {
		return err
	}
	a.Every = a.Global.Verbose
	a.Log = decisionLog(a.Err, a.Global.Verbose || a.Getenv("SESSCTL_LOG") == "debug")
	if err := a.configured(c); err != nil {
		return err
	}
	if err := a.checkDataDir(c); err != nil {
		return err
	}
	if name := topCommand(c).Name(); name != "serve" && name != "mcp" { // each piece of their work begins anew
		a.Pin()
	}
	return nil
}

// decisionLog is the log of decisions: lines of key=value, nil if nobody asked.
func decisionLog(w io.Writer, asked bool) *slog.Logger {
	if !asked {
		return nil
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// reportError prints an error once: as one JSON object, or as "error:" and
// "hint:" lines.
func reportError(w io.Writer, err error, asJSON bool) {
	var outcome *failure.Outcome
	if err == nil || errors.As(err, &outcome) {
		return // what there is to say was said
	}
	body := failure.Explain(err)
	if asJSON {
		_ = writeJSON(w, "", failure.ErrorDocument{Schema: 1, Error: body}) // there is nobody left to tell
		return
	}
	fmt.Fprintf(w, "sessctl: %s\n", wording.VisibleText(strings.TrimSpace(body.Message)))
	if body.Hint != "" {
		fmt.Fprintf(w, "hint: %s\n", wording.Visible(body.Hint))
	}
}

// maxWorkers bounds --workers: each holds the buffers of the log that it reads.
const maxWorkers = 64

// checkLimits looks at the options of all commands that are numbers.
func checkLimits(a *workspace.Settings) error {
	if a.Global.LockWait < 0 {
		return failure.Usage("0 does not wait", "--lock-wait must not be negative, not %s", a.Global.LockWait)
	}
	if a.Global.Workers < 1 || a.Global.Workers > maxWorkers {
		return failure.Usage("1 is one after the other", "--workers must be between 1 and %d, not %d", maxWorkers, a.Global.Workers)
	}
	return nil
}
