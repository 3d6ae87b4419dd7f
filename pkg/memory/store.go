package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/memory/database"
	"modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"
)

var (
	// ErrNewerSchema is returned when the database was written by a newer
	// sessctl. Nothing of it is touched. What to do: use that sessctl.
	ErrNewerSchema = errors.New("memory was written by a newer sessctl")
	// ErrCorrupt is returned when the database is damaged or is not ours. What
	// to do: move the directory away; the archives still have everything, and
	// memory can be rebuilt from them.
	ErrCorrupt = database.ErrCorrupt
	// ErrFull is returned when the file system has no room for what was to be
	// stored. Nothing of it was stored.
	ErrFull = database.ErrFull
	// ErrBusy is returned when another process keeps the database locked.
	// Nothing was changed.
	ErrBusy = database.ErrBusy
	// ErrEmpty is returned when a memory is only to be read and nothing was
	// ever stored in it: the run that made the file was cut off. It is
	// fs.ErrNotExist.
	ErrEmpty = fmt.Errorf("nothing was stored in it yet: %w", fs.ErrNotExist)
	// ErrInUse is returned when a memory is to be looked at without a trace
	// and its log has not been written into the database: somebody is at work
	// in it, or was killed. What to do: look at it in the usual way.
	ErrInUse = errors.New("the memory's write-ahead log is not checkpointed yet")
	// ErrOtherModel is returned when only vectors of another model could
	// answer. Vectors of different models are never compared.
	ErrOtherModel = errors.New("memory has vectors of another model")
)

// Options say how a store is opened.
type Options struct {
	ReadOnly bool // never write, not even a missing database
	// NoTrace is ReadOnly, and not even SQLite's files beside the database are
	// made or changed. It is for a memory that nobody writes meanwhile: what
	// is read while somebody does may look damaged. See ErrInUse.
	NoTrace bool
	// Rebuild says that a memory that is missing is made to be filled from the
	// archives: it is Incomplete until Complete is called.
	Rebuild bool
	// Pins hold the directories of the memory open for longer than the store is;
	// nil holds them from here to Close.
	Pins *durable.Pins
}

// Store is an open memory. It may be used by several goroutines; of several
// processes one may write.
type Store struct {
	db       *sql.DB
	dir      string
	pins     *durable.Pins   // its directories, until Close
	held     *durable.Handle // that of the database
	readOnly bool
	rebuild  bool             // one that is made is incomplete
	created  bool             // it was made when it was opened
	moment   database.Querier // sees the database as it was at one moment; nil sees it as it is
}

// reads is what questions are put to.
func (s *Store) reads() database.Querier {
	if s.moment != nil {
		return s.moment
	}
	return s.db
}

// Open opens the memory in dir and makes it if it is missing (unless it is
// only to be read: then it is an error that wraps fs.ErrNotExist). Errors:
// ErrNewerSchema, ErrCorrupt.
func Open(ctx context.Context, dir string, o Options) (*Store, error) {
	o.ReadOnly = o.ReadOnly || o.NoTrace
	s := &Store{dir: dir, readOnly: o.ReadOnly, rebuild: o.Rebuild}
	s.hold(o.Pins)
	if err := s.open(ctx, o); err != nil {
		s.letGo()
		return nil, err
	}
	return s, nil
}

func (s *Store) open(ctx context.Context, o Options) (err error) {
	if !o.ReadOnly {
		if err := s.makeFile(); err != nil {
			return err
		}
	}
	if err := s.checkFile(); err != nil {
		return err
	}
	if s.held, err = s.pins.OpenHandle(s.dir); err != nil {
		return fmt.Errorf("open %s: %w", s.path(), err)
	}
	if o.NoTrace {
		err = s.openTraceless(ctx)
	} else if err = s.openNamed(ctx, s.address()); o.ReadOnly && unwritable(err) {
		err = s.openTraceless(ctx)
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", s.path(), database.Classify(err))
	}
	return nil
}

func (s *Store) path() string { return filepath.Join(s.dir, "memory.db") }

func (s *Store) openNamed(ctx context.Context, name string) (err error) {
	if s.db, err = sql.Open("sqlite", name); err != nil {
		return err
	}
	if err = s.inPlace(); err == nil {
		err = s.prepare(ctx)
	}
	if err != nil {
		_ = s.db.Close() // it was only looked at
	}
	return err
}

