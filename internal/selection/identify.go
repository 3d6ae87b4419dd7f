package selection

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/memory"
)

// What a person types for an id is the whole id or the start of one; of a
// receipt, whose ids start with the time and so are much alike, also the end.

// IdKind is a kind of ids, and how one of them is named.
type IdKind struct {
	Noun string // session, archive, receipt
	List string // the command that lists them
	Ends bool   // the end of an id names it too, and case does not count
}

// Candidate is something that an id can mean.
type Candidate struct {
	ID   string
	What string // what tells it apart: its agent, or when it was made
}

// shownCandidates is how many candidates an error names.
const shownCandidates = 8

// Resolve returns the one id that a name means. The error says which there are
// to choose from if several start with it, or that there is none.
func (k IdKind) Resolve(name string, all []Candidate) (string, error) {
	fits := k.Matching(name, all)
	switch len(fits) {
	case 0:
		return "", k.Unknown(name)
	case 1:
		return fits[0].ID, nil
	}
	return "", k.Ambiguous(name, fits)
}

// Matching returns what a name can mean, each id once: only itself if it is
// one, else those that start with it.
func (k IdKind) Matching(name string, all []Candidate) []Candidate {
	var fits []Candidate
	for _, c := range all {
		id, part := c.ID, name
		if k.Ends {
			id, part = strings.ToUpper(id), strings.ToUpper(name)
		}
		if id == part {
			return []Candidate{c}
		}
		known := slices.ContainsFunc(fits, func(f Candidate) bool { return f.ID == c.ID })
		if !known && part != "" && (strings.HasPrefix(id, part) || k.Ends && strings.HasSuffix(id, part)) {
			fits = append(fits, c)
		}
	}
	return fits
}

// Unknown is the error for a name that means nothing.
func (k IdKind) Unknown(name string) error {
	return &failure.Error{Code: "unknown_" + k.Noun, Exit: failure.ExitUsage, Hint: k.List + " shows the " + k.Noun + "s there are", Err: fmt.Errorf("unknown %s %q", k.Noun, name)}
}

// Ambiguous is the error for a name that means several, and names them.
func (k IdKind) Ambiguous(name string, fits []Candidate) error {
	start := "start with"
	if k.Ends {
		start = "start or end with"
	}
	err := fmt.Errorf("%d %ss %s %q", len(fits), k.Noun, start, name)
	return &failure.Error{Code: "ambiguous", Exit: failure.ExitUsage, Hint: "give more of the id: " + listCandidates(fits), Err: err}
}

func listCandidates(fits []Candidate) string {
	var names []string
	for i, c := range fits {
		if i == shownCandidates {
			names = append(names, fmt.Sprintf("and %d more", len(fits)-i))
			break
		}
		if c.What != "" {
			c.ID += " (" + c.What + ")"
		}
		names = append(names, c.ID)
	}
	return strings.Join(names, ", ")
}

// SessionIDs are the ids of sessions, for messages about them.
func SessionIDs() IdKind { return IdKind{Noun: "session", List: "sessctl sizes"} }

// ArchiveIDs are the ids of archives, for messages about them.
func ArchiveIDs() IdKind { return IdKind{Noun: "archive", List: "sessctl archives list"} }

// ReceiptIDs are the ids of receipts, for messages about them.
func ReceiptIDs() IdKind { return IdKind{Noun: "receipt", List: "sessctl log", Ends: true} }

// RunIDs are the ids of runs, for messages about them.
func RunIDs() IdKind { return IdKind{Noun: "run", List: "sessctl doctor", Ends: true} }

// shortDigits is how many characters of a receipt's id are shown: 40 bits that
// are random, or counted up within a millisecond.
const shortDigits = 8

// ShortReceipt is the end of a receipt's id, which can be typed instead of it.
func ShortReceipt(id string) string { return strings.ToLower(id[max(0, len(id)-shortDigits):]) }

// Scope is whose sessions an id can mean; "" is anybody's.
type Scope struct {
	Runtime string
	Agent   agentset.Set
}

// Holds reports whether an agent of a runtime is meant.
func (s Scope) Holds(runtime, agent string) bool {
	return (s.Runtime == "" || s.Runtime == runtime) && s.Agent.Holds(runtime, agent)
}

// SessionID is the whole id of a session that memory or the archive has, or a
// store: one that was never remembered is not unknown. The empty name is itself.
func SessionID(ctx context.Context, run *workspace.Run, store *memory.Store, name string, of Scope) (string, error) {
	if name == "" {
		return "", nil
	}
	all, err := StoredSessions(ctx, run, store, of)
	if err != nil {
		return "", err
	}
	id, err := SessionIDs().Resolve(name, all)
	if err == nil || len(SessionIDs().Matching(name, all)) > 0 {
		return id, err
	}
	live, _, broken := run.ListStores(ctx)
	if broken != nil {
		return "", err // without a store there is no other session
	}
	return SessionIDs().Resolve(name, candidates(live, of))
}

// StoredSessions are the sessions of memory and of the archive.
func StoredSessions(ctx context.Context, run *workspace.Run, store *memory.Store, of Scope) ([]Candidate, error) {
	sources, err := store.Sources(ctx)
	if err != nil {
		return nil, err
	}
	entries, err := Archived(ctx, run, archive.Filter{})
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		sources = append(sources, memory.Source{Runtime: e.Runtime, Agent: e.Agent, Session: e.Session})
	}
	var all []Candidate
	for _, s := range sources {
		if of.Holds(s.Runtime, s.Agent) {
			all = append(all, Candidate{s.Session, s.Agent + ", " + s.Runtime})
		}
	}
	return all, nil
}

