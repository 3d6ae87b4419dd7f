package memory

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"fmt"
	"math"
)

// sumOf is the checksum of a record: of its text and of all that is stored of
// it. It is the beginning of a SHA-256, so that no two kinds of damage cancel
// each other out.
func sumOf(r Record) int64 {
	b := make([]byte, 0, len(r.Text)+len(r.ArchivePath)+512)
	for _, text := range []string{r.ID, r.Text, r.Category, r.Runtime, r.Agent, r.Session, r.Key, r.Archive, r.ArchivePath, r.Branch} {
		b = binary.AppendUvarint(b, uint64(len(text)))
		b = append(b, text...)
	}
	for _, n := range []int64{int64(math.Float64bits(r.Importance)), r.CreatedAt, int64(r.FirstLine), int64(r.LastLine), r.FirstByte, r.EndByte, int64(r.Position)} {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	sum := sha256.Sum256(b)
	return int64(binary.LittleEndian.Uint64(sum[:8]))
}

// recordColumns are columns, and the checksum that belongs to them: NULL in a
// memory of version 1, whose records have none.
func (s *Store) recordColumns() string {
	if s.HasChecksums() {
		return columns + ", r.sum"
	}
	return columns + ", NULL"
}

// stored is a record as it was read, and its checksum.
type stored struct {
	Record
	sum sql.NullInt64
}

// fields are where recordColumns are read to.
func (x *stored) fields() []any { return append(x.Record.fields(), &x.sum) }

// sound says whether the record is what was stored. A record without a checksum
// is taken for sound.
func (x *stored) sound() bool { return !x.sum.Valid || x.sum.Int64 == sumOf(x.Record) }

// summedPage is how many records are held while checksums are made or checked.
const summedPage = 256

// readAfter returns up to summedPage records that meet a condition, after a row.
// The rows are those of the records.
func (s *Store) readAfter(ctx context.Context, q querier, after int64, condition string, args []any) (list []stored, rows []int64, err error) {
	found, err := q.QueryContext(ctx, "SELECT r.rowid, "+s.recordColumns()+" FROM records r JOIN texts t ON t.record=r.rowid WHERE r.rowid>? AND ("+condition+") ORDER BY r.rowid LIMIT ?",
		append(append([]any{after}, args...), summedPage)...)
	if err != nil {
		return nil, nil, fmt.Errorf("read records: %w", classifyError(err))
	}
	defer found.Close()
	for found.Next() {
		var x stored
		var row int64
		if err := found.Scan(append([]any{&row}, x.fields()...)...); err != nil {
			return nil, nil, fmt.Errorf("read records: %w", classifyError(err))
		}
		list, rows = append(list, x), append(rows, row)
	}
	return list, rows, classifyError(found.Err())
}

// sumRecords gives records their checksums, those that meet a condition over
// records r. It returns how many.
func (s *Store) sumRecords(ctx context.Context, tx *sql.Tx, condition string, args []any) (n int, err error) {
	for after := int64(0); ; {
		list, rows, err := s.readAfter(ctx, tx, after, condition, args)
		if err != nil || len(list) == 0 {
			return n, err
		}
		for i, x := range list {
			if _, err := tx.ExecContext(ctx, "UPDATE records SET sum=? WHERE rowid=?", sumOf(x.Record), rows[i]); err != nil {
				return n, fmt.Errorf("store checksums: %w", err)
			}
		}
		n, after = n+len(list), rows[len(rows)-1]
	}
}

// unsound counts the records whose checksum does not hold, and names the first
// few by id.
func (s *Store) unsound(ctx context.Context, q querier) (n int, ids []string, err error) {
	for after := int64(0); ; {
		list, rows, err := s.readAfter(ctx, q, after, "1=1", nil)
		if err != nil || len(list) == 0 {
			return n, ids, err
		}
		for i := range list {
			if list[i].sound() {
				continue
			}
			if n++; len(ids) < shownIDs {
				ids = append(ids, list[i].ID)
			}
		}
		after = rows[len(rows)-1]
	}
}

// shownIDs is how many damaged records are named; the rest is counted.
const shownIDs = 3
