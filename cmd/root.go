package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/session"
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
	if app.eventsWait {
		app.tellEvents(ctx)
	}
	app.stopProfile()
	app.end()
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	reportError(errOut, err, app.JSON || asksJSON(args))
	if code := exitCode(err); code != exitOK || app.incomplete == 0 {
		return code
	}
	return exitPartly
}

// errTerminated is the cause of a cancellation by SIGTERM.
var errTerminated = errors.New("terminated")

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
			cancel(errTerminated)
		case os.Interrupt:
			cancel(context.Canceled)
		}
		signal.Stop(signals) // a second signal has its usual effect
	}()
	return func() { signal.Stop(signals) }
}

// app is what every command gets: the streams that it prints to, and the run
// that it carries out.
type app struct {
	*streams
	*invocation
	refused bool     // a hook could not begin: its runtime is not to notice
	profile *os.File // of --pprof, while it is written
}

// newApp makes the app of one invocation that prints to st.
func newApp(st *streams, getenv func(string) string, now func() time.Time) *app {
	run := newInvocation(getenv, now)
	run.version, run.shows = programVersion(), showsOn(st)
	return &app{streams: st, invocation: run}
}

// inner is the app of a command that runs as a part of another one, which takes
// its document.
func (a *app) inner() *app {
	return &app{streams: a.unprinted(), invocation: a.step(), refused: a.refused, profile: a.profile}
}

// anew is the app of one more run of a command in the same process.
func (a *app) anew() *app {
	streams := *a.streams
	streams.document = nil
	return &app{streams: &streams, invocation: a.again(), refused: a.refused, profile: a.profile}
}

// aside is anew for what prints nothing. It works in the directories that are held
// open.
func (a *app) aside() *app {
	return &app{streams: a.unprinted(), invocation: a.apart(), refused: a.refused, profile: a.profile}
}

// printingTo is anew for one piece of the work of a server: it prints nothing but
// to out, and waits for the lock as if it were the first. The caller ends it with
// end.
func (a *app) printingTo(out io.Writer) *app {
	own := a.anew()
	own.pin()
	own.streams = newStreams(strings.NewReader(""), out, io.Discard)
	own.shows = showsOn(own.streams)
	own.Quiet = false
	own.held, own.lockUntil, own.meter, own.profile, own.underWay = nil, time.Time{}, nil, nil, nil
	return own
}

func (a *app) addGlobalFlags(fs *pflag.FlagSet) {
	g := &a.global
	fs.BoolVar(&a.JSON, "json", false, "print one JSON document on stdout, and errors as JSON on stderr")
	fs.BoolVarP(&a.Quiet, "quiet", "q", false, "no progress, no notes and no lines about unchanged sessions; other results and errors are printed")
	fs.StringVar(&g.ConfigFile, "config", "", "read the configuration from `file` (default $XDG_CONFIG_HOME/sessctl/config.yaml)")
	fs.StringVar(&g.DataDir, "data-dir", "", "keep memory, receipts and archives under `dir` (default $XDG_DATA_HOME/sessctl)")
	fs.StringArrayVar(&g.Stores, "store", nil, "use the store at `runtime=path` instead of those under the home directory (repeatable)")
	fs.StringVar(&g.Runtime, "runtime", "", "only sessions of this `runtime` ("+runtimeNames()+")")
	fs.BoolVar(&g.AllowRoot, "allow-root", false, "as root, change sessions and data of other users too")
	fs.StringVar(&g.Profile, "pprof", "", "write a CPU profile of this run to `file`")
	fs.IntVar(&g.Workers, "workers", 0, "read at most `n` logs at a time where many are read (default 2)")
	fs.DurationVar(&g.LockWait, "lock-wait", 0, "wait up to this `duration` while another sessctl uses the data directory (default: do not wait)")
	fromConfig(fs, "workers", "workers")
	fromConfig(fs, "lock-wait", "lock_wait")
	fromConfig(fs, "data-dir", "data_dir")
	fromConfig(fs, "store", "stores")
}

