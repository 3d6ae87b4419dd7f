package smallpackages

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/session"
)

// agentNamedBy are the names that runtimes give to an agent which works in a directory.
func agentNamedBy(runtime, directory string) string {
	if runtime == session.RuntimeClaude {
		return session.CleanAgent(session.FolderOf(directory)[1:])
	}
	return session.AgentOfDirectory(directory, runtime)
}

// projectOf is the project of an agent whose sessions were in some directories.
func projectOf(agent string, works ...string) string {
	entries := []archive.Entry{{Meta: archive.Meta{Runtime: "claude", Agent: agent}}}
	for _, directory := range works {
		entries = append(entries, archive.Entry{Meta: archive.Meta{Runtime: "claude", Agent: agent, Project: directory}})
	}
	return selection.ProjectsOf("/home/ana", nil, entries, nil).Of("claude", agent)
}

// Whom a pattern of memory.remote.except names is left out: agents by their own name, their
// runtime, their project or its directory.
func TestExceptedAgents(t *testing.T) {
	t.Parallel()
	owners := []agentset.ID{
		{Runtime: "claude", Agent: "w-my-app"}, {Runtime: "pi", Agent: "w-my.app"}, {Runtime: "pi", Agent: "w-other"},
		{Runtime: "openclaw", Agent: "main"}, {Runtime: "yarnnn", Agent: "thinking_partner"}, {Agent: "main"}, {Agent: "w-other"},
	}
	projects := selection.ProjectsOf("/home/ana", nil, []archive.Entry{
		{Meta: archive.Meta{Runtime: "claude", Agent: "w-my-app", Project: "/w/my.app"}}, {Meta: archive.Meta{Runtime: "pi", Agent: "w-my.app", Project: "/w/my.app"}},
	}, owners)
	for pattern, left := range map[string]string{
		"w-my.app":         "0 1",
		"/w/my.app":        "0 1",
		"/w/my":            "",
		"claude/w-my.app":  "0",
		"pi/w-*":           "1 2 6",
		"pi":               "1 2 6",
		"yarnnn":           "4",
		"main":             "3 5",
		"openclaw/main":    "3 5",
		"claude/main":      "5", // whose runtime nobody knows
		"*":                "0 1 2 3 4 5 6",
		"nobody":           "",
		"thinking_partne?": "4",
	} {
		kept := selection.Unexcepted([]string{pattern}, owners, projects)
		var got []string
		for i, id := range owners {
			if !slices.Contains(kept, id) {
				got = append(got, fmt.Sprint(i))
			}
		}
		if strings.Join(got, " ") != left {
			t.Errorf("%s leaves out %s, not %s", pattern, got, left)
		}
	}
}

func TestProjectOfAgent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		agent string
		works []string
		want  string
	}{
		{"w-my.app", []string{"/w/my.app"}, "w-my.app"},
		{"w-my-app", []string{"/w/my.app"}, "w-my.app"},
		{"w-my-app", []string{"/w/my.app", "/w/my app"}, "w-my-app"}, // whose name stands for two
		{"w-my-app", []string{"/w/my.app", "/w/my.app/deep"}, "w-my.app"},
		{"w-my-app", nil, "w-my-app"},
		{"w-my-app--claude-worktrees-feat", []string{"/w/my.app/.claude/worktrees/feat"}, "w-my.app"},
		{"w-my-app--claude-worktrees-feat", []string{"/w/my.app"}, "w-my.app"}, // moved there
		{"c--Users-op-w", []string{`c:\Users\op\w`}, "C--Users-op-w"},
		{"C--Users-op-w", []string{`C:\Users\op\w`}, "C--Users-op-w"},
		{"home-ana-日本語の仕事", []string{"/home/ana/日本語の仕事"}, "home-ana-日本語の仕事"},
		{session.FolderOf("/home/ana/日本語の仕")[1:], []string{"/home/ana/日本語の仕"}, "home-ana-日本語の仕"},
		{"shop-api", []string{"/home/ana/shop-api"}, "home-ana-shop-api"},          // below the home directory
		{"main", []string{"/home/ana/.openclaw/workspace"}, "main"},                // has a name of its own
		{"shop", []string{"/home/ana/shop-api", "/w/shop", "/srv/shop"}, "shop"},   // not these
		{"w-my-apple", []string{"/w/my.app", "/w/my.app/.claude/x"}, "w-my-apple"}, // a longer name
	} {
		if got := projectOf(c.agent, c.works...); got != c.want {
			t.Errorf("%s in %q: %s, not %s", c.agent, c.works, got, c.want)
		}
	}
}

