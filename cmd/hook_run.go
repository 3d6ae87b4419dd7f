package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/front/mcptool"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/unattended"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/hooks"
	"github.com/spf13/cobra"
)

func newHookRunCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "run RUNTIME",
		Short: "Archive and remember a session before it changes (runtimes call this)",
		Long: `Read an event of a runtime on stdin. Before a compaction, a reset or an end the
session is archived and remembered; when a session starts again, its agent learns
that there is a memory. It never fails the runtime: the exit code is 0, and what
went wrong is in sessctl hook status and sessctl doctor.`,
		Example: `  sessctl hook run claude < event.json`,
		Args:    cobra.ArbitraryArgs,
		PersistentPreRunE: func(c *cobra.Command, args []string) error {
			if err := a.prepare(c); err != nil {
				hookRefused(a, c, args, err)
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			hookRun(c.Context(), a, args)
			return nil
		},
	}
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error { // some runtimes take any other exit code for a veto
		hookRefused(a, c, c.Flags().Args(), err)
		return nil
	})
	return c
}

// hookRefused keeps why a hook could not begin. Where the configuration cannot be
// used the data directory is the usual one.
func hookRefused(a *app, c *cobra.Command, args []string, err error) {
	if a.useDefaults(c) != nil {
		a.Global.DataDir = ""
	}
	a.refused = true
	hookFailed(a, hooks.Event{Runtime: strings.Join(args, " "), Name: "unknown event"}, err)
}

// hookRun does what an event asks for, and keeps what went wrong. Whatever
// happens, the runtime sees a hook that has succeeded.
func hookRun(ctx context.Context, a *app, args []string) {
	e := hooks.Event{Runtime: strings.Join(args, " "), Name: "unknown event"}
	defer func() {
		if p := recover(); p != nil {
			hookFailed(a, e, fmt.Errorf("a defect of sessctl: %v", p))
		}
		a.Incomplete = 0
	}()
	if a.refused {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, unattended.HookPatience)
	defer cancel()
	if len(args) != 1 {
		hookFailed(a, e, fmt.Errorf("hook run takes the name of one runtime"))
		return
	}
	text, err := readEvent(ctx, a)
	if err != nil {
		hookFailed(a, e, fmt.Errorf("read the event of %s: %w", args[0], err))
		return
	}
	if e, err = hooks.ReadEvent(args[0], text); err != nil {
		hookFailed(a, e, err)
		return
	}
	switch e.Action() {
	case hooks.Keep:
		if err := keepSession(ctx, a, e); err != nil {
			hookFailed(a, e, err)
		}
	case hooks.Point:
		if told := steps.PointedAt(ctx, a.Run, e); told != "" {
			_ = a.printJSON(unattended.HookAnswer{Output: unattended.HookContext{Event: e.Name, Context: told}}) // there is nobody to tell
		}
	}
}

// readEvent reads one document from stdin, which need not end after it.
func readEvent(ctx context.Context, a *app) (json.RawMessage, error) {
	type read struct {
		text json.RawMessage
		err  error
	}
	done := make(chan read, 1)
	go func() { // it ends with the program, if nobody writes
		var r read
		r.err = json.NewDecoder(io.LimitReader(a.In, unattended.MostEvent)).Decode(&r.text)
		done <- r
	}()
	select {
	case r := <-done:
		return r.text, r.err
	case <-time.After(unattended.EventPatience):
		return nil, fmt.Errorf("none came on stdin within %s", unattended.EventPatience)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// keepSession archives and remembers the session of an event. While another
// sessctl works it waits.
func keepSession(ctx context.Context, a *app, e hooks.Event) error {
	s, err := steps.SessionOf(ctx, a.Run, e)
	if err != nil || s == nil {
		return err
	}
	var out strings.Builder
	own := a.printingTo(&out)
	defer workspace.End(own.Run)
	own.Global.Runtime, own.Global.LockWait = s.Runtime, unattended.HookLockWait
	err = runArchive(ctx, own, steps.ArchiveOptions{Agent: agentset.Set(s.Agent), Session: s.ID, Remember: true, Supersede: own.Config.Archive.Supersede})
	workspace.KeepHeads(ctx, own.Run, true)
	if errors.As(err, new(*failure.Outcome)) || err == nil && own.Incomplete > 0 {
		err = errors.New(wording.FirstLine(mcptool.NotesText(own.Notes)+" "+out.String(), unattended.MostCause))
	}
	if err != nil {
		return fmt.Errorf("keep session %s: %w", s.ID, err)
	}
	return nil
}

// hookFailed keeps what went wrong, where doctor and hook status find it.
func hookFailed(a *app, e hooks.Event, cause error) {
	failed := unattended.HookFailed{At: a.Now().UTC(), Runtime: e.Runtime, Event: e.Name, Session: e.Session, Error: cause.Error()}
	var err error
	if os.Geteuid() == 0 && !a.Global.AllowRoot && !workspace.Ours(&a.Run.Settings, unattended.HookFailuresFile(&a.Run.Settings)) {
		err = fmt.Errorf("%s belongs to another user, and this is root: it is not kept there", a.DataDir())
	} else {
		err = unattended.KeepFailure(a.Run, failed)
	}
	if err != nil {
		cause = errors.Join(cause, err)
	}
	_, _ = fmt.Fprintf(a.Err, "sessctl: %s\n", wording.Visible(cause.Error())) // some runtimes show it
}
