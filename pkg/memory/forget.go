package memory

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
)

// ErrNothingSelected is returned for a selection that names nothing.
var ErrNothingSelected = errors.New("nothing is selected")

// Selection says which records to forget. All fields that are set must match.
type Selection struct {
	ID                      string
	Runtime, Agent, Session string
}

func (s Selection) filter() (string, []any) {
	condition, args := "1=1", []any(nil)
	for _, f := range []struct{ sql, value string }{{"id=?", s.ID}, {"runtime=?", s.Runtime}, {"agent=?", s.Agent}, {"session=?", s.Session}} {
		if f.value != "" {
			condition += " AND " + f.sql
			args = append(args, f.value)
		}
	}
	return condition, args
}

// Selected counts the records of one session that a selection means.
type Selected struct {
	Runtime  string `json:"runtime"`
	Agent    string `json:"agent"`
	Session  string `json:"session"`
	Records  int    `json:"records"`
	Archives int    `json:"archives"` // that the records come from; Forget does not touch them
}

// Select returns what a selection means, by session. It changes nothing.
// ErrNothingSelected is returned for an empty selection.
func (s *Store) Select(ctx context.Context, selection Selection) ([]Selected, error) {
	if selection == (Selection{}) {
		return nil, ErrNothingSelected
	}
	condition, args := selection.filter()
	rows, err := s.db.QueryContext(ctx, `SELECT runtime, agent, session, count(*), count(DISTINCT archive) FILTER (WHERE archive<>'')
		FROM records WHERE `+condition+" GROUP BY 1, 2, 3 ORDER BY 2, 1, min(created_at), 3", args...)
	if err != nil {
		return nil, fmt.Errorf("list records: %w", classifyError(err))
	}
	defer rows.Close()
	var list []Selected
	for rows.Next() {
		var x Selected
		if err := rows.Scan(&x.Runtime, &x.Agent, &x.Session, &x.Records, &x.Archives); err != nil {
			return nil, fmt.Errorf("list records: %w", classifyError(err))
		}
		list = append(list, x)
	}
	return list, classifyError(rows.Err())
}

// Forget removes records with their text, words and vectors and leaves a
// tombstone for each, so that a later Put or Rebuild does not bring it back,
// not even in a memory that is rebuilt. It returns how many it removed.
// Archives are not touched. The caller holds the lock of the data directory.
// ErrNothingSelected is returned for an empty selection, ErrUnwiped (with the
// number) when the records are gone and their traces in the files are not.
func (s *Store) Forget(ctx context.Context, selection Selection) (forgotten int, err error) {
	if selection == (Selection{}) {
		return 0, ErrNothingSelected
	}
	err = s.deleteSecurely(ctx, func(tx *sql.Tx) (bool, error) {
		forgotten, err = s.forget(ctx, tx, selection)
		return forgotten > 0, err
	})
	if err != nil {
		return 0, fmt.Errorf("forget: %w", err)
	}
	return forgotten, s.Wipe(ctx)
}

// Withdrawal says which records of a session to take out.
type Withdrawal struct {
	Runtime, Agent, Session string
	Categories              []string // of these only; all if empty
	// Keep are archives whose records stay: other runs stored them.
	Keep []string
}

// Withdraw takes records of one session out, with their text, words and
// vectors, and leaves no tombstones: unlike what was forgotten they are stored
// again by a later Put. It is for a session that is back in its runtime. It
// returns how many it took out. ErrNothingSelected is returned when runtime,
// agent or session is missing.
func (s *Store) Withdraw(ctx context.Context, w Withdrawal) (taken int, err error) {
	if w.Runtime == "" || w.Agent == "" || w.Session == "" {
		return 0, ErrNothingSelected
	}
	condition, args := w.filter()
	err = s.inTransaction(ctx, func(tx *sql.Tx) error {
		taken, err = remove(ctx, tx, condition, args)
		return err
	})
	return taken, err
}

func (w Withdrawal) filter() (string, []any) {
	condition, args := "runtime=? AND agent=? AND session=?", []any{w.Runtime, w.Agent, w.Session}
	add := func(column, operator string, values []string) {
		if len(values) == 0 {
			return
		}
		condition += " AND " + column + " " + operator + " (?" + strings.Repeat(",?", len(values)-1) + ")"
		for _, v := range values {
			args = append(args, v)
		}
	}
	add("category", "IN", w.Categories)
	add("archive", "NOT IN", w.Keep)
	return condition, args
}

// forget records what is to be forgotten, beside the database and in it, and
// then deletes it.
func (s *Store) forget(ctx context.Context, tx *sql.Tx, selection Selection) (int, error) {
	condition, args := selection.filter()
	tombstones, err := findTombstones(ctx, tx, condition, args)
	if err != nil || len(tombstones) == 0 {
		return 0, err
	}
	if err := s.noteForgotten(forgottenFile{Schema: 1, At: time.Now().UnixMilli(), Records: tombstones}); err != nil {
		return 0, err
	}
	if err := s.dropSummaries(tombstones); err != nil {
		return 0, err
	}
	if err := addTombstone(ctx, tx, time.Now().UnixMilli(), tombstones); err != nil {
		return 0, err
	}
	return remove(ctx, tx, condition, args)
}

