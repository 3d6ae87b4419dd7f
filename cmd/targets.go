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
func chooseTargets(sessions []found, o compactOptions) (targets []found, none []compact.Result, err error) {
	if sessions, err = ofAgent(sessions, o.Agent); err != nil {
		return nil, nil, err
	}
	if o.Session != "" {
		targets, err = named(sessions, o.Session)
		return targets, nil, err
	}
	for _, s := range sessions {
		if s.Primary || s.Kind == session.KindDatabase {
			targets = append(targets, s)
		}
	}
	for _, s := range sessions {
		if !slices.ContainsFunc(targets, s.sameAgent) && !slices.ContainsFunc(none, s.sameResultAgent) {
			ref := session.Ref{Runtime: s.Runtime, Agent: s.Agent}
			none = append(none, compact.NewResult(ref, compact.NothingToDo, "there is no main session; the next message starts one"))
		}
	}
	return targets, none, nil
}

func (s found) sameAgent(t found) bool {
	return s.Agent == t.Agent && s.Runtime == t.Runtime && s.Store == t.Store
}

func (s found) sameResultAgent(r compact.Result) bool {
	return s.Agent == r.Agent && s.Runtime == r.Runtime
}

// named finds sessions by id, by key, or by the start of an id that only one
// session has.
func named(sessions []found, name string) ([]found, error) {
	var exact, prefixed []found
	for _, s := range sessions {
		if !shown(s.Kind) {
			continue
		}
		switch {
		case s.ID == name || strings.EqualFold(s.Key, name):
			exact = append(exact, s)
		case strings.HasPrefix(s.ID, name):
			prefixed = append(prefixed, s)
		}
	}
	if len(exact) > 0 {
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
