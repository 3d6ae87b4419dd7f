package memory

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/embed"
)

// PendingText is a record that has no vector yet.
type PendingText struct {
	Row  int64 // its place in the order of storing
	ID   string
	Text string
}

// Vector is the embedding of a record.
type Vector struct {
	ID     string
	Values []float32 // unit length, as long as the model's dimension
}

// Failure is a record that could not be embedded, and why. It stays text.
type Failure struct {
	ID     string
	Reason string
	// Nothing is true when the text has nothing to embed: it is not pending.
	Nothing bool
}

const (
	// maxTries is how often a record that an embedder refuses is offered again.
	maxTries = 3
	// nothingTries marks a record that has nothing to embed.
	nothingTries = 1000
)

// Pending returns up to limit records of an agent that have no vector of this
// model, in the order they were stored, from after the record `after` on (0 is
// the beginning).
func (s *Store) Pending(ctx context.Context, model embed.Model, agent string, after int64, limit int) ([]PendingText, error) {
	rows, err := s.db.QueryContext(ctx, `SELECT r.rowid, r.id, r.text FROM records r
		LEFT JOIN vectors v ON v.record=r.rowid AND v.model=?1
		LEFT JOIN failures f ON f.record=r.rowid AND f.model=?1
		WHERE +r.agent=?2 AND v.record IS NULL AND coalesce(f.tries, 0) < ?3 AND r.rowid > ?4 ORDER BY r.rowid LIMIT ?5`, model.Fingerprint(), agent, maxTries, after, limit)
	if err != nil {
		return nil, fmt.Errorf("list pending records: %w", err)
	}
	defer rows.Close()
	var pending []PendingText
	for rows.Next() {
		var p PendingText
		if err := rows.Scan(&p.Row, &p.ID, &p.Text); err != nil {
			return nil, fmt.Errorf("list pending records: %w", err)
		}
		pending = append(pending, p)
	}
	return pending, rows.Err()
}

// CountPending returns how many records of an agent have no vector of a model,
// those that cannot be embedded included.
func (s *Store) CountPending(ctx context.Context, model embed.Model, agent string) (open, refused int, err error) {
	err = s.db.QueryRowContext(ctx, `SELECT count(*) FILTER (WHERE coalesce(f.tries, 0) < ?3), count(*) FILTER (WHERE f.tries >= ?3 AND f.tries < ?4) FROM records r
		LEFT JOIN vectors v ON v.record=r.rowid AND v.model=?1
		LEFT JOIN failures f ON f.record=r.rowid AND f.model=?1
		WHERE r.agent=?2 AND v.record IS NULL`, model.Fingerprint(), agent, maxTries, nothingTries).Scan(&open, &refused)
	return open, refused, err
}

// PutVectors adds vectors to the agent's file and then names them in one
// transaction. Vectors that are not finite, not of the model's dimension or
// zero are refused (the errors of embed.Check).
func (s *Store) PutVectors(ctx context.Context, model embed.Model, agent string, vectors []Vector, failed []Failure) error {
	values := make([][]float32, len(vectors))
	for i, v := range vectors {
		values[i] = v.Values
	}
	if err := embed.Check(values, len(values), model.Dim); err != nil {
		return fmt.Errorf("store vectors: %w", err)
	}
	return s.inTransaction(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "INSERT OR IGNORE INTO models (fingerprint, name) VALUES (?, ?)", model.Fingerprint(), model.String()); err != nil {
			return err
		}
		first, err := nextSlot(ctx, tx, model, agent)
		if err != nil {
			return err
		}
		rows, crcs := encodeRows(values, model.Dim)
		if err := durable.AppendRows(s.vectorFile(model, agent), first*rowBytes(model.Dim), rows, 0o600); err != nil {
			return fmt.Errorf("write vectors: %w", err)
		}
		if err := nameVectors(ctx, tx, named{model, agent, first, crcs}, vectors); err != nil {
			return err
		}
		return noteFailures(ctx, tx, model, failed)
	})
}

func nextSlot(ctx context.Context, tx *sql.Tx, model embed.Model, agent string) (int64, error) {
	var slot int64
	err := tx.QueryRowContext(ctx, "SELECT coalesce(max(slot)+1, 0) FROM vectors WHERE model=? AND agent=?", model.Fingerprint(), agent).Scan(&slot)
	return slot, err
}

