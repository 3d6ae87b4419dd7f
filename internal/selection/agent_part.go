package selection

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/session"
)

// fewestRunes is how long a part of a name is at least.
const fewestRunes = 3

// namedAgent is the name of an agent as somebody typed it, see [ForAgentMeant].
type namedAgent interface {
	String() string
	Set(name string) error
}

// ForAgentMeant does what is done for an agent. Where that ends because none has the
// name, it is done for the one that is meant.
func ForAgentMeant(ctx context.Context, run *workspace.Run, name namedAgent, do func() error) error {
	err := do()
	if !isUnknownAgent(err) {
		return err
	}
	part := name.String()
	meant, other := agentMeant(ctx, run, part)
	if meant == "" {
		return cmp.Or(other, err)
	}
	run.Notice(workspace.Note{Message: fmt.Sprintf("agent %q is taken for %s", part, meant)})
	if err := name.Set(meant); err != nil {
		return err
	}
	return do()
}

// isUnknownAgent reports whether a command has ended because no agent, or no session
// of one, has the name that it was given. It has changed nothing of any session then.
func isUnknownAgent(err error) bool {
	var f *failure.Error
	return errors.As(err, &f) && (f.Code == unknownAgentCode || f.Code == "unknown_"+SessionIDs().Noun)
}

// agentMeant is the agent that a name stands for which none has: the only one that
// works in the directory of that name, else the only one of whose name it is a part.
// A name that an agent has anywhere, in a store, in the archive or in memory, stands
// for no other, "". Of several the error names them.
func agentMeant(ctx context.Context, run *workspace.Run, part string) (string, error) {
	names, err := agentsAnywhere(ctx, run)
	if err != nil || names[part] != nil {
		return "", err
	}
	var meant []string
	for _, fits := range []func(name string) bool{
		func(name string) bool { return name == part },
		func(name string) bool { return strings.Contains(strings.ToLower(name), strings.ToLower(part)) },
	} {
		if meant = agentsWith(names, fits); len(meant) > 0 || utf8.RuneCountInString(part) < fewestRunes {
			break
		}
	}
	if len(meant) < 2 {
		return strings.Join(meant, ""), nil
	}
	return "", &failure.Error{
		Code: "ambiguous", Exit: failure.ExitUsage, Hint: "name one of them: " + strings.Join(meant, ", "),
		Err: fmt.Errorf("%d agents have %q in their names", len(meant), part),
	}
}

// agentsWith are the agents of which a name fits, sorted.
func agentsWith(names map[string][]string, fits func(string) bool) (meant []string) {
	for agent, others := range names {
		if fits(agent) || slices.ContainsFunc(others, fits) {
			meant = append(meant, agent)
		}
	}
	slices.Sort(meant)
	return meant
}

// agentsAnywhere are the names of all agents, each with what it would be called after
// the directories that it works in.
func agentsAnywhere(ctx context.Context, run *workspace.Run) (map[string][]string, error) {
	names := map[string][]string{}
	add := func(agent, project string) {
		if agent == "" {
			return
		}
		if names[agent] == nil {
			names[agent] = []string{agent}
		}
		if other := session.AgentOfProject(project); other != "" && !slices.Contains(names[agent], other) {
			names[agent] = append(names[agent], other)
		}
	}
	live, _, err := run.ListStores(ctx)
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	for _, o := range live.Owners {
		add(o.Agent, "")
	}
	for _, s := range live.Sessions {
		add(s.Agent, s.Project)
	}
	entries, err := Archived(ctx, run, archive.Filter{})
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		add(e.Agent, e.Project)
	}
	return names, addRemembered(ctx, run, add)
}

// addRemembered adds the agents of which memory has something.
func addRemembered(ctx context.Context, run *workspace.Run, add func(agent, project string)) error {
	memories, err := workspace.GlimpseMemory(ctx, run)
	if err != nil {
		return nil // there is none
	}
	defer memories.Close()
	agents, err := memories.Agents(ctx, "", "")
	for _, agent := range agents {
		add(agent, "")
	}
	return err
}