func newRootCommand(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "sessctl",
		Short: "Keep the session logs of LLM agents small without losing a word",
		Long: `sessctl reads the session logs of LLM agents, puts verified copies of them in
an archive, cuts them into searchable memory, writes a summary, and starts the
agent on a fresh session. You can find what it took away with recall, and
read it with archive show.
` + exitHelp,
		Example: `  sessctl sizes
  sessctl compact --agent coordinator --dry-run
  sessctl compact --agent coordinator
  sessctl recall "which port did we choose for the importer"`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          usageArgs(cobra.NoArgs),
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			return a.prepare(c)
		},
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(a.Out, startPage)
			return err
		},
	}
	root.SetFlagErrorFunc(flagError)
	root.Version = programVersion()
	root.SetVersionTemplate(versionLine() + "\n")
	root.Flags().Bool("version", false, "print the version")
	root.SetHelpCommand(newHelpCommand(a))
	a.addGlobalFlags(root.PersistentFlags())
	root.AddCommand(a.commands()...)
	listTopics(root)
	root.InitDefaultCompletionCmd()
	checkCompletionArguments(root)
	return root
}

// CommandTree returns the program's commands below its root, for programs that
// describe them, such as the one that writes the man pages.
func CommandTree() *cobra.Command { return newRootCommand(&app{invocation: &invocation{}}) }

// startPage is what sessctl alone prints: it fits on a small terminal, the list of
// all commands does not.
const startPage = `sessctl keeps the session logs of LLM agents small without losing a word.

What fills the disk, what was said, undo, all on one screen:
  sessctl browse

The same, one by one:
  sessctl sizes                      how full every session's context is
  sessctl usage                      what sessions, archives and memory take on the disk
  sessctl archive --all --remember   copy all sessions and make them searchable; changes none
  sessctl recall "QUESTION"          find what was said, with the file and the line
  sessctl compact --all --dry-run    what a compaction would do
  sessctl log                        what was done; sessctl compact --undo takes it back

sessctl --help lists all commands and options. sessctl help memory explains what
is remembered; other topics are archives, configuration, exit-codes, files and runtimes.
`

// commands are those below the root, in the order in which help lists them.
func (a *app) commands() []*cobra.Command {
	return []*cobra.Command{
		newSizesCommand(a),
		newBrowseCommand(a),
		newCompactCommand(a),
		newRunCommand(a),
		newScheduleCommand(a),
		newLogCommand(a),
		newUsageCommand(a),
		newReportCommand(a),
		newRecallCommand(a),
		newPushCommand(a),
		newArchiveCommand(a),
		newCleanCommand(a),
		newPinCommand(a),
		newMemoryCommand(a),
		newStoresCommand(a),
		newReplayContextCommand(a),
		newExtractFactsCommand(a),
		newMonitorCommand(a),
		newMetricsCommand(a),
		newServeCommand(a),
		newDoctorCommand(a),
		newMCPCommand(a),
		newHookCommand(a),
		newEventsCommand(a),
		newConfigCommand(a),
		newVersionCommand(a),
	}
}

// prepare reads the configuration before a command runs. What says what this
// program is works whatever the configuration says.
func (a *app) prepare(c *cobra.Command) error {
	if name := topCommand(c).Name(); name == "version" || name == "help" || name == "completion" {
		return nil
	}
	if err := checkNames(c); err != nil {
		return err
	}
	if err := a.startProfile(); err != nil {
		return err
	}
	if err := a.configured(c); err != nil {
		return err
	}
	if err := a.checkDataDir(c); err != nil {
		return err
	}
	if name := topCommand(c).Name(); name != "serve" && name != "mcp" { // each piece of their work begins anew
		a.pin()
	}
	return nil
}

// topCommand is the command below the root that c is, or belongs to.
func topCommand(c *cobra.Command) *cobra.Command {
	for c.Parent() != nil && c.Parent().HasParent() {
		c = c.Parent()
	}
	return c
}

