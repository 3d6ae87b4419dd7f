package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory/database"
)

// embedding is how the texts of an agent get their vectors while they are stored.
type embedding struct {
	embedder *embed.Builtin
	model    embed.Model
	agent    string
}

// vectorWriter adds vectors to the last block of an agent and model, in the
// transaction that stores the records. What it was given is in the database after
// flush.
type vectorWriter struct {
	ctx         context.Context
	tx          *sql.Tx
	fingerprint string // of the model
	agent       string
	space       int64 // 0 until there is a vector
	block       *vectorBlock
	unnamed     []namedRow // the last rows of block
	exec        func(text string, args ...any) (sql.Result, error)
}

// namedRow is a record and the checksum of its row.
type namedRow struct {
	record int64
	crc    uint32
}

func newVectorWriter(ctx context.Context, tx *sql.Tx, model embed.Model, agent string) (*vectorWriter, error) {
	if err := registerIn(ctx, tx, model); err != nil {
		return nil, err
	}
	exec := func(text string, args ...any) (sql.Result, error) { return tx.ExecContext(ctx, text, args...) }
	return &vectorWriter{ctx: ctx, tx: tx, fingerprint: model.Fingerprint(), agent: agent, exec: exec}, nil
}

// add adds the vector of a record that has none.
func (v *vectorWriter) add(record int64, row []byte, crc uint32) error {
	if v.block == nil {
		if err := v.open(); err != nil {
			return err
		}
	}
	v.block.records, v.block.rows = append(v.block.records, record), append(v.block.rows, row...)
	v.unnamed = append(v.unnamed, namedRow{record, crc})
	if len(v.block.records) < blockVectors {
		return nil
	}
	if err := v.write(); err != nil {
		return err
	}
	v.block = &vectorBlock{number: v.block.number + 1, records: v.block.records[:0], rows: v.block.rows[:0]}
	return nil
}

// open goes to the end of the vectors. One block that is not what was written stays
// as it is: what it has lost is told.
func (v *vectorWriter) open() error {
	if err := v.findSpace(); err != nil {
		return err
	}
	last, number, err := lastBlock(v.ctx, v.tx, v.space)
	if err != nil {
		return err
	}
	if v.block = last; last == nil || len(last.records) >= blockVectors {
		v.block = &vectorBlock{number: number + 1}
	}
	return nil
}

func (v *vectorWriter) findSpace() error {
	if v.space != 0 {
		return nil
	}
	err := v.tx.QueryRowContext(v.ctx, "SELECT space FROM vector_spaces WHERE model=? AND agent=?", v.fingerprint, v.agent).Scan(&v.space)
	if !errors.Is(err, sql.ErrNoRows) {
		return database.Classify(err)
	}
	result, err := v.tx.ExecContext(v.ctx, "INSERT INTO vector_spaces (model, agent, checked) VALUES (?, ?, ?)", v.fingerprint, v.agent, time.Now().UnixMilli())
	if err != nil {
		return fmt.Errorf("begin the vectors of an agent: %w", err)
	}
	v.space, err = result.LastInsertId()
	return err
}

// write writes the block, and names its new rows in one statement.
func (v *vectorWriter) write() error {
	if len(v.unnamed) == 0 {
		return nil
	}
	if err := v.block.write(v.exec); err != nil {
		return err
	}
	args := make([]any, 0, 4*len(v.unnamed))
	for _, r := range v.unnamed {
		args = append(args, r.record, v.space, v.block.number, int32(r.crc))
	}
	if _, err := v.exec(nameVectors(len(v.unnamed)), args...); err != nil {
		return fmt.Errorf("name vectors: %w", err)
	}
	v.unnamed = v.unnamed[:0]
	return nil
}

// nameVectors is the statement that names n rows.
func nameVectors(n int) string {
	return "INSERT INTO vector_rows (record, space, block, crc) VALUES " + strings.Repeat("(?,?,?,?),", n-1) + "(?,?,?,?)"
}

// flush writes what is still held. The next vector finds the last block again:
// others may have changed it.
func (v *vectorWriter) flush() error {
	err := v.write()
	v.block = nil
	return err
}

// putAll adds the vectors of records by their ids. The last of a record counts; one
// that is gone, or is another agent's, gets none. What a record had is replaced.
func (v *vectorWriter) putAll(dim int, vectors []Vector) error {
	records, err := v.recordsOf(vectors)
	if err != nil {
		return err
	}
	if err := v.findSpace(); err != nil {
		return err
	}
	list := database.List(records)
	if err := removeVectors(v.ctx, v.tx, "record IN "+list+" AND space=?", v.space); err != nil {
		return err
	}
	rows, sums, err := encodeRows(vectors, dim)
	if err != nil {
		return err
	}
	for i, row := range rows {
		if records[i] == 0 || slices.Contains(records[i+1:], records[i]) {
			continue
		}
		if err := v.add(records[i], row, sums[i]); err != nil {
			return err
		}
	}
	if _, err := v.tx.ExecContext(v.ctx, "DELETE FROM pending WHERE model=? AND agent=? AND record IN "+list, v.fingerprint, v.agent); err != nil {
		return fmt.Errorf("name vectors: %w", err)
	}
	return v.flush()
}

// recordsOf are the records of vectors, 0 for none.
func (v *vectorWriter) recordsOf(vectors []Vector) ([]int64, error) {
	s, err := v.tx.PrepareContext(v.ctx, "SELECT coalesce((SELECT rowid FROM records WHERE id=? AND agent=?), 0)")
	if err != nil {
		return nil, fmt.Errorf("look up records: %w", database.Classify(err))
	}
	defer s.Close()
	list := make([]int64, len(vectors))
	for i, x := range vectors {
		if err := s.QueryRowContext(v.ctx, x.ID, v.agent).Scan(&list[i]); err != nil {
			return nil, fmt.Errorf("look up records: %w", database.Classify(err))
		}
	}
	return list, nil
}
