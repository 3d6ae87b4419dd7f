package openclaw

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/openclaw/agentdb"
	"github.com/sessctl/sessctl/pkg/session/piformat"
)

// onlyGateway is why a session in a database is never changed.
const onlyGateway = "in the runtime's database, which only the runtime changes"

// inDatabase reports whether a reference is a database or one session in it.
func inDatabase(ref session.Ref) bool {
	return ref.Kind == session.KindDatabase || ref.Kind == session.KindStored
}

// storedMark stands between the path of a database and the id of a session in
// it. No id has it.
const storedMark = "#"

// databaseFile is where an agent's database lies.
func (s *Store) databaseFile(agent string) agentdb.File {
	return agentdb.File{Base: s.root, Name: filepath.Join(agentsName, agent, "agent", DatabaseName)}
}

// storedLog opens the log of a session in a database. release gives the
// database back.
func (s *Store) storedLog(ctx context.Context, ref session.Ref) (log *agentdb.Log, release func(), err error) {
	f := s.databaseFile(ref.Agent)
	path, id, ok := cutLast(ref.Path, storedMark)
	if !ok || path != f.Path() || !session.SafeID(ref.Agent) {
		return nil, nil, fmt.Errorf("%s is not a session of the store %s", ref.Path, s.root)
	}
	db, release, err := s.databases.Known(ctx, f)
	if err != nil {
		return nil, nil, err
	}
	if log, err = db.Log(ctx, id); err != nil {
		release()
		return nil, nil, err
	}
	return log, release, nil
}

func cutLast(s, mark string) (before, after string, found bool) {
	i := strings.LastIndex(s, mark)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(mark):], true
}

// OpenLog implements [session.LogSource]. It is of the moment at which the
// store was listed last. Reading a row whose record is damaged is an error that
// names it.
func (s *Store) OpenLog(ctx context.Context, ref session.Ref) (io.ReadCloser, error) {
	if ref.Kind != session.KindStored {
		return nil, fmt.Errorf("read %s: %w: it is no session in a database", ref.Path, fs.ErrInvalid)
	}
	log, release, err := s.storedLog(ctx, ref)
	if err != nil {
		return nil, err
	}
	whole := io.NewSectionReader(log, 0, log.Size())
	return &storedReader{Reader: bufio.NewReaderSize(whole, storedBuffer), release: release}, nil
}

// storedBuffer is how much of a log is asked of the database at once, in bytes.
const storedBuffer = 256 << 10

type storedReader struct {
	*bufio.Reader
	release func()
}

// Close implements io.Closer.
func (r *storedReader) Close() error {
	r.release()
	return nil
}

// storedTail is Tail for a session in a database: only its last rows are read.
func (s *Store) storedTail(ctx context.Context, ref session.Ref) (session.Tail, error) {
	log, release, err := s.storedLog(ctx, ref)
	if err != nil {
		return session.Tail{}, err
	}
	defer release()
	return piformat.Tail(ctx, log, log.Size(), ref.ModTime)
}

func (s *Store) countStored(ctx context.Context, ref session.Ref) (int, error) {
	log, err := s.OpenLog(ctx, ref)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	return piformat.CountMessages(ctx, log)
}

// OwnCommand implements [session.Adviser]: what starts a session of a database
// fresh, "" for one that is not its key's any more.
func (s *Store) OwnCommand(ref session.Ref) string {
	if !inDatabase(ref) || ref.Key == "" || ref.Reason == session.ReasonEarlier {
		return ""
	}
	params, err := json.Marshal(map[string]string{"key": ref.Key})
	if err != nil {
		return ""
	}
	return "openclaw gateway call sessions.reset --params " + shellQuoted(string(params))
}

// shellQuoted is a word as a POSIX shell reads it.
func shellQuoted(word string) string {
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// recentState says whether a session in a database was written a moment ago.
func recentState(changed, now time.Time) (session.State, string) {
	if age := now.Sub(changed); age >= 0 && age < session.RecentChange {
		return session.StateBusy, "something was said a moment ago"
	}
	return session.StateIdle, ""
}
