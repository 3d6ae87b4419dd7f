package memory

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
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
	n, err := f.newNamer(ctx, tx)
	if err != nil {
		return fmt.Errorf("name vectors: %w", err)
	}
	defer n.close()
	for i, v := range vectors {
		if err := n.name(ctx, v.ID, row{f.slots + int64(i), crcs[i]}); err != nil {
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

// namer says which records the rows of a file belong to. Its statements are
// prepared once: there are many rows.
type namer struct {
	file         *vectorFile
	record       *sql.Stmt
	insert, done *sql.Stmt
}

func (f *vectorFile) newNamer(ctx context.Context, tx *sql.Tx) (*namer, error) {
	n := &namer{file: f}
	for text, statement := range map[string]**sql.Stmt{
		"SELECT rowid FROM records WHERE id=? AND agent=?":                                        &n.record,
		"INSERT OR REPLACE INTO vectors (model, agent, slot, record, crc) VALUES (?, ?, ?, ?, ?)": &n.insert,
		"DELETE FROM pending WHERE model=? AND agent=? AND record=?":                              &n.done,
	} {
		s, err := tx.PrepareContext(ctx, text)
		if err != nil {
			n.close()
			return nil, err
		}
		*statement = s
	}
	return n, nil
}

func (n *namer) close() {
	for _, s := range []*sql.Stmt{n.record, n.insert, n.done} {
		if s != nil {
			_ = s.Close() // the transaction decides
		}
	}
}

// name says which record a row belongs to. A row it had before has no name
// then; a record that is gone, or is another agent's, gets none.
func (n *namer) name(ctx context.Context, id string, at row) error {
	var record int64
	err := n.record.QueryRowContext(ctx, id, n.file.agent).Scan(&record)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := n.insert.ExecContext(ctx, n.file.fingerprint, n.file.agent, at.slot, record, at.crc); err != nil {
		return err
	}
	_, err = n.done.ExecContext(ctx, n.file.fingerprint, n.file.agent, record)
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
