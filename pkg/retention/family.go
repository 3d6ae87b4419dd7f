package retention

import (
	"context"
	"os"
	"path/filepath"

	"github.com/sessctl/sessctl/pkg/session"
)

// owner is an agent of a store.
type owner struct{ runtime, store, agent string }

func (s Session) owner() owner { return owner{s.Runtime, s.Ref.Store, s.Agent} }

// CountsFor returns the agent that a session counts for: the one that started
// its agent, if that is a sub-agent, else its own.
func (s Session) CountsFor() (agent string, sub bool) {
	if parents := s.Adapter.Capabilities().Parent; parents != nil {
		if parent, ok := parents.ParentOf(s.Agent); ok {
			return parent, true
		}
	}
	return s.Agent, false
}

// parent is a session that others belong to.
type parent struct {
	owner owner
	id    string
}

// families tell what goes together, or stays together.
type families struct {
	subs     map[owner][]Session // all sessions of a sub-agent
	children map[parent][]Session
}

// group finds the families of all sessions.
func group(all []Session) *families {
	f := &families{subs: map[owner][]Session{}, children: map[parent][]Session{}}
	for _, s := range all {
		if _, sub := s.CountsFor(); sub {
			f.subs[s.owner()] = append(f.subs[s.owner()], s)
		} else if s.Parent != "" {
			of := parent{s.owner(), s.Parent}
			f.children[of] = append(f.children[of], s)
		}
	}
	return f
}

// leads reports whether a session represents all that is deleted with it. Of a
// sub-agent that is the first.
func (f *families) leads(s Session) bool {
	subs := f.subs[s.owner()]
	return len(subs) == 0 || subs[0].Path == s.Path
}

// members are a session and the logs that go with it, or stay with it: its
// family, and all of a sub-agent's sessions.
func (f *families) members(s Session) []Session {
	mine := []Session{s}
	for _, x := range f.subs[s.owner()] {
		if x.Path != s.Path {
			mine = append(mine, x)
		}
	}
	return append(mine, f.children[parent{s.owner(), s.ID}]...)
}

// companionsOf returns the other files that go with each session. Of a
// sub-agent they are all that its directory has: what is not a file keeps it.
func companionsOf(ctx context.Context, plans []*SessionPlan) []session.Companions {
	all := make([]session.Companions, len(plans))
	asked := map[session.Family][]int{}
	for i, p := range plans {
		if family := p.Adapter.Capabilities().Family; family != nil {
			asked[family] = append(asked[family], i)
		} else if _, sub := p.CountsFor(); sub {
			all[i].Paths, all[i].Err = everythingIn(filepath.Dir(p.Path))
		}
	}
	for family, indexes := range asked {
		refs := make([]session.Ref, len(indexes))
		for k, i := range indexes {
			refs[k] = plans[i].Ref
		}
		for k, companions := range family.Companions(ctx, refs) {
			all[indexes[k]] = companions
		}
	}
	return all
}

// everythingIn are the paths of all that a directory has but its trash.
func everythingIn(dir string) (paths []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.Name() != DirName {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths, err
}