// usageArgs makes cobra's complaints about arguments usage errors.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			if len(args) > 0 && c.HasSubCommands() {
				return noCommand(c, args[0])
			}
			return argumentError(c, check, args)
		}
		return nil
	}
}

// argumentError says of which arguments a command has too many or too few.
func argumentError(c *cobra.Command, check cobra.PositionalArgs, args []string) error {
	hint := "write " + c.UseLine() + "; see " + c.CommandPath() + " --help"
	switch {
	case len(args) == 0:
		return usageError(hint, "%s: an argument is missing", c.CommandPath())
	case check(c, nil) == nil && check(c, args[:1]) != nil:
		return usageError(hint, "%s takes no argument, not %q", c.CommandPath(), args[0])
	}
	return usageError(hint, "%s takes one argument: %q is one too many", c.CommandPath(), args[1])
}

// Exit codes (docs/dev/decisions.md D23). 75 is EX_TEMPFAIL of sysexits.h.
const (
	exitOK        = 0
	exitFailed    = 1
	exitUsage     = 2
	exitPartly    = 3
	exitIntegrity = 4
	exitBusy      = 75
	exitInterrupt = 130
	exitTerminate = 143
)

// exitHelp is the same table for people; it ends every command's help.
const exitHelp = `
Exit codes: 0 done or nothing to do, 1 failed, 2 wrong usage, 3 some sessions
failed, 4 an archive or the memory is damaged, 75 busy (try again later),
130/143 interrupted.`

// failure is an error with a hint for people and a code for machines.
type failure struct {
	code string // stable word for --json: "usage", "unknown_agent", ...
	exit int
	hint string
	path string
	err  error
}

// Error implements error.
func (f *failure) Error() string { return f.err.Error() }

// Unwrap returns the cause.
func (f *failure) Unwrap() error { return f.err }

func usageError(hint, format string, args ...any) error {
	return &failure{code: "usage", exit: exitUsage, hint: hint, err: fmt.Errorf(format, args...)}
}

// outcomeError carries an exit code for something that was already rendered.
type outcomeError struct {
	exit int
}

// Error implements error.
func (o *outcomeError) Error() string { return fmt.Sprintf("exit code %d", o.exit) }

// exitCode is the only place that turns an error into a number.
func exitCode(err error) int {
	var outcome *outcomeError
	var f *failure
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &outcome):
		return outcome.exit
	case errors.As(err, &f):
		return f.exit
	case errors.Is(err, errTerminated):
		return exitTerminate
	case errors.Is(err, context.Canceled):
		return exitInterrupt
	case errors.Is(err, durable.ErrLocked), errors.Is(err, session.ErrBusy), errors.Is(err, memory.ErrBusy):
		return exitBusy
	case errors.Is(err, archive.ErrCorrupt), errors.Is(err, archive.ErrMissing), errors.Is(err, archive.ErrUnusableEntry), errors.Is(err, memory.ErrCorrupt), errors.Is(err, compact.ErrDamagedRecord):
		return exitIntegrity
	}
	return exitFailed
}

// plentyFree is so much room, in bytes, that a write which found none was refused
// for another reason.
const plentyFree = 8 << 20

// errorDocument is what --json prints on stderr (docs/json.md).
type errorDocument struct {
	Schema int       `json:"schema"`
	Error  errorBody `json:"error"`
}

type errorBody struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
	Path    string `json:"path"`
}