// unwritable reports whether SQLite could not make its files beside a database
// that is only to be read: the directory is another user's, or on a disk that
// cannot be written.
func unwritable(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	code := e.Code() & 0xFF
	return code == sqlitelib.SQLITE_READONLY || code == sqlitelib.SQLITE_CANTOPEN
}

// makeFile makes the directory and an empty database, private (0700, 0600).
func (s *Store) makeFile() error {
	if err := s.pins.MakeDir(s.dir, 0o700); err != nil {
		return fmt.Errorf("make memory directory: %w", err)
	}
	err := s.pins.CreateFile(s.path(), 0o600, func(w io.Writer) error { return nil })
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make %s: %w", s.path(), err)
	}
	return nil
}

// checkFile refuses what SQLite would take for a new database although it is
// the beginning of another, what it would wait for, as for a pipe, and links.
func (s *Store) checkFile() error {
	path := s.path()
	info, err := s.pins.Lstat(path)
	if err != nil {
		return fmt.Errorf("look for %s: %w", path, err)
	}
	for _, beside := range []string{"", "-wal", "-shm", "-journal"} {
		other, err := s.pins.Lstat(path + beside)
		if err == nil && other.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("open %s: %w: it is a symbolic link; put the file itself there, or link the directory", path+beside, durable.ErrNotRegular)
		}
		if err == nil && !other.Mode().IsRegular() {
			return fmt.Errorf("open %s: %w: %w", path+beside, ErrCorrupt, durable.ErrNotRegular)
		}
	}
	if size := info.Size(); size > 0 && size < 512 {
		return fmt.Errorf("open %s: %w: it has only %d bytes", path, ErrCorrupt, size)
	}
	return nil
}

// openTraceless opens a database to look at it without a trace: as if it lay on a
// disk that cannot change. With a log beside it that would be wrong, and to read
// the log SQLite touches it and its index (docs/dev/decisions.md D10).
func (s *Store) openTraceless(ctx context.Context) error {
	if info, err := s.pins.Lstat(s.path() + "-wal"); err == nil && info.Size() > 0 {
		return ErrInUse
	}
	s.readOnly = true
	return s.openNamed(ctx, s.address()+"&mode=ro&immutable=1")
}

// address is the driver's name of the database: every commit synced, and
// patience with another process's lock.
func (s *Store) address() string {
	path := filepath.Join(s.held.Path(), "memory.db")
	q := url.Values{}
	pragmas := []string{"busy_timeout(10000)", "synchronous(FULL)", "foreign_keys(1)", "journal_size_limit(4194304)"}
	if s.readOnly {
		pragmas = []string{"busy_timeout(10000)", "query_only(1)"}
	}
	for _, pragma := range pragmas {
		q.Add("_pragma", pragma)
	}
	q.Set("_txlock", "immediate")
	if s.held.Held() {
		q.Set("vfs", heldVFS)
	}
	path = filepath.ToSlash(path)
	if filepath.VolumeName(path) != "" {
		path = "/" + path // file:/C:/...
	}
	return (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: q.Encode()}).String()
}

// inTransaction runs f in one transaction: all of it or nothing.
func (s *Store) inTransaction(ctx context.Context, f func(*sql.Tx) error) error {
	return inTransaction(ctx, s.db, f)
}

// beginner is a database or one connection to it.
type beginner interface {
	BeginTx(ctx context.Context, o *sql.TxOptions) (*sql.Tx, error)
}

func inTransaction(ctx context.Context, b beginner, f func(*sql.Tx) error) error {
	tx, err := b.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin transaction: %w", database.Classify(err))
	}
	if err := f(tx); err != nil {
		_ = tx.Rollback() // the error says more
		if errors.Is(err, sql.ErrTxDone) && ctx.Err() != nil {
			return ctx.Err() // which ended it
		}
		return database.Classify(err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", database.Classify(err))
	}
	return nil
}

// Close closes the store.
func (s *Store) Close() error {
	defer s.letGo()
	if err := s.inPlace(); err != nil {
		return err // the database is left as by a process that was killed: closing it removes its log by path
	}
	return s.db.Close()
}