// A worktree is of the project of its repository if Git says so in it.
func TestProjectOfWorktree(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	main, tree, near, module, odd := filepath.Join(dir, "main"), filepath.Join(dir, "tree"), filepath.Join(dir, "near"), filepath.Join(dir, "module"), filepath.Join(dir, "odd")
	for at, says := range map[string]string{
		tree:   "gitdir: " + filepath.Join(main, ".git", "worktrees", "tree") + "\n",
		near:   "gitdir: ../main/.git/worktrees/near\n",
		module: "gitdir: ../main/.git/modules/module\n",
		odd:    "nothing of Git",
	} {
		if err := os.MkdirAll(at, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(at, ".git"), []byte(says), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for at, want := range map[string]string{tree: main, near: main, module: module, odd: odd, main: main} {
		want = session.AgentOfDirectory(want, "")
		if got := projectOf(session.AgentOfDirectory(at, ""), at); got != want {
			t.Errorf("%s: %s, not %s", at, got, want)
		}
	}
}

// Every session of a home is in exactly one project, a name finds all agents of the
// project that is called so, and no agent of another one unless it has the name itself.
func TestEverySessionIsInOneProject(t *testing.T) {
	t.Parallel()
	const homes = 300
	draw := rand.New(rand.NewPCG(35, 13))
	directories := []string{
		"/w/my.app", "/w/my-app", "/w/my app", "/w/my.app/.claude/worktrees/feat", "/home/ana/日本", "/home/ana/Übung größe", `c:\Users\op\w`, `C:\Users\op\w`,
		"/home/ana", "/home/ana/shop", "/w", "/",
	}
	runtimes := []string{session.RuntimeClaude, session.RuntimePi, session.RuntimeCodex, session.RuntimeOpenClaw}
	for range homes {
		live := agentset.Directories{}
		var entries []archive.Entry
		for i := range 1 + draw.IntN(12) {
			runtime, directory := runtimes[draw.IntN(len(runtimes))], directories[draw.IntN(len(directories))]
			agent := agentNamedBy(runtime, directory)
			if runtime == session.RuntimeOpenClaw {
				agent = "main"
			}
			ref := session.Ref{Runtime: runtime, Agent: agent, ID: fmt.Sprint(i), Project: directory}
			if draw.IntN(3) == 0 {
				entries = append(entries, archive.Entry{Meta: archive.Meta{Runtime: runtime, Agent: agent, Session: ref.ID, Project: directory}})
				continue
			}
			live.Add(agentset.ID{Runtime: runtime, Agent: agent}, directory)
		}
		projects := selection.ProjectsOf("/home/ana", live, entries, nil)
		checkPartition(t, projects)
		for s := range live {
			if !projects.Meant(projects.Of(s.Runtime, s.Agent)).Holds(s.Runtime, s.Agent) {
				t.Errorf("%s/%s is not found by its project %s", s.Runtime, s.Agent, projects.Of(s.Runtime, s.Agent))
			}
		}
	}
}

func checkPartition(t *testing.T, projects selection.Projects) {
	t.Helper()
	for _, project := range projects {
		meant := projects.Meant(project)
		for id, of := range projects {
			if want := of == project || id.Agent == project; meant.Holds(id.Runtime, id.Agent) != want {
				t.Errorf("%s means %q, and %v of %s is in it: %v", project, meant.Pairs(), id, of, !want)
			}
		}
	}
	for id, project := range projects {
		exact := agentset.Set(id.Agent)
		if got := projects.MeantAtMost(id.Agent); got != exact {
			t.Errorf("%v, of %s, is limited to %q", id, project, got.Pairs())
		}
	}
}

// The directory of a project means its agents, also where one has the project's name.
func TestProjectInDirectory(t *testing.T) {
	t.Parallel()
	claude, pi, other := agentset.ID{Runtime: "claude", Agent: "w-my-app"}, agentset.ID{Runtime: "pi", Agent: "w-my.app"}, agentset.ID{Runtime: "pi", Agent: "w-my-app"}
	projects := selection.Projects{claude: "w-my.app", pi: "w-my.app", other: "w-my-app"}
	if got := projects.InDirectory("/w/my.app/"); !slices.Equal(got.IDs(), []agentset.ID{claude, pi}) {
		t.Errorf("%v", got.IDs())
	}
	if got := projects.Meant("w-my-app"); got != "w-my-app" {
		t.Errorf("%q", got.Pairs())
	}
}
