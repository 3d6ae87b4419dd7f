package memory

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/memory/database"
	"github.com/sessctl/sessctl/pkg/memory/vectors"
)

// What a memory that hosts share has of this one is noted here, record by
// record, with the checksums of what it has: so a run sends what is new or
// changed and nothing else, and one that was cut off goes on where it was.

// shareTables are made when records are first shared.
const shareTables = `
-- shared: what a server has of the records here
CREATE TABLE IF NOT EXISTS shared (
  server TEXT    NOT NULL, -- its identity
  id     TEXT    NOT NULL, -- of a record
  sum    INTEGER NOT NULL, -- checksum of the record
  vector INTEGER NOT NULL, -- checksum of its vector's row, -1 without one
  fact   INTEGER NOT NULL, -- checksum of it as a fact, 0 if it is none
  PRIMARY KEY (server, id)
) STRICT, WITHOUT ROWID;
-- shared_tombstones: those that a server has, or that came from it
CREATE TABLE IF NOT EXISTS shared_tombstones (
  server TEXT NOT NULL,
  id     TEXT NOT NULL,
  PRIMARY KEY (server, id)
) STRICT, WITHOUT ROWID;
`

// Shared is a record as it goes to a memory that hosts share.
type Shared struct {
	Exported
	Digest int64 // of the record, its vector and what it says as a fact

	row   int64
	marks [3]int64 // the checksums that Digest is made of
}

// Forgotten is a record that was forgotten, and when (epoch milliseconds).
type Forgotten struct {
	ID                 string
	At                 int64
	Archive            string // where it stood, as far as it was a piece of a log
	FirstByte, EndByte int64
}

// VectorModel is the model of vectors that are shared.
type VectorModel struct {
	Fingerprint string // embed.Model.Fingerprint
	Name        string // embed.Model.String
	Dim         int
}

// Unshared counts what a server does not have yet.
type Unshared struct {
	Records    int `json:"records"`    // new or changed
	Gone       int `json:"gone"`       // that the server has and the memory does not, and nobody forgot
	Tombstones int `json:"tombstones"` // of what was forgotten
}

// VectorModel is the model that made the most vectors: what is shared has those
// of one model. It has no name if there are no vectors.
func (s sharing) VectorModel(ctx context.Context) (m VectorModel, err error) {
	err = s.db.QueryRowContext(ctx, `SELECT fingerprint, name, dim FROM models WHERE name NOT LIKE '%`+vectors.StagedMark+`'
		AND EXISTS (SELECT 1 FROM vectors v WHERE v.model=fingerprint)
		ORDER BY (SELECT count(*) FROM vectors v WHERE v.model=fingerprint) DESC, fingerprint LIMIT 1`).Scan(&m.Fingerprint, &m.Name, &m.Dim)
	if errors.Is(err, sql.ErrNoRows) {
		return m, nil
	}
	if err != nil {
		return m, fmt.Errorf("look for the model: %w", database.Classify(err))
	}
	return m, nil
}

// sharePage is how many records Unshared hands out at a time.
const sharePage = 256

// ShareQuery says whose records of which model to hand out.
type ShareQuery struct {
	Server string
	Model  VectorModel
	All    bool // also what the server has already, whoever's it is
	// Only are the agents of which the server gets what it does not have, nil is all. What
	// it has of others is kept up to date: what was redacted here is redacted there.
	Only Sharers
}

// Sharers are agents whose records are shared, nil is all.
type Sharers []agentset.ID

// Has reports whether the records of an agent are shared.
func (a Sharers) Has(runtime, agent string) bool {
	return a == nil || slices.Contains(a, agentset.ID{Runtime: runtime, Agent: agent})
}

// shared is the condition under which a record is handed out, with its arguments.
func (q ShareQuery) shared(x shareSource) (string, []any) {
	args := []any{q.Model.Fingerprint, q.Server}
	if q.All {
		return x.from("(" + x.differ + ") OR 1=1"), args
	}
	if q.Only == nil {
		return x.from(x.differ), args
	}
	return x.from(x.differ) + " AND (" + x.there + " OR " + among + ")", append(args, asList(q.Only))
}

// among is the condition that a record r is of one of the agents that are listed.
const among = "r.runtime||'/'||r.agent IN (SELECT value FROM json_each(?))"

