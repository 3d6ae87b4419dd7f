package selection

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/memory"
)

// AgentNamed is whom a person means who types runtime/agent, or the bare name of an
// agent, which may have a slash too: only the name of a runtime before it is one.
func AgentNamed(name string) Scope {
	runtime, agent, both := strings.Cut(name, "/")
	if !both || agent == "" || !slices.Contains(workspace.RuntimeList(), runtime) {
		return Scope{Agent: agentset.Named(name)}
	}
	return Scope{Runtime: runtime, Agent: agentset.Named(agent)}
}

// String is the scope as a person types it, see [AgentNamed].
func (s Scope) String() string {
	if s.Runtime == "" || s.Agent == "" {
		return s.Runtime + s.Agent.String()
	}
	return s.Runtime + "/" + s.Agent.String()
}

// Within is the part of a scope that another one names too, and whether there is any.
func (s Scope) Within(other Scope) (Scope, bool) {
	if s.Runtime != "" && other.Runtime != "" && s.Runtime != other.Runtime {
		return s, false
	}
	agents, fits := s.Agent.Within(other.Agent)
	if !fits {
		return s, false
	}
	return Scope{Runtime: max(s.Runtime, other.Runtime), Agent: agents}, true
}

// RuntimesOf are the runtimes that have one of these agents: in a store, in the archive
// or in memory, which is nil if there is none. They are in order; one is "" where
// nobody knows in which runtime an agent stored its own words.
func RuntimesOf(ctx context.Context, run *workspace.Run, store *memory.Store, agents agentset.Set) (names []string, err error) {
	var owners []agentset.ID
	if store != nil {
		if owners, err = store.Owners(ctx); err != nil {
			return nil, err
		}
	}
	archives, err := run.OpenArchive()
	if err != nil {
		return nil, err
	}
	entries, err := archivesOf(ctx, archives, Scope{Agent: agents})
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		owners = append(owners, agentset.ID{Runtime: e.Runtime, Agent: e.Agent})
	}
	live, _, err := run.ListStores(ctx)
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	for _, o := range live.Owners {
		owners = append(owners, agentset.ID{Runtime: o.Runtime, Agent: o.Agent})
	}
	for _, id := range owners {
		if agents.Holds(id.Runtime, id.Agent) {
			names = append(names, id.Runtime)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// OneAgent is a scope that names an agent with the runtime that alone has one of that
// name, if there is one. Where several have, the error names them. What an agent said
// whose runtime nobody knows is in no scope with a runtime: where there is such, the
// scope stays as it is, and so does one of a project.
func OneAgent(of Scope, runtimes []string) (Scope, error) {
	named := slices.DeleteFunc(slices.Clone(runtimes), func(runtime string) bool { return runtime == "" })
	if of.Agent == "" || of.Runtime != "" || of.Agent.Pairs() != nil {
		return of, nil
	}
	if len(named) > 1 {
		return of, &failure.Error{
			Code: "ambiguous", Exit: failure.ExitUsage, Hint: "name one of them: " + strings.Join(pairs(named, of.Agent), ", "),
			Err: fmt.Errorf("%d runtimes have an agent %q", len(named), of.Agent),
		}
	}
	if len(runtimes) == 1 {
		of.Runtime = runtimes[0]
	}
	return of, nil
}

// TheAgent is the only agent of a scope that names one, or the only one that has the name
// itself. Where there are several, the error names them.
func TheAgent(ctx context.Context, run *workspace.Run, of Scope) (agentset.ID, error) {
	ids := slices.DeleteFunc(of.Agent.IDs(), func(id agentset.ID) bool { return !of.Holds(id.Runtime, id.Agent) })
	if exact := slices.DeleteFunc(slices.Clone(ids), func(id agentset.ID) bool { return id.Agent != of.Agent.String() }); len(exact) == 1 {
		return exact[0], nil
	}
	switch len(ids) {
	case 0:
		runtimes, err := RuntimesOf(ctx, run, nil, of.Agent)
		if err != nil {
			return agentset.ID{}, err
		}
		of, err = OneAgent(of, runtimes)
		return agentset.ID{Runtime: of.Runtime, Agent: of.Agent.String()}, err
	case 1:
		return ids[0], nil
	}
	return ids[0], &failure.Error{
		Code: "ambiguous", Exit: failure.ExitUsage, Hint: "name one of them: " + strings.Join(of.Agent.Pairs(), ", "),
		Err: fmt.Errorf("%d agents work on %q", len(ids), of.Agent),
	}
}

// pairs are the agents of a name as a person types them.
func pairs(runtimes []string, agent agentset.Set) (names []string) {
	for _, runtime := range runtimes {
		names = append(names, Scope{Runtime: runtime, Agent: agent}.String())
	}
	return names
}

// CheckScope is [CheckAgent] for an agent of one runtime, where the scope names that.
func CheckScope(ctx context.Context, run *workspace.Run, store *memory.Store, of Scope) error {
	if of.Runtime == "" || of.Agent == "" {
		return CheckAgent(ctx, run, store, of.Agent)
	}
	runtimes, err := RuntimesOf(ctx, run, store, of.Agent)
	if err != nil || slices.Contains(runtimes, of.Runtime) {
		return err
	}
	return unknownAgent(of, pairs(runtimes, of.Agent))
}
