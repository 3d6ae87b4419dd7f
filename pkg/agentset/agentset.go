package agentset

import (
	"maps"
	"slices"
	"strings"
)

// ID is one agent of one runtime. What was archived, pinned, remembered and
// forgotten is known by it, so it is never renamed. Runtime is "" where nobody knows in
// which runtime an agent stored its own words.
type ID struct{ Runtime, Agent string }

// String is the id as a person types it.
func (id ID) String() string {
	if id.Runtime == "" {
		return id.Agent
	}
	return id.Runtime + "/" + id.Agent
}

// Directories are agents, each with the directories that it is known to have worked in.
type Directories map[ID]map[string]bool

// Add adds an agent, and a directory of it unless that is "". One without a name is none.
func (d Directories) Add(id ID, directory string) {
	if id.Agent == "" {
		return
	}
	if d[id] == nil {
		d[id] = map[string]bool{}
	}
	if directory != "" {
		d[id][directory] = true
	}
}

// Clone is a copy that can be added to.
func (d Directories) Clone() Directories {
	all := make(Directories, len(d))
	for id, directories := range d {
		all[id] = maps.Clone(directories)
	}
	return all
}

// Set says whose sessions are meant: everybody's, "", those of every agent of a name,
// or those of the agents that [Of] was given. Two that mean the same are equal. What
// somebody typed is a name only after [Named].
type Set string

// idStart stands before each id of a set. No name of an agent has it, which are safe in paths.
const idStart = "\x00"

// Named are the agents of a name that was typed or read.
func Named(name string) Set {
	name, _, _ = strings.Cut(name, idStart) // nobody types a set
	return Set(name)
}

// Of are these agents, which people know by a name that is not empty. Without ids,
// and where the name alone means the same, they are those of the name.
func Of(name string, ids []ID) Set {
	all := Named(name)
	ids = slices.Clone(ids)
	slices.SortFunc(ids, func(a, b ID) int { return strings.Compare(a.Runtime+"/"+a.Agent, b.Runtime+"/"+b.Agent) })
	for _, id := range slices.Compact(ids) {
		all += Set(idStart + id.Runtime + "/" + id.Agent)
	}
	return all
}

// String is the name that people know the agents by.
func (a Set) String() string { return string(Named(string(a))) }

// IDs are the agents of a set in their order, nil if it is a name.
func (a Set) IDs() (ids []ID) {
	for _, pair := range a.Pairs() {
		runtime, agent, _ := strings.Cut(pair, "/")
		ids = append(ids, ID{runtime, agent})
	}
	return ids
}

// Pairs are the agents of a set as "runtime/agent", nil if it is a name.
func (a Set) Pairs() []string {
	_, list, isSet := strings.Cut(string(a), idStart)
	if !isSet {
		return nil
	}
	return strings.Split(list, idStart)
}

// Names are the names of the agents, each once and in order: nil are all.
func (a Set) Names() (names []string) {
	if a == "" {
		return nil
	}
	ids := a.IDs()
	if ids == nil {
		return []string{string(a)}
	}
	for _, id := range ids {
		names = append(names, id.Agent)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Holds reports whether an agent is meant.
func (a Set) Holds(runtime, agent string) bool {
	if a == "" || string(a) == agent {
		return true
	}
	_, list, isSet := strings.Cut(string(a), idStart)
	return isSet && strings.Contains(idStart+list+idStart, idStart+runtime+"/"+agent+idStart)
}

// MarshalText writes the name, which is what documents show.
func (a Set) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// Within are the agents of both of two sets, and whether there are any.
func (a Set) Within(other Set) (Set, bool) {
	switch {
	case a == "" || a == other:
		return other, true
	case other == "":
		return a, true
	case a.Pairs() == nil && other.Pairs() != nil:
		a, other = other, a
	}
	ids := slices.DeleteFunc(a.IDs(), func(id ID) bool { return !other.Holds(id.Runtime, id.Agent) })
	if len(ids) == 0 {
		return a, false
	}
	return Of(a.String(), ids), true
}
