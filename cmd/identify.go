package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/memory"
)

// What a person types for an id is the whole id or the start of one; of a
// receipt, whose ids start with the time and so are much alike, also the end.

// idKind is a kind of ids, and how one of them is named.
type idKind struct {
	noun string // session, archive, receipt
	list string // the command that lists them
	ends bool   // the end of an id names it too, and case does not count
}

// candidate is something that an id can mean.
type candidate struct {
	id   string
	what string // what tells it apart: its agent, or when it was made
}

// shownCandidates is how many candidates an error names.
const shownCandidates = 8

// resolve returns the one id that a name means. The error says which there are
// to choose from if several start with it, or that there is none.
func (k idKind) resolve(name string, all []candidate) (string, error) {
	fits := k.matching(name, all)
	switch len(fits) {
	case 0:
		return "", k.unknown(name)
	case 1:
		return fits[0].id, nil
	}
	return "", k.ambiguous(name, fits)
}

// matching returns what a name can mean, each id once: only itself if it is
// one, else those that start with it.
func (k idKind) matching(name string, all []candidate) []candidate {
	var fits []candidate
	for _, c := range all {
		id, part := c.id, name
		if k.ends {
			id, part = strings.ToUpper(id), strings.ToUpper(name)
		}
		if id == part {
			return []candidate{c}
		}
		known := slices.ContainsFunc(fits, func(f candidate) bool { return f.id == c.id })
		if !known && part != "" && (strings.HasPrefix(id, part) || k.ends && strings.HasSuffix(id, part)) {
			fits = append(fits, c)
		}
	}
	return fits
}

// unknown is the error for a name that means nothing.
func (k idKind) unknown(name string) error {
	return &failure{code: "unknown_" + k.noun, exit: exitUsage, hint: k.list + " shows the " + k.noun + "s there are", err: fmt.Errorf("unknown %s %q", k.noun, name)}
}

// ambiguous is the error for a name that means several, and names them.
func (k idKind) ambiguous(name string, fits []candidate) error {
	start := "start with"
	if k.ends {
		start = "start or end with"
	}
	err := fmt.Errorf("%d %ss %s %q", len(fits), k.noun, start, name)
	return &failure{code: "ambiguous", exit: exitUsage, hint: "give more of the id: " + listCandidates(fits), err: err}
}

func listCandidates(fits []candidate) string {
	var names []string
	for i, c := range fits {
		if i == shownCandidates {
			names = append(names, fmt.Sprintf("and %d more", len(fits)-i))
			break
		}
		if c.what != "" {
			c.id += " (" + c.what + ")"
		}
		names = append(names, c.id)
	}
	return strings.Join(names, ", ")
}

func sessionIDs() idKind { return idKind{noun: "session", list: "sessctl sizes"} }

func archiveIDs() idKind { return idKind{noun: "archive", list: "sessctl archive list"} }

func receiptIDs() idKind { return idKind{noun: "receipt", list: "sessctl log", ends: true} }

func runIDs() idKind { return idKind{noun: "run", list: "sessctl doctor", ends: true} }

// shortDigits is how many characters of a receipt's id are shown: 40 bits that
// are random, or counted up within a millisecond.
const shortDigits = 8

// shortReceipt is the end of a receipt's id, which can be typed instead of it.
func shortReceipt(id string) string { return strings.ToLower(id[max(0, len(id)-shortDigits):]) }

// scope is whose sessions an id can mean; "" is anybody's.
type scope struct{ runtime, agent string }

func (s scope) holds(runtime, agent string) bool {
	return (s.runtime == "" || s.runtime == runtime) && (s.agent == "" || s.agent == agent)
}

// sessionID is the whole id of a session that memory or the archive has, or a
// store: one that was never remembered is not unknown. The empty name is itself.
func (a *invocation) sessionID(ctx context.Context, store *memory.Store, name string, of scope) (string, error) {
	if name == "" {
		return "", nil
	}
	all, err := a.storedSessions(ctx, store, of)
	if err != nil {
		return "", err
	}
	id, err := sessionIDs().resolve(name, all)
	if err == nil || len(sessionIDs().matching(name, all)) > 0 {
		return id, err
	}
	live, _, broken := a.listStores(ctx)
	if broken != nil {
		return "", err // without a store there is no other session
	}
	return sessionIDs().resolve(name, live.candidates(of))
}

// storedSessions are the sessions of memory and of the archive.
func (a *invocation) storedSessions(ctx context.Context, store *memory.Store, of scope) ([]candidate, error) {
	sources, err := store.Sources(ctx)
	if err != nil {
		return nil, err
	}
	entries, err := a.archived(ctx, archive.Filter{})
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		sources = append(sources, memory.Source{Runtime: e.Runtime, Agent: e.Agent, Session: e.Session})
	}
	var all []candidate
	for _, s := range sources {
		if of.holds(s.Runtime, s.Agent) {
			all = append(all, candidate{s.Session, s.Agent + ", " + s.Runtime})
		}
	}
	return all, nil
}

// knownSession is the whole id of one of these sessions; a key, and the empty
// name, is itself.
func knownSession(sessions []archive.Meta, name string, of scope) (string, error) {
	var all []candidate
	for _, m := range sessions {
		if m.Key == name || name == "" {
			return name, nil
		}
		if of.holds(m.Runtime, m.Agent) {
			all = append(all, candidate{m.Session, m.Agent + ", " + m.Runtime})
		}
	}
	return sessionIDs().resolve(name, all)
}

// recordID is the whole id of a record of memory, or of one that was forgotten.
func recordID(ctx context.Context, store *memory.Store, name string) (string, error) {
	ids, err := store.RecordIDs(ctx, name, shownCandidates+1)
	if err != nil {
		return "", err
	}
	var all []candidate
	for _, id := range ids {
		all = append(all, candidate{id: id})
	}
	return idKind{noun: "record", list: "sessctl recall --json"}.resolve(name, all)
}

