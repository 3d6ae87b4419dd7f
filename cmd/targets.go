package cmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

// storesByRoot finds the store that a journal entry is about.
func storesByRoot(stores []session.Store) compact.Stores {
	return func(runtime, root string) (session.Store, bool) {
		for _, s := range stores {
			if s.Runtime() == runtime && s.Root() == root {
				return s, true
			}
		}
		return nil, false
	}
}

// chooseTargets picks the sessions that the options mean. An agent without a
// main session is a result, not an error: its next message starts one.
func chooseTargets(all inventory, o compactOptions) (targets []found, none []compact.Result, err error) {
	if all, err = all.of(o.Agent); err != nil {
		return nil, nil, err
	}
	defer func() {
		for i, t := range targets {
			targets[i].family = all.family(t)
		}
	}()
	if o.Session != "" {
		targets, err = named(all.sessions, o.Session)
		return targets, nil, err
	}
	served := map[owner]bool{}
	for _, s := range all.sessions {
		if s.Primary || s.Kind == session.KindDatabase {
			targets = append(targets, s)
			served[s.owner()] = true
		}
	}
	for _, w := range all.owners {
		if !served[w] {
			none = append(none, all.withoutMain(w))
		}
	}
	return targets, none, nil
}

// withoutMain says why an agent has no main session: its sessions cannot be
// told apart (an index that cannot be read), or there is none yet.
func (v inventory) withoutMain(w owner) compact.Result {
	for _, s := range v.sessions {
		if s.owner() == w && s.State == session.StateUnsupported && shown(s.Kind) {
			return compact.NewResult(session.Ref{Runtime: w.runtime, Agent: w.agent, Path: s.Path}, compact.Unsupported, s.Reason)
		}
	}
	ref := session.Ref{Runtime: w.runtime, Agent: w.agent}
	return compact.NewResult(ref, compact.NothingToDo, "there is no main session; the next message starts one")
}

// named finds sessions by id, by key, or by the start of an id that only one
// session has. Of several that had a key one after the other the newest is
// meant.
func named(sessions []found, name string) ([]found, error) {
	var exact, keyed, prefixed []found
	for _, s := range sessions {
		if !shown(s.Kind) && s.Kind != session.KindSubagent {
			continue
		}
		switch {
		case s.ID == name:
			exact = append(exact, s)
		case strings.EqualFold(s.Key, name):
			keyed = append(keyed, s)
		case strings.HasPrefix(s.ID, name):
			prefixed = append(prefixed, s)
		}
	}
	if exact = append(exact, newestOf(keyed)...); len(exact) > 0 {
		return exact, nil
	}
	if len(prefixed) == 1 {
		return prefixed, nil
	}
	if len(prefixed) > 1 {
		return nil, usageError("give more of the id", "%d sessions start with %q", len(prefixed), name)
	}
	return nil, &failure{code: "unknown_session", exit: exitUsage, hint: "sessctl sizes shows the sessions there are", err: fmt.Errorf("unknown session %q", name)}
}

// newestOf keeps of the sessions of each agent the one that was used last.
func newestOf(sessions []found) []found {
	var newest []found
	for _, s := range sessions {
		i := slices.IndexFunc(newest, func(n found) bool { return n.owner() == s.owner() })
		switch {
		case i < 0:
			newest = append(newest, s)
		case s.ModTime.After(newest[i].ModTime):
			newest[i] = s
		}
	}
	return newest
}
