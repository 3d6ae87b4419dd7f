package cmd

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/glance"
	"github.com/sessctl/sessctl/pkg/summarize"
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
	app := &app{streams: st, notes: []note{}, now: time.Now, getenv: os.Getenv}
	root := newRootCommand(app)
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.ExecuteContext(ctx)
	app.stopProfile()
	app.closeStores()
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	reportError(errOut, err, app.global.JSON)
	if code := exitCode(err); code != exitOK || app.unlisted == 0 {
		return code
	}
	return exitPartly // a store could not be listed
}

// errTerminated is the cause of a cancellation by SIGTERM.
var errTerminated = errors.New("terminated")

func cancelOnSignal(cancel context.CancelCauseFunc) (stop func()) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		switch <-signals {
		case syscall.SIGTERM:
			cancel(errTerminated)
		case os.Interrupt:
			cancel(context.Canceled)
		}
		signal.Stop(signals) // a second signal has its usual effect
	}()
	return func() { signal.Stop(signals) }
}

// app is what every command gets: the streams, the clock, the environment and
// the options that all commands share.
type app struct {
	*streams
	now    func() time.Time
	getenv func(string) string
	global globalOptions
	config config
	notes  []note // told so far
	late   []lateLines

	opened   []session.Store
	unlisted int // stores that could not be listed
	// foreign is a session of another user, if root has listed any.
	foreign foreignFile
	listed  bool // the stores were listed, and foreign was looked for
	// glances is what sizes remembers of logs, nil for other commands.
	glances *glance.Cache

	profile *os.File // of --pprof, while it is written

	meter *summarize.Meter // counts the calls to models; nil until the first is meant
}

// globalOptions are the flags of the root command.
type globalOptions struct {
	JSON       bool
	Quiet      bool
	ConfigFile string
	DataDir    string
	Stores     []string
	Runtime    string
	Profile    string
	AllowRoot  bool
	Workers    int
}

func (g *globalOptions) addFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&g.JSON, "json", false, "print one JSON document on stdout, and errors as JSON on stderr")
	fs.BoolVarP(&g.Quiet, "quiet", "q", false, "no progress and no notes")
	fs.StringVar(&g.ConfigFile, "config", "", "read the configuration from `file` (default $XDG_CONFIG_HOME/sessctl/config.yaml)")
	fs.StringVar(&g.DataDir, "data-dir", "", "keep memory, receipts and archives under `dir` (default $XDG_DATA_HOME/sessctl)")
	fs.StringArrayVar(&g.Stores, "store", nil, "use the store at `runtime=path` instead of those under the home directory (repeatable)")
	fs.StringVar(&g.Runtime, "runtime", "", "only sessions of this `runtime` ("+runtimeNames()+")")
	fs.BoolVar(&g.AllowRoot, "allow-root", false, "as root, change sessions and data of other users too")
	fs.StringVar(&g.Profile, "pprof", "", "write a CPU profile of this run to `file`")
	fs.IntVar(&g.Workers, "workers", 0, "read at most `n` logs at a time where many are read (default 2)")
	fromConfig(fs, "workers", "workers")
	fromConfig(fs, "data-dir", "data_dir")
	fromConfig(fs, "store", "stores")
}

func newRootCommand(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "sessctl",
		Short: "Keep the session logs of LLM agents small without losing a word",
		Long: `sessctl reads the session logs of LLM agents, puts verified copies of them in
an archive, cuts them into searchable memory, writes a summary, and starts the
agent on a fresh session. What it took away can be found again with recall and
read again with archive show.
` + exitHelp,
		Example: `  sessctl sizes
  sessctl compact --agent coordinator --dry-run
  sessctl compact --agent coordinator
  sessctl recall "which port did we choose for the importer"`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          usageArgs(cobra.NoArgs),
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			return errors.Join(a.startProfile(), a.loadConfig(c), a.checkWorkers())
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError("see "+c.CommandPath()+" --help", "%w", err)
	})
	root.CompletionOptions.HiddenDefaultCmd = true
	a.global.addFlags(root.PersistentFlags())
	root.AddCommand(
		newSizesCommand(a),
		newCompactCommand(a),
		newRecallCommand(a),
		newArchiveCommand(a),
		newCleanCommand(a),
		newMemoryCommand(a),
		newStoresCommand(a),
		newReplayContextCommand(a),
		newExtractFactsCommand(a),
		newDoctorCommand(a),
		newConfigCommand(a),
		newVersionCommand(a),
	)
	return root
}

// usageArgs makes cobra's complaints about arguments usage errors.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return usageError("see "+c.CommandPath()+" --help", "%w", err)
		}
		return nil
	}
}
