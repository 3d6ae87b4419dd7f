package cline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/cline/hubdb"
	"github.com/sessctl/sessctl/pkg/session/rowlog"
	"github.com/sessctl/sessctl/pkg/session/sqlitefile"
)

// What the hub keeps beside sessions, below the data directory.
const (
	databaseDirectory = "db"
	databaseEnd       = ".db"
	sessionsDatabase  = "sessions.db"
	searchDatabase    = "session-search.db"
	eventsBegin       = "hub-events"
	indexName         = "sessions.index.json" // of sessions, where Cline has no SQLite
	// storedMark stands between the path of a database and what belongs to a session
	// in it. No id has it.
	storedMark = "#"
	eventsEnd  = ".events" // follows the id of a session in the name of its events
	searchEnd  = ".search" // and of its rows in the index
)

// databaseDir is the directory of the databases; "" for a store that was opened with
// the directory of sessions alone.
func (s *Store) databaseDir() string {
	if s.Base == s.Store || filepath.Base(s.Base) != sessionsName {
		return ""
	}
	return filepath.Join(filepath.Dir(s.Base), databaseDirectory)
}

func (s *Store) file(name string) hubdb.File {
	return hubdb.File{Base: s.databaseDir(), Name: name, OpenRoot: s.databasePin.OpenRoot}
}

// isHubs reports whether a file of the databases' directory is one of those that
// repeat what was said.
func isHubs(name string) bool {
	return name == searchDatabase || strings.HasPrefix(name, eventsBegin) && strings.HasSuffix(name, databaseEnd)
}

// endOf follows the ids of sessions in a database.
func endOf(database string) string {
	if filepath.Base(database) == searchDatabase {
		return searchEnd
	}
	return eventsEnd
}

