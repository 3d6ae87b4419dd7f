package memory

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/embed"
)

// Vector is the embedding of a record.
type Vector struct {
	ID     string
	Values []float32 // as many as the model's dimension; brought to unit length
}

// Failure is a record that could not be embedded, and why. It stays text.
type Failure struct {
	ID     string
	Reason string
	// Nothing is true when the text has nothing to embed: it is not pending.
	Nothing bool
}

// PutVectors adds vectors to the agent's file and then names them in one
// transaction, with what failed. Vectors that are not finite, not of the
// model's dimension or zero are refused, and with them all of the call (the
// errors of embed.Check). A vector whose record is gone, or is another
// agent's, gets no name.
func (s *Store) PutVectors(ctx context.Context, model embed.Model, agent string, vectors []Vector, failed []Failure) error {
	values := make([][]float32, len(vectors))
	for i, v := range vectors {
		values[i] = v.Values
	}
	if err := embed.Check(values, len(values), model.Dim); err != nil {
		return fmt.Errorf("store vectors: %w", err)
	}
	return s.inTransaction(ctx, func(tx *sql.Tx) error {
		if err := registerIn(ctx, tx, model); err != nil {
			return err
		}
		f, err := s.fileOf(ctx, tx, model, agent)
		if err != nil {
			return err
		}
		if err := f.append(ctx, tx, vectors); err != nil {
			return err
		}
		return noteFailures(ctx, tx, model, failed)
	})
}

// append writes rows behind those that may have a name, and names them.
func (f *vectorFile) append(ctx context.Context, tx *sql.Tx, vectors []Vector) error {
	if len(vectors) == 0 {
		return nil
	}
	if _, err := f.check(ctx, tx, false); err != nil {
		return err
	}
	rows, crcs := encodeRows(vectors, f.dim)
	if err := durable.AppendRows(f.path, f.slots*rowBytes(f.dim), rows, 0o600); err != nil {
		return fmt.Errorf("write vectors: %w", err)
	}
	for i, v := range vectors {
		if err := f.name(ctx, tx, v.ID, row{f.slots + int64(i), crcs[i]}); err != nil {
			return fmt.Errorf("name vectors: %w", err)
		}
	}
	f.slots += int64(len(vectors))
	return f.save(ctx, tx)
}

// row is one row of a vector file and what it must hold.
type row struct {
	slot int64
	crc  uint32
}

// name says which record a row belongs to. A row it had before has no name then.
func (f *vectorFile) name(ctx context.Context, tx *sql.Tx, id string, at row) error {
	_, err := tx.ExecContext(ctx, `INSERT OR REPLACE INTO vectors (model, agent, slot, record, crc)
		SELECT ?, agent, ?, rowid, ? FROM records WHERE id=? AND agent=?`, f.fingerprint, at.slot, at.crc, id, f.agent)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "DELETE FROM pending WHERE model=? AND agent=? AND record=(SELECT rowid FROM records WHERE id=?)", f.fingerprint, f.agent, id)
	return err
}

func rowBytes(dim int) int64 { return int64(dim) * 4 }

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// encodeRows scales vectors to unit length and lays them out as rows.
func encodeRows(vectors []Vector, dim int) ([]byte, []uint32) {
	rows := make([]byte, 0, int64(len(vectors))*rowBytes(dim))
	crcs := make([]uint32, 0, len(vectors))
	for _, v := range vectors {
		start := len(rows)
		for _, x := range toUnit(v.Values) {
			rows = binary.LittleEndian.AppendUint32(rows, math.Float32bits(x))
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
