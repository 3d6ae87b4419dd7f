package rowlog

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/sessctl/sessctl/pkg/session/sqlitefile"
)

// The pages of a table, by their first byte (SQLite's file format, section 1.6).
const (
	innerPage = 5
	leafPage  = 13
)

// leaves goes through the pages of a table, and steps over those that are none.
type leaves struct {
	conn Querier
	seen map[uint32]bool
	row  func(rowid int64) error
	gap  func() // rows may be missing here
}

// walk goes through the pages below one.
func (l *leaves) walk(ctx context.Context, number uint32) error {
	var page []byte
	err := l.conn.QueryRowContext(ctx, "SELECT data FROM sqlite_dbpage('main') WHERE pgno = ?", number).Scan(&page)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil || l.seen[number] || len(page) < 12 || page[0] != innerPage && page[0] != leafPage {
		l.gap()
		return nil
	}
	l.seen[number] = true
	for _, cell := range cellsOf(page) {
		switch {
		case len(cell) < 4:
			l.gap()
		case page[0] == innerPage:
			err = l.walk(ctx, binary.BigEndian.Uint32(cell))
		default:
			_, size := variable(cell)
			rowid, _ := variable(cell[size:])
			err = l.row(rowid)
		}
		if err != nil {
			return err
		}
	}
	if page[0] == innerPage {
		return l.walk(ctx, binary.BigEndian.Uint32(page[8:]))
	}
	return nil
}

// cellsOf are the cells of a page, from where each begins; one that begins nowhere is
// empty.
func cellsOf(page []byte) (cells [][]byte) {
	pointers := page[8:]
	if page[0] == innerPage {
		pointers = page[12:]
	}
	for n := int(binary.BigEndian.Uint16(page[3:])); n > 0 && len(pointers) >= 2; n-- {
		at := min(int(binary.BigEndian.Uint16(pointers)), len(page))
		cells, pointers = append(cells, page[at:]), pointers[2:]
	}
	return cells
}

// variable is a number of one to nine bytes, and how many there are.
func variable(b []byte) (n int64, size int) {
	const most = 9
	for size < min(len(b), most-1) {
		c := b[size]
		size++
		if n = n<<7 | int64(c&0x7f); c < 0x80 {
			return n, size
		}
	}
	if size < len(b) {
		return n<<8 | int64(b[size]), size + 1
	}
	return n, size
}

// stepOver notes the places of all rows that can be read of a table with damaged pages,
// by a statement that takes a row's number, and says which rows lie beside the others.
func (t Table) stepOver(ctx context.Context, conn *sql.Conn, insert string, e *besideError) error {
	var root uint32
	if err := conn.QueryRowContext(ctx, "SELECT rootpage FROM main.sqlite_schema WHERE type = 'table' AND name = ?", t.Name).Scan(&root); err != nil {
		return fmt.Errorf("look for the pages of %s: %w", t.Name, err)
	}
	note, err := conn.PrepareContext(ctx, insert+" AND rowid = ?")
	if err != nil {
		return err
	}
	defer note.Close()
	x := &edges{note: func(rowid int64) error {
		_, err := note.ExecContext(ctx, rowid)
		return err
	}}
	l := &leaves{conn: conn, seen: map[uint32]bool{}, row: x.row, gap: x.gap}
	if err := l.walk(ctx, root); err != nil {
		return fmt.Errorf("look through the pages of %s: %w", t.Name, err)
	}
	return e.read(ctx, conn, t, x.rowids)
}

// edges notes rows, and which lie beside what cannot be read.
type edges struct {
	note   func(rowid int64) error
	last   int64
	rows   bool // there is a last row
	broken bool // what follows it cannot be read
	rowids []int64
}

func (x *edges) gap() {
	if x.rows && !x.broken {
		x.rowids = append(x.rowids, x.last)
	}
	x.broken = true
}

func (x *edges) row(rowid int64) error {
	err := x.note(rowid)
	if sqlitefile.IsDamaged(err) {
		x.gap()
		return nil
	}
	if x.broken {
		x.rowids = append(x.rowids, rowid)
	}
	x.last, x.rows, x.broken = rowid, true, false
	return err
}

// besideError says of which table nobody can tell whose rows are lost.
type besideError struct {
	Table, Column string
	Beside        []string        // the values of the rows beside the damaged pages
	Spared        map[string]bool // all values that were read, true for those that are not beside
	Err           error
}

// read reads which values there are, and which of them the rows beside have.
func (e *besideError) read(ctx context.Context, conn *sql.Conn, t Table, beside []int64) error {
	p, places := For(conn, "look beside damaged pages of "+t.Name), Quoted(t.placesOf(e.Column))
	all, err := Column[string](ctx, p, "SELECT DISTINCT value FROM "+places)
	e.Spared = make(map[string]bool, len(all))
	for _, value := range all {
		e.Spared[value] = true
	}
	for _, rowid := range beside {
		var value string
		if err == nil {
			err = conn.QueryRowContext(ctx, "SELECT value FROM "+places+" WHERE place = ?", rowid).Scan(&value)
		}
		if e.Spared[value] {
			e.Spared[value], e.Beside = false, append(e.Beside, value)
		}
		if errors.Is(err, sql.ErrNoRows) { // its value is NULL
			err = nil
		}
	}
	return err
}

// Error implements error.
func (e *besideError) Error() string {
	text := fmt.Sprintf("the table %s has no index by %s, and damaged pages of which nobody can tell whose rows they have", e.Table, e.Column)
	if len(e.Beside) > 0 {
		text += "; the rows beside them are of " + sqlitefile.SomeOf(e.Beside)
	}
	return text + ": " + e.Err.Error()
}

// Unwrap returns what was wrong with the first page.
func (e *besideError) Unwrap() error { return e.Err }

// MayLack returns the tables of which rows of a session may lie on damaged pages, where
// nobody can tell whose rows these have: rows of it lie beside them, or none is there.
func (t Tables) MayLack(session string) (names []string) {
	for name, x := range t {
		if x.spared != nil && !x.spared[session] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
