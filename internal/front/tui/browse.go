package tui

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/browse"
)

// BrowseOptions are the options of browse.
type BrowseOptions struct {
	Agent  agentset.Set
	Sort   string
	Redact bool
}

// Validate refuses options that contradict each other.
func (o *BrowseOptions) Validate(a *workspace.Run) error {
	if !slices.Contains(browse.Sorts(), o.Sort) {
		return failure.Usage("--sort takes "+strings.Join(browse.Sorts(), ", "), "unknown sort key %q", o.Sort)
	}
	if a.JSON {
		return failure.Usage("sessctl sizes --json, recall --json and log --json print documents", "browse is a screen for people and has no --json")
	}
	return nil
}

// CancelOnHangup ends a program whose terminal is gone like one that is
// terminated: what was begun stops at a safe point.
func CancelOnHangup(cancel context.CancelCauseFunc) (stop func()) {
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

// FailureOf is an error as a person is told it.
func FailureOf(err error) browse.Failure {
	body := failure.Explain(err)
	if body.Code == "no_memory" {
		body.Hint = "go back (esc) and press a on a runtime, an agent or a session: it archives and remembers all sessions there and changes none; then ask again"
	}
	return browse.Failure{Message: strings.TrimSpace(body.Message), Hint: body.Hint}
}

// NoteLines are notes as lines of a text.
func NoteLines(notes []workspace.Note) (text string) {
	for _, n := range notes {
		text += "note: " + wording.Visible(n.Text()) + "\n"
		if n.Hint != "" {
			text += "  hint: " + wording.Visible(n.Hint) + "\n"
		}
	}
	return text
}

// ErrorLines are what went wrong, as lines of a text; "" if what there is to say
// was said.
func ErrorLines(err error) string {
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