func asList(agents Sharers) string {
	pairs := make([]string, len(agents))
	for i, id := range agents {
		pairs[i] = id.Runtime + "/" + id.Agent
	}
	list, _ := json.Marshal(pairs) // strings are always JSON
	return string(list)
}

// LeftOut counts the records that are of other agents than [ShareQuery.Only].
type LeftOut struct {
	Records int // all of them
	There   int // of these, what the server has all the same: it was sent before
}

// CountLeftOut counts what is not shared.
func (s sharing) CountLeftOut(ctx context.Context, q ShareQuery) (n LeftOut, err error) {
	if q.Only == nil {
		return n, nil
	}
	noted, err := database.HasTable(ctx, s.db, "shared")
	if err != nil {
		return n, err
	}
	const of = " FROM records r WHERE NOT " + among
	if err = s.db.QueryRowContext(ctx, "SELECT count(*)"+of, asList(q.Only)).Scan(&n.Records); err == nil && noted && n.Records > 0 {
		err = s.db.QueryRowContext(ctx, "SELECT count(*)"+of+" AND EXISTS (SELECT 1 FROM shared p WHERE p.server=? AND p.id=r.id)", asList(q.Only), q.Server).Scan(&n.There)
	}
	if err != nil {
		return n, fmt.Errorf("count what is not shared: %w", database.Classify(err))
	}
	return n, nil
}

// EachUnshared hands out pages of the records that a server does not have as
// they are, in the order they were stored. No page is read before fn is done
// with the one before it, and no transaction is open meanwhile. Records that
// are damaged are left out and counted. An error of fn ends it.
func (s sharing) EachUnshared(ctx context.Context, q ShareQuery, fn func([]Shared) error) (damaged int, err error) {
	source, err := s.shareSource(ctx)
	if err != nil {
		return 0, err
	}
	for after := int64(0); ; {
		var page []Shared
		last, bad := after, 0
		err := s.asOfNow(ctx, func(view *connection) (err error) {
			page, last, bad, err = sharing{view}.sharePage(ctx, source, q, after)
			return err
		})
		damaged += bad
		if err != nil || last == after {
			return damaged, err
		}
		after = last
		if len(page) == 0 {
			continue
		}
		if err := fn(page); err != nil {
			return damaged, err
		}
	}
}

// shareSource are the tables and columns of records with what is shared of
// them.
type shareSource struct {
	facts, noted  bool
	said, stated  string
	known, differ string
	there         string // condition that the server has a state of the record
}

func (s sharing) shareSource(ctx context.Context) (x shareSource, err error) {
	if x.said, x.stated, err = exporting(s).factColumns(ctx); err != nil {
		return x, err
	}
	x.facts = x.stated != ""
	fact := "0"
	if x.facts {
		fact = "coalesce(f.sum, 0)"
	}
	x.said += ", coalesce(v.crc & 4294967295, -1), " + fact
	if x.noted, err = database.HasTable(ctx, s.db, "shared"); err != nil || !x.noted {
		x.differ, x.there = "?='' OR 1=1", "1=0"
		return x, err
	}
	x.known = " LEFT JOIN shared p ON p.server=? AND p.id=r.id"
	x.there = "p.id IS NOT NULL"
	x.differ = "p.id IS NULL OR p.sum IS NOT r.sum OR p.vector IS NOT coalesce(v.crc & 4294967295, -1) OR p.fact IS NOT " + fact
	return x, nil
}

// from is the part of a query that begins with FROM, over records under a condition;
// its arguments are the model and the server.
func (x shareSource) from(condition string) string {
	return " FROM records r " + joinedVectors + " " + x.stated + x.known + " WHERE (" + condition + ")"
}