// explain turns any error into what a person or a program needs to know.
func explain(err error) errorBody {
	body := errorBody{Code: "failed", Message: err.Error()}
	var f *failure
	if errors.As(err, &f) {
		body.Code, body.Hint, body.Path = f.code, f.hint, f.path
		return body
	}
	var space *durable.SpaceError
	var gateway *session.GatewayError
	var stuck *compact.StuckError
	var path *os.PathError
	switch {
	case errors.Is(err, context.Canceled):
		body.Code, body.Message = "interrupted", "interrupted"
		body.Hint = "nothing was lost; run the same command again to go on"
	case errors.Is(err, durable.ErrLocked):
		body.Code, body.Hint = "locked", "another sessctl is working on this data directory; try again when it is done"
	case errors.As(err, &stuck):
		body.Code, body.Hint = "unfinished", "sessctl doctor says what can be done about it"
	case errors.As(err, &gateway):
		body.Code, body.Hint, body.Path = "gateway", gateway.Hint, gateway.Store
	case errors.As(err, &space):
		body.Code, body.Path = "no_space", space.Dir
		body.Hint = fmt.Sprintf("%s free in %s; make room, or choose another place (archive.dir, data_dir, or the file that was named)", formatBytes(int64(space.Free)), space.Dir)
		if space.Free > plentyFree {
			body.Hint = fmt.Sprintf("%s free in %s: it may be out of inodes (df -i), or a quota is used up", formatBytes(int64(space.Free)), space.Dir)
		}
	case errors.Is(err, archive.ErrCorrupt), errors.Is(err, archive.ErrMissing):
		body.Code, body.Hint = "damaged", "restore the archive from a backup; sessctl archive verify lists all that is damaged"
	case errors.Is(err, archive.ErrUnusableEntry):
		body.Code, body.Hint = "damaged", "sessctl archive verify lists all that is damaged; archiving the same bytes again writes the entry anew"
	case errors.Is(err, compact.ErrDamagedRecord):
		body.Code, body.Hint = "damaged", "restore it from a backup; sessctl doctor lists all that is damaged"
	case errors.Is(err, memory.ErrDamagedWords):
		body.Code, body.Hint = "damaged", "nothing is lost: sessctl memory reindex --from-archives reads the words of the texts anew; sessctl memory verify checks everything"
	case errors.Is(err, memory.ErrCorrupt):
		body.Code, body.Hint = "damaged", "sessctl memory reindex --from-archives makes it again from the archives; the damaged one is kept"
	case errors.Is(err, memory.ErrFull):
		body.Code, body.Hint = "no_space", "make room, or choose another place (data_dir)"
	case errors.Is(err, syscall.EROFS), errors.Is(err, os.ErrPermission):
		body.Code, body.Hint = "permission", "check who owns the path, and that its file system can be written"
	}
	if body.Path == "" && errors.As(err, &path) {
		body.Path = path.Path
	}
	return body
}

// reportError prints an error once: as one JSON object, or as "error:" and
// "hint:" lines.
func reportError(w io.Writer, err error, asJSON bool) {
	var outcome *outcomeError
	if err == nil || errors.As(err, &outcome) {
		return // what there is to say was said
	}
	body := explain(err)
	if asJSON {
		_ = writeJSON(w, "", errorDocument{Schema: 1, Error: body}) // there is nobody left to tell
		return
	}
	fmt.Fprintf(w, "sessctl: %s\n", visibleText(strings.TrimSpace(body.Message)))
	if body.Hint != "" {
		fmt.Fprintf(w, "hint: %s\n", visible(body.Hint))
	}
}

// maxWorkers bounds --workers: each holds the buffers of the log that it reads.
const maxWorkers = 64

// workers is how many logs are read at a time, where many are read and nothing
// is changed. What changes something is done one after the other.
func (a *invocation) workers() int { return max(a.global.Workers, 1) }

// checkLimits looks at the options of all commands that are numbers.
func (a *invocation) checkLimits() error {
	if a.global.LockWait < 0 {
		return usageError("0 does not wait", "--lock-wait must not be negative, not %s", a.global.LockWait)
	}
	if a.global.Workers < 1 || a.global.Workers > maxWorkers {
		return usageError("1 is one after the other", "--workers must be between 1 and %d, not %d", maxWorkers, a.global.Workers)
	}
	return nil
}
