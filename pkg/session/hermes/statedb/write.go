package statedb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/rowlog"
)

// Writer has a database for itself until it is closed. While it is open nothing
// else of this process may open the file: closing it would give the lock away.
type Writer struct {
	*rowlog.Writer
	file   File
	schema int
}

// ErrUnknownSchema is returned for a database whose schema is none of those that
// are known: it is not changed.
var ErrUnknownSchema = errors.New("its schema is not known, so it is not changed")

// Hold takes a database for itself. It returns a [*session.BusyError] if any
// program has it open, and an error that wraps errSchema or [ErrUnknownSchema]
// for one that must not be changed. Opening it takes in what a killed program has
// left.
func Hold(ctx context.Context, f File) (*Writer, error) {
	held, err := rowlog.Hold(ctx, f)
	if err != nil {
		return nil, err
	}
	w := &Writer{Writer: held, file: f}
	err = w.Change(ctx, "read the schema of", func(tx *sql.Tx) error {
		_, w.schema, err = readSchema(ctx, tx)
		return err
	})
	if err == nil && (w.schema < OldestSchema || w.schema > NewestSchema) {
		err = fmt.Errorf("%s: %w: it is %d, and %d to %d are known", f.Path(), ErrUnknownSchema, w.schema, OldestSchema, NewestSchema)
	}
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// Proof is what must be true of a session: the hash of its log, as it is archived.
type Proof struct{ Session, Log string }

// Proved are the ids of the sessions of a database: those that have ended, and the
// others.
type Proved struct{ Ended, Open []string }

// Prove checks that every session that has ended is archived as it is now, and
// every other one of which there is a proof. It returns the ids of all sessions.
// One that has changed, or that has ended and has no proof, is a
// [*session.BusyError]; rows that no log holds, of tables that are not
// understood, are an error.
func (w *Writer) Prove(ctx context.Context, all []Proof) (proved Proved, err error) {
	err = w.Change(ctx, "check", func(tx *sql.Tx) error {
		links, err := linksTo(ctx, tx, w.Tables)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(links, func(l link) bool { return l.deep }); i >= 0 {
			return fmt.Errorf("%w: table %s", ErrNotArchived, links[i].table)
		}
		if proved.Ended, err = rowlog.Column[string](ctx, rowlog.For(tx, "list sessions"), "SELECT id FROM sessions WHERE ended_at IS NOT NULL ORDER BY id"); err != nil {
			return err
		}
		if proved.Open, err = rowlog.Column[string](ctx, rowlog.For(tx, "list sessions"), "SELECT id FROM sessions WHERE ended_at IS NULL ORDER BY id"); err != nil {
			return err
		}
		for n, id := range slices.Concat(proved.Ended, proved.Open) {
			i := slices.IndexFunc(all, func(p Proof) bool { return p.Session == id })
			if i < 0 && n >= len(proved.Ended) {
				continue // it came since, and its program leaves it alone
			}
			if i < 0 {
				return &session.BusyError{Path: w.file.Path(), Reason: session.ReasonRowsEnded.Text(id)}
			}
			if err := w.same(ctx, tx, all[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return proved, err
}

// ErrNotArchived is returned when rows would go that the log of no session holds.
var ErrNotArchived = errors.New("the database has rows of its sessions that sessctl does not archive; nothing was removed")

func unchecked() error { return nil }

// same compares a session with its archive.
func (w *Writer) same(ctx context.Context, tx *sql.Tx, p Proof) error {
	log, err := openLog(ctx, tx, w.Tables, p.Session, unchecked)
	if err != nil {
		return err
	}
	if sum, err := rowlog.Sum(log); err != nil {
		return err
	} else if sum != p.Log {
		return &session.BusyError{Path: w.file.Path(), Reason: session.ReasonRowsChanged.Text(p.Session)}
	}
	return nil
}

// errTaken is returned when a session that is not there has a row whose number a row
// of another session has, as in a database of another home that was used there.
var errTaken = errors.New("another session of this database has a row of the same number")

// Accepts returns why the rows of logs cannot be put back, see [rowlog.Tables.Accept].
func (d *Database) Accepts(ctx context.Context, next func() (io.ReadCloser, error)) error {
	return d.tables.Accept(ctx, d.conn, lines(), next)
}

// Insert puts the rows of logs back, all or nothing, and returns how many were
// missing. read opens the logs one after the other and ends with io.EOF. The
// first one is what was asked for: if there is a session of its id with other rows
// the error wraps [rowlog.ErrDifferent], and errTaken if one that is not there
// cannot be put back. The others belong to it: of one that is
// there nothing is put back. Sessions that are there and came from one that is put
// back are tied to it again.
func (w *Writer) Insert(ctx context.Context, next func() (io.ReadCloser, error)) (rows int, err error) {
	err = w.Change(ctx, "put rows into", func(tx *sql.Tx) error {
		in := &insertion{w: w, ctx: ctx, tx: tx, present: w.Present()}
		if err := in.do("PRAGMA defer_foreign_keys=ON"); err != nil {
			return err
		}
		for first := true; ; first = false {
			log, err := next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err == nil {
				err = errors.Join(in.log(log, first), log.Close())
			}
			if err != nil {
				return err
			}
		}
		rows = in.rows
		return in.tie()
	})
	return rows, err
}

// insertion is one transaction that puts rows back.
type insertion struct {
	w    *Writer
	ctx  context.Context
	tx   *sql.Tx
	rows int

	present *rowlog.Present
	session string // whose log is read
	passed  bool   // it is there, and nothing of it is put back
	back    []string
	came    []tie
}

// tie is a session with those that came from it.
type tie struct {
	parent   string
	children []string
}

func (in *insertion) do(query string, args ...any) error {
	_, err := in.tx.ExecContext(in.ctx, query, args...)
	return err
}

// log puts one log back.
func (in *insertion) log(log io.Reader, first bool) error {
	in.session, in.passed = "", false
	return lines().EachRow(log, func(r rowlog.Row) error {
		if err := in.w.Tables.Fits(r); err != nil {
			return err
		}
		if transient(r.Table) || r.Table == metaTable {
			return fmt.Errorf("rows of the table %s are not put back", r.Table)
		}
		if r.Table == sessionTable {
			return in.begin(r, first)
		}
		if in.passed {
			return nil
		}
		return in.row(r)
	}, func(_ string, sessions []string) {
		if !in.passed && in.session != "" {
			in.came = append(in.came, tie{in.session, sessions})
		}
	})
}

// begin takes the row of a session. One that is there is the same if it differs in
// nothing but what it came from: its program forgets that when it removes the
// other one.
func (in *insertion) begin(r rowlog.Row, first bool) error {
	in.session, _ = r.Value("id").(string)
	t := in.w.Tables[sessionTable]
	there, _, err := in.w.Find(in.ctx, in.tx, t, r)
	if err != nil {
		return err
	}
	if there && !first {
		in.passed = true
		return nil
	}
	if there {
		loose := rowlog.Row{Table: r.Table}
		for i, c := range r.Columns {
			if c != "parent_session_id" {
				loose.Columns, loose.Values = append(loose.Columns, c), append(loose.Values, r.Values[i])
			}
		}
		_, same, err := in.w.Find(in.ctx, in.tx, t, loose)
		if err == nil && !same {
			err = fmt.Errorf("%w: session %s", rowlog.ErrDifferent, in.session)
		}
		return err
	}
	in.rows++
	in.back = append(in.back, in.session)
	return in.w.InsertRow(in.ctx, in.tx, r)
}

// row puts one row back. The database's own triggers fill the indexes, and may
// change the row: then it is made what it was.
func (in *insertion) row(r rowlog.Row) error {
	t := in.w.Tables[r.Table]
	there, same, err := in.present.Find(in.ctx, in.tx, t, r)
	if err != nil || same || there && r.Table == promptTable {
		return err
	}
	if there && slices.Contains(in.back, in.session) {
		return fmt.Errorf("%w: table %s, %v", errTaken, r.Table, r.Value(t.Key[0]))
	}
	if there {
		return fmt.Errorf("%w: table %s, %v", rowlog.ErrDifferent, r.Table, r.Value(t.Key[0]))
	}
	in.rows++
	if err := in.w.InsertRow(in.ctx, in.tx, r); err != nil || len(t.Key) == 0 {
		return err
	}
	if _, same, err = in.w.Find(in.ctx, in.tx, t, r); err != nil || same {
		return err
	}
	if err := in.w.UpdateRow(in.ctx, in.tx, t, r); err != nil {
		return err
	}
	if _, same, err = in.w.Find(in.ctx, in.tx, t, r); err == nil && !same {
		err = fmt.Errorf("a row of %s is not what was put in: the database's triggers change it", r.Table)
	}
	return err
}

// tie ties sessions to those that they came from, and unties those that came from
// one that is not there, as the program does.
func (in *insertion) tie() error {
	for _, t := range in.came {
		for _, child := range t.children {
			if err := in.do("UPDATE sessions SET parent_session_id = ? WHERE id = ? AND parent_session_id IS NULL", t.parent, child); err != nil {
				return err
			}
		}
	}
	for _, id := range in.back {
		if err := in.do("UPDATE sessions SET parent_session_id = NULL WHERE id = ? AND parent_session_id NOT IN (SELECT id FROM sessions)", id); err != nil {
			return err
		}
	}
	return nil
}
