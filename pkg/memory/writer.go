package memory

import (
	"context"
	"database/sql"

	"github.com/sessctl/sessctl/pkg/embed"
)

// writer stores records in a transaction. Each statement is prepared once:
// there are many records. For a new record each writes one row: before a
// statement that may write several, SQLite makes the full-text index write
// down what it has gathered, which doubles the work.
type writer struct {
	ctx      context.Context
	tx       *sql.Tx
	result   *PutResult
	models   []string // fingerprints of those that are known
	prepared map[string]*sql.Stmt
	terms    []byte
	// keepTexts leaves a record alone whose text is another one than is given.
	keepTexts bool
}

func newWriter(ctx context.Context, tx *sql.Tx, result *PutResult) (*writer, error) {
	models, err := readStrings(ctx, tx, "SELECT fingerprint FROM models")
	return &writer{ctx: ctx, tx: tx, result: result, models: models, prepared: map[string]*sql.Stmt{}}, err
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

const selectKnown = `SELECT rowid, text, EXISTS (SELECT 1 FROM tombstones t WHERE t.id=?1) FROM
	(SELECT 1) LEFT JOIN records r ON r.id=?1 LEFT JOIN texts t ON t.record=r.rowid`

// put stores one record.
func (w *writer) put(r Record) error {
	s, err := w.statement(selectKnown)
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
	if w.keepTexts && text.String != r.Text {
		return nil
	}
	return w.refresh(rowid.Int64, r, text.String != r.Text)
}

const insertRecord = `
INSERT INTO records (id, category, importance, created_at, runtime, agent, session, key, archive, archive_path, first_line, last_line, first_byte, end_byte, branch, position)
VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`

func (w *writer) insert(r Record) error {
	res, err := w.exec(insertRecord, r.ID, r.Category, r.Importance, r.CreatedAt, r.Runtime, r.Agent, r.Session, r.Key,
		r.Archive, r.ArchivePath, r.FirstLine, r.LastLine, r.FirstByte, r.EndByte, r.Branch, r.Position)
	if err != nil {
		return err
	}
	rowid, err := res.LastInsertId()
	if err != nil {
		return err
	}
	return w.write(rowid, r)
}

// write stores the text of a record, new or cleared, and makes it pending.
func (w *writer) write(rowid int64, r Record) error {
	if _, err := w.exec("INSERT INTO texts (record, text) VALUES (?, ?)", rowid, r.Text); err != nil {
		return err
	}
	w.terms = embed.AppendTerms(w.terms[:0], r.Text)
	if _, err := w.exec("INSERT INTO words (rowid, terms) VALUES (?, ?)", rowid, string(w.terms)); err != nil {
		return err
	}
	for _, model := range w.models {
		if _, err := w.exec("INSERT INTO pending (model, agent, record, tries, reason) VALUES (?, ?, ?, 0, '')", model, r.Agent, rowid); err != nil {
			return err
		}
	}
	return nil
}

const updateRecord = `
UPDATE records SET category=?, importance=?, created_at=?, archive=CASE WHEN ?='' THEN archive ELSE ? END, archive_path=CASE WHEN ?='' AND archive<>'' THEN archive_path ELSE ? END,
  first_line=?, last_line=?, first_byte=?, end_byte=?, branch=?, position=? WHERE rowid=?`

// refresh brings a record up to date; a changed text needs a new vector.
func (w *writer) refresh(rowid int64, r Record, changed bool) error {
	_, err := w.exec(updateRecord, r.Category, r.Importance, r.CreatedAt, r.Archive, r.Archive, r.Archive, r.ArchivePath,
		r.FirstLine, r.LastLine, r.FirstByte, r.EndByte, r.Branch, r.Position, rowid)
	if err != nil || !changed {
		return err
	}
	for _, statement := range []string{
		"DELETE FROM texts WHERE record=?", "DELETE FROM words WHERE rowid=?",
		"DELETE FROM vectors WHERE record=?", "DELETE FROM pending WHERE record=?",
	} {
		if _, err := w.exec(statement, rowid); err != nil {
			return err
		}
	}
	return w.write(rowid, r)
}