// AgentStats counts what memory has of one agent.
type AgentStats struct {
	Runtime  string         `json:"runtime"`
	Agent    string         `json:"agent"`
	Sessions int            `json:"sessions"`
	Records  int            `json:"records"`
	Stored   int            `json:"stored"` // of them, what the agent stored in its own words
	Category map[string]int `json:"by_category"`
	Vectors  map[string]int `json:"vectors_by_model"`
	Pending  map[string]int `json:"pending_by_model"` // without a vector, those that cannot be embedded included
	Actions  map[string]int `json:"actions_by_kind"`  // what was done: commands, files, searches
	// Unembedded counts the records that have no vector of any model, and could
	// have one: also while no embedder has ever answered.
	Unembedded int `json:"without_vector"`
}

// ModelStats counts what memory has of one embedding model.
type ModelStats struct {
	Name        string `json:"name"` // embed.Model.String
	Fingerprint string `json:"fingerprint"`
	Dimensions  int    `json:"dimensions"`
	Vectors     int    `json:"vectors"`
	Bytes       int64  `json:"bytes"` // of its vectors
}

// Stats counts what memory has.
type Stats struct {
	Agents    []AgentStats `json:"agents"`
	Models    []ModelStats `json:"models"`
	Forgotten int          `json:"forgotten"` // records that must not come back
	Bytes     int64        `json:"bytes"`     // of all files
}

// Stats returns counts per agent and model, in their order.
func (s *Store) Stats(ctx context.Context) (Stats, error) {
	stats := Stats{Agents: []AgentStats{}, Models: []ModelStats{}, Bytes: treeBytes(s.dir)}
	var err error
	if stats.Forgotten, err = s.countTombstones(ctx); err != nil {
		return Stats{}, err
	}
	if err := s.countModels(ctx, &stats); err != nil {
		return Stats{}, err
	}
	return stats, s.countAgents(ctx, &stats)
}

// countModels counts the vectors of each model.
func (s *Store) countModels(ctx context.Context, stats *Stats) error {
	rows, err := s.db.QueryContext(ctx, `SELECT fingerprint, name, dim, (SELECT count(*) FROM vectors v WHERE v.model=fingerprint),
		(SELECT coalesce(sum(length(b.records)+length(b.rows)), 0) FROM vector_spaces s JOIN vector_blocks b ON `+inSpace+` WHERE s.model=fingerprint) FROM models ORDER BY name`)
	if err != nil {
		return fmt.Errorf("count vectors: %w", database.Classify(err))
	}
	defer rows.Close()
	for rows.Next() {
		var m ModelStats
		if err := rows.Scan(&m.Fingerprint, &m.Name, &m.Dimensions, &m.Vectors, &m.Bytes); err != nil {
			return fmt.Errorf("count vectors: %w", database.Classify(err))
		}
		stats.Models = append(stats.Models, m)
	}
	return database.Classify(rows.Err())
}

func (s *Store) countAgents(ctx context.Context, stats *Stats) error {
	if err := s.countRecords(ctx, stats); err != nil {
		return err
	}
	has, err := hasActions(ctx, s.db)
	if err != nil || !has {
		return err
	}
	return s.count(ctx, stats, "SELECT s.runtime, s.agent, a.kind, count(*), 0 FROM actions a JOIN sources s ON s.source=a.source GROUP BY 1, 2, 3",
		func(a *AgentStats, name string, count, _ int) { a.Actions[name] = count })
}