// sharePage reads the page after a row, and returns its last row.
func (s sharing) sharePage(ctx context.Context, source shareSource, q ShareQuery, after int64) (page []Shared, last int64, damaged int, err error) {
	from, args := q.shared(source)
	rows, err := s.reads().QueryContext(ctx, "SELECT r.rowid, coalesce(v.block, -1), "+source.said+", "+recordColumns+
		strings.Replace(from, "FROM records r", "FROM records r JOIN texts t ON t.record=r.rowid", 1)+
		" AND r.rowid>? ORDER BY r.rowid LIMIT ?", append(args, after, sharePage)...)
	if err != nil {
		return nil, after, 0, fmt.Errorf("read records: %w", database.Classify(err))
	}
	defer rows.Close()
	last = after
	var places []vectors.Place
	for rows.Next() {
		var x Shared
		var r stored
		var f Fact
		var p vectors.Place
		if err := rows.Scan(append([]any{&x.row, &p.Block, &f.Kind, &f.Confidence, &f.Quote, &f.Speaker, &f.Topic, &f.Value, &f.Instead, &f.MadeBy, &f.Successor,
			&x.marks[1], &x.marks[2]}, r.fields()...)...); err != nil {
			return nil, after, 0, fmt.Errorf("read records: %w", database.Classify(err))
		}
		if last = x.row; !r.sound() {
			damaged++
			continue
		}
		x.complete(r, f, q.Model)
		if p.Block >= 0 {
			p.Record, p.Sum, p.Index = x.row, uint32(x.marks[1]), len(page)
			places = append(places, p)
		}
		page = append(page, x)
	}
	if err := rows.Err(); err != nil {
		return nil, after, 0, fmt.Errorf("read records: %w", database.Classify(err))
	}
	return page, last, damaged, s.readShared(ctx, page, places, q.Model.Dim)
}

// Outdated is a record as a server has it that has another state of it.
func (x Shared) Outdated() Shared {
	x.marks = [3]int64{1: -2} // no vector has that checksum
	return x
}

// complete fills in what was read.
func (x *Shared) complete(r stored, f Fact, m VectorModel) {
	x.Record = r.Record
	x.marks[0] = r.sum.Int64
	if f.Kind != "" {
		f.Record = x.Record
		x.Fact = &f
	}
	h := sha256.New()
	for _, mark := range x.marks {
		_ = binary.Write(h, binary.LittleEndian, mark) // a hash takes everything
	}
	if x.marks[1] >= 0 {
		h.Write([]byte(m.Fingerprint))
	}
	x.Digest = int64(binary.LittleEndian.Uint64(h.Sum(nil)))
}

// readShared reads the vectors of a page.
func (s sharing) readShared(ctx context.Context, page []Shared, places []vectors.Place, dim int) error {
	return vectors.NewReader(s.reads(), dim).Each(ctx, places, func(p vectors.Place, vector []float32) {
		page[p.Index].Vector = slices.Clone(vector)
	})
}

// CountUnshared counts what EachUnshared and the rest would hand out.
func (s sharing) CountUnshared(ctx context.Context, q ShareQuery) (u Unshared, err error) {
	source, err := s.shareSource(ctx)
	if err != nil {
		return u, err
	}
	from, args := q.shared(source)
	if err = s.db.QueryRowContext(ctx, "SELECT count(*)"+from, args...).Scan(&u.Records); err != nil {
		return u, fmt.Errorf("count what is to be sent: %w", database.Classify(err))
	}
	gone, err := s.GoneShared(ctx, q.Server)
	if err != nil {
		return u, err
	}
	forgotten, err := s.UnsharedTombstones(ctx, q.Server)
	told := make(map[string]bool, len(forgotten))
	for _, f := range forgotten {
		told[f.ID] = true
	}
	gone = slices.DeleteFunc(gone, func(id string) bool { return told[id] })
	u.Gone, u.Tombstones = len(gone), len(forgotten)
	return u, err
}

// CountShared is how many records a server is noted to have.
func (s sharing) CountShared(ctx context.Context, server string) (int, error) {
	return s.countNoted(ctx, "shared", server)
}

// CountSharedTombstones is of how many forgotten records a server is noted to
// know.
func (s sharing) CountSharedTombstones(ctx context.Context, server string) (int, error) {
	return s.countNoted(ctx, "shared_tombstones", server)
}

func (s sharing) countNoted(ctx context.Context, table, server string) (n int, err error) {
	if has, err := database.HasTable(ctx, s.db, table); err != nil || !has {
		return 0, err
	}
	err = s.db.QueryRowContext(ctx, "SELECT count(*) FROM "+table+" WHERE server=?", server).Scan(&n)
	return n, database.Classify(err)
}

