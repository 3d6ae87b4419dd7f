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

	"github.com/sessctl/sessctl/pkg/durable"
)

// What was forgotten is noted twice: as a row of the database, and as a file
// beside the memory's directory. The database can be lost and made anew from
// the archives; the file then keeps what was forgotten out of it.

// grave is what is kept of a forgotten record: its id and where it stood.
type grave struct {
	ID        string `json:"id"`
	Archive   string `json:"archive,omitempty"`
	FirstByte int64  `json:"first_byte,omitempty"` // both 0 for a record that is no piece of a log
	EndByte   int64  `json:"end_byte,omitempty"`
}

// forgottenFile is what one call of Forget leaves in the directory of what was
// forgotten.
type forgottenFile struct {
	Schema  int     `json:"schema"` // 1
	At      int64   `json:"at"`     // epoch milliseconds
	Records []grave `json:"records"`
}

// maxForgotten bounds, in bytes, what is read of one such file: five million
// records.
const maxForgotten = 1 << 30

// ForgottenDir is where a memory in dir keeps which records were forgotten:
// beside it, so that it outlives it.
func ForgottenDir(dir string) string { return filepath.Clean(dir) + "-forgotten" }

func findGraves(ctx context.Context, tx *sql.Tx, condition string, args []any) ([]grave, error) {
	rows, err := tx.QueryContext(ctx, "SELECT id, archive, iif(position<0, 0, first_byte), iif(position<0, 0, end_byte) FROM records WHERE "+condition+" ORDER BY rowid", args...)
	if err != nil {
		return nil, fmt.Errorf("list what to forget: %w", err)
	}
	defer rows.Close()
	var graves []grave
	for rows.Next() {
		var g grave
		if err := rows.Scan(&g.ID, &g.Archive, &g.FirstByte, &g.EndByte); err != nil {
			return nil, fmt.Errorf("list what to forget: %w", err)
		}
		graves = append(graves, g)
	}
	return graves, rows.Err()
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

func bury(ctx context.Context, tx *sql.Tx, at int64, graves []grave) error {
	insert, err := tx.PrepareContext(ctx, "INSERT OR IGNORE INTO tombstones (id, at, archive, first_byte, end_byte) VALUES (?,?,?,?,?)")
	if err != nil {
		return fmt.Errorf("bury records: %w", err)
	}
	defer insert.Close()
	for _, g := range graves {
		if _, err := insert.ExecContext(ctx, g.ID, at, g.Archive, g.FirstByte, g.EndByte); err != nil {
			return fmt.Errorf("bury records: %w", err)
		}
	}
	return nil
}

// buryForgotten makes tombstones of everything that the files say, and removes
// what they mean. It returns how many records it removed. A file that cannot
// be read is an error: what it says must stay forgotten.
func (s *Store) buryForgotten(ctx context.Context, tx *sql.Tx) (int, error) {
	files, err := readForgotten(ForgottenDir(s.dir))
	if err != nil {
		return 0, err
	}
	for _, f := range files {
		if err := bury(ctx, tx, f.At, f.Records); err != nil {
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

// zeroVectors overwrites the numbers of the records that are about to go. It
// comes before the transaction ends: if that fails, or the program is killed,
// the rows do not verify, and their records are embedded again.
func (s *Store) zeroVectors(ctx context.Context, tx *sql.Tx, condition string, args []any) error {
	rows, err := tx.QueryContext(ctx, `SELECT v.model, m.dim, v.agent, f.name, v.slot FROM vectors v
		JOIN models m ON m.fingerprint=v.model JOIN files f ON f.model=v.model AND f.agent=v.agent
		WHERE v.record IN (SELECT rowid FROM records WHERE `+condition+") ORDER BY v.model, v.agent, v.slot", args...)
	if err != nil {
		return fmt.Errorf("list vectors to forget: %w", err)
	}
	defer rows.Close()
	var files []*vectorFile
	slots := map[*vectorFile][]int64{}
	for rows.Next() {
		f, slot := &vectorFile{}, int64(0)
		if err := rows.Scan(&f.fingerprint, &f.dim, &f.agent, &f.base, &slot); err != nil {
			return fmt.Errorf("list vectors to forget: %w", err)
		}
		if n := len(files); n > 0 && files[n-1].fingerprint == f.fingerprint && files[n-1].agent == f.agent {
			f = files[n-1]
		} else {
			f.path = s.vectorPath(f.agent, f.base)
			files = append(files, f)
		}
		slots[f] = append(slots[f], slot)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("list vectors to forget: %w", err)
	}
	for _, f := range files {
		if err := durable.ZeroRows(f.path, rowBytes(f.dim), slots[f]); err != nil {
			return fmt.Errorf("overwrite vectors: %w", err)
		}
	}
	return nil
}
