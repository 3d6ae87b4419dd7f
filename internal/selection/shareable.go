package selection

import (
	"context"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/memory"
)

// Shareable are the agents in memory whose records go to the shared memory: all but those
// of memory.remote.except. It is nil where nothing is excepted. Where it cannot be found out
// who works on a project that is excepted, nothing goes. unused are the patterns that name
// nobody.
func Shareable(ctx context.Context, run *workspace.Run, store *memory.Store) (only []agentset.ID, unused []string, err error) {
	patterns := run.Config.Memory.Remote.Except
	if len(patterns) == 0 {
		return nil, nil, nil
	}
	owners, err := store.Owners(ctx)
	if err != nil {
		return nil, nil, err
	}
	projects, err := ProjectsHere(ctx, run)
	if err != nil {
		return nil, nil, err
	}
	unused = slices.DeleteFunc(slices.Clone(patterns), func(pattern string) bool {
		return slices.ContainsFunc(owners, func(id agentset.ID) bool { return isExcepted(pattern, id, projects) })
	})
	return Unexcepted(patterns, owners, projects), unused, nil
}

// Unexcepted are the owners that no pattern names. What an agent stored in its own words
// before its runtime was known is as excepted as the agents of its name.
func Unexcepted(patterns []string, owners []agentset.ID, projects Projects) []agentset.ID {
	left, rest := map[string]bool{}, []agentset.ID{}
	for _, id := range owners {
		if slices.ContainsFunc(patterns, func(pattern string) bool { return isExcepted(pattern, id, projects) }) {
			left[id.Agent] = true
		} else {
			rest = append(rest, id)
		}
	}
	return slices.DeleteFunc(rest, func(id agentset.ID) bool { return id.Runtime == "" && left[id.Agent] })
}

// isExcepted reports whether a pattern names an agent: by itself, its runtime, or its
// project, which may be named by its directory.
func isExcepted(pattern string, id agentset.ID, projects Projects) bool {
	if filepath.IsAbs(pattern) {
		in := projects.InDirectory(pattern)
		return in.Holds(id.Runtime, id.Agent) || id.Runtime == "" && slices.Contains(in.Names(), id.Agent)
	}
	runtime, agent, both := strings.Cut(pattern, "/")
	project := projects.Of(id.Runtime, id.Agent)
	names := []string{id.Runtime, id.Agent, project, id.Runtime + "/" + id.Agent, id.Runtime + "/" + project}
	if both && id.Runtime == "" && slices.Contains(workspace.RuntimeList(), runtime) {
		pattern = agent
	}
	return slices.ContainsFunc(names, func(name string) bool {
		fits, _ := path.Match(pattern, name) // it was checked when it was read
		return fits && name != ""
	})
}