// KnownSession is the whole id of one of these sessions; a key, and the empty
// name, is itself.
func KnownSession(sessions []archive.Meta, name string, of Scope) (string, error) {
	var all []Candidate
	for _, m := range sessions {
		if m.Key == name || name == "" {
			return name, nil
		}
		if of.Holds(m.Runtime, m.Agent) {
			all = append(all, Candidate{m.Session, m.Agent + ", " + m.Runtime})
		}
	}
	return SessionIDs().Resolve(name, all)
}

// RecordID is the whole id of a record of memory, or of one that was forgotten.
func RecordID(ctx context.Context, store *memory.Store, name string) (string, error) {
	ids, err := store.RecordIDs(ctx, name, shownCandidates+1)
	if err != nil {
		return "", err
	}
	var all []Candidate
	for _, id := range ids {
		all = append(all, Candidate{ID: id})
	}
	return IdKind{Noun: "record", List: "sessctl recall --json"}.Resolve(name, all)
}

// candidates are the sessions of the stores.
func candidates(v workspace.Inventory, of Scope) (all []Candidate) {
	for _, s := range v.Sessions {
		if of.Holds(s.Runtime, s.Agent) {
			all = append(all, candidate(s))
		}
	}
	return all
}

func candidate(s workspace.Found) Candidate { return Candidate{s.ID, s.Agent + ", " + s.Runtime} }

// CheckAgent refuses an agent that nobody knows: not memory, where there is one,
// not the archive, and no store.
func CheckAgent(ctx context.Context, run *workspace.Run, store *memory.Store, agent agentset.Set) error {
	if agent == "" || agent.Pairs() != nil { // a set is of agents that there are
		return nil
	}
	var names []string
	if store != nil {
		var err error
		if names, err = store.Agents(ctx, "", ""); err != nil || slices.Contains(names, agent.String()) {
			return err
		}
	}
	entries, err := Archived(ctx, run, archive.Filter{})
	if err != nil {
		return err
	}
	for _, e := range entries {
		names = append(names, e.Agent)
	}
	if live, _, err := run.ListStores(ctx); err == nil {
		names = append(names, agentNames(live)...)
	} else if ctx.Err() != nil {
		return ctx.Err()
	}
	if slices.Contains(names, agent.String()) {
		return nil
	}
	return unknownAgent(agent, names)
}

// unknownAgentCode is the code of that error.
const unknownAgentCode = "unknown_agent"

// unknownAgent is the error that names the agents there are.
func unknownAgent(agent fmt.Stringer, names []string) error {
	slices.Sort(names)
	names = slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
	hint := "no agent has any session yet"
	if len(names) > 0 {
		hint = wording.DidYouMean(agent.String(), names, "agents found: "+strings.Join(names, ", "))
	}
	return &failure.Error{Code: unknownAgentCode, Exit: failure.ExitUsage, Hint: hint, Err: fmt.Errorf("unknown agent %q", agent)}
}

// Archived lists the catalogue.
func Archived(ctx context.Context, run *workspace.Run, f archive.Filter) ([]archive.Entry, error) {
	store, err := run.OpenArchive()
	if err != nil {
		return nil, err
	}
	return store.List(ctx, f)
}

// ArchiveCandidate is an archive that a typed id may mean.
func ArchiveCandidate(e archive.Entry) Candidate {
	return Candidate{e.ID, e.Agent + ", " + atSecond(e.CreatedAt) + ", " + wording.Count(e.Bytes) + " bytes"}
}

// atSecond tells apart what one run made after the other.
func atSecond(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }

// FindReceipt resolves what a person types: a path, an id, or the start or the
// end of one.
func FindReceipt(run *workspace.Run, name string) (compact.Receipt, error) {
	if bare := strings.TrimSuffix(name, ".json"); !strings.ContainsAny(bare, `/\.`) && !workspace.Exists(name) {
		name = bare // the name of a file in the directory of receipts
	}
	if strings.HasSuffix(name, ".json") || strings.ContainsAny(name, `/\`) {
		return run.Receipts().Read(workspace.Absolute(name))
	}
	all, unreadable, err := run.Receipts().Examine()
	if err != nil {
		return compact.Receipt{}, err
	}
	ids := make([]Candidate, 0, len(all))
	for _, r := range all {
		ids = append(ids, Candidate{r.ID, r.Agent + ", " + atSecond(r.At)})
	}
	id, err := ReceiptIDs().Resolve(name, ids)
	if len(unreadable) > 0 && len(ReceiptIDs().Matching(name, ids)) == 0 {
		err = fmt.Errorf("read %s: %w", unreadable[0].Path, unreadable[0].Err) // it may be the one that is meant
	}
	if err != nil {
		return compact.Receipt{}, err
	}
	r := all[slices.IndexFunc(all, func(r compact.Receipt) bool { return r.ID == id })]
	if r.Undo != nil {
		return compact.Receipt{}, failure.Usage("compact the session again", "%s is the receipt of an undo", r.ID)
	}
	return r, nil
}
