package opencode

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
	"github.com/sessctl/sessctl/pkg/session/opencode/sessiondb"
	"github.com/sessctl/sessctl/pkg/session/sqlitefile"
)

// Store is one data directory, a [session.Store]. It holds nothing open but the
// databases that it has read, until it is closed, and may be used by several
// goroutines at once.
type Store struct {
	*sqlitefile.Sessions[*sessiondb.Database]

	name string
	root string
	pin  *logfile.Pin
}

// Open returns the store of a data directory of OpenCode, or of Kilo.
func Open(runtime, root string) *Store {
	s := &Store{name: runtime, root: logfile.Absolute(root), pin: &logfile.Pin{}}
	s.Sessions = &sqlitefile.Sessions[*sessiondb.Database]{Databases: sessiondb.NewDatabases(), Place: s.place, Log: logOf}
	return s
}

// Runtime implements [session.Store].
func (s *Store) Runtime() string { return s.name }

// Root implements [session.Store].
func (s *Store) Root() string { return s.root }

// Roots returns the data directory of OpenCode if it has a database.
func Roots(home string, getenv func(string) string) []string {
	return roots(session.RuntimeOpenCode, home, getenv)
}

// KiloRoots returns the data directory of Kilo if it has a database.
func KiloRoots(home string, getenv func(string) string) []string {
	return roots(session.RuntimeKilo, home, getenv)
}

func roots(name, home string, getenv func(string) string) (found []string) {
	data := getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(data) {
		if data = filepath.Join(home, ".local", "share"); home == "" {
			return nil
		}
	}
	for _, root := range logfile.Existing(filepath.Join(data, name)) {
		_, err := os.ReadDir(root) // List says why that cannot be read
		if names, _ := filepath.Glob(filepath.Join(root, "*"+databaseEnd)); err != nil || len(names) > 0 {
			found = append(found, root)
		}
	}
	return found
}

const databaseEnd = ".db"

// ownName are the names that the programs give to their databases: of a channel
// other than the usual ones with the channel's.
var ownName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(opencode|kilo)(-[\w.-]+)?\.db$`) })

// file is where a database of this store lies.
func (s *Store) file(name string) sessiondb.File {
	return sessiondb.File{Base: s.root, Name: name, OpenRoot: s.pin.OpenRoot}
}

// place is where the database of a reference lies, if that is one of this store.
func (s *Store) place(ref session.Ref) sqlitefile.File {
	name := filepath.Base(sqlitefile.FileOf(ref))
	if filepath.Ext(name) != databaseEnd {
		name = databaseEnd // of no database
	}
	return s.file(name)
}

// journalEnd follows the id of a session in the name of its journal. No id of a
// session has it.
const journalEnd = ".journal"

// logOf opens the log of a session, or of its journal.
func logOf(ctx context.Context, db *sessiondb.Database, id string) (io.Reader, error) {
	if session, journal := strings.CutSuffix(id, journalEnd); journal {
		return db.Journal(ctx, session)
	}
	return db.Log(ctx, id)
}

// Tail implements [session.Store]: the rows since the message of the person
// before the last answer are read, or all of them where that does not tell.
func (s *Store) Tail(ctx context.Context, ref session.Ref) (session.Tail, error) {
	return s.TailOf(ctx, ref, s.Scan, func(db *sessiondb.Database, id string) (io.Reader, error) {
		from, err := db.Recent(ctx, id)
		if err != nil {
			return nil, err
		}
		return db.Since(ctx, id, from)
	})
}

// Busy implements [session.Liveness]: by when the session was changed, and by
// its last turn.
func (s *Store) Busy(ctx context.Context, q session.BusyQuestion) error {
	ref := q.Ref
	path, id := sqlitefile.CutPath(ref.Path)
	db, release, err := s.Databases.Fresh(ctx, s.file(filepath.Base(path)))
	if err != nil {
		return logfile.GoneOr(ref.Path, err)
	}
	defer release()
	changed, err := db.Changed(ctx, id)
	if err != nil {
		return logfile.GoneOr(ref.Path, err)
	}
	if err := session.CheckIdle(ref.Path, changed, q.Now, q.Quiet); err != nil {
		return err
	}
	tail, err := s.Tail(ctx, ref)
	if err != nil {
		return err
	}
	return session.CheckTurn(q, tail, changed)
}

// OwnCommand implements [session.Adviser].
func (s *Store) OwnCommand(session.Ref) string {
	return "/compact in the session makes its context small"
}

// DatabaseParts implements [session.PartMeasurer].
func (s *Store) DatabaseParts(ctx context.Context) (all []session.DatabasePart, err error) {
	listing, err := s.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, ref := range session.OnePerDatabase(listing.Refs, sqlitefile.FileOf) {
		parts, err := s.parts(ctx, filepath.Base(sqlitefile.FileOf(ref)))
		if err != nil {
			return all, err
		}
		all = append(all, parts...)
	}
	return all, nil
}

func (s *Store) parts(ctx context.Context, name string) ([]session.DatabasePart, error) {
	db, release, err := s.Databases.Known(ctx, s.file(name))
	if err != nil {
		return nil, err
	}
	defer release()
	return db.Parts(ctx)
}
