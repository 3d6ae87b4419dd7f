package openclaw

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/openclaw/agentdb"
	"github.com/sessctl/sessctl/pkg/session/piformat"
	"github.com/sessctl/sessctl/pkg/session/sqlitefile"
)

// databaseName is the file in which the runtime keeps sessions from 2026.8.1
// on. A file of this name without a table of transcripts exists from 2026.5.30
// on; it holds only credentials (docs/dev/formats.md, "openclaw database").
const databaseName = "openclaw-agent.sqlite"

const (
	sqliteMagic = "SQLite format 3\x00"
	// schemaHead is how much of the database is searched for the schema
	// before its pages are followed, and schemaLog how much of its log: a
	// schema is written when the database is young, and SQLite starts the
	// log over after about 4 MiB.
	schemaHead = 1 << 20
	schemaLog  = 64 << 20
	// schemaPages bounds how many pages of the schema are followed.
	schemaPages = 4096
)

// database is an agent's session database.
type database struct {
	path    string
	size    int64
	modTime time.Time // the later of the database's and its log's
}

// storedSessions tells where agents keep their sessions, and reads those in
// their databases.
type storedSessions struct {
	state     *stateDir
	databases *agentdb.Databases
}

// era says where an agent keeps its sessions: db is its database, nil in the
// file era. frozen says why no file in its sessions directory may be changed,
// "" in the file era; with an error it is not known where the sessions are.
func (x *storedSessions) era(root *os.Root, agent string) (db *database, frozen string, err error) {
	db, err = findDatabase(root, x.state.root, agent)
	switch {
	case err != nil:
		return nil, session.ReasonDatabaseDoubt.Text(), err
	case db != nil:
		return db, session.ReasonLeftover.Text(), nil
	}
	return nil, "", nil
}

// eraOf is era for one agent of a store that is not open. Not to know where the
// sessions are freezes them like a database does.
func (x *storedSessions) eraOf(agent string) (frozen string, err error) {
	root, err := x.state.pin.OpenRoot(x.state.root)
	if err != nil {
		return "", fmt.Errorf("open store: %w", err)
	}
	defer root.Close()
	_, frozen, _ = x.era(root, agent)
	return frozen, nil
}

