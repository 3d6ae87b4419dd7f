package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/hooks"
)

func newHookRunCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "run RUNTIME",
		Short: "Archive and remember a session before it changes (runtimes call this)",
		Long: `Read an event of a runtime on stdin. Before a compaction, a reset or an end the
session is archived and remembered; when a session starts again its agent is told
that there is a memory. It never fails the runtime: the exit code is 0, and what
went wrong is in sessctl hook status and sessctl doctor.
` + exitHelp,
		Example: `  sessctl hook run claude < event.json`,
		Args:    usageArgs(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			a.hookRun(c.Context(), args[0])
			return nil
		},
	}
}

// Bounds of what a hook reads, in bytes, and of how long it waits.
const (
	mostEvent    = 4 << 20
	mostFailed   = 256 << 10 // of the file of failures
	hookPatience = 45 * time.Second
	hookLockWait = 30 * time.Second
)

// hookRun does what an event asks for, and keeps what went wrong.
func (a *app) hookRun(ctx context.Context, runtime string) {
	ctx, cancel := context.WithTimeout(ctx, hookPatience)
	defer cancel()
	text, err := io.ReadAll(io.LimitReader(a.In, mostEvent))
	if err != nil {
		a.hookFailed(hooks.Event{Runtime: runtime, Name: "unknown event"}, fmt.Errorf("read the event: %w", err))
		return
	}
	e, err := hooks.ReadEvent(runtime, text)
	if err != nil {
		a.hookFailed(e, err)
		return
	}
	switch e.Action() {
	case hooks.Keep:
		if err := a.keepSession(ctx, e); err != nil {
			a.hookFailed(e, err)
		}
	case hooks.Point:
		if told := a.pointedAt(ctx, e); told != "" {
			_ = a.printJSON(hookAnswer{hookContext{e.Name, told}}) // there is nobody to tell
		}
	}
}

// hookAnswer is what Claude Code reads from a hook.
type hookAnswer struct {
	Output hookContext `json:"hookSpecificOutput"`
}

type hookContext struct {
	Event   string `json:"hookEventName"`
	Context string `json:"additionalContext"`
}

// keepSession archives and remembers the session of an event. While another
// sessctl works it waits.
func (a *app) keepSession(ctx context.Context, e hooks.Event) error {
	s, err := a.sessionOf(ctx, e)
	if err != nil || s == nil {
		return err
	}
	var out strings.Builder
	own := a.printingTo(&out)
	defer own.closeStores()
	own.global.Runtime, own.global.LockWait = s.Runtime, hookLockWait
	err = runArchive(ctx, own, archiveOptions{Agent: s.Agent, Session: s.ID, Remember: true})
	if errors.As(err, new(*outcomeError)) {
		err = errors.New(firstLine(out.String()+" "+notesText(own.notes), besideRunes))
	}
	if err != nil {
		return fmt.Errorf("keep session %s: %w", s.ID, err)
	}
	return nil
}

// sessionOf is the session that an event is about, or nil if it has no log: one
// that ended before anything was said.
func (a *app) sessionOf(ctx context.Context, e hooks.Event) (*found, error) {
	all, _, err := a.listStores(ctx)
	if err != nil {
		return nil, err
	}
	named := func(s found) bool {
		switch {
		case e.Runtime != hooks.Any && s.Runtime != e.Runtime || !shown(s.Kind) || e.Agent != "" && s.Agent != e.Agent:
			return false
		case e.Path != "" && s.Path == realPath(e.Path):
			return true
		}
		return e.Session != "" && s.ID == e.Session
	}
	if i := slices.IndexFunc(all.sessions, named); i >= 0 {
		return &all.sessions[i], nil
	}
	if e.Session == "" && e.Path == "" {
		return nil, fmt.Errorf("the event names no session")
	}
	return nil, nil
}

// realPath is where a log is, whatever links lead there.
func realPath(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return filepath.Clean(path)
}

// hookFailed keeps what went wrong, where doctor and hook status find it.
func (a *app) hookFailed(e hooks.Event, cause error) {
	line, err := json.Marshal(hookFailed{At: a.now().UTC(), Runtime: e.Runtime, Event: e.Name, Session: e.Session, Error: cause.Error()})
	if err == nil {
		err = durable.MakeDir(a.hooksDir(), 0o700)
	}
	if err == nil {
		err = a.boundFailures()
	}
	if err == nil {
		err = durable.AppendLine(a.hookFailuresFile(), line, 0o600)
	}
	if err != nil {
		cause = errors.Join(cause, err)
	}
	_, _ = fmt.Fprintf(a.Err, "sessctl: %s\n", visible(cause.Error())) // some runtimes show it
}

// boundFailures keeps the file of failures short.
func (a *app) boundFailures() error {
	text, err := readHookFailures(a.hookFailuresFile())
	if err != nil || len(text) < mostFailed {
		return nil // a new one is begun
	}
	lines := strings.SplitAfter(text, "\n")
	return durable.ReplaceFile(a.hookFailuresFile(), 0o600, func(w io.Writer) error {
		_, err := io.WriteString(w, strings.Join(lines[len(lines)/2:], ""))
		return err
	})
}

func readHookFailures(path string) (string, error) {
	text, err := durable.ReadSmall(path, 4*mostFailed)
	return string(text), err
}