// CountHeld counts how many of these records the memory has, and how many of them a
// server is noted to have from here.
func (s sharing) CountHeld(ctx context.Context, server string, list []Forgotten) (here, there int, err error) {
	noted, err := database.HasTable(ctx, s.db, "shared")
	if err != nil || len(list) == 0 {
		return 0, 0, err
	}
	if here, err = s.countAmong(ctx, list, "SELECT id FROM records"); err == nil && noted {
		there, err = s.countAmong(ctx, list, "SELECT id FROM shared WHERE server=?", server)
	}
	return here, there, err
}

// countAmong counts how many of these records a query of ids finds.
func (s sharing) countAmong(ctx context.Context, list []Forgotten, query string, args ...any) (n int, err error) {
	ids, err := database.Strings(ctx, s.db, query, args...)
	if err != nil {
		return 0, err
	}
	found := database.Set(ids)
	for _, f := range list {
		if found[f.ID] {
			n++
		}
	}
	return n, nil
}

// GoneShared lists the records that a server is noted to have and the memory
// has no more.
func (s sharing) GoneShared(ctx context.Context, server string) ([]string, error) {
	if has, err := database.HasTable(ctx, s.db, "shared"); err != nil || !has {
		return nil, err
	}
	return database.Strings(ctx, s.db, "SELECT id FROM shared p WHERE server=? AND NOT EXISTS (SELECT 1 FROM record_rows r WHERE r.id=p.id) ORDER BY id", server)
}

// NoteShared notes that a server has records as they were handed out.
func (s sharing) NoteShared(ctx context.Context, server string, records []Shared) error {
	return s.note(ctx, func(tx *sql.Tx) error {
		insert, err := tx.PrepareContext(ctx, "INSERT OR REPLACE INTO shared (server, id, sum, vector, fact) VALUES (?,?,?,?,?)")
		if err != nil {
			return err
		}
		defer insert.Close()
		for _, x := range records {
			if _, err := insert.ExecContext(ctx, server, x.ID, x.marks[0], x.marks[1], x.marks[2]); err != nil {
				return err
			}
		}
		return nil
	})
}

// NoteGone notes that a server has records no more.
func (s sharing) NoteGone(ctx context.Context, server string, ids []string) error {
	return s.noteIDs(ctx, "DELETE FROM shared WHERE server=? AND id=?", server, ids)
}

// NoteTombstones notes that a server has the tombstones of these records.
func (s sharing) NoteTombstones(ctx context.Context, server string, ids []string) error {
	return s.noteIDs(ctx, "INSERT OR IGNORE INTO shared_tombstones (server, id) VALUES (?,?)", server, ids)
}

// ForgetShared drops all that is noted of a server: it has lost something.
func (s sharing) ForgetShared(ctx context.Context, server string) error {
	return s.note(ctx, func(tx *sql.Tx) error {
		for _, table := range []string{"shared", "shared_tombstones"} {
			if _, err := tx.ExecContext(ctx, "DELETE FROM "+table+" WHERE server=?", server); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, "DELETE FROM state WHERE name IN (?, ?)", shareState(server), pushState(server))
		return err
	})
}