// remove deletes records with their words; text, vectors and pending rows go
// with them.
func remove(ctx context.Context, tx *sql.Tx, condition string, args []any) (int, error) {
	if _, err := tx.ExecContext(ctx, "DELETE FROM words WHERE rowid IN (SELECT rowid FROM records WHERE "+condition+")", args...); err != nil {
		return 0, fmt.Errorf("delete words: %w", err)
	}
	result, err := tx.ExecContext(ctx, "DELETE FROM records WHERE "+condition, args...)
	if err != nil {
		return 0, fmt.Errorf("delete records: %w", err)
	}
	n, err := result.RowsAffected()
	return int(n), err
}

// What was forgotten is recorded twice: in a row of the database, and in a file
// beside the memory's directory. When the database is lost and rebuilt from the
// archives, the file keeps what was forgotten out of it.

// tombstone is what is kept of a forgotten record: its id and where it stood.
type tombstone struct {
	ID        string `json:"id"`
	Archive   string `json:"archive,omitempty"`
	FirstByte int64  `json:"first_byte,omitempty"` // both 0 for a record that is no piece of a log
	EndByte   int64  `json:"end_byte,omitempty"`
}

// forgottenFile is what one call of Forget leaves in the directory of what was
// forgotten.
type forgottenFile struct {
	Schema  int         `json:"schema"` // 1
	At      int64       `json:"at"`     // epoch milliseconds
	Records []tombstone `json:"records"`
}

// maxForgotten bounds, in bytes, what is read of one such file: five million
// records.
const maxForgotten = 1 << 30

// ForgottenDir is where a memory in dir records what was forgotten: beside it,
// so that the records outlive it.
func ForgottenDir(dir string) string { return filepath.Clean(dir) + "-forgotten" }

func findTombstones(ctx context.Context, tx *sql.Tx, condition string, args []any) ([]tombstone, error) {
	rows, err := tx.QueryContext(ctx, "SELECT id, archive, iif(position<0, 0, first_byte), iif(position<0, 0, end_byte) FROM records WHERE "+condition+" ORDER BY rowid", args...)
	if err != nil {
		return nil, fmt.Errorf("list what to forget: %w", err)
	}
	defer rows.Close()
	var tombstones []tombstone
	for rows.Next() {
		var g tombstone
		if err := rows.Scan(&g.ID, &g.Archive, &g.FirstByte, &g.EndByte); err != nil {
			return nil, fmt.Errorf("list what to forget: %w", err)
		}
		tombstones = append(tombstones, g)
	}
	return tombstones, rows.Err()
}

// noteForgotten writes the file. Its name begins with the time, and the same
// records forgotten at the same time are one file.
func (s *Store) noteForgotten(f forgottenFile) error {
	dir := ForgottenDir(s.dir)
	if err := durable.MakeDir(dir, 0o700); err != nil {
		return fmt.Errorf("note what is forgotten: %w", err)
	}
	text, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("note what is forgotten: %w", err)
	}
	sum := sha256.Sum256(text)
	path := filepath.Join(dir, fmt.Sprintf("%013d-%s.json", f.At, hex.EncodeToString(sum[:4])))
	if err := durable.ReplaceFile(path, 0o600, func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	}); err != nil {
		return fmt.Errorf("note what is forgotten: %w", err)
	}
	return nil
}

func addTombstone(ctx context.Context, tx *sql.Tx, at int64, tombstones []tombstone) error {
	insert, err := tx.PrepareContext(ctx, "INSERT OR IGNORE INTO tombstones (id, at, archive, first_byte, end_byte) VALUES (?,?,?,?,?)")
	if err != nil {
		return fmt.Errorf("addTombstone records: %w", err)
	}
	defer insert.Close()
	for _, g := range tombstones {
		if _, err := insert.ExecContext(ctx, g.ID, at, g.Archive, g.FirstByte, g.EndByte); err != nil {
			return fmt.Errorf("addTombstone records: %w", err)
		}
	}
	return nil
}

// rememberForgotten makes tombstones of everything that the files say, and removes
// what they mean. It returns how many records it removed. A file that cannot
// be read is an error: what it says must stay forgotten.
func (s *Store) rememberForgotten(ctx context.Context, tx *sql.Tx) (int, error) {
	files, err := readForgotten(ForgottenDir(s.dir))
	if err != nil {
		return 0, err
	}
	for _, f := range files {
		if err := addTombstone(ctx, tx, f.At, f.Records); err != nil {
			return 0, err
		}
	}
	if len(files) == 0 {
		return 0, nil
	}
	return remove(ctx, tx, "id IN (SELECT id FROM tombstones)", nil)
}

func readForgotten(dir string) ([]forgottenFile, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list what was forgotten: %w", err)
	}
	var files []forgottenFile
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		f, err := readForgottenFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("read what was forgotten, %s: %w", filepath.Join(dir, e.Name()), err)
		}
		files = append(files, f)
	}
	return files, nil
}

func readForgottenFile(path string) (f forgottenFile, err error) {
	file, err := durable.OpenRegular(path)
	if err != nil {
		return f, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxForgotten))
	if err != nil {
		return f, err
	}
	if err := json.Unmarshal(text, &f); err != nil {
		return f, err
	}
	if f.Schema != 1 {
		return f, fmt.Errorf("it has schema %d, this version knows 1", f.Schema)
	}
	return f, nil
}
