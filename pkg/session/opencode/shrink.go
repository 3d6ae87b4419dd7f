package opencode

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/opencode/sessiondb"
	"github.com/sessctl/sessctl/pkg/session/rowlog"
)

// Weigh implements [session.Shrinker]. It reads the journals of all sessions.
func (s *Store) Weigh(ctx context.Context) ([]session.DatabaseWeight, error) {
	listing, err := s.List(ctx)
	if err != nil {
		return nil, err
	}
	var all []session.DatabaseWeight
	for _, ref := range listing.Refs {
		path, _ := cutPath(ref.Path)
		if ref.Kind != session.KindStored {
			continue
		}
		if n := len(all); n == 0 || all[n-1].Path != path {
			all = append(all, session.DatabaseWeight{Path: path})
		}
		w, err := s.weigh(ctx, ref)
		if err != nil {
			return nil, err
		}
		all[len(all)-1].Sessions = append(all[len(all)-1].Sessions, w)
	}
	return all, nil
}

func (s *Store) weigh(ctx context.Context, ref session.Ref) (session.Weight, error) {
	w := session.Weight{Ref: ref}
	db, id, release, err := s.database(ctx, ref)
	if err != nil {
		return w, err
	}
	defer release()
	old, err := db.Superseded(ctx, id)
	if err != nil {
		return w, err
	}
	w.Superseded, w.SupersededBytes = old.Events, old.Bytes
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
			return nil
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
	if filepath.Dir(path) != s.root || filepath.Ext(path) != databaseEnd {
		return fmt.Errorf("%s is not a database of the store %s", path, s.root)
	}
	root, err := s.pin.OpenRoot(s.root)
	if err != nil {
		return fmt.Errorf("open store: %w", err)
	}
	defer root.Close()
	info, err := root.Lstat(filepath.Base(path))
	if err == nil && !info.Mode().IsRegular() {
		err = durable.ErrNotRegular
	}
	if named, lookErr := os.Lstat(path); err == nil && (lookErr != nil || !os.SameFile(info, named)) {
		err = durable.ErrNotRegular
	}
	if err := errors.Join(err, s.databases.Close()); err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	w, err := sessiondb.Hold(ctx, s.file(filepath.Base(path)))
	if err != nil {
		return err
	}
	return errors.Join(do(w), w.Close())
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

// Family implements [session.Depositor].
func (s *Store) Family(line []byte) []string {
	if !strings.HasPrefix(string(line[:min(len(line), len(childrenLine))]), childrenLine) {
		return nil
	}
	return sessiondb.Children(line)
}

// childrenLine begins the line that names them.
const childrenLine = `{"type":"children"`
