package vectors

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
	"github.com/sessctl/sessctl/pkg/memory/quantized"
)

// Writer adds vectors to the last block of an agent and model, in the transaction
// that stores the records. What it was given is in the database after [Writer.Flush].
type Writer struct {
	// Exec carries out the statements that come again and again: whoever keeps
	// prepared ones may set it.
	Exec func(text string, args ...any) (sql.Result, error)

	ctx     context.Context
	tx      *sql.Tx
	model   embed.Model
	made    string // fingerprint of the model
	agent   string
	space   int64 // 0 until there is a vector
	block   *block
	unnamed []namedRow // the last rows of block
}

// namedRow is a record and the checksum of its row.
type namedRow struct {
	record int64
	crc    uint32
}

// NewWriter returns a writer of the vectors of an agent, and makes the model known.
func NewWriter(ctx context.Context, tx *sql.Tx, model embed.Model, agent string) (*Writer, error) {
	if err := Register(ctx, tx, model); err != nil {
		return nil, err
	}
	exec := func(text string, args ...any) (sql.Result, error) { return tx.ExecContext(ctx, text, args...) }
	return &Writer{Exec: exec, ctx: ctx, tx: tx, model: model, made: model.Fingerprint(), agent: agent}, nil
}

// Fingerprint is that of the model.
func (v *Writer) Fingerprint() string { return v.made }

// Add adds the row of the vector of a record that has none.
func (v *Writer) Add(record int64, row []byte) error {
	if v.block == nil {
		if err := v.open(); err != nil {
			return err
		}
	}
	v.block.records, v.block.rows = append(v.block.records, record), append(v.block.rows, row...)
	v.unnamed = append(v.unnamed, namedRow{record, quantized.Sum(row)})
	if len(v.block.records) < blockVectors {
		return nil
	}
	if err := v.write(); err != nil {
		return err
	}
	v.block = &block{number: v.block.number + 1, records: v.block.records[:0], rows: v.block.rows[:0]}
	return nil
}

// open goes to the end of the vectors. One block that is not what was written stays
// as it is: what it has lost is told.
func (v *Writer) open() error {
	if err := v.findSpace(); err != nil {
		return err
	}
	last, number, err := lastBlock(v.ctx, v.tx, v.space)
	if err != nil {
		return err
	}
	if v.block = last; last == nil || len(last.records) >= blockVectors {
		v.block = &block{number: number + 1}
	}
	return nil
}

func (v *Writer) findSpace() error {
	if v.space != 0 {
		return nil
	}
	err := v.tx.QueryRowContext(v.ctx, "SELECT space FROM vector_spaces WHERE model=? AND agent=?", v.made, v.agent).Scan(&v.space)
	if !errors.Is(err, sql.ErrNoRows) {
		return database.Classify(err)
	}
	result, err := v.tx.ExecContext(v.ctx, "INSERT INTO vector_spaces (model, agent, checked) VALUES (?, ?, ?)", v.made, v.agent, time.Now().UnixMilli())
	if err != nil {
		return fmt.Errorf("begin the vectors of an agent: %w", err)
	}
	v.space, err = result.LastInsertId()
	return err
}

// write writes the block, and names its new rows in one statement.
func (v *Writer) write() error {
	if len(v.unnamed) == 0 {
		return nil
	}
	if err := v.block.write(v.Exec); err != nil {
		return err
	}
	args := make([]any, 0, 4*len(v.unnamed))
	for _, r := range v.unnamed {
		args = append(args, r.record, v.space, v.block.number, int32(r.crc))
	}
	if _, err := v.Exec(nameVectors(len(v.unnamed)), args...); err != nil {
		return fmt.Errorf("name vectors: %w", err)
	}
	v.unnamed = v.unnamed[:0]
	return nil
}

// nameVectors is the statement that names n rows.
func nameVectors(n int) string {
	return "INSERT INTO vector_rows (record, space, block, crc) VALUES " + strings.Repeat("(?,?,?,?),", n-1) + "(?,?,?,?)"
}

// Flush writes what is still held. The next vector finds the last block again:
// others may have changed it.
func (v *Writer) Flush() error {
	err := v.write()
	v.block = nil
	return err
}

// PutAll adds the vectors of records. The last of a record counts, and record 0 is
// none. What a record had is replaced, and it is not pending any more.
func (v *Writer) PutAll(records []int64, vectors [][]float32) error {
	if err := v.findSpace(); err != nil {
		return err
	}
	list := database.List(records)
	if err := Remove(v.ctx, v.tx, "record IN "+list+" AND space=?", v.space); err != nil {
		return err
	}
	packer, err := quantized.NewPacker(v.model.Dim)
	if err != nil {
		return err
	}
	var row []byte
	for i, vector := range vectors {
		if records[i] == 0 || slices.Contains(records[i+1:], records[i]) {
			continue
		}
		if row, _ = packer.Append(row[:0], vector); len(row) == 0 {
			return fmt.Errorf("pack a vector: %w", embed.ErrNotFinite)
		}
		if err := v.Add(records[i], row); err != nil {
			return err
		}
	}
	if _, err := v.tx.ExecContext(v.ctx, "DELETE FROM pending WHERE model=? AND agent=? AND record IN "+list, v.made, v.agent); err != nil {
		return fmt.Errorf("name vectors: %w", err)
	}
	return v.Flush()
}
