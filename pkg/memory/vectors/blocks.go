package vectors

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/sessctl/sessctl/pkg/memory/database"
	"github.com/sessctl/sessctl/pkg/memory/quantized"
)

// Vectors are kept as rows of package quantized, up to blockVectors of them one
// behind the other in a block, so that a question which is compared with all of
// them reads few rows of SQLite (docs/dev/decisions.md D27). A block is of one space:
// the vectors that one model made of the records of one agent. Its number is that
// of the space times spaceBlocks, and how many blocks came before.
//
// A vector is stored in the transaction that names it (vector_rows) and goes in the
// one that takes the name away. Nothing else stands in a block: what a question
// finds in one whose checksum holds has a name.
const (
	blockVectors = 64
	spaceBlocks  = 1 << 32
)

// block is a block that was read or is filled.
type block struct {
	number  int64
	records []int64 // of its rows
	rows    []byte
}

// appendRecords appends the list of a block's records: the distance of each to the
// one before, as a varint.
func appendRecords(dst []byte, records []int64) []byte {
	last := int64(0)
	for _, record := range records {
		dst = binary.AppendVarint(dst, record-last)
		last = record
	}
	return dst
}

// readRecords appends the records of such a list. It reports false if it is none.
func readRecords(records []int64, list []byte) (_ []int64, ok bool) {
	last := int64(0)
	for len(list) > 0 {
		distance, n := binary.Varint(list)
		if n <= 0 {
			return records, false
		}
		last += distance
		records, list = append(records, last), list[n:]
	}
	return records, true
}

// sumOfBlock is the checksum of a block: CRC-32C of its number, its list of records
// and its rows.
func sumOfBlock(number int64, list, rows []byte) int64 {
	var head [8]byte
	binary.LittleEndian.PutUint64(head[:], uint64(number))
	table := crc32.MakeTable(crc32.Castagnoli)
	sum := crc32.Update(crc32.Checksum(head[:], table), table, list)
	return int64(int32(crc32.Update(sum, table, rows))) // with a sign it is shorter
}

const insertBlock = "INSERT OR REPLACE INTO vector_blocks (block, sum, records, rows) VALUES (?, ?, ?, ?)"

// write stores the block.
func (b *block) write(exec func(text string, args ...any) (sql.Result, error)) error {
	list := appendRecords(nil, b.records)
	if _, err := exec(insertBlock, b.number, sumOfBlock(b.number, list, b.rows), list, b.rows); err != nil {
		return fmt.Errorf("write vectors: %w", err)
	}
	return nil
}

// without takes the rows of some records out.
func (b *block) without(gone map[int64]bool) {
	kept, rows, rest := b.records[:0], make([]byte, 0, len(b.rows)), b.rows
	for _, record := range b.records {
		row := quantized.Cut(rest)
		rest = rest[len(row):]
		if !gone[record] {
			kept, rows = append(kept, record), append(rows, row...)
		}
	}
	b.records, b.rows = kept, rows
}

// readBlock reads a block. It returns nil for one that is not there, or is not what
// was written.
func readBlock(ctx context.Context, q database.Querier, number int64) (*block, error) {
	return oneBlock(q.QueryRowContext(ctx, "SELECT block, sum, records, rows FROM vector_blocks WHERE block=?", number))
}

// lastBlock reads the last block of a space, as readBlock does, and returns its
// number, or that before the first.
func lastBlock(ctx context.Context, q database.Querier, space int64) (b *block, number int64, err error) {
	err = q.QueryRowContext(ctx, "SELECT coalesce(max(block), ?-1) FROM vector_blocks WHERE block>=? AND block<?", space*spaceBlocks, space*spaceBlocks, (space+1)*spaceBlocks).Scan(&number)
	if err != nil {
		return nil, 0, fmt.Errorf("look for the last vectors: %w", database.Classify(err))
	}
	b, err = readBlock(ctx, q, number)
	return b, number, err
}

func oneBlock(row *sql.Row) (*block, error) {
	var sum int64
	var list []byte
	b := &block{}
	err := row.Scan(&b.number, &sum, &list, &b.rows)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read vectors: %w", database.Classify(err))
	}
	var ok bool
	if b.records, ok = readRecords(nil, list); !ok || sum != sumOfBlock(b.number, list, b.rows) {
		return nil, nil
	}
	return b, nil
}

// namedVector is a row of vector_rows: which block has the vector of a record.
type namedVector struct{ record, space, block int64 }

// namedVectors lists those that meet a condition over vector_rows, by block.
func namedVectors(ctx context.Context, q database.Querier, condition string, args ...any) (list []namedVector, err error) {
	return database.All(ctx, database.For(q, "look up vectors"), func(v *namedVector) []any { return []any{&v.record, &v.space, &v.block} },
		"SELECT record, space, block FROM vector_rows WHERE "+condition+" ORDER BY block", args...)
}

// Remove takes the vectors out of their blocks that meet a condition over
// vector_rows, and their names away.
func Remove(ctx context.Context, tx *sql.Tx, condition string, args ...any) error {
	list, err := namedVectors(ctx, tx, condition, args...)
	if err != nil || len(list) == 0 {
		return err
	}
	if _, err := tx.ExecContext(ctx, "DELETE FROM vector_rows WHERE "+condition, args...); err != nil {
		return fmt.Errorf("delete vectors: %w", err)
	}
	for len(list) > 0 {
		number, gone := list[0].block, map[int64]bool{}
		for len(list) > 0 && list[0].block == number {
			gone[list[0].record], list = true, list[1:]
		}
		if err := shortenBlock(ctx, tx, number, gone); err != nil {
			return err
		}
	}
	return nil
}

// shortenBlock takes rows out of a block. Of one that is not what was written
// nothing stays.
func shortenBlock(ctx context.Context, tx *sql.Tx, number int64, gone map[int64]bool) error {
	b, err := readBlock(ctx, tx, number)
	if err != nil {
		return err
	}
	if b == nil {
		_, err := dropBlocks(ctx, tx, []int64{number})
		return err
	}
	if b.without(gone); len(b.records) == 0 {
		_, err := tx.ExecContext(ctx, "DELETE FROM vector_blocks WHERE block=?", number)
		return err
	}
	return b.write(func(text string, args ...any) (sql.Result, error) { return tx.ExecContext(ctx, text, args...) })
}

// dropBlocks deletes blocks, and makes the records pending that have a vector in
// them. It returns how many these are.
func dropBlocks(ctx context.Context, tx *sql.Tx, numbers []int64) (lost int, err error) {
	in := " IN " + database.List(numbers)
	for _, statement := range []string{
		`INSERT OR IGNORE INTO pending (model, agent, record, tries, reason)
			SELECT s.model, s.agent, v.record, 0, '' FROM vector_rows v JOIN vector_spaces s ON s.space=v.space WHERE v.block` + in,
		"DELETE FROM vector_blocks WHERE block" + in,
		"DELETE FROM vector_rows WHERE block" + in,
	} {
		result, err := tx.ExecContext(ctx, statement)
		if err != nil {
			return 0, fmt.Errorf("drop damaged vectors: %w", err)
		}
		n, err := result.RowsAffected()
		if err != nil {
			return 0, err
		}
		lost = int(n)
	}
	return lost, nil
}