// findDatabase looks for the session database of an agent; nil if there is
// none. It is never opened with SQLite: that leaves files behind and may wait.
// Its bytes are searched for the table of transcripts, those of the log too,
// which alone may have it.
func findDatabase(store *os.Root, root, agent string) (*database, error) {
	name := filepath.Join(agentsName, agent, "agent", databaseName)
	f, err := durable.OpenRegularIn(store, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	inLog, logTime, err := searchLog(store, name+"-wal")
	if err != nil {
		return nil, err
	}
	found, err := hasTranscripts(f, !logTime.IsZero())
	if err != nil && !inLog {
		return nil, fmt.Errorf("read %s: %w", filepath.Join(root, name), err)
	}
	if !found && !inLog {
		return nil, nil
	}
	db := &database{path: filepath.Join(root, name), size: info.Size(), modTime: info.ModTime()}
	if logTime.After(db.modTime) {
		db.modTime = logTime
	}
	return db, nil
}

// searchLog searches the write-ahead log, if there is one.
func searchLog(store *os.Root, name string) (found bool, modTime time.Time, err error) {
	f, err := durable.OpenRegularIn(store, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, time.Time{}, nil
	}
	if err != nil {
		return false, time.Time{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false, time.Time{}, err
	}
	found, err = searchBytes(f, schemaLog)
	return found, info.ModTime(), err
}

// hasTranscripts reports whether the schema of a SQLite database has the table
// of transcripts. It is an error if that lies, perhaps, on a damaged page. logged says
// that there is a log, which may have pages that the database lacks.
func hasTranscripts(f io.ReaderAt, logged bool) (bool, error) {
	head := make([]byte, 100)
	if _, err := f.ReadAt(head, 0); err != nil {
		return false, ignoreEOF(err)
	}
	if string(head[:len(sqliteMagic)]) != sqliteMagic {
		return false, sqlitefile.ErrNotDatabase
	}
	if found, err := searchBytes(f, schemaHead); found || err != nil {
		return found, err
	}
	size := int(binary.BigEndian.Uint16(head[16:]))
	if size == 1 {
		size = 1 << 16
	}
	if size < 512 {
		return false, nil
	}
	return searchSchema(f, size, logged)
}

// searchBytes searches the first limit bytes.
func searchBytes(f io.ReaderAt, limit int64) (bool, error) {
	const overlap = 64
	buffer := make([]byte, 256<<10)
	kept := 0
	for at := int64(0); at < limit; {
		n, err := f.ReadAt(buffer[kept:], at)
		if hasTable(buffer[:kept+n]) {
			return true, nil
		}
		if err != nil {
			return false, ignoreEOF(err)
		}
		at += int64(n)
		kept = copy(buffer, buffer[kept+n-overlap:kept+n])
	}
	return false, nil
}

// hasTable recognises the statement as SQLite keeps it.
func hasTable(b []byte) bool {
	return bytes.Contains(b, []byte("CREATE TABLE transcript_events")) ||
		bytes.Contains(b, []byte(`CREATE TABLE "transcript_events"`))
}

// searchSchema searches the pages of the schema table, wherever they lie: its
// root is the first page, whose inner pages name the others (SQLite's file
// format, "B-tree Pages").
func searchSchema(f io.ReaderAt, size int, logged bool) (bool, error) {
	const leaf, inner, unwritten = 0x0d, 0x05, 0
	page := make([]byte, size)
	pending, damaged := []uint32{1}, false
	for seen := 0; len(pending) > 0 && seen < schemaPages; seen++ {
		number := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if _, err := f.ReadAt(page, int64(number-1)*int64(size)); err != nil {
			if ignoreEOF(err) == nil {
				continue // the rest is still in the log
			}
			return false, err
		}
		start := 0
		if number == 1 {
			start = 100 // the file's header
		}
		switch page[start] {
		case leaf:
			if hasTable(page) {
				return true, nil
			}
		case inner:
			pending = append(pending, children(page, start)...)
		case unwritten:
			damaged = damaged || !logged
		default:
			damaged = true
		}
	}
	if damaged {
		return false, fmt.Errorf("its schema has damaged pages: %w", sqlitefile.ErrNotDatabase)
	}
	return false, nil
}

// children returns the pages below an inner page.
func children(page []byte, start int) []uint32 {
	found := []uint32{binary.BigEndian.Uint32(page[start+8:])}
	cells := int(binary.BigEndian.Uint16(page[start+3:]))
	for i := range cells {
		at := start + 12 + 2*i
		if at+2 > len(page) {
			break
		}
		if cell := int(binary.BigEndian.Uint16(page[at:])); cell+4 <= len(page) {
			found = append(found, binary.BigEndian.Uint32(page[cell:]))
		}
	}
	return slices.DeleteFunc(found, func(number uint32) bool { return number == 0 })
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// inDatabase reports whether a reference is a database or one session in it.
func inDatabase(ref session.Ref) bool {
	return ref.Kind == session.KindDatabase || ref.Kind == session.KindStored
}

// storedMark stands between the path of a database and the id of a session in
// it. No id has it.
const storedMark = "#"

// databaseFile is where an agent's database lies.
func (x *storedSessions) databaseFile(agent string) agentdb.File {
	return agentdb.File{Base: x.state.root, Name: filepath.Join(agentsName, agent, "agent", databaseName), OpenRoot: x.state.pin.OpenRoot}
}

// storedLog opens the log of a session in a database. release gives the
// database back.
func (x *storedSessions) storedLog(ctx context.Context, ref session.Ref) (log *agentdb.Log, release func(), err error) {
	f := x.databaseFile(ref.Agent)
	path, id, ok := cutLast(ref.Path, storedMark)
	if !ok || path != f.Path() || !session.SafeAgent(ref.Agent) {
		return nil, nil, fmt.Errorf("%s is not a session of the store %s", ref.Path, x.state.root)
	}
	db, release, err := x.databases.Known(ctx, f)
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
func (x *storedSessions) OpenLog(ctx context.Context, ref session.Ref) (io.ReadCloser, error) {
	if ref.Kind != session.KindStored {
		return nil, fmt.Errorf("read %s: %w: it is no session in a database", ref.Path, fs.ErrInvalid)
	}
	log, release, err := x.storedLog(ctx, ref)
	if err != nil {
		return nil, err
	}
	whole := io.NewSectionReader(log, 0, log.Size())
	return &sqlitefile.Lent{Reader: bufio.NewReaderSize(whole, storedBuffer), Release: release}, nil
}

// storedBuffer is how much of a log is asked of the database at once, in bytes.
const storedBuffer = 256 << 10

// DatabaseParts implements [session.PartMeasurer].
func (s *Store) DatabaseParts(ctx context.Context) (all []session.DatabasePart, err error) {
	listing, err := s.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, ref := range session.OnePerDatabase(listing.Refs, databaseOf) {
		parts, err := s.parts(ctx, s.databaseFile(ref.Agent))
		if err != nil {
			return all, err
		}
		all = append(all, parts...)
	}
	return all, nil
}

func (x *storedSessions) parts(ctx context.Context, f agentdb.File) ([]session.DatabasePart, error) {
	db, release, err := x.databases.Known(ctx, f)
	if err != nil {
		return nil, err
	}
	defer release()
	return db.Parts(ctx)
}

// storedTail is Tail for a session in a database: only its last rows are read.
func (x *storedSessions) storedTail(ctx context.Context, ref session.Ref) (session.Tail, error) {
	log, release, err := x.storedLog(ctx, ref)
	if err != nil {
		return session.Tail{}, err
	}
	defer release()
	return piformat.Tail(ctx, log, log.Size(), ref.ModTime)
}

func (x *storedSessions) countStored(ctx context.Context, ref session.Ref) (int, error) {
	log, err := x.OpenLog(ctx, ref)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	return piformat.CountMessages(ctx, log)
}

// OwnCommand implements [session.Adviser]: what starts a session of a database
// fresh, "" for one that is not its key's any more.
func (s *Store) OwnCommand(ref session.Ref) string {
	if !inDatabase(ref) || ref.Key == "" || ref.Reason == session.ReasonEarlier.Text() {
		return ""
	}
	params, err := json.Marshal(map[string]string{"key": ref.Key})
	if err != nil {
		return ""
	}
	return "openclaw gateway call sessions.reset --params " + session.ShellWord(string(params))
}

// recentState says whether a session in a database was written a moment ago.
func recentState(changed, now time.Time) (session.State, string) {
	if age := now.Sub(changed); age >= 0 && age < session.RecentChange {
		return session.StateBusy, session.ReasonJustSaid.Text()
	}
	return session.StateIdle, ""
}

// database lists the sessions of an agent's database. One that cannot be read
// is a reference that stands for all of them, and a notice: nothing of it is
// silently missing.
func (l *lister) database(ctx context.Context, db *database, agent string) {
	refs, err := l.storedRefs(ctx, db, agent)
	if err != nil {
		ref := l.databaseRef(db, agent, err)
		l.Listing.Notices = append(l.Listing.Notices, sqlitefile.Unreadable(db.path, err))
		refs = []session.Ref{ref}
	}
	l.Listing.Refs = append(l.Listing.Refs, refs...)
}

// databaseRef stands for the sessions of a database that cannot be read.
func (l *lister) databaseRef(db *database, agent string, cause error) session.Ref {
	ref := session.Ref{
		Runtime: session.RuntimeOpenClaw, Agent: agent, ID: strings.TrimSuffix(databaseName, ".sqlite"), Key: mainKey(agent),
		Store: l.store.root, Path: db.path, Kind: session.KindDatabase, Bytes: db.size, ModTime: db.modTime,
		State: session.StateUnsupported,
	}
	ref.Reason = session.ReasonAgentDatabaseUnread.Text(
		session.ReasonGatewayDatabase.Text(), cause, l.store.OwnCommand(ref))
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
	ref.Reason = doubt + ": " + cause.Error()
	notice := sqlitefile.Unreadable(db.path, cause)
	notice.Message = ref.Reason
	l.Listing.Notices = append(l.Listing.Notices, notice)
	l.Add(ref)
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
	if err := open.Spare(l.tellUnread(ctx, db, open, agent)); err != nil {
		return nil, err
	}
	sessions, err := open.Sessions(ctx)
	if err = l.salvaged(db.path, err); err != nil {
		return nil, err
	}
	refs := make([]session.Ref, 0, len(sessions))
	for _, s := range sessions {
		if !session.SafeID(s.ID) {
			l.Notice(db.path, "a session is skipped: its id %q has characters that are not safe in a path", s.ID)
			continue
		}
		refs = append(refs, x.ref(s, l))
	}
	return refs, nil
}

// salvaged is [sqlitefile.Listing.Salvaged].
func (l *lister) salvaged(database string, err error) error {
	var s sqlitefile.Listing
	err = s.Salvaged(database, err)
	l.Listing.Notices = append(l.Listing.Notices, s.Notices...)
	return err
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
		ref.State, ref.Reason = session.StateIdle, session.ReasonEarlier.Text()
		return ref
	}
	ref.Key, ref.Primary = best.key, strings.EqualFold(best.key, x.mainKey)
	ref.ContextWindow, ref.Counter = best.window, best.counter
	if best.model != "" {
		ref.Model = best.model
	}
	return ref
}

// keepTheirs is what to do about sessions that only the runtime has.
const keepTheirs = "they are not in any archive of sessctl: keep the runtime's own files"

// tellUnread says which sessions the runtime keeps where they are not read: in
// its cold storage, and deleted ones as copies in the database. One notice
// each, however many there are.
func (l *lister) tellUnread(ctx context.Context, db *database, open *agentdb.Database, agent string) error {
	cold, err := open.Cold(ctx)
	if err != nil {
		return err
	}
	deleted, err := open.Deleted(ctx)
	if err != nil {
		return err
	}
	var ids []string
	records := 0
	for _, c := range cold {
		ids = append(ids, fmt.Sprintf("%s (%s)", c.Session, c.Name))
		records += c.Records
	}
	if len(ids) > 0 {
		l.hint(db.path, keepTheirs, "%d records are in the runtime's cold storage and are not read, of sessions: %s", records, sqlitefile.SomeOf(ids))
	}
	ids = nil
	for _, d := range deleted {
		if !l.hasLog(agent, d.Name) {
			ids = append(ids, d.Session)
		}
	}
	if len(ids) > 0 {
		l.hint(db.path, keepTheirs, "deleted sessions of which the database has a copy are not read: %s", sqlitefile.SomeOf(ids))
	}
	return nil
}

// hasLog reports whether a deleted session's copy is also a file, which is
// listed by itself.
func (l *lister) hasLog(agent, name string) bool {
	if _, v := parseName(name); v != isLog || filepath.Base(name) != name {
		return false
	}
	f, err := durable.OpenRegularIn(l.root, filepath.Join(agentsName, agent, sessionsName, name))
	if err != nil {
		return false
	}
	return f.Close() == nil
}
