package selection

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/memory"
)

// AgentNamed is whom a person means who types runtime/agent, or the bare name of an
// agent, which may have a slash too: only the name of a runtime before it is one.
func AgentNamed(name string) Scope {
	runtime, agent, both := strings.Cut(name, "/")
	if !both || agent == "" || !slices.Contains(workspace.RuntimeList(), runtime) {
		return Scope{Agent: name}
	}
	return Scope{Runtime: runtime, Agent: agent}
}

// String is the scope as a person types it, see [AgentNamed].
func (s Scope) String() string {
	if s.Runtime == "" || s.Agent == "" {
		return s.Runtime + s.Agent
	}
	return s.Runtime + "/" + s.Agent
}

// Within is the part of a scope that another one names too, and whether there is any.
func (s Scope) Within(other Scope) (Scope, bool) {
	for _, part := range []struct{ own, other *string }{{&s.Runtime, &other.Runtime}, {&s.Agent, &other.Agent}} {
		if *part.own != "" && *part.other != "" && *part.own != *part.other {
			return s, false
		}
		if *part.own == "" {
			*part.own = *part.other
		}
	}
	return s, true
}

// RuntimesOf are the runtimes that have an agent of a name: in a store, in the archive
// or in memory, which is nil if there is none. They are in order; one is "" where
// nobody knows in which runtime an agent stored its own words.
func RuntimesOf(ctx context.Context, run *workspace.Run, store *memory.Store, agent string) (names []string, err error) {
	if store != nil {
		if names, err = store.Runtimes(ctx, agent); err != nil {
			return nil, err
		}
	}
	archives, err := run.OpenArchive()
	if err != nil {
		return nil, err
	}
	entries, err := archivesOf(ctx, archives, Scope{Agent: agent})
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		names = append(names, e.Runtime)
	}
	live, _, err := run.ListStores(ctx)
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	for _, o := range live.Owners {
		if o.Agent == agent {
			names = append(names, o.Runtime)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// OneAgent is a scope that names an agent with the runtime that alone has one of that
// name, if there is one. Where several have, the error names them. What an agent said
// whose runtime nobody knows is in no scope with a runtime: where there is such, the
// scope stays as it is.
func OneAgent(of Scope, runtimes []string) (Scope, error) {
	named := slices.DeleteFunc(slices.Clone(runtimes), func(runtime string) bool { return runtime == "" })
	if of.Agent == "" || of.Runtime != "" {
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

// pairs are the agents of a name as a person types them.
func pairs(runtimes []string, agent string) (names []string) {
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
	return unknownAgent(of.String(), pairs(runtimes, of.Agent))
}
