package cmd

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// paged runs a render whose output goes through the pager that PAGER names, if
// Out is a terminal. Leaving the pager ends the render without an error.
func (a *app) paged(ctx context.Context, render func(ctx context.Context, out io.Writer) error) error {
	command := a.getenv("PAGER")
	if !a.OutTTY || command == "" || command == "cat" || a.getenv("TERM") == "dumb" {
		return render(ctx, a.Out)
	}
	// In a pager Ctrl-C ends a search and not the program.
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	defer signal.Stop(interrupted)
	ctx = context.WithoutCancel(ctx)

	pager := exec.CommandContext(ctx, "sh", "-c", command)
	pager.Stdin, pager.Stdout, pager.Stderr = nil, a.Out, a.Err
	pager.Env = append(os.Environ(), "LESS="+lessOptions(a.getenv("LESS")))
	in, err := pager.StdinPipe()
	if err == nil {
		err = pager.Start()
	}
	if err != nil {
		a.notice(note{Message: "the pager (PAGER) cannot be started: " + err.Error()})
		return render(ctx, a.Out)
	}
	err = render(ctx, in)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed) {
		err = nil // the reader has seen enough
	}
	return errors.Join(err, in.Close(), pagerFailure(pager.Wait()))
}

// lessOptions are those of git: what fits a page is only printed, colours are
// colours, and the page stays on the screen.
func lessOptions(own string) string {
	if own != "" {
		return own
	}
	return "FRX"
}

// pagerFailure is nil for a pager that ended by itself: what it returns says
// nothing about what was shown.
func pagerFailure(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}
