package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/front/tui"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

func addBrowseFlags(o *tui.BrowseOptions, fs *pflag.FlagSet) {
	fs.StringVar((*string)(&o.Agent), "agent", "", "only sessions of this `agent` or runtime/agent")
	fs.StringVar(&o.Sort, "sort", "bytes", "sort by `key` at first: bytes, tokens, age or name")
	fs.BoolVar(&o.Redact, "redact", false, "mask what looks like a secret in what is read")
}

func newBrowseCommand(a *app) *cobra.Command {
	var o tui.BrowseOptions
	c := &cobra.Command{
		Use:   "browse",
		Short: "Look at sessions on the terminal: what fills the disk, what was said, undo",
		Long: `Show all sessions as a tree of runtimes, agents and sessions, the largest first.
Enter opens what is under the cursor and reads a session; / asks the memory what
was said and opens the answer at its line. ? shows all keys.

c compacts, a archives, u undoes, d deletes, f forgets and p pins what is under
the cursor. Each shows first what it would do, and changes nothing before y was
pressed. What it does then is what the command does, and esc breaks it off.

It needs a terminal. It works over ssh, without colour (NO_COLOR) and without a
mouse.`,
		Example: `  sessctl browse
  sessctl browse --agent coordinator
  sessctl browse --sort age --redact`,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.Validate(a.Run); err != nil {
				return err
			}
			return runBrowse(c.Context(), a, o)
		},
	}
	addBrowseFlags(&o, c.Flags())
	return c
}

// runBrowse shows the browser until the person quits, or the context ends.
func runBrowse(ctx context.Context, a *app, o tui.BrowseOptions) error {
	if err := needTerminal(a); err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer tui.CancelOnHangup(stop)()
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
func needTerminal(a *app) error {
	in, ok := a.In.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) || !a.OutTTY {
		return failure.Usage("sessctl sizes, recall, log and archives show print the same into a file or a pipe", "browse needs a terminal: stdin or stdout is not one")
	}
	if kind := a.Getenv("TERM"); kind == "dumb" || kind == "" && os.PathSeparator == '/' {
		return failure.Usage("set TERM to what the terminal is, for example TERM=xterm; or use sessctl sizes, recall and archives show", "browse cannot draw on a terminal that cannot move its cursor (TERM is %q)", kind)
	}
	return nil
}

// browser does what the model of the browser asks for.
type browser struct {
	*app
	options tui.BrowseOptions
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

// drawError is why the screen could not be drawn.
func drawError(err error) error { return fmt.Errorf("draw on the terminal: %w", err) }