// named says where rows were written and what they must hold.
type named struct {
	model embed.Model
	agent string
	first int64    // slot of the first row
	crcs  []uint32 // of each row
}

func nameVectors(ctx context.Context, tx *sql.Tx, n named, vectors []Vector) error {
	insert, err := tx.PrepareContext(ctx, `INSERT OR REPLACE INTO vectors (record, model, agent, slot, crc)
		SELECT rowid, ?, ?, ?, ? FROM records WHERE id=?`)
	if err != nil {
		return err
	}
	defer insert.Close()
	for i, v := range vectors {
		if _, err := insert.ExecContext(ctx, n.model.Fingerprint(), n.agent, n.first+int64(i), n.crcs[i], v.ID); err != nil {
			return err
		}
	}
	return nil
}

func noteFailures(ctx context.Context, tx *sql.Tx, model embed.Model, failed []Failure) error {
	for _, f := range failed {
		tries := 1
		if f.Nothing {
			tries = nothingTries
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO failures (record, model, reason, tries)
			SELECT rowid, ?, ?, ? FROM records WHERE id=? ON CONFLICT DO UPDATE SET tries=tries+excluded.tries, reason=excluded.reason`, model.Fingerprint(), f.Reason, tries, f.ID)
		if err != nil {
			return err
		}
	}
	return nil
}

func rowBytes(dim int) int64 { return int64(dim) * 4 }

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// encodeRows scales vectors to unit length and lays them out as rows.
func encodeRows(vectors [][]float32, dim int) ([]byte, []uint32) {
	rows := make([]byte, 0, int64(len(vectors))*rowBytes(dim))
	crcs := make([]uint32, 0, len(vectors))
	for _, v := range vectors {
		start := len(rows)
		scale := 1 / norm(v)
		for _, x := range v {
			rows = binary.LittleEndian.AppendUint32(rows, math.Float32bits(float32(float64(x)*scale)))
		}
		crcs = append(crcs, crc32.Checksum(rows[start:], castagnoli()))
	}
	return rows, crcs
}

func norm(v []float32) float64 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum)
}

// vectorFile is where an agent's vectors of a model lie.
func (s *Store) vectorFile(model embed.Model, agent string) string {
	return filepath.Join(s.dir, "vectors", safeName(agent), model.Fingerprint()+".f32")
}

// Reclaim makes records pending again whose vector the file does not have:
// it is missing, shorter, or the row's checksum differs. It returns how many.
func (s *Store) Reclaim(ctx context.Context, model embed.Model, agent string) (int, error) {
	lost, err := s.lostVectors(ctx, model, agent)
	if err != nil || len(lost) == 0 {
		return 0, err
	}
	return len(lost), s.inTransaction(ctx, func(tx *sql.Tx) error {
		for _, record := range lost {
			if _, err := tx.ExecContext(ctx, "DELETE FROM vectors WHERE record=? AND model=?", record, model.Fingerprint()); err != nil {
				return err
			}
		}
		return nil
	})
}

// lostVectors returns the rowids of records whose vector row does not verify.
func (s *Store) lostVectors(ctx context.Context, model embed.Model, agent string) ([]int64, error) {
	f, err := os.Open(s.vectorFile(model, agent))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("open vectors: %w", err)
	}
	if f != nil {
		defer f.Close()
	}
	rows, err := s.db.QueryContext(ctx, "SELECT record, slot, crc FROM vectors WHERE model=? AND agent=? ORDER BY slot", model.Fingerprint(), agent)
	if err != nil {
		return nil, fmt.Errorf("list vectors: %w", err)
	}
	defer rows.Close()
	var lost []int64
	row := make([]byte, rowBytes(model.Dim))
	for rows.Next() {
		var record, slot int64
		var crc uint32
		if err := rows.Scan(&record, &slot, &crc); err != nil {
			return nil, fmt.Errorf("list vectors: %w", err)
		}
		if f == nil || !rowVerifies(f, row, slot, crc) {
			lost = append(lost, record)
		}
	}
	return lost, rows.Err()
}

func rowVerifies(f *os.File, row []byte, slot int64, crc uint32) bool {
	_, err := f.ReadAt(row, slot*int64(len(row)))
	return err == nil && crc32.Checksum(row, castagnoli()) == crc
}
