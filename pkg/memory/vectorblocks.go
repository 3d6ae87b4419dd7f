package memory

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/sessctl/sessctl/pkg/memory/database"
)

// Vectors are kept as packed rows (see rows.go), up to blockVectors of them one
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

// inSpace is the condition under which a block b is of a space s, and hasVectors that
// under which there is one.
const (
	inSpace    = "b.block>=s.space*4294967296 AND b.block<(s.space+1)*4294967296"
	hasVectors = "EXISTS (SELECT 1 FROM vector_blocks b WHERE " + inSpace + ")"
)

// vectorBlock is a block that was read or is filled.
type vectorBlock struct {
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
	sum := crc32.Update(crc32.Checksum(head[:], castagnoli()), castagnoli(), list)
	return int64(int32(crc32.Update(sum, castagnoli(), rows))) // with a sign it is shorter
}

const insertBlock = "INSERT OR REPLACE INTO vector_blocks (block, sum, records, rows) VALUES (?, ?, ?, ?)"

// write stores the block.
func (b *vectorBlock) write(exec func(text string, args ...any) (sql.Result, error)) error {
	list := appendRecords(nil, b.records)
	if _, err := exec(insertBlock, b.number, sumOfBlock(b.number, list, b.rows), list, b.rows); err != nil {
		return fmt.Errorf("write vectors: %w", err)
	}
	return nil
}

// without takes the rows of some records out.
func (b *vectorBlock) without(gone map[int64]bool) {
	kept, rows, rest := b.records[:0], make([]byte, 0, len(b.rows)), b.rows
	for _, record := range b.records {
		row := cutRow(rest)
		rest = rest[len(row):]
		if !gone[record] {
			kept, rows = append(kept, record), append(rows, row...)
		}
	}
	b.records, b.rows = kept, rows
}

// readBlock reads a block. It returns nil for one that is not there, or is not what
// was written.
func readBlock(ctx context.Context, q database.Querier, number int64) (*vectorBlock, error) {
	return oneBlock(q.QueryRowContext(ctx, "SELECT block, sum, records, rows FROM vector_blocks WHERE block=?", number))
}

// lastBlock reads the last block of a space, as readBlock does, and returns its
// number, or that before the first.
func lastBlock(ctx context.Context, q database.Querier, space int64) (b *vectorBlock, number int64, err error) {
	err = q.QueryRowContext(ctx, "SELECT coalesce(max(block), ?-1) FROM vector_blocks WHERE block>=? AND block<?", space*spaceBlocks, space*spaceBlocks, (space+1)*spaceBlocks).Scan(&number)
	if err != nil {
		return nil, 0, fmt.Errorf("look for the last vectors: %w", database.Classify(err))
	}
	b, err = readBlock(ctx, q, number)
	return b, number, err
}

func oneBlock(row *sql.Row) (*vectorBlock, error) {
	var sum int64
	var list []byte
	b := &vectorBlock{}
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
	rows, err := q.QueryContext(ctx, "SELECT record, space, block FROM vector_rows WHERE "+condition+" ORDER BY block", args...)
	if err != nil {
		return nil, fmt.Errorf("look up vectors: %w", database.Classify(err))
	}
	defer rows.Close()
	for rows.Next() {
		var v namedVector
		if err := rows.Scan(&v.record, &v.space, &v.block); err != nil {
			return nil, fmt.Errorf("look up vectors: %w", database.Classify(err))
		}
		list = append(list, v)
	}
	return list, database.Classify(rows.Err())
}

