package opencode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/opencode/sessiondb"
	"github.com/sessctl/sessctl/pkg/session/sqlitefile"
)

// List implements [session.Store]: the sessions of every database, the one that
// was used last first. A session that another one's agent started belongs to
// that one. Every other session is primary: the program goes on with whichever
// it is told to.
func (s *Store) List(ctx context.Context) (session.Listing, error) {
	l, err := s.list(ctx)
	return l.Listing, err
}

// list is List with the databases that were read.
func (s *Store) list(ctx context.Context) (*lister, error) {
	l := &lister{store: s, now: time.Now()}
	root, err := s.pin.OpenRoot(s.root)
	if err != nil {
		return l, fmt.Errorf("open store: %w", err)
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return l, fmt.Errorf("list store: %w", err)
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return l, err
		}
		if filepath.Ext(e.Name()) == databaseEnd {
			l.database(ctx, root, e.Name())
		}
	}
	for _, ref := range l.Refs {
		if !slices.Contains(l.Agents, ref.Agent) {
			l.Agents = append(l.Agents, ref.Agent)
		}
	}
	return l, ctx.Err()
}

// lister collects the sessions of a store.
type lister struct {
	session.Listing
	store *Store
	now   time.Time
	read  []string // paths of the databases that were read, also of those without sessions
}

// database lists one. A database of something else is passed over, unless it has
// a name that only the runtime gives; one that cannot be read is a reference
// that stands for all of its sessions, and a notice.
func (l *lister) database(ctx context.Context, root *os.Root, name string) {
	sessions, err := l.sessions(ctx, name)
	path := filepath.Join(l.store.root, name)
	switch {
	case errors.Is(err, sessiondb.ErrSchema) && !ownName().MatchString(name), ctx.Err() != nil:
		return
	case err != nil:
		l.unreadable(root, name, err)
		return
	}
	l.read = append(l.read, path)
	byID := make(map[string]sessiondb.Session, len(sessions))
	for _, s := range sessions {
		byID[s.ID] = s
	}
	for _, s := range sessions {
		if !session.SafeID(s.ID) {
			l.Notices = append(l.Notices, session.Notice{Path: path, Message: fmt.Sprintf("a session is skipped: its id %q has characters that are not safe in a path", s.ID), Unread: true})
			continue
		}
		l.Refs = append(l.Refs, l.ref(path, s, byID))
	}
}

func (l *lister) sessions(ctx context.Context, name string) ([]sessiondb.Session, error) {
	db, release, err := l.store.databases.Fresh(ctx, l.store.file(name))
	if err != nil {
		return nil, err
	}
	defer release()
	return db.Sessions(ctx)
}

// unreadable makes a reference that stands for the sessions of a database.
func (l *lister) unreadable(root *os.Root, name string, cause error) {
	path := filepath.Join(l.store.root, name)
	ref := session.Ref{
		Runtime: l.store.name, Agent: l.store.name, ID: session.CleanID(name), Store: l.store.root, Path: path, Kind: session.KindDatabase,
		ModTime: l.now, State: session.StateUnsupported, Reason: session.ReasonDatabaseUnread.Text(cause),
	}
	if info, err := root.Lstat(name); err == nil {
		ref.Bytes, ref.ModTime = info.Size(), info.ModTime()
	}
	l.Refs = append(l.Refs, ref)
	notice := session.Skipped(path, cause)
	notice.Message = fmt.Sprintf("its sessions are not read: %v", cause)
	notice.Unread = notice.Unread || errors.Is(cause, session.ErrBusy)
	l.Notices = append(l.Notices, notice)
}

// ref is one session. Its family is named after the one that began it all: what
// a sub-agent's agent started belongs to the session that a person sees.
func (l *lister) ref(path string, s sessiondb.Session, all map[string]sessiondb.Session) session.Ref {
	top := s
	for range maxFamily {
		parent, ok := all[top.Parent]
		if !ok {
			break
		}
		top = parent
	}
	ref := session.Ref{
		Runtime: l.store.name, Agent: session.AgentOfDirectory(top.Directory, l.store.name), ID: s.ID, Store: l.store.root,
		Path: path + sqlitefile.StoredMark + s.ID, Kind: session.KindStored, Primary: true, Bytes: s.Bytes, ModTime: s.Changed,
		Model: modelName(s.Model), State: session.StateIdle,
	}
	if top.ID != s.ID {
		ref.Parent, ref.Primary = top.ID, false
		ref.Reason = session.ReasonOfSubAgent.Text(top.ID)
	}
	if age := l.now.Sub(s.Changed); age.Abs() < session.RecentChange {
		ref.State, ref.Reason = session.StateBusy, session.ReasonJustSaid.Text()
	}
	return ref
}

// maxFamily bounds how many sessions are followed from one to the one that
// started it.
const maxFamily = 32

// modelName is the name in the column of the model, which holds JSON.
func modelName(column string) string {
	var m struct {
		ID       string `json:"id"`
		ModelID  string `json:"modelID"`
		Provider string `json:"providerID"`
	}
	if json.Unmarshal([]byte(column), &m) != nil {
		return ""
	}
	if m.ID == "" {
		m.ID = m.ModelID
	}
	return m.ID
}
