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
	"sync"
	"syscall"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/browse"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

type browseOptions struct {
	Agent  string
	Sort   string
	Redact bool
}

func (o *browseOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Agent, "agent", "", "only sessions of this `agent`")
	fs.StringVar(&o.Sort, "sort", "bytes", "sort by `key` at first: bytes, tokens, age or name")
	fs.BoolVar(&o.Redact, "redact", false, "mask what looks like a secret in what is read")
}

func (o *browseOptions) validate(a *workspace.Run) error {
	if !slices.Contains(browse.Sorts(), o.Sort) {
		return failure.Usage("--sort takes "+strings.Join(browse.Sorts(), ", "), "unknown sort key %q", o.Sort)
	}
	if a.JSON {
		return failure.Usage("sessctl sizes --json, recall --json and log --json print documents", "browse is a screen for people and has no --json")
	}
	return nil
}

func newBrowseCommand(a *app) *cobra.Command {
	var o browseOptions
	c := &cobra.Command{
		Use:   "browse",
		Short: "Look at sessions on the terminal: what fills the disk, what was said, undo",
		Long: `Show all sessions as a tree of runtimes, agents and sessions, the largest first.
Enter opens what is under the cursor and reads a session; / asks the memory what
was said and opens the answer at its line. ? shows all keys.

c compacts, a archives, u undoes, f forgets and p pins what is under the cursor.
Each shows first what it would do, and changes nothing before y was pressed. What
it does then is what the command of the same name does, and esc breaks it off.

It needs a terminal. It works over ssh, without colour (NO_COLOR) and without a
mouse.
` + exitHelp,
		Example: `  sessctl browse
  sessctl browse --agent coordinator
  sessctl browse --sort age --redact`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.validate(a.Run); err != nil {
				return err
			}
			return runBrowse(c.Context(), a, o)
		},
	}
	o.addFlags(c.Flags())
	return c
}

// runBrowse shows the browser until the person quits, or the context ends.
func runBrowse(ctx context.Context, a *app, o browseOptions) error {
	if err := a.needTerminal(); err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer cancelOnHangup(stop)()
	b := &browser{app: a, options: o}
	err := b.run(ctx)
	stop(nil)
	b.work.Wait() // what was begun ends, or stops at a safe point
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

// needTerminal refuses to draw where nobody would see it, or where the terminal
// cannot move its cursor.
func (a *app) needTerminal() error {
	in, ok := a.In.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) || !a.OutTTY {
		return failure.Usage("sessctl sizes, recall, log and archive show print the same into a file or a pipe", "browse needs a terminal: stdin or stdout is not one")
	}
	if kind := a.Getenv("TERM"); kind == "dumb" || kind == "" && os.PathSeparator == '/' {
		return failure.Usage("set TERM to what the terminal is, for example TERM=xterm; or use sessctl sizes, recall and archive show", "browse cannot draw on a terminal that cannot move its cursor (TERM is %q)", kind)
	}
	return nil
}

// cancelOnHangup ends a program whose terminal is gone like one that is
// terminated: what was begun stops at a safe point.
func cancelOnHangup(cancel context.CancelCauseFunc) (stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		select {
		case <-signals:
			cancel(failure.ErrTerminated)
		case <-done:
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}

// browser does what the model of the browser asks for.
type browser struct {
	*app
	options browseOptions
	work    sync.WaitGroup

	mu     sync.Mutex
	cancel context.CancelFunc // of the request that is waited for
}

// begin makes the context of a request that the person waits for. The one before
// is given up.
func (b *browser) begin(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cancel = cancel
	return ctx, cancel
}

// breakOff cancels the request that is waited for.
func (b *browser) breakOff() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cancel != nil {
		b.cancel()
	}
}

// piece is the app for one piece of the browser's work: it prints nothing, and
// its document goes to take.
func (b *browser) piece(take func(any)) *app {
	own := b.printingTo(io.Discard)
	own.JSON, own.streams.document = true, take
	own.OutTTY, own.ErrTTY = false, false
	return own
}

// failureOf is an error as a person is told it.
func failureOf(err error) browse.Failure {
	body := failure.Explain(err)
	if body.Code == "no_memory" {
		body.Hint = "go back (esc) and press a on a runtime, an agent or a session: it archives and remembers all sessions there and changes none; then ask again"
	}
	return browse.Failure{Message: strings.TrimSpace(body.Message), Hint: body.Hint}
}

// noteLines are notes as lines of a text.
func noteLines(notes []workspace.Note) (text string) {
	for _, n := range notes {
		text += "note: " + wording.Visible(n.Text()) + "\n"
		if n.Hint != "" {
			text += "  hint: " + wording.Visible(n.Hint) + "\n"
		}
	}
	return text
}

// errorLines are what went wrong, as lines of a text; "" if what there is to say
// was said.
func errorLines(err error) string {
	var told *failure.Outcome
	if err == nil || errors.As(err, &told) {
		return ""
	}
	body := failure.Explain(err)
	text := wording.VisibleText(strings.TrimSpace(body.Message)) + "\n"
	if body.Hint != "" {
		text += "hint: " + wording.Visible(body.Hint) + "\n"
	}
	return text
}

// drawError is why the screen could not be drawn.
func drawError(err error) error { return fmt.Errorf("draw on the terminal: %w", err) }
