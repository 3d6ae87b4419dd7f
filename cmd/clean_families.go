package cmd

import (
	"context"
	"os"
	"path/filepath"

	"github.com/sessctl/sessctl/pkg/retention"
	"github.com/sessctl/sessctl/pkg/session"
)

// parentOf returns the agent that a session counts for: the one that started
// its agent, if that is a sub-agent, else its own.
func parentOf(s found) (agent string, sub bool) {
	if store, ok := s.store.(session.Parent); ok {
		if parent, ok := store.ParentOf(s.Agent); ok {
			return parent, true
		}
	}
	return s.Agent, false
}

// withSubAgents is of, with the sub-agents that the agent has started.
func (v inventory) withSubAgents(agent string) (inventory, error) {
	mine, err := v.of(agent)
	if err != nil || agent == "" {
		return mine, err
	}
	for _, s := range v.sessions {
		if parent, sub := parentOf(s); sub && parent == agent {
			mine.sessions = append(mine.sessions, s)
		}
	}
	return mine, nil
}

// leads reports whether a session stands for all that goes with it. Of a
// sub-agent that is the first.
func (c *cleaner) leads(s found) bool {
	if _, sub := parentOf(s); !sub {
		return true
	}
	for _, x := range c.all.sessions {
		if x.owner() == s.owner() {
			return x.Path == s.Path
		}
	}
	return true
}

// members are a session and the logs that go with it, or stay with it: its
// family, and all of a sub-agent's sessions.
func (c *cleaner) members(s found) []found {
	all := append([]found{s}, c.all.family(s)...)
	if _, sub := parentOf(s); !sub {
		return all
	}
	for _, x := range c.all.sessions {
		if x.owner() == s.owner() && x.Path != s.Path {
			all = append(all, x)
		}
	}
	return all
}

// companions are the paths of the other files that go with a session. Of a
// sub-agent they are all that its directory has: what is not a file keeps it.
func companions(ctx context.Context, s found) (paths []string, err error) {
	if family, ok := s.store.(session.Family); ok {
		return family.Companions(ctx, s.Ref)
	}
	if _, sub := parentOf(s); !sub {
		return nil, nil
	}
	dir := filepath.Dir(s.Path)
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.Name() != retention.DirName {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths, err
}
