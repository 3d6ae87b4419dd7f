package hermes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/hermes/statedb"
	"github.com/sessctl/sessctl/pkg/session/logfile"
	"github.com/sessctl/sessctl/pkg/session/sqlitefile"
)

// Store is one home of Hermes, or of one of its profiles, a [session.Store]. It
// holds nothing open but the database that it has read, until it is closed, and
// may be used by several goroutines at once.
type Store struct {
	*sqlitefile.Sessions[*statedb.Database]

	root string
	pin  *logfile.Pin
}

// Open returns the store of a home.
func Open(root string) *Store {
	s := &Store{root: logfile.Absolute(root), pin: &logfile.Pin{}}
	s.Sessions = &sqlitefile.Sessions[*statedb.Database]{
		Databases: statedb.NewDatabases(),
		Place:     func(session.Ref) sqlitefile.File { return s.file() },
		Log:       func(ctx context.Context, db *statedb.Database, id string) (io.Reader, error) { return db.Log(ctx, id) },
	}
	return s
}

// Runtime implements [session.Store].
func (s *Store) Runtime() string { return session.RuntimeHermes }

// Root implements [session.Store].
func (s *Store) Root() string { return s.root }

const (
	databaseName = "state.db"
	profilesName = "profiles"
	sessionsName = "sessions"
	configName   = "config.yaml"
)

// Roots returns the homes with a database, or with transcripts: the one of the
// environment, or the usual one, those of its profiles, and those beside the usual one
// (~/.hermes-*).
func Roots(home string, getenv func(string) string) (found []string) {
	base := logfile.Expand(getenv("HERMES_HOME"), home)
	if base == "" {
		if base = filepath.Join(home, ".hermes"); home == "" {
			return nil
		}
	}
	places, _ := filepath.Glob(filepath.Join(quotedGlob(base), profilesName, "*"))
	beside, _ := filepath.Glob(filepath.Join(quotedGlob(home), ".hermes-*")) // one for each agent, as HERMES_HOME
	if home == "" {
		beside = nil
	}
	for _, root := range logfile.Existing(slices.Concat([]string{base}, places, beside)...) {
		path := filepath.Join(root, databaseName)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() || logfile.Unreadable(path) != nil || hasTranscripts(root) {
			found = append(found, root)
		}
	}
	return found
}

// quotedGlob is a path in which no character stands for others.
func quotedGlob(path string) string {
	var quoted []rune
	for _, r := range path {
		if r == '*' || r == '?' || r == '[' {
			quoted = append(quoted, '[', r, ']')
			continue
		}
		quoted = append(quoted, r)
	}
	return string(quoted)
}

// agent is the name of the agent of a session without a directory: of a profile,
// its name.
func (s *Store) agent() string {
	if filepath.Base(filepath.Dir(s.root)) == profilesName {
		return session.CleanAgent(filepath.Base(s.root))
	}
	return session.RuntimeHermes
}

// file is where the database lies.
func (s *Store) file() statedb.File {
	return statedb.File{Base: s.root, Name: databaseName, OpenRoot: s.pin.OpenRoot}
}

func (s *Store) path() string { return filepath.Join(s.root, databaseName) }

// Tail implements [session.Store]. No call of a model is counted by itself, so
// all that is in the context is read and estimated.
func (s *Store) Tail(ctx context.Context, ref session.Ref) (session.Tail, error) {
	if ref.Kind == session.KindLive {
		return s.transcriptTail(ctx, ref)
	}
	if ref.Kind != session.KindStored {
		return session.Tail{}, fmt.Errorf("%w: %s is no session", session.ErrUnknownFormat, ref.Path)
	}
	return s.TailOf(ctx, ref, s.Scan, func(db *statedb.Database, id string) (io.Reader, error) { return db.Context(ctx, id) })
}

// Busy implements [session.Liveness]: by the program's own leases, by when the
// session was used, and by its last turn. A session that has ended is never in a
// turn.
func (s *Store) Busy(ctx context.Context, q session.BusyQuestion) error {
	ref := q.Ref
	if ref.Kind != session.KindStored {
		return s.busyFile(ref, q.Now, q.Quiet)
	}
	_, id := sqlitefile.CutPath(ref.Path)
	db, release, err := s.Databases.Fresh(ctx, s.file())
	if err != nil {
		return logfile.GoneOr(ref.Path, err)
	}
	defer release()
	until, err := db.Held(ctx, id)
	if err != nil {
		return err
	}
	if until.After(q.Now) {
		return &session.BusyError{Path: ref.Path, Reason: session.ReasonLeasedTurn.Text()}
	}
	changed, ended, err := db.Changed(ctx, id)
	if err != nil {
		return logfile.GoneOr(ref.Path, err)
	}
	if err := session.CheckIdle(ref.Path, changed, q.Now, q.Quiet); err != nil {
		return err
	}
	if ended {
		return nil
	}
	tail, err := s.Tail(ctx, ref)
	if err != nil {
		return err
	}
	return session.CheckTurn(q, tail, changed)
}

func (s *Store) busyFile(ref session.Ref, now time.Time, quiet time.Duration) error {
	info, err := os.Lstat(ref.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return logfile.Gone(ref.Path)
	}
	if err != nil {
		return fmt.Errorf("look at the file: %w", err)
	}
	return session.CheckQuiet(ref.Path, info, now, quiet)
}

// OwnCommand implements [session.Adviser].
func (s *Store) OwnCommand(session.Ref) string {
	return "/compress in the session makes its context small"
}

// DatabaseParts implements [session.PartMeasurer].
func (s *Store) DatabaseParts(ctx context.Context) ([]session.DatabasePart, error) {
	db, release, err := s.Databases.Fresh(ctx, s.file())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer release()
	return db.Parts(ctx)
}
