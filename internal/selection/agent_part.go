package selection

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/agentset"
)

// fewestRunes is how long a part of a name is at least.
const fewestRunes = 3

// namedAgent is the name of an agent as somebody typed it, see [ForAgentMeant].
type namedAgent interface {
	String() string
	Set(name string) error
}

// ForAgentMeant does what is done for an agent, or for all agents of a project. Where
// that ends because none has the name, it is done for those that are meant.
func ForAgentMeant(ctx context.Context, run *workspace.Run, name namedAgent, do func() error) error {
	typed := name.String()
	if typed == "" {
		return do()
	}
	if run.Global.Runtime == "" { // else one agent is named
		if err := name.Set(string(AgentsMeant(ctx, run, typed))); err != nil {
			return err
		}
	}
	err := do()
	if !isUnknownAgent(err) {
		tellUnasked(run, err)
		return err
	}
	meant, other := agentsOfPart(ctx, run, typed)
	if meant == "" {
		return cmp.Or(other, err)
	}
	run.Notice(workspace.Note{Message: fmt.Sprintf("agent %q is taken for %s", typed, described(meant))})
	if err := name.Set(string(meant)); err != nil {
		return err
	}
	return do()
}

// tellUnasked tells that memory could not be asked whose agents belong to a project, of a
// command that has not told that memory cannot be read.
func tellUnasked(run *workspace.Run, err error) {
	told := slices.ContainsFunc(run.Notes, func(n workspace.Note) bool { return n.Path == run.MemoryDir() })
	if run.Unasked == nil || err != nil || told {
		return
	}
	run.Notice(workspace.Note{Path: run.MemoryDir(), Message: "agents that only memory knows are left out: " + run.Unasked.Error(), Hint: "sessctl doctor says more"})
}

// AgentsMeant are the agents that a name means which somebody has typed: see
// [Projects.Meant], and [Projects.InDirectory] for a path. Where the projects cannot be
// found out, a note says so and the name means the agents that have it.
func AgentsMeant(ctx context.Context, run *workspace.Run, typed string) agentset.Set {
	return meantBy(ctx, run, typed, Projects.Meant)
}

// AgentsMeantAtMost are the agents that a name of a profile or of a server's own scope
// means: see [Projects.MeantAtMost].
func AgentsMeantAtMost(ctx context.Context, run *workspace.Run, typed string) agentset.Set {
	return meantBy(ctx, run, typed, Projects.MeantAtMost)
}

func meantBy(ctx context.Context, run *workspace.Run, typed string, meant func(Projects, string) agentset.Set) agentset.Set {
	projects, err := ProjectsHere(ctx, run)
	switch {
	case err != nil:
		run.Notice(workspace.Note{Message: fmt.Sprintf("which agents work on one project is not known, so %q means those of that name: %v", typed, err)})
		return agentset.Named(typed)
	case filepath.IsAbs(typed):
		if found := projects.InDirectory(typed); found.Pairs() != nil || slices.Contains(projects.names(""), found.String()) {
			return found
		}
		return agentset.Named(typed)
	}
	return meant(projects, typed)
}

// names are the names of the agents of a runtime, or of all.
func (p Projects) names(runtime string) (names []string) {
	for id := range p {
		if runtime == "" || runtime == id.Runtime {
			names = append(names, id.Agent)
		}
	}
	return names
}

// described are agents for a message, with those of a project.
func described(agents agentset.Set) string {
	pairs := agents.Pairs()
	if pairs == nil {
		return agents.String()
	}
	return agents.String() + " (" + strings.Join(pairs, ", ") + ")"
}

// isUnknownAgent reports whether a command has ended because no agent, or no session
// of one, has the name that it was given. It has changed nothing of any session then.
func isUnknownAgent(err error) bool {
	var f *failure.Error
	return errors.As(err, &f) && (f.Code == unknownAgentCode || f.Code == "unknown_"+SessionIDs().Noun)
}

// agentsOfPart are the agents that a name stands for which none has, and no project:
// those of the only project of which it is a part of a name. A name that an agent has
// anywhere, in a store, in the archive or in memory, stands for no other, "". Of several
// projects the error names them.
func agentsOfPart(ctx context.Context, run *workspace.Run, part string) (agentset.Set, error) {
	projects, err := ProjectsHere(ctx, run)
	if err != nil || slices.Contains(projects.names(run.Global.Runtime), part) {
		return "", err
	}
	meant := projects.withPart(part, run.Global.Runtime)
	switch len(meant) {
	case 0:
		return "", nil
	case 1:
		return projects.Meant(meant[0]), nil
	}
	return "", &failure.Error{
		Code: "ambiguous", Exit: failure.ExitUsage, Hint: "name one of them: " + strings.Join(meant, ", "),
		Err: fmt.Errorf("%d agents have %q in their names", len(meant), part),
	}
}

// withPart are the projects of which a text is part of a name, or that of an agent of
// the runtime, sorted.
func (p Projects) withPart(part, runtime string) (names []string) {
	fits := func(name string) bool {
		return name == part || utf8.RuneCountInString(part) >= fewestRunes && strings.Contains(strings.ToLower(name), strings.ToLower(part))
	}
	for id, project := range p {
		if (runtime == "" || runtime == id.Runtime) && (fits(id.Agent) || fits(project)) {
			names = append(names, project)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
