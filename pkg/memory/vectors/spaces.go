package vectors

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory/database"
	"github.com/sessctl/sessctl/pkg/memory/quantized"
)

// Tables are those of vectors. The view vectors is what queries read that ask for the
// model or the agent.
const Tables = `
-- vector_spaces: the vectors of an agent and model
CREATE TABLE vector_spaces (
  space   INTEGER PRIMARY KEY,
  model   TEXT    NOT NULL REFERENCES models (fingerprint),
  agent   TEXT    NOT NULL,
  checked INTEGER NOT NULL, -- epoch milliseconds of the last check of every vector
  UNIQUE (model, agent)
) STRICT;
CREATE TABLE vector_blocks (
  block   INTEGER PRIMARY KEY, -- of a space: its number times 4294967296, and how many blocks came before
  sum     INTEGER NOT NULL, -- checksum of all else, see sumOfBlock
  records BLOB    NOT NULL, -- whose the rows are
  rows    BLOB    NOT NULL
) STRICT;
CREATE TABLE vector_rows (
  record INTEGER NOT NULL REFERENCES record_rows (record),
  space  INTEGER NOT NULL REFERENCES vector_spaces (space),
  block  INTEGER NOT NULL, -- that has the row
  crc    INTEGER NOT NULL, -- CRC-32C of the row, as a number with a sign: it is shorter
  PRIMARY KEY (record, space)
) STRICT, WITHOUT ROWID;
CREATE VIEW vectors AS SELECT s.model, s.agent, v.record, v.block, v.crc & 4294967295 AS crc
  FROM vector_rows v LEFT JOIN vector_spaces s ON s.space=v.space;
`

// InSpace is the condition under which a block b is of a space s.
const InSpace = "b.block>=s.space*4294967296 AND b.block<(s.space+1)*4294967296"

// hasVectors is the condition under which a space s has a block.
const hasVectors = "EXISTS (SELECT 1 FROM vector_blocks b WHERE " + InSpace + ")"

// Space are the vectors of an agent and model.
type Space struct {
	space   int64
	dim     int
	checked int64 // epoch milliseconds
}

// SpaceOf returns the vectors of an agent and model, nil if there are none.
func SpaceOf(ctx context.Context, q database.Querier, model embed.Model, agent string) (*Space, error) {
	list, err := listSpaces(ctx, q, "s.model=? AND s.agent=?", model.Fingerprint(), agent)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}

// blocks are the numbers of the first block of the space and of that behind its last.
func (s *Space) blocks() (first, end int64) {
	return s.space * spaceBlocks, (s.space + 1) * spaceBlocks
}

// Checked is when every vector was checked last.
func (s *Space) Checked() time.Time { return time.UnixMilli(s.checked) }

// Mend checks every vector, and makes the records pending again whose vector is not
// what was stored, and those beside it in its block. It returns how many.
func (s *Space) Mend(ctx context.Context, tx *sql.Tx) (lost int, err error) {
	found, err := s.check(ctx, tx)
	if err != nil {
		return 0, err
	}
	if len(found.blocks) > 0 {
		if lost, err = dropBlocks(ctx, tx, found.blocks); err != nil {
			return 0, err
		}
	}
	_, err = tx.ExecContext(ctx, "UPDATE vector_spaces SET checked=? WHERE space=?", time.Now().UnixMilli(), s.space)
	return lost, err
}

// Verify checks every vector against its name, and every block. It counts those that
// are lost or damaged, and the rows that nothing names or that lie in a block which is
// not what was written.
func Verify(ctx context.Context, q database.Querier) (lost, strange int, err error) {
	spaces, err := listSpaces(ctx, q, "1=1")
	for _, space := range spaces {
		found, err := space.check(ctx, q)
		if err != nil {
			return 0, 0, err
		}
		if found.lost == 0 && found.strange == 0 {
			found.strange = len(found.blocks)
		}
		lost, strange = lost+found.lost, strange+found.strange
	}
	return lost, strange, err
}

// listSpaces lists the spaces s that meet a condition, by agent.
func listSpaces(ctx context.Context, q database.Querier, condition string, args ...any) (list []Space, err error) {
	return database.All(ctx, database.For(q, "list vectors"), func(s *Space) []any { return []any{&s.space, &s.dim, &s.checked} },
		"SELECT s.space, m.dim, s.checked FROM vector_spaces s JOIN models m ON m.fingerprint=s.model WHERE "+condition+" ORDER BY s.agent, s.model", args...)
}

// spaceCheck is what was found in the blocks of a space.
type spaceCheck struct {
	lost    int     // vectors that have a name and are not what was stored
	strange int     // rows that have no name
	blocks  []int64 // that have some of these, or are not what was written
}

// check compares all rows of a space with their names.
func (s *Space) check(ctx context.Context, q database.Querier) (c spaceCheck, err error) {
	named, err := s.names(ctx, q)
	if err != nil {
		return c, err
	}
	first, end := s.blocks()
	rows, err := q.QueryContext(ctx, "SELECT block, sum, records, rows FROM vector_blocks WHERE block>=? AND block<? ORDER BY block", first, end)
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
			row := quantized.Cut(data)
			data = data[len(row):]
			crc, known := named[namedVector{record: record, block: number}]
			switch {
			case !known:
				c.strange++
				ok = false
			case row == nil || crc != quantized.Sum(row) || !quantized.Decode(row, vector):
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
func (s *Space) names(ctx context.Context, q database.Querier) (map[namedVector]uint32, error) {
	named := map[namedVector]uint32{}
	err := database.Each(ctx, database.For(q, "list vectors"), func(scan database.Scan) error {
		var v namedVector
		var crc uint32
		err := scan(&v.record, &v.block, &crc)
		named[v] = crc
		return err
	}, "SELECT record, block, crc & 4294967295 FROM vector_rows WHERE space=?", s.space)
	return named, err
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
