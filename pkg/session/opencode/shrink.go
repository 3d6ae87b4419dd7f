package opencode

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/opencode/sessiondb"
	"github.com/sessctl/sessctl/pkg/session/rowlog"
	"github.com/sessctl/sessctl/pkg/session/sqlitefile"
)

// Weigh implements [session.Shrinker]. It reads the journals of all sessions.
func (s *Store) Weigh(ctx context.Context) ([]session.DatabaseWeight, error) {
	l, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]session.DatabaseWeight, len(l.read))
	for i, path := range l.read { // one that has lost its last session has free pages
		all[i].Path, all[i].Err = path, sqlitefile.NotWhole(l.Notices, path)
	}
	for _, ref := range l.Refs {
		if ref.Kind != session.KindStored {
			continue
		}
		at := slices.Index(l.read, sqlitefile.FileOf(ref))
		if all[at].Err != nil {
			continue
		}
		w, err := s.weigh(ctx, ref)
		if err != nil {
			return nil, err
		}
		all[at].Sessions = append(all[at].Sessions, w)
	}
	return all, nil
}

func (s *Store) weigh(ctx context.Context, ref session.Ref) (session.Weight, error) {
	w := session.Weight{Ref: ref}
	db, id, release, err := s.Database(ctx, ref)
	if err != nil {
		return w, err
	}
	defer release()
	old, err := db.Superseded(ctx, id)
	if err != nil {
		return w, err
	}
	w.Superseded, w.SupersededBytes = old.Events, old.Bytes
	if ref.Reason == session.ReasonOrphan.Text() {
		w.Kept = ref.Reason
	}
	if old.Synced {
		w.Kept = "it is synced to a workspace"
	}
	if journal, err := db.Journal(ctx, id); err == nil {
		_ = journal.Close() // nothing is held
		w.Journal = ref
		w.Journal.ID, w.Journal.Path = ref.ID+journalEnd, ref.Path+journalEnd
	} else if !errors.Is(err, fs.ErrNotExist) {
		return w, err
	}
	return w, nil
}

// Shrink implements [session.Shrinker].
func (s *Store) Shrink(ctx context.Context, order session.Shrink) (done session.Shrunk, err error) {
	err = s.hold(ctx, order.Database, func(w *sessiondb.Writer) error {
		removed, err := w.Remove(ctx, sessiondb.Removal{Sessions: proofs(order.Sessions), Journals: proofs(order.Journals)})
		if err != nil {
			return err
		}
		done = session.Shrunk{Sessions: removed.Sessions, Events: removed.Events, Gone: removed.Gone}
		if !order.Vacuum {
			return w.Checkpoint(ctx)
		}
		if err := rowlog.Room(ctx, w.Writer, order.Database); err != nil {
			return err
		}
		err = w.Vacuum(ctx)
		done.Vacuumed = err == nil
		return err
	})
	return done, err
}

func proofs(all []session.ShrinkProof) (same []sessiondb.Proof) {
	for _, p := range all {
		same = append(same, sessiondb.Proof(p))
	}
	return same
}

// hold takes a database for itself. What this store has open of it is given
// back before: closing it later would give the lock away.
func (s *Store) hold(ctx context.Context, path string, do func(*sessiondb.Writer) error) error {
	if !s.Holds(path) {
		return fmt.Errorf("%s is not a database of the store %s", path, s.root)
	}
	if err := errors.Join(s.file(filepath.Base(path)).InPlace(), s.Databases.Close()); err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	w, err := sessiondb.Hold(ctx, s.file(filepath.Base(path)))
	if err != nil {
		return err
	}
	return errors.Join(do(w), w.Close())
}

// Holds implements [session.Depositor].
func (s *Store) Holds(database string) bool {
	return filepath.Dir(database) == s.root && filepath.Ext(database) == databaseEnd
}

// Accepts implements [session.Depositor].
func (s *Store) Accepts(ctx context.Context, database string, next func() (io.ReadCloser, error)) error {
	db, release, err := s.Databases.Fresh(ctx, s.file(filepath.Base(database)))
	if err != nil {
		return err
	}
	defer release()
	return db.Accepts(ctx, next)
}

// Deposit implements [session.Depositor].
func (s *Store) Deposit(ctx context.Context, database string, next func() (io.ReadCloser, error)) (rows int, err error) {
	err = s.hold(ctx, database, func(w *sessiondb.Writer) error {
		if rows, err = w.Insert(ctx, next); err != nil {
			return err
		}
		return w.Checkpoint(ctx)
	})
	return rows, err
}

// Belonging implements [session.Depositor].
func (s *Store) Belonging(line []byte) session.Belonging { return sessiondb.Belonging(line) }
