package cmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/session"
)

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
		for _, root := range kind.roots(a.home(), a.getenv, a.config) {
			stores = append(stores, a.glancing(kind.open(root, a.config)))
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
		if runtimes()[i].remote {
			stores = append(stores, runtimes()[i].open(path, a.config))
			continue
		}
		path = absolute(path)
		if info, err := os.Stat(path); err != nil {
			return nil, &failure{code: "no_store", exit: exitFailed, path: path, err: fmt.Errorf("open store: %w", err)}
		} else if !info.IsDir() {
			return nil, &failure{code: "no_store", exit: exitFailed, path: path, err: fmt.Errorf("open store %s: not a directory", path)}
		}
		stores = append(stores, a.glancing(runtimes()[i].open(path, a.config)))
	}
	return a.ofRuntime(stores), nil
}

// ofRuntime leaves out what --runtime does not mean, and remembers the others
// to be closed.
func (a *app) ofRuntime(stores []session.Store) []session.Store {
	stores = slices.DeleteFunc(stores, func(s session.Store) bool {
		return a.global.Runtime != "" && s.Runtime() != a.global.Runtime
	})
	a.opened = append(a.opened, stores...)
	return stores
}

// closeStores gives back what the stores of this run hold: copies of databases.
func (a *app) closeStores() {
	for _, store := range a.opened {
		if closer, ok := store.(io.Closer); ok {
			_ = closer.Close() // it was only read
		}
	}
}

// found is a session together with the store that it was found in.
type found struct {
	session.Ref
	store  session.Store
	family []found // what belongs to it, of a session that is to be compacted
	// archive is the id of the archive that the log is, or "".
	archive string
}

// owner is an agent of a store.
type owner struct {
	runtime, store, agent string
}

func (s found) owner() owner { return owner{s.Runtime, s.Store, s.Agent} }

// inventory is everything that all stores hold.
type inventory struct {
	sessions []found
	owners   []owner // also those without a session
	known    map[owner]bool
}

// findSessions lists all stores. No store at all is an error that says where
// was looked; notices of the stores are printed.
func (a *app) findSessions(ctx context.Context) (inventory, error) {
	all, notices, err := a.listStores(ctx)
	a.showNotices(notices)
	return all, err
}

// listStores is findSessions for commands that are not about sessions: what is
// odd in the stores is not their business.
func (a *app) listStores(ctx context.Context) (inventory, []session.Notice, error) {
	var all inventory
	var notices []session.Notice
	stores, err := a.openStores()
	if err != nil {
		return all, nil, err
	}
	if len(stores) == 0 {
		return all, nil, a.noStores()
	}
	for _, store := range stores {
		listing, err := store.List(ctx)
		if err != nil {
			err = fmt.Errorf("list sessions of %s: %w", store.Root(), err)
		}
		if err != nil && (len(stores) == 1 || ctx.Err() != nil) {
			return all, notices, err
		}
		if err != nil { // the other stores are not to suffer for it
			a.unlisted++
			notices = append(notices, session.Notice{Path: store.Root(), Message: err.Error()})
			continue
		}
		all.add(store, listing)
		notices = append(notices, listing.Notices...)
	}
	if a.glances == nil { // sizes changes nothing
		a.foreign, a.listed = findForeign(all), true
	}
	return all, notices, nil
}

func (v *inventory) add(store session.Store, listing session.Listing) {
	v.sessions = slices.Grow(v.sessions, len(listing.Refs))
	for _, ref := range listing.Refs {
		v.sessions = append(v.sessions, found{Ref: ref, store: store})
		v.own(found{Ref: ref}.owner())
	}
	for _, agent := range listing.Agents {
		v.own(owner{store.Runtime(), store.Root(), agent})
	}
}

func (v *inventory) own(o owner) {
	if n := len(v.owners); o.agent == "" || n > 0 && v.owners[n-1] == o || v.known[o] {
		return
	}
	if v.known == nil {
		v.known = map[owner]bool{}
	}
	v.known[o] = true
	v.owners = append(v.owners, o)
}

func (a *app) showNotices(notices []session.Notice) {
	for _, n := range notices {
		a.notice(note(n))
	}
}

// noStores says where was looked.
func (a *app) noStores() error {
	looked := []string{"~/.openclaw", "~/.pi/agent/sessions", "~/.agent/sessions", "~/.annabelle/sessions", "~/.hexa-puffs/sessions", "~/.mac-stats", "~/.codex", "~/.claude/projects", "~/.gemini"}
	for _, variable := range []string{"OPENCLAW_STATE_DIR", "PI_CODING_AGENT_DIR", "THINKER_SESSIONS_DIR", "HEXA_PUFFS_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR", "GEMINI_CLI_HOME"} {
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
func (v inventory) agentNames() []string {
	var names []string
	for _, o := range v.owners {
		names = append(names, o.agent)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// of keeps what belongs to one agent. An unknown agent is a usage error that
// names those there are.
func (v inventory) of(agent string) (inventory, error) {
	if agent == "" {
		return v, nil
	}
	var mine inventory
	for _, s := range v.sessions {
		if s.Agent == agent {
			mine.sessions = append(mine.sessions, s)
		}
	}
	for _, o := range v.owners {
		if o.agent == agent {
			mine.owners = append(mine.owners, o)
		}
	}
	if len(mine.owners) > 0 {
		return mine, nil
	}
	hint := "no agent has any session yet"
	if names := v.agentNames(); len(names) > 0 {
		hint = "agents found: " + strings.Join(names, ", ")
	}
	return mine, &failure{code: "unknown_agent", exit: exitUsage, hint: hint, err: fmt.Errorf("unknown agent %q", agent)}
}
