package hermes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/hermes/statedb"
	"github.com/sessctl/sessctl/pkg/session/rowlog"
	"github.com/sessctl/sessctl/pkg/session/sqlitefile"
)

// program is the name of Hermes' own program.
const program = "hermes"

// Weigh implements [session.Shrinker]. Hermes' own program removes sessions, and
// it may remove more than it is asked to: at each start it prunes by its own
// settings, and may end sessions that nobody has ended. So every session must be
// archived before.
func (s *Store) Weigh(ctx context.Context) ([]session.DatabaseWeight, error) {
	listing, err := s.List(ctx)
	if err != nil {
		return nil, err
	}
	db, sessions, err := (&lister{store: s}).read(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if damaged := (*sqlitefile.DamagedError)(nil); errors.As(err, &damaged) {
		return []session.DatabaseWeight{{Path: s.path(), Program: program, Err: sqlitefile.NotWhole(listing.Notices, s.path())}}, nil
	}
	if err != nil {
		return nil, err
	}
	all := session.DatabaseWeight{Path: s.path(), Program: program}
	for _, x := range sessions {
		i := slices.IndexFunc(listing.Refs, func(r session.Ref) bool { return r.Kind == session.KindStored && r.ID == x.ID })
		if i < 0 {
			return nil, fmt.Errorf("%s: a session has an id that cannot be archived: %q", s.path(), x.ID)
		}
		w := session.Weight{Ref: listing.Refs[i], Secure: true}
		if !db.ByActivity() {
			w.From = x.Started
		}
		switch {
		case x.Doubt == session.ReasonOrphan:
			w.Kept = x.Doubt.Text()
		case x.Ended.IsZero():
			w.Kept = "it has not ended"
		case x.Pinned:
			w.Kept = "it is pinned"
		}
		for _, r := range listing.Refs {
			if r.Kind == session.KindOutput && strings.HasPrefix(r.Key, x.ID+"/") {
				w.Files = append(w.Files, r)
			}
		}
		all.Sessions = append(all.Sessions, w)
	}
	return []session.DatabaseWeight{all}, nil
}

// commands are what makes a home smaller, by arguments: for its program, and as a
// person types them.
func (s *Store) commands(order session.Shrink) (all [][]string, typed []string) {
	if order.OlderThan > 0 {
		days := int(math.Ceil(order.OlderThan.Hours() / 24))
		all = append(all, []string{"sessions", "prune", "--older-than", strconv.Itoa(days), "--yes"})
	}
	if order.Vacuum {
		all = append(all, []string{"sessions", "optimize"})
	}
	for _, arguments := range all {
		typed = append(typed, "HERMES_HOME="+session.ShellWord(s.root)+" "+program+" "+strings.Join(arguments, " "))
	}
	return all, typed
}

// Shrink implements [session.Shrinker]: it proves, with the database for itself,
// that all that Hermes may remove is archived, gives the database back, has Hermes'
// own program do it, and looks what is gone.
func (s *Store) Shrink(ctx context.Context, order session.Shrink) (done session.Shrunk, err error) {
	before, err := s.prove(ctx, order)
	if err != nil {
		return done, err
	}
	arguments, typed := s.commands(order)
	path, err := exec.LookPath(program)
	if err != nil {
		return done, &session.ProgramError{Program: program, Commands: typed, Err: errors.New("the program is not found in PATH; all that it may remove is archived")}
	}
	var failed error
	for _, a := range arguments {
		if failed = s.run(ctx, path, a); failed != nil {
			failed = &session.ProgramError{Program: program, Commands: typed, Err: failed}
			break
		}
		done.Vacuumed = a[1] == "optimize"
	}
	err = s.gone(ctx, order, before, &done)
	if err != nil && failed != nil { // typing the commands would not put it right
		failed = errors.New(failed.Error())
	}
	return done, errors.Join(failed, err)
}

// gone looks what was removed. One that had not ended should have stayed, and one
// that came after the sessions were archived has no archive that is sure.
func (s *Store) gone(ctx context.Context, order session.Shrink, before statedb.Proved, done *session.Shrunk) error {
	db, release, err := s.Databases.Fresh(ctx, s.file())
	if err != nil {
		return err
	}
	defer release()
	sessions, err := db.Sessions(ctx)
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, x := range sessions {
		there[x.ID] = true
	}
	for _, id := range before.Ended {
		if !there[id] {
			done.Sessions++
		}
	}
	for _, id := range before.Open {
		if there[id] {
			continue
		}
		if slices.ContainsFunc(order.Sessions, func(p session.ShrinkProof) bool { return p.Session == id }) {
			done.Sessions++
			err = errors.Join(err, fmt.Errorf("session %s, which had not ended, is gone too; it is in the archive: sessctl restore %s", id, id))
			continue
		}
		err = errors.Join(err, fmt.Errorf("session %s, which had not ended, is gone too; it was not archived in this run", id))
	}
	return err
}

// prove checks everything with the database for itself.
func (s *Store) prove(ctx context.Context, order session.Shrink) (proved statedb.Proved, err error) {
	err = s.hold(ctx, order.Database, func(w *statedb.Writer) error {
		var all []statedb.Proof
		for _, p := range order.Sessions {
			all = append(all, statedb.Proof{Session: p.Session, Log: p.Log})
		}
		if proved, err = w.Prove(ctx, all); err != nil {
			return err
		}
		if err := s.proveFiles(order); err != nil || !order.Vacuum {
			return err
		}
		return rowlog.Room(ctx, w.Writer, order.Database)
	})
	return proved, err
}

// proveFiles checks that every file that may go with a session is archived as it
// is.
func (s *Store) proveFiles(order session.Shrink) error {
	root, err := s.pin.OpenRoot(s.root)
	if err != nil {
		return fmt.Errorf("open store: %w", err)
	}
	defer root.Close()
	l := &lister{store: s, byID: map[string]session.Ref{}}
	for _, p := range order.Sessions {
		l.byID[p.Session] = session.Ref{ID: p.Session}
	}
	l.files(root)
	for _, ref := range l.Refs {
		id, _, _ := strings.Cut(ref.Key, "/")
		if !slices.ContainsFunc(order.Sessions, func(p session.ShrinkProof) bool { return p.Session == id }) {
			continue
		}
		sum, err := hashOf(root, filepath.Join(sessionsName, filepath.Base(ref.Path)))
		if err != nil {
			return fmt.Errorf("read %s: %w", ref.Path, err)
		}
		if order.Files[ref.Path] != sum {
			return &session.BusyError{Path: ref.Path, Reason: session.ReasonChangedSince.Text()}
		}
	}
	return nil
}

func hashOf(root *os.Root, name string) (string, error) {
	f, err := durable.OpenRegularIn(root, name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return rowlog.Sum(f)
}

// hold takes the database for itself. What this store has open of it is given
// back before: closing it later would give the lock away.
func (s *Store) hold(ctx context.Context, path string, do func(*statedb.Writer) error) error {
	if !s.Holds(path) {
		return fmt.Errorf("%s is not the database of the store %s", path, s.root)
	}
	if err := errors.Join(s.file().InPlace(), s.Databases.Close()); err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	w, err := statedb.Hold(ctx, s.file())
	if err != nil {
		return err
	}
	return errors.Join(do(w), w.Close())
}

// saidMost is how many bytes of what the program says are kept, of its end.
const saidMost = 2000

// run runs Hermes' own program in this home.
func (s *Store) run(ctx context.Context, path string, arguments []string) error {
	command := exec.CommandContext(ctx, path, arguments...)
	command.Env = append(os.Environ(), "HERMES_HOME="+s.root)
	command.Dir = s.root
	said, err := command.CombinedOutput()
	if err == nil {
		return nil
	}
	text := strings.TrimSpace(string(said[max(len(said)-saidMost, 0):]))
	return fmt.Errorf("%s: %w: %s", strings.Join(arguments, " "), err, text)
}

// Holds implements [session.Depositor].
func (s *Store) Holds(database string) bool { return database == s.path() }

// Accepts implements [session.Depositor].
func (s *Store) Accepts(ctx context.Context, database string, next func() (io.ReadCloser, error)) error {
	db, release, err := s.Databases.Fresh(ctx, s.file())
	if err != nil {
		return err
	}
	defer release()
	return db.Accepts(ctx, next)
}

// Deposit implements [session.Depositor].
func (s *Store) Deposit(ctx context.Context, database string, next func() (io.ReadCloser, error)) (rows int, err error) {
	err = s.hold(ctx, database, func(w *statedb.Writer) error {
		if rows, err = w.Insert(ctx, next); err != nil {
			return err
		}
		return w.Checkpoint(ctx)
	})
	return rows, err
}

// Belonging implements [session.Depositor].
func (s *Store) Belonging(line []byte) session.Belonging {
	return session.Belonging{Sessions: rowlog.Children(line)}
}
