package openclaw

import (
	"cmp"
	"slices"
	"strings"
)

// logs are the session files of a directory, by name and by what their names
// say.
type logs struct {
	byName map[string]logName
	topics map[thread]string // names of open logs of threads
	forks  map[string]string // names of open forked logs, by session id
	odd    []string          // look like sessions, but of no known kind
	locks  map[string]bool   // names of lock files
}

// thread is one thread of a session.
type thread struct{ session, topic string }

// sortLogs reads names by the allow-list.
func sortLogs(names []string) *logs {
	all := &logs{
		byName: make(map[string]logName), topics: make(map[thread]string),
		forks: make(map[string]string), locks: make(map[string]bool),
	}
	slices.Sort(names)
	for _, name := range names {
		if strings.HasSuffix(name, lockEnd) {
			all.locks[name] = true
		}
		switch n, v := parseName(name); v {
		case isLog:
			all.add(n)
		case isOdd:
			all.odd = append(all.odd, name)
		}
	}
	return all
}

func (l *logs) add(n logName) {
	l.byName[n.name] = n
	switch {
	case !n.open():
	case n.topic != "":
		l.topics[thread{n.session, n.topic}] = n.name
	case n.fork:
		l.forks[n.session] = n.name
	}
}

// owners are the entries of the index by the log that they mean, the best
// first.
type owners map[string][]*entry

// ownersOf finds out which entries mean which log.
func ownersOf(x *index, all *logs, agent string) owners {
	o := make(owners)
	if x == nil {
		return o
	}
	for _, e := range x.entries {
		if name := e.log(all); name != "" {
			o[name] = append(o[name], e)
		}
	}
	for _, entries := range o {
		slices.SortStableFunc(entries, func(a, b *entry) int { return betterKey(a, b, agent) })
	}
	return o
}

// betterKey orders the entries that mean one log: the agent's main key, then a
// key that is not of a single run, then the newest, then by name.
func betterKey(a, b *entry, agent string) int {
	return cmp.Or(
		trueFirst(isMain(a.key, agent), isMain(b.key, agent)),
		trueFirst(!isRun(a.key), !isRun(b.key)),
		cmp.Compare(b.updated, a.updated),
		strings.Compare(a.key, b.key),
	)
}

func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// mainKey is the key of the session that an agent continues by itself.
func mainKey(agent string) string { return "agent:" + agent + ":main" }

// isMain ignores case: keys are lower-cased when they are written, but older
// ones may be there in other spellings (research/formats.md section 4.2).
func isMain(key, agent string) bool { return strings.EqualFold(key, mainKey(agent)) }

func isRun(key string) bool { return strings.Contains(strings.ToLower(key), ":run:") }

// mainOf returns the entry that the runtime takes for the agent's main
// session: of several spellings the one that was updated last. nil if there
// is none.
func (x *index) mainOf(agent string) *entry {
	var best *entry
	for _, e := range x.entries {
		if isMain(e.key, agent) && (best == nil || e.updated > best.updated) {
			best = e
		}
	}
	return best
}
