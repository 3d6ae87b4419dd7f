package cmd

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/openclaw"
	"github.com/sessctl/sessctl/pkg/session/pi"
)

// runtimeKind is one runtime that this program can open stores of.
type runtimeKind struct {
	name  string
	roots func(home string, getenv func(string) string) []string
	open  func(root string) session.Store
}

// runtimes is the list of runtimes, in the order they are shown.
func runtimes() []runtimeKind {
	return []runtimeKind{
		{session.RuntimeOpenClaw, openclaw.Roots, func(root string) session.Store { return openclaw.Open(root) }},
		{session.RuntimePi, pi.Roots, func(root string) session.Store { return pi.Open(root) }},
	}
}

func runtimeNames() string {
	var names []string
	for _, k := range runtimes() {
		names = append(names, k.name)
	}
	return strings.Join(names, ", ")
}

// openStores returns the stores of this run: those named by --store, else all
// that are found under the home directory.
func (a *app) openStores() ([]session.Store, error) {
	if a.global.Runtime != "" && !slices.ContainsFunc(runtimes(), func(k runtimeKind) bool { return k.name == a.global.Runtime }) {
		return nil, usageError("known runtimes: "+runtimeNames(), "unknown runtime %q", a.global.Runtime)
	}
	if len(a.global.Stores) > 0 {
		return a.namedStores()
	}
	var stores []session.Store
	for _, kind := range runtimes() {
		for _, root := range kind.roots(a.home(), a.getenv) {
			stores = append(stores, kind.open(root))
		}
	}
	return a.ofRuntime(stores), nil
}

func (a *app) namedStores() ([]session.Store, error) {
	var stores []session.Store
	for _, named := range a.global.Stores {
		name, path, ok := strings.Cut(named, "=")
		i := slices.IndexFunc(runtimes(), func(k runtimeKind) bool { return k.name == name })
		if !ok || i < 0 {
			return nil, usageError("write --store runtime=path; known runtimes: "+runtimeNames(), "store %q", named)
		}
		path = absolute(path)
		if info, err := os.Stat(path); err != nil {
			return nil, &failure{code: "no_store", exit: exitFailed, path: path, err: fmt.Errorf("open store: %w", err)}
		} else if !info.IsDir() {
			return nil, &failure{code: "no_store", exit: exitFailed, path: path, err: fmt.Errorf("open store %s: not a directory", path)}
		}
		stores = append(stores, runtimes()[i].open(path))
	}
	return a.ofRuntime(stores), nil
}

func (a *app) ofRuntime(stores []session.Store) []session.Store {
	return slices.DeleteFunc(stores, func(s session.Store) bool {
		return a.global.Runtime != "" && s.Runtime() != a.global.Runtime
	})
}

// found is a session together with the store that it was found in.
type found struct {
	session.Ref
	store session.Store
}

// findSessions lists all stores. No store at all is an error that says where
// was looked; notices of the stores are printed.
func (a *app) findSessions(ctx context.Context) ([]found, error) {
	stores, err := a.openStores()
	if err != nil {
		return nil, err
	}
	if len(stores) == 0 {
		return nil, a.noStores()
	}
	var all []found
	for _, store := range stores {
		listing, err := store.List(ctx)
		if err != nil {
			return nil, fmt.Errorf("list sessions of %s: %w", store.Root(), err)
		}
		for _, ref := range listing.Refs {
			all = append(all, found{Ref: ref, store: store})
		}
		a.showNotices(listing.Notices)
	}
	return all, nil
}

func (a *app) showNotices(notices []session.Notice) {
	for _, n := range notices {
		a.notice("%s: %s", n.Path, n.Message)
		if !a.global.Quiet {
			a.hint(n.Hint)
		}
	}
}

// noStores says where was looked.
func (a *app) noStores() error {
	looked := []string{"~/.openclaw", "~/.pi/agent/sessions"}
	for _, variable := range []string{"OPENCLAW_STATE_DIR", "PI_CODING_AGENT_DIR"} {
		if value := a.getenv(variable); value != "" {
			looked = append(looked, variable+"="+value)
		}
	}
	return &failure{
		code: "no_store", exit: exitFailed, path: a.home(),
		hint: "name one with --store runtime=path, for example --store openclaw=/srv/openclaw",
		err:  fmt.Errorf("no session store found; looked at %s (home %s)", strings.Join(looked, ", "), a.home()),
	}
}

// agentNames returns the agents that were found, sorted, each once.
func agentNames(sessions []found) []string {
	var names []string
	for _, s := range sessions {
		if s.Agent != "" {
			names = append(names, s.Agent)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// ofAgent keeps the sessions of one agent. An unknown agent is a usage error
// that names those there are.
func ofAgent(sessions []found, agent string) ([]found, error) {
	if agent == "" {
		return sessions, nil
	}
	var mine []found
	for _, s := range sessions {
		if s.Agent == agent {
			mine = append(mine, s)
		}
	}
	if len(mine) > 0 {
		return mine, nil
	}
	names := agentNames(sessions)
	hint := "no agent has any session yet"
	if len(names) > 0 {
		hint = "agents found: " + strings.Join(names, ", ")
	}
	return nil, &failure{code: "unknown_agent", exit: exitUsage, hint: hint, err: fmt.Errorf("unknown agent %q", agent)}
}
