package mcptool

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/memory"
)

// IsConfined reports whether a server shows only a part of what there is.
func (o MCPOptions) IsConfined() bool { return o.Agent != "" || o.Runtime != "" }

// Own is the scope of a server. An agent whose name another runtime's agent has by now
// is refused: nobody has told the server which of them it serves. A name that no agent
// has is that of a project, see [selection.Projects.MeantAtMost].
func (o MCPOptions) Own(ctx context.Context, run *workspace.Run) (selection.Scope, error) {
	own := selection.Scope{Runtime: o.Runtime, Agent: o.Agent}
	if own.Agent == "" || own.Runtime != "" {
		return own, nil
	}
	if own.Agent = o.meant(ctx, run); own.Agent.Pairs() != nil {
		return own, nil
	}
	store, err := recall.ReadMemory(ctx, run)
	if err == nil { // what cannot be opened is not read from either
		defer store.Close()
	}
	runtimes, err := selection.RuntimesOf(ctx, run, store, own.Agent)
	if err != nil {
		return own, err
	}
	return selection.OneAgent(own, runtimes)
}

// meant are the agents that the server is for: what its name has meant when the server
// was started.
func (o MCPOptions) meant(ctx context.Context, run *workspace.Run) agentset.Set {
	if o.Project {
		return selection.AgentsMeant(ctx, run, o.Agent.String())
	}
	return selection.AgentsMeantAtMost(ctx, run, o.Agent.String())
}

// Confined is the part of a server's own scope that a call for an agent is about. What
// is not in it is refused.
func Confined(ctx context.Context, run *workspace.Run, own selection.Scope, agent string) (selection.Scope, error) {
	if agent == "" || agent == own.Agent.String() {
		return own, nil
	}
	asked := selection.AgentNamed(agent)
	if asked.Runtime == "" && own.Runtime == "" {
		asked.Agent = selection.AgentsMeant(ctx, run, asked.Agent.String())
	}
	of, fits := own.Within(asked)
	if !fits {
		return own, &failure.Error{Code: "confined", Exit: failure.ExitUsage, Hint: "leave agent out, or say " + own.String(), Err: fmt.Errorf("this server is for agent %q only", own)}
	}
	return of, nil
}

// RefuseSeveral is the error for a server of an agent whose name several have. What
// else there is to say of the archive and of memory, each call says. It settles whether
// the server is for an agent or for a project, which an agent may be called like later.
func (o *MCPOptions) RefuseSeveral(ctx context.Context, run *workspace.Run) error {
	own, err := o.Own(ctx, run)
	o.Project = own.Agent.Pairs() != nil
	if f := (*failure.Error)(nil); errors.As(err, &f) && f.Code == "ambiguous" {
		return err
	}
	return ctx.Err()
}

// CheckKnown refuses an agent that nobody knows. A confined server names no others.
func (o MCPOptions) CheckKnown(ctx context.Context, run *workspace.Run, store *memory.Store, of selection.Scope) error {
	return o.WithoutOthers(selection.CheckScope(ctx, run, store, of), of)
}

// WithoutOthers is an error of a call that is about a scope. That the agent is not known
// names all that are, which is nothing for a confined server.
func (o MCPOptions) WithoutOthers(err error, of selection.Scope) error {
	if f := (*failure.Error)(nil); o.IsConfined() && errors.As(err, &f) && f.Code == "unknown_agent" {
		return &failure.Error{Code: "unknown_agent", Exit: failure.ExitUsage, Err: fmt.Errorf("agent %q has no session yet", of)}
	}
	return err
}

// Notes are those of a call that the server shows. A confined one leaves out those
// about files: they may be of other agents.
func (o MCPOptions) Notes(notes []workspace.Note) []workspace.Note {
	return slices.DeleteFunc(slices.Clone(notes), func(n workspace.Note) bool { return n.Path != "" && o.IsConfined() })
}
