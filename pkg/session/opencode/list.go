package opencode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"
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
	return l.Listing.Listing, err
}

// list is List with the databases that were read.
func (s *Store) list(ctx context.Context) (*lister, error) {
	l := &lister{store: s, Listing: sqlitefile.Listing{Runtime: s.name, Agent: s.name, Store: s.root, Now: time.Now()}}
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
	l.NameAgents()
	return l, ctx.Err()
}

// lister collects the sessions of a store.
type lister struct {
	sqlitefile.Listing

	store *Store
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
		l.Unread(path, session.CleanID(name), err, func() (fs.FileInfo, error) { return root.Lstat(name) })
		return
	}
	l.read = append(l.read, path)
	byID := make(map[string]sessiondb.Session, len(sessions))
	for _, s := range sessions {
		byID[s.ID] = s
	}
	for _, s := range sessions {
		if l.IsSafe(path, s.ID) {
			l.Add(l.ref(path, s, byID))
		}
	}
}

func (l *lister) sessions(ctx context.Context, name string) (all []sessiondb.Session, err error) {
	db, release, err := l.store.Databases.Fresh(ctx, l.store.file(name))
	if err != nil {
		return nil, err
	}
	defer release()
	all, err = db.Sessions(ctx)
	if err = l.Salvaged(filepath.Join(l.store.root, name), err); err == nil {
		l.Schema(filepath.Join(l.store.root, name), db.Schema, sessiondb.OldestSchema, newestSchema(l.Runtime), session.Notice{Hint: session.CauseNewer.Hint()})
		l.Tables(filepath.Join(l.store.root, name), db.Unread)
	}
	return all, err
}

// newestSchema is the date of the last migration that was tried. Kilo adds its own to
// those that it takes from OpenCode.
func newestSchema(runtime string) int {
	if runtime == session.RuntimeKilo {
		return sessiondb.NewestOfKilo
	}
	return sessiondb.NewestSchema
}

// ref is one session. Its family is named after the one that began it all: what
// a sub-agent's agent started belongs to the session that a person sees.
func (l *lister) ref(path string, s sessiondb.Session, all map[string]sessiondb.Session) session.Ref {
	top := sqlitefile.Top(s, func(s sessiondb.Session) (sessiondb.Session, bool) {
		parent, there := all[s.Parent]
		return parent, there
	})
	ref := l.Ref(path, s.ID, top.Directory)
	ref.Bytes, ref.ModTime, ref.Model = s.Bytes, s.Changed, modelName(s.Model)
	ref.Begun = s.Slug == begunSlug
	if !untitled().MatchString(s.Title) {
		ref.Title = s.Title
	}
	if s.Doubt != "" {
		ref.Reason = s.Doubt.Text()
	}
	if top.ID != s.ID {
		ref.Parent, ref.Primary = top.ID, false
		ref.Reason = session.ReasonOfSubAgent.Text(top.ID)
	}
	return ref
}

// untitled are the titles of sessions that have none yet.
var untitled = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:New|Child) session - \d{4}-`) })

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