func (s *Store) countRecords(ctx context.Context, stats *Stats) error {
	for _, step := range []struct {
		query string
		take  func(a *AgentStats, name string, count, sessions int)
	}{
		{"SELECT runtime, agent, '', count(*), count(DISTINCT nullif(session, '')) FROM records GROUP BY agent, runtime ORDER BY agent, runtime",
			func(a *AgentStats, _ string, count, sessions int) { a.Records, a.Sessions = count, sessions }},
		{"SELECT runtime, agent, '', count(*), 0 FROM records WHERE branch='" + BranchStored + "' GROUP BY 1, 2",
			func(a *AgentStats, _ string, count, _ int) { a.Stored = count }},
		{"SELECT runtime, agent, category, count(*), 0 FROM records GROUP BY 1, 2, 3",
			func(a *AgentStats, name string, count, _ int) { a.Category[name] = count }},
		{"SELECT r.runtime, r.agent, m.name, count(*), 0 FROM vectors v JOIN records r ON r.rowid=v.record JOIN models m ON m.fingerprint=v.model GROUP BY 1, 2, 3",
			func(a *AgentStats, name string, count, _ int) { a.Vectors[name] = count }},
		{"SELECT r.runtime, r.agent, m.name, count(*), 0 FROM pending p JOIN records r ON r.rowid=p.record JOIN models m ON m.fingerprint=p.model WHERE p.tries<" + strconv.Itoa(nothingTries) + " GROUP BY 1, 2, 3",
			func(a *AgentStats, name string, count, _ int) { a.Pending[name] = count }},
		{"SELECT runtime, agent, '', count(*), 0 FROM records r WHERE NOT EXISTS (SELECT 1 FROM vectors v WHERE v.record=r.rowid)" +
			" AND NOT EXISTS (SELECT 1 FROM pending p WHERE p.record=r.rowid AND p.tries>=" + strconv.Itoa(nothingTries) + ") GROUP BY 1, 2",
			func(a *AgentStats, _ string, count, _ int) { a.Unembedded = count }},
	} {
		if err := s.count(ctx, stats, step.query, step.take); err != nil {
			return err
		}
	}
	return nil
}

// count hands the rows of a query (runtime, agent, name, two counts) to the
// agents they belong to.
func (s *Store) count(ctx context.Context, stats *Stats, query string, take func(a *AgentStats, name string, count, sessions int)) error {
	rows, err := s.db.QueryContext(ctx, query)
	if err != nil {
		return fmt.Errorf("count records: %w", database.Classify(err))
	}
	defer rows.Close()
	for rows.Next() {
		var runtime, agent, name string
		var count, sessions int
		if err := rows.Scan(&runtime, &agent, &name, &count, &sessions); err != nil {
			return fmt.Errorf("count records: %w", database.Classify(err))
		}
		take(stats.of(runtime, agent), name, count, sessions)
	}
	return database.Classify(rows.Err())
}

// of returns the counts of an agent.
func (s *Stats) of(runtime, agent string) *AgentStats {
	for i := range s.Agents {
		if a := &s.Agents[i]; a.Runtime == runtime && a.Agent == agent {
			return a
		}
	}
	s.Agents = append(s.Agents, AgentStats{Runtime: runtime, Agent: agent, Category: map[string]int{}, Vectors: map[string]int{}, Pending: map[string]int{}, Actions: map[string]int{}})
	return &s.Agents[len(s.Agents)-1]
}

func treeBytes(dir string) (total int64) {
	_ = filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // what vanishes while it is counted is not counted
		}
		if info, err := d.Info(); err == nil {
			total += info.Size()
		}
		return nil
	})
	return total
}

// Agents returns the agents that memory has records of, in order, filtered by
// runtime and agent where those are not empty.
func (s *Store) Agents(ctx context.Context, runtime, agent string) ([]string, error) {
	rows, err := s.db.QueryContext(ctx, "SELECT DISTINCT agent FROM records WHERE (?1='' OR runtime=?1) AND (?2='' OR agent=?2) ORDER BY agent", runtime, agent)
	if err != nil {
		return nil, fmt.Errorf("list agents: %w", database.Classify(err))
	}
	defer rows.Close()
	var agents []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, fmt.Errorf("list agents: %w", database.Classify(err))
		}
		agents = append(agents, name)
	}
	return agents, database.Classify(rows.Err())
}

// CountRecords returns how many records an agent has.
func (s *Store) CountRecords(ctx context.Context, agent string) (n int, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT count(*) FROM records WHERE agent=?", agent).Scan(&n)
	return n, database.Classify(err)
}

// CountSession returns how many records a session has and how many of them
// have no vector of any model.
func (s *Store) CountSession(ctx context.Context, runtime, agent, session string) (records, pending int, err error) {
	err = s.db.QueryRowContext(ctx, `SELECT count(*), count(*) FILTER (WHERE NOT EXISTS (SELECT 1 FROM vectors v WHERE v.record=r.rowid))
		FROM records r WHERE runtime=? AND agent=? AND session=?`, runtime, agent, session).Scan(&records, &pending)
	return records, pending, database.Classify(err)
}