// candidates are the sessions of the stores.
func (v inventory) candidates(of scope) (all []candidate) {
	for _, s := range v.sessions {
		if of.holds(s.Runtime, s.Agent) {
			all = append(all, s.candidate())
		}
	}
	return all
}

func (s found) candidate() candidate { return candidate{s.ID, s.Agent + ", " + s.Runtime} }

// checkAgent refuses an agent that nobody knows: not memory, where there is one,
// not the archive, and no store.
func (a *invocation) checkAgent(ctx context.Context, store *memory.Store, agent string) error {
	if agent == "" {
		return nil
	}
	var names []string
	if store != nil {
		var err error
		if names, err = store.Agents(ctx, "", ""); err != nil || slices.Contains(names, agent) {
			return err
		}
	}
	entries, err := a.archived(ctx, archive.Filter{})
	if err != nil {
		return err
	}
	for _, e := range entries {
		names = append(names, e.Agent)
	}
	if live, _, err := a.listStores(ctx); err == nil {
		names = append(names, live.agentNames()...)
	} else if ctx.Err() != nil {
		return ctx.Err()
	}
	if slices.Contains(names, agent) {
		return nil
	}
	return unknownAgent(agent, names)
}

// unknownAgent is the error that names the agents there are.
func unknownAgent(agent string, names []string) error {
	slices.Sort(names)
	names = slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
	hint := "no agent has any session yet"
	if len(names) > 0 {
		hint = didYouMean(agent, names, "agents found: "+strings.Join(names, ", "))
	}
	return &failure{code: "unknown_agent", exit: exitUsage, hint: hint, err: fmt.Errorf("unknown agent %q", agent)}
}

// archived lists the catalogue.
func (a *invocation) archived(ctx context.Context, f archive.Filter) ([]archive.Entry, error) {
	store, err := a.openArchive()
	if err != nil {
		return nil, err
	}
	return store.List(ctx, f)
}

// findArchive resolves what a person types: an archive's id, the start of one,
// or the id of a session with one archive, or the start of that.
func findArchive(ctx context.Context, store *archive.Store, name string) (archive.Entry, error) {
	entry, err := store.Get(ctx, name)
	if err == nil || !errors.Is(err, archive.ErrAmbiguous) && !errors.Is(err, archive.ErrNotFound) {
		return entry, err
	}
	all, err := store.List(ctx, archive.Filter{})
	if err != nil {
		return entry, err
	}
	var ids, sessions []candidate
	for _, e := range all {
		ids = append(ids, archiveCandidate(e))
		sessions = append(sessions, candidate{e.Session, e.Agent + ", " + e.Runtime})
	}
	if fits := archiveIDs().matching(name, ids); len(fits) > 1 {
		return entry, archiveIDs().ambiguous(name, fits)
	}
	id, err := sessionIDs().resolve(name, sessions)
	if f := (*failure)(nil); errors.As(err, &f) && f.code == "ambiguous" {
		return entry, err
	}
	var mine []archive.Entry
	for _, e := range all {
		if err == nil && e.Session == id {
			mine = append(mine, e)
		}
	}
	if i := slices.IndexFunc(mine, func(e archive.Entry) bool { return isAttachment(e) && e.Session == name }); i >= 0 {
		return mine[i], nil // a file is what its hash says, whatever else had its name
	}
	return onlyArchive(name, mine)
}

// onlyArchive is the only one of a session's archives.
func onlyArchive(name string, mine []archive.Entry) (archive.Entry, error) {
	switch len(mine) {
	case 0:
		return archive.Entry{}, archiveIDs().unknown(name)
	case 1:
		return mine[0], nil
	}
	var fits []candidate
	for _, e := range mine {
		fits = append(fits, archiveCandidate(e))
	}
	return archive.Entry{}, &failure{code: "ambiguous", exit: exitUsage, hint: "name one of them by its own id: " + listCandidates(fits), err: fmt.Errorf("session %q has %d archives", mine[0].Session, len(mine))}
}

func archiveCandidate(e archive.Entry) candidate {
	return candidate{e.ID, e.Agent + ", " + e.CreatedAt.UTC().Format("2006-01-02 15:04")}
}

// findReceipt resolves what a person types: a path, an id, or the start or the
// end of one.
func (a *invocation) findReceipt(name string) (compact.Receipt, error) {
	if bare := strings.TrimSuffix(name, ".json"); !strings.ContainsAny(bare, `/\.`) && !exists(name) {
		name = bare // the name of a file in the directory of receipts
	}
	if strings.HasSuffix(name, ".json") || strings.ContainsAny(name, `/\`) {
		return a.receipts().Read(absolute(name))
	}
	all, unreadable, err := a.receipts().Examine()
	if err != nil {
		return compact.Receipt{}, err
	}
	ids := make([]candidate, 0, len(all))
	for _, r := range all {
		ids = append(ids, candidate{r.ID, r.Agent + ", " + r.At.UTC().Format("2006-01-02 15:04")})
	}
	id, err := receiptIDs().resolve(name, ids)
	if len(unreadable) > 0 && len(receiptIDs().matching(name, ids)) == 0 {
		err = fmt.Errorf("read %s: %w", unreadable[0].Path, unreadable[0].Err) // it may be the one that is meant
	}
	if err != nil {
		return compact.Receipt{}, err
	}
	r := all[slices.IndexFunc(all, func(r compact.Receipt) bool { return r.ID == id })]
	if r.Undo != nil {
		return compact.Receipt{}, usageError("compact the session again", "%s is the receipt of an undo", r.ID)
	}
	return r, nil
}
