package selection

import (
	"context"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

// Output is a tool's output with a store that reads it; false if it is none, or
// one that says nothing to memory.
func Output(s workspace.Found) (workspace.Found, bool) {
	if s.Kind != session.KindOutput || !s.Adapter.Capabilities().Outputs {
		return s, false
	}
	s.Adapter, s.State, s.Reason = session.ReadOutput(s.Adapter), session.StateIdle, ""
	return s, true
}

// agentNames returns the agents that were found, sorted, each once.
func agentNames(v workspace.Inventory) []string {
	var names []string
	for _, o := range v.Owners {
		names = append(names, o.Agent)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Of keeps what belongs to one agent. An unknown agent is a usage error that
// names those there are.
func Of(v workspace.Inventory, agent agentset.Set) (workspace.Inventory, error) {
	if agent == "" {
		return v, nil
	}
	mine := workspace.Inventory{Unread: v.Unread, NotRead: v.NotRead}
	for _, s := range v.Sessions {
		if agent.Holds(s.Runtime, s.Agent) {
			mine.Sessions = append(mine.Sessions, s)
		}
	}
	for _, o := range v.Owners {
		if agent.Holds(o.Runtime, o.Agent) {
			mine.Owners = append(mine.Owners, o)
		}
	}
	if len(mine.Owners) > 0 {
		return mine, nil
	}
	return mine, unknownAgent(agent, agentNames(v))
}

// Selection is what a run works on. It is chosen once a run, and again only if
// recovery has changed what was listed.
type Selection struct {
	All     workspace.Inventory
	Targets []workspace.Found // the sessions that the options mean
	None    []compact.Result  // of agents without a main session
}

// Choose lists the sessions and picks those that the options mean.
func Choose(ctx context.Context, run *workspace.Run, o CompactOptions) (Selection, error) {
	all, err := run.FindSessions(ctx)
	if err != nil {
		return Selection{}, err
	}
	targets, none, err := ChooseTargets(all, o)
	for _, r := range none {
		ref := session.Ref{Runtime: r.Runtime, Agent: r.Agent}
		workspace.Decided(ctx, run, workspace.Decision{Ref: ref, Asked: "compact", Outcome: string(r.Outcome), Reason: r.Reason})
	}
	return Selection{all, o.Agreed.Of(targets), none}, err
}

// About are the sessions that a run is about: all, or those of the agents whose
// sessions it compacts.
func (s Selection) About(o CompactOptions) []workspace.Found {
	if o.All {
		return s.All.Sessions
	}
	return slices.DeleteFunc(slices.Clone(s.All.Sessions), func(f workspace.Found) bool {
		chosen := slices.ContainsFunc(s.Targets, func(t workspace.Found) bool { return t.Owner() == f.Owner() })
		return !chosen && (o.Agent == "" || !o.Agent.Holds(f.Runtime, f.Agent))
	})
}

// ChooseTargets picks the sessions that the options mean. An agent without a
// main session is a result, not an error: its next message starts one.
func ChooseTargets(all workspace.Inventory, o CompactOptions) (targets []workspace.Found, none []compact.Result, err error) {
	if all, err = Of(all, o.Agent); err != nil {
		return nil, nil, err
	}
	defer func() {
		for i, t := range targets {
			targets[i].Family = family(all, t)
		}
	}()
	if o.Session != "" {
		targets, err = Named(all.Sessions, o.Session)
		return targets, nil, err
	}
	served, inDatabase := map[workspace.Owner]bool{}, InDatabase(all)
	for _, s := range all.Sessions {
		if !Meant(s, inDatabase) {
			continue
		}
		targets = append(targets, s)
		served[s.Owner()] = served[s.Owner()] || !s.Fragment && s.Kind != session.KindDeleted
	}
	for _, w := range all.Owners {
		if !served[w] {
			none = append(none, withoutMain(all, w))
		}
	}
	return targets, none, nil
}

// Meant reports whether a run over everything is about the session: it is the
// one that its agent goes on with, or what is left of one.
func Meant(s workspace.Found, inDatabase map[workspace.Owner]bool) bool {
	if s.Kind == session.KindDeleted && inDatabase[s.Owner()] {
		return true // what the runtime deletes, it keeps as a file, for a while
	}
	return s.Primary || s.Kind == session.KindDatabase || s.Fragment
}

// InDatabase are the agents whose sessions are in a database of their runtime.
func InDatabase(v workspace.Inventory) map[workspace.Owner]bool {
	agents := map[workspace.Owner]bool{}
	for _, s := range v.Sessions {
		if s.Kind == session.KindStored || s.Kind == session.KindDatabase {
			agents[s.Owner()] = true
		}
	}
	return agents
}

// withoutMain says why an agent has no main session: its sessions cannot be
// told apart (an index that cannot be read), or there is none yet.
func withoutMain(v workspace.Inventory, w workspace.Owner) compact.Result {
	for _, s := range v.Sessions {
		if s.Owner() == w && s.State == session.StateUnsupported && workspace.Shown(s.Kind) {
			return compact.NewResult(session.Ref{Runtime: w.Runtime, Agent: w.Agent, Path: s.Path}, compact.Unsupported, s.Reason)
		}
	}
	ref := session.Ref{Runtime: w.Runtime, Agent: w.Agent}
	if v.Unread {
		return compact.NewResult(ref, compact.NothingToDo, session.ReasonNoMainUnread.Text())
	}
	return compact.NewResult(ref, compact.NothingToDo, session.ReasonNoMain.Text())
}

// Named finds sessions by id, by key, or by the start of an id that only one
// session has. Of several that had a key one after the other the newest is
// meant. Logs that were closed are meant where no other has the id.
func Named(sessions []workspace.Found, name string) ([]workspace.Found, error) {
	var exact, keyed, prefixed, closed, closedPrefixed []workspace.Found
	for _, s := range sessions {
		switch {
		case s.Kind.Closed() && s.ID == name:
			closed = append(closed, s)
		case s.Kind.Closed() && strings.HasPrefix(s.ID, name):
			closedPrefixed = append(closedPrefixed, s)
		case !workspace.Shown(s.Kind) && s.Kind != session.KindSubagent:
		case s.ID == name:
			exact = append(exact, s)
		case strings.EqualFold(s.Key, name):
			keyed = append(keyed, s)
		case strings.HasPrefix(s.ID, name):
			prefixed = append(prefixed, s)
		}
	}
	if exact = append(exact, newestOf(keyed)...); len(exact) == 0 {
		exact = closed
	}
	if len(exact) > 0 {
		return exact, nil
	}
	if len(prefixed) == 0 {
		prefixed = closedPrefixed
	}
	_, err := SessionIDs().Resolve(name, candidates(workspace.Inventory{Sessions: prefixed}, Scope{}))
	return prefixed, err
}

// newestOf keeps of the sessions of each agent the one that was used last.
func newestOf(sessions []workspace.Found) []workspace.Found {
	var newest []workspace.Found
	for _, s := range sessions {
		i := slices.IndexFunc(newest, func(n workspace.Found) bool { return n.Owner() == s.Owner() })
		switch {
		case i < 0:
			newest = append(newest, s)
		case s.ModTime.After(newest[i].ModTime):
			newest[i] = s
		}
	}
	return newest
}

// family is what belongs to a session: the logs of its sub-agents and its long
// outputs.
func family(v workspace.Inventory, s workspace.Found) (members []workspace.Found) {
	for _, x := range v.Sessions {
		if x.Parent != "" && x.Parent == s.ID && x.Owner() == s.Owner() {
			members = append(members, x)
		}
	}
	return members
}

// WithFamilies adds to each session what belongs to it.
func WithFamilies(v workspace.Inventory, sessions []workspace.Found) (whole []workspace.Found) {
	for _, s := range sessions {
		for _, x := range append([]workspace.Found{s}, family(v, s)...) {
			if !slices.ContainsFunc(whole, func(y workspace.Found) bool { return x.Path == y.Path }) {
				whole = append(whole, x)
			}
		}
	}
	return whole
}