func (s sharing) noteIDs(ctx context.Context, statement, server string, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	return s.note(ctx, func(tx *sql.Tx) error {
		each, err := tx.PrepareContext(ctx, statement)
		if err != nil {
			return err
		}
		defer each.Close()
		for _, id := range ids {
			if _, err := each.ExecContext(ctx, server, id); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s sharing) note(ctx context.Context, f func(tx *sql.Tx) error) error {
	err := s.inTransaction(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, shareTables); err != nil {
			return err
		}
		return f(tx)
	})
	if err != nil {
		return fmt.Errorf("note what is shared: %w", err)
	}
	return nil
}

// UnsharedTombstones lists what was forgotten and a server does not know of.
func (s sharing) UnsharedTombstones(ctx context.Context, server string) ([]Forgotten, error) {
	has, err := database.HasTable(ctx, s.db, "shared_tombstones")
	if err != nil {
		return nil, err
	}
	var ids []string
	if has {
		ids, err = database.Strings(ctx, s.db, "SELECT id FROM shared_tombstones WHERE server=?", server)
		if err != nil {
			return nil, err
		}
	}
	known := database.Set(ids)
	files, err := readTombstones(ctx, s.db)
	var list []Forgotten
	for _, f := range files {
		for _, g := range f.Records {
			if !known[g.ID] {
				list = append(list, Forgotten{ID: g.ID, At: f.At, Archive: g.Archive, FirstByte: g.FirstByte, EndByte: g.EndByte})
			}
		}
	}
	return list, err
}

// Honour forgets what was forgotten elsewhere, with the tombstones that came
// from there: a record that is not here yet will not be stored either. It
// returns how many records it removed, counted as [Store.Forget] counts them: what
// was done only where it was forgotten by itself. The caller holds the lock of the
// data directory. ErrUnwiped is that of Forget.
func (s sharing) Honour(ctx context.Context, forgotten []Forgotten) (removed int, err error) {
	fresh, err := s.Unforgotten(ctx, forgotten)
	if err != nil || len(fresh) == 0 {
		return 0, err
	}
	err = s.deleteSecurely(ctx, func(tx *sql.Tx) (bool, error) {
		for _, f := range byTime(fresh) {
			if err := s.forgottenFiles().noteForgotten(f); err != nil {
				return false, err
			}
			if err := keptSummaries(s).dropKept(f.Records); err != nil {
				return false, err
			}
			if err := addTombstones(ctx, tx, f); err != nil {
				return false, err
			}
		}
		alone, err := removeActions(ctx, tx, "lower(hex(a.id)) IN (SELECT id FROM tombstones)", nil)
		if err != nil {
			return false, err
		}
		with, err := removeForgotten(ctx, tx)
		if err != nil {
			return false, err
		}
		records, err := remove(ctx, tx, "id IN (SELECT id FROM tombstones)", nil)
		removed = records + alone
		return removed+with > 0, err
	})
	if err != nil {
		return 0, fmt.Errorf("forget what was forgotten elsewhere: %w", err)
	}
	return removed, s.Wipe(ctx)
}

// Unforgotten are those whose tombstones the memory does not have.
func (s sharing) Unforgotten(ctx context.Context, forgotten []Forgotten) ([]Forgotten, error) {
	if len(forgotten) == 0 {
		return nil, nil
	}
	ids, err := database.Strings(ctx, s.db, "SELECT id FROM tombstones")
	if err != nil {
		return nil, err
	}
	known := database.Set(ids)
	var fresh []Forgotten
	for _, f := range forgotten {
		if !known[f.ID] {
			known[f.ID], fresh = true, append(fresh, f)
		}
	}
	return fresh, nil
}

// byTime are the files that tombstones belong in: one for each time.
func byTime(list []Forgotten) (files []forgottenFile) {
	at := map[int64]int{}
	for _, f := range list {
		i, ok := at[f.At]
		if !ok {
			i = len(files)
			at[f.At] = i
			files = append(files, forgottenFile{Schema: 1, At: f.At})
		}
		files[i].Records = append(files[i].Records, tombstone{ID: f.ID, Archive: f.Archive, FirstByte: f.FirstByte, EndByte: f.EndByte})
	}
	return files
}

func shareState(server string) string { return "shared:" + server }

// pushState is the name under which is noted when a server stored something of
// this memory last.
func pushState(server string) string { return "shared-pushed:" + server }

// ShareMark is how far the tombstones of a server were read, "" if they never
// were.
func (s sharing) ShareMark(ctx context.Context, server string) (mark string, err error) {
	return s.shareNote(ctx, shareState(server))
}

// NoteShareMark notes how far the tombstones of a server were read.
func (s sharing) NoteShareMark(ctx context.Context, server, mark string) error {
	return s.noteState(ctx, shareState(server), mark)
}

// SharePushed is when a server stored something of this memory last, by what the
// server said then (epoch milliseconds); 0 if that is not known.
func (s sharing) SharePushed(ctx context.Context, server string) (at int64, err error) {
	text, err := s.shareNote(ctx, pushState(server))
	if err != nil || text == "" {
		return 0, err
	}
	at, err = strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, nil // as if it were not known: more is compared then
	}
	return at, nil
}

// NoteSharePushed notes when a server stored something of this memory last.
func (s sharing) NoteSharePushed(ctx context.Context, server string, at int64) error {
	return s.noteState(ctx, pushState(server), strconv.FormatInt(at, 10))
}

func (s sharing) shareNote(ctx context.Context, name string) (value string, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT value FROM state WHERE name=?", name).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return value, database.Classify(err)
}

func (s sharing) noteState(ctx context.Context, name, value string) error {
	return s.note(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO state (name, value) VALUES (?, ?)", name, value)
		return err
	})
}
