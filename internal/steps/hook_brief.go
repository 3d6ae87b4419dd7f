package steps

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/hooks"
	"github.com/sessctl/sessctl/pkg/memory"
)

// PointedAt is what an agent is told when its session starts again, or "": with
// hooks.brief where its work stands, and in one line that there is a memory.
func PointedAt(ctx context.Context, run *workspace.Run, e hooks.Event) string {
	about, err := startedSession(ctx, run, e)
	if err != nil || about == nil {
		return ""
	}
	var told []string
	if most := run.Config.Hooks.Brief; most > 0 {
		told = append(told, startBrief(ctx, run, *about, max(leastBrief, min(most, longestBrief))))
	}
	if n := earlierSessions(ctx, run, *about); n > 0 {
		told = append(told, fmt.Sprintf("sessctl remembers %s of this project, also what compactions took out of context. To look something up: the tool memory_recall (MCP server sessctl), or `sessctl recall \"...\"`.", wording.Plural(n, "earlier session")))
	}
	return strings.Trim(strings.Join(told, "\n\n"), "\n")
}

// earlierSessions counts the sessions of an agent that memory has.
func earlierSessions(ctx context.Context, run *workspace.Run, about memory.Source) (n int) {
	store, err := recall.ReadMemory(ctx, run)
	if err != nil {
		return 0
	}
	defer store.Close()
	sources, err := store.Sources(ctx)
	if err != nil {
		return 0
	}
	for _, s := range sources {
		if s.Runtime == about.Runtime && s.Agent == about.Agent {
			n++
		}
	}
	return n
}

// startBrief is where the work of a session stands, or where it has only begun, that of
// its agent; "" if nothing tells.
func startBrief(ctx context.Context, run *workspace.Run, about memory.Source, most int) string {
	o := BriefOptions{Runtime: about.Runtime, Agent: agentset.Set(about.Agent), Session: about.Session, Runes: most}
	doc, err := Brief(ctx, run, o)
	if err != nil && o.Session != "" {
		o.Session = ""
		doc, err = Brief(ctx, run, o)
	}
	if err != nil {
		return ""
	}
	return Quoted(DescribeBrief(doc.Standing) + "\n")
}

// startedSession is the session of an event, or where a fresh one has no log yet
// the newest one in the same directory, without its id; nil if there is none.
func startedSession(ctx context.Context, run *workspace.Run, e hooks.Event) (*memory.Source, error) {
	s, err := SessionOf(ctx, run, e)
	if err != nil {
		return nil, err
	}
	if s != nil {
		return &memory.Source{Runtime: s.Runtime, Agent: s.Agent, Session: s.ID}, nil
	}
	if e.Agent != "" {
		return &memory.Source{Runtime: e.Runtime, Agent: e.Agent}, nil
	}
	if !e.Fresh() || e.Path == "" {
		return nil, nil
	}
	all, _, err := run.ListStores(ctx)
	if err != nil {
		return nil, err
	}
	dir := realPath(workspace.Absolute(filepath.Dir(e.Path)))
	i := slices.IndexFunc(all.Sessions, func(s workspace.Found) bool {
		return workspace.Shown(s.Kind) && (e.Runtime == hooks.Any || s.Runtime == e.Runtime) && filepath.Dir(s.Path) == dir
	})
	if i < 0 {
		return nil, nil
	}
	return &memory.Source{Runtime: all.Sessions[i].Runtime, Agent: all.Sessions[i].Agent}, nil
}
