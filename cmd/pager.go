package cmd

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/sessctl/sessctl/internal/workspace"
)

// paged runs a render whose output goes through the pager that PAGER names, if
// Out is a terminal. Leaving the pager ends the render without an error; where
// the pager cannot be run, the output goes to the terminal.
func (a *app) paged(ctx context.Context, render func(ctx context.Context, out io.Writer) error) error {
	command := a.Getenv("PAGER")
	if !a.OutTTY || command == "" || command == "cat" || a.Getenv("TERM") == "dumb" {
		return render(ctx, a.Out)
	}
	// In a pager Ctrl-C ends a search and not the program.
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	defer signal.Stop(interrupted)
	reading := context.WithoutCancel(ctx)

	pager := exec.CommandContext(reading, "sh", "-c", command)
	pager.Stdin, pager.Stdout, pager.Stderr = nil, a.Out, a.Err
	pager.Env = append(os.Environ(), "LESS="+lessOptions(a.Getenv("LESS")))
	in, err := pager.StdinPipe()
	if err == nil {
		err = pager.Start()
	}
	if err != nil {
		a.Notice(workspace.Note{Message: "the pager (PAGER) cannot be started: " + err.Error()})
		return render(ctx, a.Out)
	}
	err = render(reading, in)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed) {
		err = nil // the reader has seen enough
	}
	err = errors.Join(err, in.Close())
	ended := pager.Wait()
	if neverRan(ended) {
		a.Notice(workspace.Note{Message: "the pager (PAGER) cannot be run: " + command})
		return render(ctx, a.Out)
	}
	return errors.Join(err, pagerFailure(ended))
}

// neverRan reports whether the shell has found no program to run, or none that
// it may run. POSIX gives it the exit codes 127 and 126 for that.
func neverRan(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && (exit.ExitCode() == 126 || exit.ExitCode() == 127)
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
