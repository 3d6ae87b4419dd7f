package openclaw

import (
	"context"
	"fmt"
	"strings"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/openclaw/agentdb"
)

// database lists the sessions of an agent's database. One that cannot be read
// is a reference that stands for all of them, and a notice: nothing of it is
// silently missing.
func (l *lister) database(ctx context.Context, db *database, agent string) {
	refs, err := l.storedRefs(ctx, db, agent)
	if err != nil {
		ref := l.databaseRef(db, agent, err)
		l.notice(db.path, "", "its sessions are not read: %v", err)
		refs = []session.Ref{ref}
	}
	l.listing.Refs = append(l.listing.Refs, refs...)
}

// databaseRef stands for the sessions of a database that cannot be read.
func (l *lister) databaseRef(db *database, agent string, cause error) session.Ref {
	ref := session.Ref{
		Runtime: session.RuntimeOpenClaw, Agent: agent, ID: strings.TrimSuffix(DatabaseName, ".sqlite"), Key: mainKey(agent),
		Store: l.store.root, Path: db.path, Kind: session.KindDatabase, Bytes: db.size, ModTime: db.modTime,
		State: session.StateUnsupported,
	}
	ref.Reason = fmt.Sprintf("this agent's sessions are %s, and it cannot be read: %v; to start its main session fresh: %s",
		onlyGateway, cause, l.store.OwnCommand(ref))
	return ref
}

// doubtful stands for the sessions of an agent that may be in a database which
// cannot be looked at.
func (l *lister) doubtful(agent, doubt string, cause error) {
	f := l.store.databaseFile(agent)
	db := &database{path: f.Path(), modTime: l.now}
	if info, err := l.root.Lstat(f.Name); err == nil {
		db.size, db.modTime = info.Size(), info.ModTime()
	}
	ref := l.databaseRef(db, agent, cause)
	ref.Reason = fmt.Sprintf("%s: %v", doubt, cause)
	l.notice(db.path, "", "%s", ref.Reason)
	l.listing.Refs = append(l.listing.Refs, ref)
}

// stored is what a database says of its sessions.
type stored struct {
	agent   string
	path    string
	mainKey string
	nodes   map[string][]*entry // by current session
}

func (l *lister) storedRefs(ctx context.Context, db *database, agent string) ([]session.Ref, error) {
	open, release, err := l.store.databases.Fresh(ctx, l.store.databaseFile(agent))
	if err != nil {
		return nil, err
	}
	defer release()
	x, err := readStored(ctx, open, agent)
	if err != nil {
		return nil, err
	}
	x.path = db.path
	sessions, err := open.Sessions(ctx)
	if err != nil {
		return nil, err
	}
	if err := l.tellUnread(ctx, db, open, agent); err != nil {
		return nil, err
	}
	refs := make([]session.Ref, 0, len(sessions))
	for _, s := range sessions {
		if !session.SafeID(s.ID) {
			l.notice(db.path, "", "a session is skipped: its id %q is not one that is safe in a path", s.ID)
			continue
		}
		refs = append(refs, x.ref(s, l))
	}
	return refs, nil
}

func readStored(ctx context.Context, db *agentdb.Database, agent string) (*stored, error) {
	main, err := db.MainKey(ctx)
	if err != nil {
		return nil, err
	}
	nodes, err := db.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	x := &stored{agent: agent, mainKey: "agent:" + agent + ":" + main, nodes: make(map[string][]*entry)}
	for _, n := range nodes {
		e := &entry{key: n.Key}
		var c jsonl.Cursor
		c.Reset(n.Entry)
		e.read(&c)
		x.nodes[n.Session] = append(x.nodes[n.Session], e)
	}
	return x, nil
}

// ref is one session. Of several keys that share it the main one counts.
func (x *stored) ref(s agentdb.Session, l *lister) session.Ref {
	ref := session.Ref{
		Runtime: session.RuntimeOpenClaw, Agent: x.agent, ID: s.ID, Key: s.Key, Store: l.store.root, Path: x.path + storedMark + s.ID,
		Kind: session.KindStored, Bytes: s.Bytes, ModTime: s.Changed, Model: s.Model,
	}
	ref.State, ref.Reason = recentState(s.Changed, l.now)
	var best *entry
	for _, e := range x.nodes[s.ID] {
		if best == nil || strings.EqualFold(e.key, x.mainKey) {
			best = e
		}
	}
	if best == nil {
		ref.State, ref.Reason = session.StateIdle, session.ReasonEarlier
		return ref
	}
	ref.Key, ref.Primary = best.key, strings.EqualFold(best.key, x.mainKey)
	ref.ContextWindow, ref.Counter = best.window, best.counter
	if best.model != "" {
		ref.Model = best.model
	}
	return ref
}
