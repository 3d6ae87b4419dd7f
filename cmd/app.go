package cmd

import (
	"context"
	"io"
	"os"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/workspace"
)

// app is what every command gets: the streams that it prints to, and the run
// that it carries out.
type app struct {
	*streams
	*workspace.Run
	refused bool     // a hook could not begin: its runtime is not to notice
	profile *os.File // of --pprof, while it is written
}

// newApp makes the app of one invocation that prints to st.
func newApp(st *streams, getenv func(string) string, now func() time.Time) *app {
	run := workspace.NewInvocation(getenv, now)
	wire(run, st)
	return &app{streams: st, Run: run}
}

// inner is the app of a command that runs as a part of another one, which takes
// its document.
func (a *app) inner() *app {
	return &app{streams: a.unprinted(), Run: a.Step(), refused: a.refused, profile: a.profile}
}

// anew is the app of one more run of a command in the same process.
func (a *app) anew() *app {
	streams := *a.streams
	streams.document = nil
	return &app{streams: &streams, Run: a.Again(), refused: a.refused, profile: a.profile}
}

// aside is anew for what prints nothing. It works in the directories that are held
// open.
func (a *app) aside() *app {
	return &app{streams: a.unprinted(), Run: a.Apart(), refused: a.refused, profile: a.profile}
}

// wire gives a run what it asks of others: how it is shown, and who judges.
func wire(run *workspace.Run, st *streams) {
	run.Version, run.Shows = programVersion(), showsOn(st)
	run.Lost = func(ctx context.Context, run *workspace.Run) (int, error) { return recall.LostMemory(ctx, run) }
}

// printingTo is anew for one piece of the work of a server: it prints nothing but
// to out, and waits for the lock as if it were the first. The caller ends it with
// end.
func (a *app) printingTo(out io.Writer) *app {
	own := a.anew()
	own.Pin()
	own.streams = newStreams(strings.NewReader(""), out, io.Discard)
	own.Shows = showsOn(own.streams)
	own.Quiet = false
	own.Held, own.LockUntil, own.Meter, own.profile, own.UnderWay = nil, time.Time{}, nil, nil, nil
	return own
}