// removeVectors takes the vectors out of their blocks that meet a condition over
// vector_rows.
func removeVectors(ctx context.Context, tx *sql.Tx, condition string, args ...any) error {
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

// dropSpaces deletes the spaces s that meet a condition, with their vectors.
func dropSpaces(ctx context.Context, tx *sql.Tx, condition string, args ...any) error {
	spaces, err := database.Numbers(ctx, tx, "SELECT s.space FROM vector_spaces s WHERE "+condition, args...)
	if err != nil {
		return fmt.Errorf("list vectors: %w", err)
	}
	for _, space := range spaces {
		if _, err := tx.ExecContext(ctx, "DELETE FROM vector_blocks WHERE block>=? AND block<?", space*spaceBlocks, (space+1)*spaceBlocks); err != nil {
			return fmt.Errorf("delete vectors: %w", err)
		}
	}
	for _, table := range []string{"vector_rows", "vector_spaces"} {
		if _, err := tx.ExecContext(ctx, "DELETE FROM "+table+" WHERE space IN "+database.List(spaces)); err != nil {
			return fmt.Errorf("delete vectors: %w", err)
		}
	}
	return nil
}

// vectorSpace are the vectors of an agent and model.
type vectorSpace struct {
	space   int64
	dim     int
	checked int64 // epoch milliseconds of the last check of every vector
}

// vectorSpaces lists the spaces s that meet a condition, by agent.
func vectorSpaces(ctx context.Context, q database.Querier, condition string, args ...any) (list []vectorSpace, err error) {
	rows, err := q.QueryContext(ctx, "SELECT s.space, m.dim, s.checked FROM vector_spaces s JOIN models m ON m.fingerprint=s.model WHERE "+condition+" ORDER BY s.agent, s.model", args...)
	if err != nil {
		return nil, fmt.Errorf("list vectors: %w", database.Classify(err))
	}
	defer rows.Close()
	for rows.Next() {
		var s vectorSpace
		if err := rows.Scan(&s.space, &s.dim, &s.checked); err != nil {
			return nil, fmt.Errorf("list vectors: %w", database.Classify(err))
		}
		list = append(list, s)
	}
	return list, database.Classify(rows.Err())
}

// spaceCheck is what was found in the blocks of a space.
type spaceCheck struct {
	lost    int     // vectors that have a name and are not what was stored
	strange int     // rows that have no name
	blocks  []int64 // that have some of these, or are not what was written
}

// check compares all rows of a space with their names.
func (s *vectorSpace) check(ctx context.Context, q database.Querier) (c spaceCheck, err error) {
	named, err := s.names(ctx, q)
	if err != nil {
		return c, err
	}
	rows, err := q.QueryContext(ctx, "SELECT block, sum, records, rows FROM vector_blocks WHERE block>=? AND block<? ORDER BY block", s.space*spaceBlocks, (s.space+1)*spaceBlocks)
	if err != nil {
		return c, fmt.Errorf("read vectors: %w", database.Classify(err))
	}
	defer rows.Close()
	vector := make([]float32, s.dim)
	for rows.Next() {
		var number, sum int64
		var list, data sql.RawBytes
		if err := rows.Scan(&number, &sum, &list, &data); err != nil {
			return c, fmt.Errorf("read vectors: %w", database.Classify(err))
		}
		records, ok := readRecords(nil, list)
		ok = ok && sum == sumOfBlock(number, list, data)
		for _, record := range records {
			row := cutRow(data)
			data = data[len(row):]
			crc, known := named[namedVector{record: record, block: number}]
			switch {
			case !known:
				c.strange++
				ok = false
			case row == nil || crc != crc32.Checksum(row, castagnoli()) || !decodeRow(row, vector):
				ok = false
			default:
				delete(named, namedVector{record: record, block: number})
			}
		}
		if !ok || len(data) > 0 {
			c.blocks = append(c.blocks, number)
		}
	}
	for v := range named {
		c.lost++
		if !slices.Contains(c.blocks, v.block) {
			c.blocks = append(c.blocks, v.block)
		}
	}
	return c, database.Classify(rows.Err())
}

// names are the checksums of the rows that have a name.
func (s *vectorSpace) names(ctx context.Context, q database.Querier) (map[namedVector]uint32, error) {
	rows, err := q.QueryContext(ctx, "SELECT record, block, crc & 4294967295 FROM vector_rows WHERE space=?", s.space)
	if err != nil {
		return nil, fmt.Errorf("list vectors: %w", database.Classify(err))
	}
	defer rows.Close()
	named := map[namedVector]uint32{}
	for rows.Next() {
		var v namedVector
		var crc uint32
		if err := rows.Scan(&v.record, &v.block, &crc); err != nil {
			return nil, fmt.Errorf("list vectors: %w", database.Classify(err))
		}
		named[v] = crc
	}
	return named, database.Classify(rows.Err())
}
