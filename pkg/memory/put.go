package memory

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"iter"
	"strconv"

	"github.com/sessctl/sessctl/pkg/embed"
)

// Record is one piece of a session as memory keeps it.
type Record struct {
	ID                  string // see RecordID
	Text                string
	Category            string  // session_history, session_summary, fact or lesson
	Importance          float64 // 0 to 1
	CreatedAt           int64   // epoch milliseconds of the message
	Runtime             string
	Agent               string
	Session             string
	Key                 string // the runtime's routing key, or ""
	Archive             string // id of the archive that holds the source, or ""
	ArchivePath         string // of that archive, or of the log itself
	FirstLine, LastLine int    // in the source, 1-based, both included
	FirstByte, EndByte  int64
	Branch              string // active or abandoned
	Position            int    // of the chunk in its session; -1 for a summary
}

// Source names the session that records come from.
type Source struct {
	Runtime, Agent, Session, Key string
	Archive, ArchivePath         string
}

// RecordID is the identity of a record: the same piece of the same session,
// cut by the same chunker, has the same id in every run.
func RecordID(agent, session string, position int, chunker, text string) string {
	h := sha256.New()
	for _, part := range []string{agent, session, strconv.Itoa(position), chunker, text} {
		fmt.Fprintf(h, "%d:%s,", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))[:32]
}

// PutResult counts what Put did.
type PutResult struct {
	Stored   int // new
	Existing int // there already; text and source were brought up to date
	Buried   int // not stored: they were forgotten on purpose
}

const insertRecord = `
INSERT INTO records (id, text, category, importance, created_at, runtime, agent, session, key, archive, archive_path, first_line, last_line, first_byte, end_byte, branch, position)
VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`

const updateRecord = `
UPDATE records SET text=?, category=?, importance=?, created_at=?, archive=CASE WHEN ?='' THEN archive ELSE ? END, archive_path=CASE WHEN ?='' AND archive<>'' THEN archive_path ELSE ? END,
  first_line=?, last_line=?, first_byte=?, end_byte=?, branch=?, position=? WHERE rowid=?`

// Put stores the records of one session in one transaction; an error from the
// sequence undoes all of it. Records that are there already keep their vector
// unless their text changed.
func (s *Store) Put(ctx context.Context, source Source, records iter.Seq2[Record, error]) (PutResult, error) {
	var result PutResult
	err := s.inTransaction(ctx, func(tx *sql.Tx) error {
		w := &writer{ctx: ctx, tx: tx, result: &result, prepared: map[string]*sql.Stmt{}}
		defer w.close()
		for r, err := range records {
			if err != nil {
				return err
			}
			if err := w.put(r); err != nil {
				return fmt.Errorf("store record %s of %s: %w", r.ID, source.Session, err)
			}
		}
		return nil
	})
	if err != nil {
		return PutResult{}, err
	}
	return result, nil
}

// writer stores records in a transaction. Each statement is prepared once:
// there are many records.
type writer struct {
	ctx      context.Context
	tx       *sql.Tx
	result   *PutResult
	prepared map[string]*sql.Stmt
	terms    []byte
}

func (w *writer) statement(text string) (*sql.Stmt, error) {
	if s, ok := w.prepared[text]; ok {
		return s, nil
	}
	s, err := w.tx.PrepareContext(w.ctx, text)
	if err == nil {
		w.prepared[text] = s
	}
	return s, err
}

func (w *writer) exec(text string, args ...any) (sql.Result, error) {
	s, err := w.statement(text)
	if err != nil {
		return nil, err
	}
	return s.ExecContext(w.ctx, args...)
}

func (w *writer) close() {
	for _, s := range w.prepared {
		_ = s.Close() // the transaction decides
	}
}

const known = `SELECT rowid, text, EXISTS (SELECT 1 FROM tombstones t WHERE t.id=?1) FROM
	(SELECT 1) LEFT JOIN records ON id=?1`

func (w *writer) put(r Record) error {
	s, err := w.statement(known)
	if err != nil {
		return err
	}
	var rowid sql.NullInt64
	var text sql.NullString
	var buried bool
	if err := s.QueryRowContext(w.ctx, r.ID).Scan(&rowid, &text, &buried); err != nil {
		return err
	}
	switch {
	case buried:
		w.result.Buried++
		return nil
	case !rowid.Valid:
		w.result.Stored++
		return w.insert(r)
	}
	w.result.Existing++
	return w.refresh(rowid.Int64, r, text.String != r.Text)
}

func (w *writer) insert(r Record) error {
	res, err := w.exec(insertRecord, r.ID, r.Text, r.Category, r.Importance, r.CreatedAt, r.Runtime, r.Agent, r.Session, r.Key,
		r.Archive, r.ArchivePath, r.FirstLine, r.LastLine, r.FirstByte, r.EndByte, r.Branch, r.Position)
	if err != nil {
		return err
	}
	rowid, err := res.LastInsertId()
	if err != nil {
		return err
	}
	return w.index(rowid, r.Text)
}

func (w *writer) index(rowid int64, text string) error {
	w.terms = embed.AppendTerms(w.terms[:0], text)
	_, err := w.exec("INSERT INTO words (rowid, terms) VALUES (?, ?)", rowid, string(w.terms))
	return err
}

// refresh brings a record up to date; a changed text needs a new vector.
func (w *writer) refresh(rowid int64, r Record, changed bool) error {
	_, err := w.exec(updateRecord, r.Text, r.Category, r.Importance, r.CreatedAt, r.Archive, r.Archive, r.Archive, r.ArchivePath,
		r.FirstLine, r.LastLine, r.FirstByte, r.EndByte, r.Branch, r.Position, rowid)
	if err != nil || !changed {
		return err
	}
	for _, statement := range []string{"DELETE FROM words WHERE rowid=?", "DELETE FROM vectors WHERE record=?", "DELETE FROM failures WHERE record=?"} {
		if _, err := w.exec(statement, rowid); err != nil {
			return err
		}
	}
	return w.index(rowid, r.Text)
}

// CountSession returns how many records a session has and how many of them
// have no vector of any model.
func (s *Store) CountSession(ctx context.Context, runtime, agent, session string) (records, pending int, err error) {
	err = s.db.QueryRowContext(ctx, `SELECT count(*), count(*) FILTER (WHERE NOT EXISTS (SELECT 1 FROM vectors v WHERE v.record=r.rowid))
		FROM records r WHERE runtime=? AND agent=? AND session=?`, runtime, agent, session).Scan(&records, &pending)
	return records, pending, err
}
