package goose

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/goose/goosedb"
	"github.com/sessctl/sessctl/pkg/session/logfile"
	"github.com/sessctl/sessctl/pkg/session/sqlitefile"
)

// Store is the directory of Goose's sessions, a [session.Store]. It holds nothing
// open but the database that it has read, until it is closed, and may be used by
// several goroutines at once.
type Store struct {
	*sqlitefile.Sessions[*goosedb.Database]

	root string
	pin  *logfile.Pin
}

const databaseName = "sessions.db"

// Open returns the store of a directory in which sessions.db lies, or of a data
// directory of Goose.
func Open(root string) *Store {
	s := &Store{root: logfile.Within(logfile.Absolute(root), "sessions"), pin: &logfile.Pin{}}
	s.Sessions = &sqlitefile.Sessions[*goosedb.Database]{
		Databases: goosedb.NewDatabases(),
		Place:     func(session.Ref) sqlitefile.File { return s.file() },
		Log:       func(ctx context.Context, db *goosedb.Database, id string) (io.Reader, error) { return db.Log(ctx, id) },
	}
	return s
}

// Roots returns the directory of a user's sessions if it has a database.
func Roots(home string, getenv func(string) string) []string {
	var places []string
	if root := getenv("GOOSE_PATH_ROOT"); filepath.IsAbs(root) {
		places = append(places, filepath.Join(root, "data"))
	}
	if data := getenv("XDG_DATA_HOME"); filepath.IsAbs(data) {
		places = append(places, filepath.Join(data, "goose"))
	} else if home != "" {
		places = append(places, filepath.Join(home, ".local", "share", "goose"))
	}
	if data := getenv("APPDATA"); filepath.IsAbs(data) {
		places = append(places, filepath.Join(data, "Block", "goose", "data"))
	}
	for i := range places {
		places[i] = filepath.Join(places[i], "sessions")
	}
	return slices.DeleteFunc(logfile.Existing(places...), func(root string) bool {
		path := filepath.Join(root, databaseName)
		info, err := os.Stat(path)
		return logfile.Unreadable(path) == nil && (err != nil || !info.Mode().IsRegular())
	})
}

// Traits says what holds for every store of Goose.
func Traits() session.Traits {
	return session.Traits{
		Runtime: session.RuntimeGoose, Homes: []string{"~/.local/share/goose"}, Variables: []string{"GOOSE_PATH_ROOT", "XDG_DATA_HOME"},
		Formats: []session.Format{session.FormatGoose}, SummaryStyle: session.StyleCheckpoint,
	}
}

// Capabilities implements [session.Store].
func (s *Store) Capabilities() session.Capabilities {
	return session.Capabilities{
		Traits: Traits(), Strategies: []session.Strategy{session.StrategyNone},
		Liveness: s, Adviser: s, Source: s, Counter: s, DatabaseFile: sqlitefile.FileOf, Closer: s,
	}
}

// Runtime implements [session.Store].
func (s *Store) Runtime() string { return session.RuntimeGoose }

// Root implements [session.Store].
func (s *Store) Root() string { return s.root }

// OwnCommand implements [session.Adviser].
func (s *Store) OwnCommand(session.Ref) string {
	return "/compact in the session makes its context small"
}

func (s *Store) file() goosedb.File {
	return goosedb.File{Base: s.root, Name: databaseName, OpenRoot: s.pin.OpenRoot}
}

func (s *Store) path() string { return filepath.Join(s.root, databaseName) }

// List implements [session.Store]: the sessions, the newest first. What an agent
// gave to another one belongs to the session that a person sees.
func (s *Store) List(ctx context.Context) (session.Listing, error) {
	l := &sqlitefile.Listing{Runtime: session.RuntimeGoose, Agent: session.RuntimeGoose, Store: s.root, Now: time.Now()}
	db, sessions, err := s.sessions(ctx)
	err = l.Salvaged(s.path(), err)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return l.Listing, logfile.Unreadable(s.path())
	case ctx.Err() != nil:
		return l.Listing, ctx.Err()
	case err != nil:
		l.Unread(s.path(), databaseName, err, func() (fs.FileInfo, error) { return os.Lstat(s.path()) })
	default:
		l.Schema(s.path(), db.Schema, goosedb.OldestSchema, goosedb.NewestSchema, session.Notice{Hint: session.CauseNewer.Hint()})
		l.Tables(s.path(), db.Unread)
	}
	byID := map[string]goosedb.Session{}
	for _, x := range sessions {
		byID[x.ID] = x
	}
	for _, x := range sessions {
		if l.IsSafe(s.path(), x.ID) {
			l.Add(s.ref(l, x, byID))
		}
	}
	l.NameAgents()
	l.NewestFirst()
	return l.Listing, nil
}

func (s *Store) sessions(ctx context.Context) (*goosedb.Database, []goosedb.Session, error) {
	db, release, err := s.Databases.Fresh(ctx, s.file())
	if err != nil {
		return nil, nil, err
	}
	defer release()
	sessions, err := db.Sessions(ctx)
	return db, sessions, err
}

// ref is one session.
func (s *Store) ref(l *sqlitefile.Listing, x goosedb.Session, byID map[string]goosedb.Session) session.Ref {
	top := sqlitefile.Top(x, func(x goosedb.Session) (goosedb.Session, bool) {
		parent, there := byID[x.Parent]
		return parent, there
	})
	ref := l.Ref(s.path(), x.ID, top.Directory)
	ref.Bytes, ref.ModTime = x.Bytes, x.Changed
	if x.Name != "CLI Session" && x.Name != "New Chat" { // before Goose has found one
		ref.Title = x.Name
	}
	if x.Doubt != "" {
		ref.Reason = x.Doubt.Text()
	}
	if top.ID != x.ID && session.SafeID(top.ID) {
		ref.Parent, ref.Primary, ref.Reason = top.ID, false, session.ReasonBegunByAgent.Text(top.ID)
	}
	return ref
}

// Tail implements [session.Store]. The context is what the last model call counted,
// as the row of the session says; without that it is an estimate.
func (s *Store) Tail(ctx context.Context, ref session.Ref) (session.Tail, error) {
	db, id, release, err := s.Database(ctx, ref)
	if err != nil {
		return session.Tail{}, err
	}
	defer release()
	log, err := db.Log(ctx, id)
	if err != nil {
		return session.Tail{}, err
	}
	tail, err := session.TailScan(ctx, log, ref.ModTime, s.Scan)
	if err != nil {
		return tail, err
	}
	counted, err := db.Tokens(ctx, id)
	if counted > 0 {
		tail.Tokens, tail.TokenSource = counted, session.TokensFromUsage
	}
	return tail, err
}

// Busy implements [session.Liveness]: by when the session was used, and by its last
// turn.
func (s *Store) Busy(ctx context.Context, q session.BusyQuestion) error {
	ref := q.Ref
	listing, err := s.List(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(listing.Refs, func(r session.Ref) bool { return r.Path == ref.Path })
	if i < 0 {
		return logfile.Gone(ref.Path)
	}
	changed := listing.Refs[i].ModTime
	if err := session.CheckIdle(ref.Path, changed, q.Now, q.Quiet); err != nil {
		return err
	}
	tail, err := s.Tail(ctx, ref)
	if err != nil {
		return err
	}
	return session.CheckTurn(q, tail, changed)
}
