package recall

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/replay"
)

// What the tools of the MCP server return at most (docs/agents.md). A client
// may put all of it into its model's context without a bound of its own.
const (
	RecallBytes    = 4 << 10  // one memory_recall
	ReadBytes      = 16 << 10 // one memory_read
	ListBytes      = 8 << 10  // one list
	MessageRunes   = 2000     // one message
	MostHits       = 10
	MostNeighbors  = 10
	UsualHits      = 5
	runningSession = 10 * time.Minute // a session that changed since then is running
)

// RunningContexts are what running sessions have in their contexts now.
type RunningContexts struct {
	Refs  map[memory.Source]workspace.Found
	lines map[memory.Source]map[int]bool // of the log, of those that were asked for
}

// RunningSessions are the sessions that changed within the last ten minutes: one
// of them may be the one that asks. A store that cannot be listed has none.
func RunningSessions(ctx context.Context, run *workspace.Run) *RunningContexts {
	c := &RunningContexts{Refs: map[memory.Source]workspace.Found{}, lines: map[memory.Source]map[int]bool{}}
	all, _, err := run.ListStores(ctx)
	if err != nil {
		return c
	}
	for _, s := range all.Sessions {
		if workspace.Shown(s.Kind) && run.Now().Sub(s.ModTime) < runningSession {
			c.Refs[memory.Source{Runtime: s.Runtime, Agent: s.Agent, Session: s.ID}] = s
		}
	}
	return c
}

// without are the first hits that no running session would send anyway.
func (c *RunningContexts) without(ctx context.Context, hits []memory.Hit, most int) []memory.Hit {
	hits = slices.DeleteFunc(hits, func(h memory.Hit) bool { return c.has(ctx, h.Record) })
	return hits[:min(len(hits), most)]
}

// has reports whether a record is of a session that waits for the answer to this
// question, and would send the record with its next turn anyway. Of a session
// whose context cannot be read everything is.
func (c *RunningContexts) has(ctx context.Context, r memory.Record) bool {
	source := memory.Source{Runtime: r.Runtime, Agent: r.Agent, Session: r.Session}
	s, running := c.Refs[source]
	if !running || r.OwnWords() {
		return false
	}
	lines, known := c.lines[source]
	if !known {
		lines = contextLines(ctx, s)
		c.lines[source] = lines
	}
	if lines == nil {
		return true
	}
	for line := r.FirstLine; line <= r.LastLine; line++ {
		if lines[line] {
			return true
		}
	}
	return false
}

// contextLines are the lines of a log whose messages the runtime would send, or
// nil if it cannot be read. A session whose last turn is complete asks nothing:
// it has none.
func contextLines(ctx context.Context, s workspace.Found) map[int]bool {
	if tail, err := s.Adapter.Tail(ctx, s.Ref); err == nil && tail.Answered {
		return map[int]bool{}
	}
	messages, _, err := replay.Read(ctx, s.Adapter, func() (io.ReadCloser, error) { return OpenFound(ctx, s) })
	if err != nil {
		return nil
	}
	lines := map[int]bool{}
	for _, m := range messages {
		lines[m.Line] = true
	}
	return lines
}

// ErrReadEnough ends the reading of an archive.
var ErrReadEnough = errors.New("read enough")