// hubDatabases are the names of these databases.
func (s *Store) hubDatabases() (names []string, err error) {
	if s.databaseDir() == "" {
		return nil, nil
	}
	root, err := s.databasePin.OpenRoot(s.databaseDir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list databases: %w", err)
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("list databases: %w", err)
	}
	for _, e := range entries {
		if isHubs(e.Name()) && e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// existing are the sessions that there are: by Cline's list, by the index that it
// has without SQLite, and by the directories of sessions.
type existing map[string]bool

// existing looks for them. Without a list nothing is known, which is an error.
func (s *Store) existing(ctx context.Context) (existing, error) {
	known, err := hubdb.Known(ctx, s.file(sessionsDatabase))
	if err != nil {
		return nil, fmt.Errorf("which sessions there are is not known: %w", err)
	}
	top, err := s.Top()
	if errors.Is(err, fs.ErrNotExist) {
		return known, nil
	}
	if err != nil {
		return nil, err
	}
	defer top.Close()
	names, err := top.Names()
	if err != nil {
		return nil, fmt.Errorf("which sessions there are is not known: %w", err)
	}
	for _, name := range names {
		known[name] = true
	}
	raw, _, err := top.ReadSmall(indexName)
	if errors.Is(err, fs.ErrNotExist) {
		return known, nil
	}
	var index struct {
		Sessions map[string]json.RawMessage `json:"sessions"`
	}
	if err == nil {
		err = json.Unmarshal(raw, &index)
	}
	if err != nil {
		return nil, fmt.Errorf("which sessions there are is not known: %s: %w", indexName, err)
	}
	for id := range index.Sessions {
		known[id] = true
	}
	return known, nil
}

// subSession stands between the id of a session and that of one which its agents
// have begun.
const subSession = "__"

// gone reports whether neither a session is there nor one that began it.
func (e existing) gone(id string) bool {
	for i := range id {
		if strings.HasPrefix(id[i:], subSession) && e[id[:i]] {
			return false
		}
	}
	return !e[id]
}

// left are the rows of one database that belong to sessions that are gone.
type left struct {
	name string // of the database
	rows []hubdb.Rows
	err  error // why it cannot be read
}

// leftRows are those of all databases.
func (s *Store) leftRows(ctx context.Context) ([]left, error) {
	names, err := s.hubDatabases()
	if err != nil || len(names) == 0 {
		return nil, err
	}
	known, unknown := s.existing(ctx)
	all := make([]left, len(names))
	for i, name := range names {
		all[i] = left{name: name, err: unknown}
		if unknown == nil {
			all[i].rows, all[i].err = s.leftIn(ctx, name, known)
		}
	}
	return all, ctx.Err()
}

func (s *Store) leftIn(ctx context.Context, name string, known existing) (rows []hubdb.Rows, err error) {
	db, release, err := s.databases.Fresh(ctx, s.file(name))
	if err != nil {
		return nil, err
	}
	defer release()
	all, err := db.Sessions(ctx)
	for _, r := range all {
		if !known.gone(r.Session) {
			continue
		}
		if !session.SafeID(r.Session) || strings.Contains(r.Session, storedMark) {
			r.Odd = "its id has characters that are not safe in a path"
		}
		rows = append(rows, r)
	}
	return rows, err
}

// Deleted implements [session.DeletedLister].
func (s *Store) Deleted(ctx context.Context) (all []session.DeletedRows, err error) {
	found, err := s.leftRows(ctx)
	if err != nil {
		return nil, err
	}
	for _, l := range found {
		d := session.DeletedRows{Database: s.file(l.name).Path(), Err: l.err}
		for _, r := range l.rows {
			d.Sessions++
			d.Rows += r.Count
			d.Bytes += r.Bytes
		}
		all = append(all, d)
	}
	return all, nil
}

// DatabaseParts implements [session.PartMeasurer].
func (s *Store) DatabaseParts(ctx context.Context) (all []session.DatabasePart, err error) {
	found, err := s.leftRows(ctx)
	if err != nil {
		return nil, err
	}
	for _, l := range found {
		db, release, openErr := s.databases.Known(ctx, s.file(l.name))
		if openErr != nil {
			err = errors.Join(err, openErr)
			continue
		}
		parts, partsErr := db.Parts(ctx)
		release()
		err = errors.Join(err, l.err, partsErr)
		of := session.DatabasePart{Database: s.file(l.name).Path(), Name: "of deleted sessions"}
		for _, r := range l.rows {
			of.Rows += r.Count
			of.Bytes += r.Bytes
		}
		if all = append(all, parts...); of.Rows > 0 {
			all = append(all, of)
		}
	}
	return all, err
}

// Weigh implements [session.Shrinker]: of each database what belongs to sessions
// that are gone. It is all that can be taken out.
func (s *Store) Weigh(ctx context.Context) (all []session.DatabaseWeight, err error) {
	found, err := s.leftRows(ctx)
	if err != nil {
		return nil, err
	}
	for _, l := range found {
		path := s.file(l.name).Path()
		w := session.DatabaseWeight{Path: path, OnlyDeleted: true, Err: l.err}
		for _, r := range l.rows {
			id := r.Session + endOf(path)
			w.Sessions = append(w.Sessions, session.Weight{
				Ref: session.Ref{
					Runtime: session.RuntimeCline, Agent: noAgent, ID: id, Store: s.Store, Path: path + storedMark + id,
					Kind: session.KindStored, Parent: r.Session, Bytes: r.Bytes, ModTime: r.Newest, State: session.StateIdle,
				},
				Deleted: r.Count, Kept: r.Odd,
			})
		}
		all = append(all, w)
	}
	return all, nil
}

// OpenLog implements [session.LogSource]: the rows of a session that is gone.
func (s *Store) OpenLog(ctx context.Context, ref session.Ref) (io.ReadCloser, error) {
	database, id, found := cutPath(ref.Path)
	if !found || !s.Holds(database) {
		return nil, fmt.Errorf("%s is not in a database of the store %s", ref.Path, s.Store)
	}
	db, release, err := s.databases.Known(ctx, s.file(filepath.Base(database)))
	if err != nil {
		return nil, err
	}
	log, err := db.Log(ctx, id)
	return sqlitefile.Lend(log, err, release)
}

// cutPath returns the database and the session that a path of rows names.
func cutPath(path string) (database, id string, found bool) {
	i := strings.LastIndex(path, storedMark)
	if i < 0 {
		return path, "", false
	}
	id, found = strings.CutSuffix(path[i+len(storedMark):], endOf(path[:i]))
	return path[:i], id, found
}

// databaseOf is the file that a reference to rows begins with.
func databaseOf(ref session.Ref) string {
	database, _, _ := cutPath(ref.Path)
	return database
}

// Shrink implements [session.Shrinker].
func (s *Store) Shrink(ctx context.Context, order session.Shrink) (done session.Shrunk, err error) {
	err = s.hold(ctx, order.Database, func(w *hubdb.Writer) error {
		proofs, err := s.proofs(ctx, order)
		if err != nil {
			return err
		}
		removed, err := w.Remove(ctx, proofs)
		if err != nil {
			return err
		}
		done.Deleted, done.Rows, done.Gone = removed.Sessions, removed.Rows, removed.Gone
		done.Vacuumed, err = vacuum(ctx, w, order)
		return err
	})
	return done, err
}

// proofs are those of the order. While the database is held the hub writes nothing:
// now it is certain which sessions are gone.
func (s *Store) proofs(ctx context.Context, order session.Shrink) (all []hubdb.Proof, err error) {
	if len(order.Sessions) == 0 {
		return nil, nil
	}
	known, err := s.existing(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range order.Sessions {
		id := strings.TrimSuffix(p.Session, endOf(order.Database))
		if !known.gone(id) {
			return nil, &session.BusyError{Path: order.Database, Reason: session.ReasonBackAgain.Text(id)}
		}
		all = append(all, hubdb.Proof{Session: id, Log: p.Log})
	}
	return all, nil
}

// hold takes a database for itself, while no hub runs and none can be started. What
// this store has open of it is given back before: closing it later would give the
// lock away.
func (s *Store) hold(ctx context.Context, path string, do func(*hubdb.Writer) error) error {
	name := filepath.Base(path)
	if !s.Holds(path) {
		return fmt.Errorf("%s is not a database of the store %s", path, s.Store)
	}
	if err := errors.Join(s.file(name).InPlace(), s.databases.Close()); err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	hubs, err := s.holdHubs(ctx)
	if err != nil {
		return err
	}
	w, err := hubdb.Hold(ctx, s.file(name))
	if err != nil {
		return errors.Join(err, hubs.close())
	}
	if err = s.hubsStopped(); err == nil { // one that had no lock to take yet
		err = do(w)
	}
	return errors.Join(err, w.Close(), hubs.close())
}

// Holds implements [session.Depositor].
func (s *Store) Holds(database string) bool {
	return filepath.Dir(database) == s.databaseDir() && isHubs(filepath.Base(database))
}

// Accepts implements [session.Depositor].
func (s *Store) Accepts(ctx context.Context, database string, next func() (io.ReadCloser, error)) error {
	db, release, err := s.databases.Fresh(ctx, s.file(filepath.Base(database)))
	if err != nil {
		return err
	}
	defer release()
	return db.Accepts(ctx, next)
}

// Deposit implements [session.Depositor].
func (s *Store) Deposit(ctx context.Context, database string, next func() (io.ReadCloser, error)) (rows int, err error) {
	err = s.hold(ctx, database, func(w *hubdb.Writer) error {
		if rows, err = w.Insert(ctx, next); err != nil {
			return err
		}
		return w.Checkpoint(ctx)
	})
	return rows, err
}

// Belonging implements [session.Depositor]: nothing else belongs to such rows.
func (s *Store) Belonging([]byte) session.Belonging { return session.Belonging{} }

// Close gives the databases back that were read.
func (s *Store) Close() error { return s.databases.Close() }

// vacuum gives the room of removed rows back to the file system, if the order asks
// for that and there is room to do it. Otherwise it takes the write-ahead log in.
func vacuum(ctx context.Context, w *hubdb.Writer, order session.Shrink) (done bool, err error) {
	if !order.Vacuum {
		return false, w.Checkpoint(ctx)
	}
	if err := rowlog.Room(ctx, w.Writer, order.Database); err != nil {
		return false, err
	}
	err = w.Vacuum(ctx)
	return err == nil, err
}
