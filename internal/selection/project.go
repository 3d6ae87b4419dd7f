package selection

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// A project is what people call the agents that work in one directory: Claude Code's is
// named after its folder for it, pi's after the path, one in a worktree after that. Each
// agent is in one project, and keeps its own name: archives, pins, and what was forgotten
// are known by that.

// Projects are the agents of a host, each with the project that it works on.
type Projects map[agentset.ID]string

// ProjectsHere finds the projects of all agents that a store, the archive or memory has.
// Stores that cannot be read hide theirs, which whoever lists sessions is told, and so does
// memory, see [ForAgentMeant].
func ProjectsHere(ctx context.Context, run *workspace.Run) (Projects, error) {
	if err := listWorks(ctx, run); err != nil {
		return nil, err
	}
	works, err := allWorks(ctx, run)
	if err != nil {
		return nil, err
	}
	remembered, err := rememberedAgents(ctx, run)
	return ProjectsOf(run.Home(), works, nil, remembered), err
}

// ProjectNames are the projects to show agents by, as [ProjectsHere] finds them. Where
// that is not possible each agent is shown by its own name. They are found once in a run.
func ProjectNames(ctx context.Context, run *workspace.Run) Projects {
	if run.Projects != nil {
		return run.Projects
	}
	if run.Works == nil && listWorks(ctx, run) != nil {
		return nil
	}
	works, err := allWorks(ctx, run)
	if err != nil {
		return nil // whoever lists archives is told
	}
	run.Projects = ProjectsOf(run.Home(), works, nil, nil) // what only memory knows has its own name
	return run.Projects
}

// allWorks are the agents of the stores as they were listed, and of the archives.
func allWorks(ctx context.Context, run *workspace.Run) (agentset.Directories, error) {
	store, err := run.OpenArchive()
	if err != nil {
		return nil, err
	}
	works := run.Works.Clone()
	return works, store.Works(ctx, ownCache(run, "agents"), works)
}

// ShownNames are [ProjectNames] for a document, or for a person. Rows for programs have the
// agents' own names, and no project is looked for.
func ShownNames(ctx context.Context, run *workspace.Run, person bool) Projects {
	if !run.JSON && !person {
		return nil
	}
	return ProjectNames(ctx, run)
}

// listWorks lists the stores to see which agents they have.
func listWorks(ctx context.Context, run *workspace.Run) error {
	opened, before := run.Opened != nil, run.Incomplete
	if !opened && run.TailCache == nil {
		OpenTailCache(run, true) // some runtimes have to read logs to list them
		defer func() { run.TailCache = nil }()
	}
	_, _, _ = run.ListStores(ctx)
	run.Incomplete = before // the command itself has left nothing out
	if !opened {
		workspace.CloseStores(run) // a command opens them when it holds its lock
	}
	return ctx.Err()
}

// rememberedAgents are those of which memory has something.
func rememberedAgents(ctx context.Context, run *workspace.Run) ([]agentset.ID, error) {
	memories, err := workspace.GlimpseMemory(ctx, run)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		run.Unasked = err
		return nil, ctx.Err()
	}
	defer memories.Close()
	owners, err := memories.Owners(ctx)
	if err != nil {
		run.Unasked = err
		return nil, ctx.Err()
	}
	return owners, nil
}

// ProjectsOf finds the project of each agent of the stores, the archive and memory. home
// is the home directory, after which some runtimes name what is below it.
func ProjectsOf(home string, works agentset.Directories, entries []archive.Entry, remembered []agentset.ID) Projects {
	works = works.Clone()
	for _, e := range entries {
		works.Add(agentset.ID{Runtime: e.Runtime, Agent: e.Agent}, e.Project)
	}
	for _, id := range remembered {
		works.Add(id, "")
	}
	all, named := Projects{}, map[string]string{}
	for id, directories := range works {
		all[id] = projectOf(home, id.Agent, directories, named)
	}
	return all
}

// projectOf is the project of an agent that works in some directories. Those that it is
// not named after do not count: an agent with a name of its own is its own project, and
// so is one whose name stands for the directories of several. named are the projects of
// directories that were looked at.
func projectOf(home, agent string, directories map[string]bool, named map[string]string) string {
	projects := map[string]bool{}
	for directory := range directories {
		if !isNamedAfter(home, agent, directory) {
			continue
		}
		if _, known := named[directory]; !known {
			named[directory] = session.AgentOfProject(mainRepository(directory))
		}
		projects[named[directory]] = true
	}
	if len(projects) != 1 {
		return agent
	}
	return slices.Collect(maps.Keys(projects))[0]
}

// isNamedAfter reports whether an agent has the name that a runtime makes of a directory.
func isNamedAfter(home, agent, directory string) bool {
	short := directory
	if below, is := strings.CutPrefix(directory, home); is && home != "" {
		short = below
	}
	folder := session.CleanAgent(strings.TrimLeft(session.FolderOf(directory), "-"))
	return slices.ContainsFunc([]string{session.AgentOfDirectory(directory, ""), session.AgentOfDirectory(short, ""), folder}, func(name string) bool {
		return name != "" && (name == agent || isDrive(directory) && strings.EqualFold(name, agent))
	}) || strings.HasPrefix(agent, folder+session.FolderOf("/.claude/worktrees/")) // the log moved there with the agent
}

func isDrive(directory string) bool { return len(directory) > 1 && directory[1] == ':' }

// mainRepository is the directory of the repository that a directory is a worktree of,
// if Git says so there, else the directory.
func mainRepository(directory string) string {
	const most = 4 << 10
	if !filepath.IsAbs(directory) {
		return directory // of another system
	}
	file, err := durable.OpenRegular(filepath.Join(directory, ".git"))
	if err != nil {
		return directory
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, most))
	place, is := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if err != nil || !is {
		return directory
	}
	place = filepath.FromSlash(place)
	if !filepath.IsAbs(place) {
		place = filepath.Join(directory, place)
	}
	main, _, is := strings.Cut(place, filepath.FromSlash("/.git/worktrees/"))
	if !is {
		return directory
	}
	return main
}

// Of is the project of an agent, which is its own name if nothing else is known.
func (p Projects) Of(runtime, agent string) string {
	if project, known := p[agentset.ID{Runtime: runtime, Agent: agent}]; known {
		return project
	}
	return agent
}

// Meant are the agents that a name means: those of a project, and those that have the
// name themselves.
func (p Projects) Meant(name string) agentset.Set {
	return p.set(name, func(id agentset.ID, project string) bool { return id.Agent == name || project == name })
}

// MeantAtMost is [Projects.Meant] where a name says what may be seen or changed at all: an
// agent that has the name is meant alone, also where a project is called so. A project is
// meant there by its directory.
func (p Projects) MeantAtMost(name string) agentset.Set {
	for id := range p {
		if id.Agent == name {
			return agentset.Named(name)
		}
	}
	return p.Meant(name)
}

// InDirectory are the agents of the project that is in a directory.
func (p Projects) InDirectory(directory string) agentset.Set {
	name := session.AgentOfProject(mainRepository(filepath.Clean(directory)))
	return p.set(name, func(_ agentset.ID, project string) bool { return project == name })
}

// set are the agents that fit, under a name. A name that means no more is only that.
func (p Projects) set(name string, fits func(agentset.ID, string) bool) agentset.Set {
	var ids []agentset.ID
	others := false
	for id, project := range p {
		if fits(id, project) {
			ids, others = append(ids, id), others || id.Agent != name
		}
	}
	if !others {
		return agentset.Named(name)
	}
	return agentset.Of(name, ids)
}
