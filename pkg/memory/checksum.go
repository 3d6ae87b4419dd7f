package memory

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"math"

	"github.com/sessctl/sessctl/pkg/memory/database"
)

// sumOf is the checksum of a record: of its text and of all that is stored of
// it. It is the beginning of a SHA-256, so that no two kinds of damage cancel
// each other out.
func sumOf(r Record) int64 {
	b := appendTexts(make([]byte, 0, len(r.Text)+len(r.ArchivePath)+512), r.ID, r.Text, r.Category, r.Runtime, r.Agent, r.Session, r.Key, r.Archive, r.ArchivePath, r.Branch)
	for _, n := range []int64{int64(math.Float64bits(r.Importance)), r.CreatedAt, int64(r.FirstLine), int64(r.LastLine), r.FirstByte, r.EndByte, int64(r.Position)} {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	return sumOfBytes(b)
}

// sumOfFact is the checksum of what is stored of a fact beside its record.
func sumOfFact(f Fact) int64 {
	b := appendTexts(nil, f.ID, f.Kind, f.Quote, f.Speaker, f.Topic, f.Value, f.Instead, f.MadeBy, f.Successor)
	return sumOfBytes(binary.LittleEndian.AppendUint64(b, math.Float64bits(f.Confidence)))
}

// appendTexts appends texts so that none can be taken for a part of another.
func appendTexts(b []byte, texts ...string) []byte {
	for _, text := range texts {
		b = binary.AppendUvarint(b, uint64(len(text)))
		b = append(b, text...)
	}
	return b
}

func sumOfBytes(b []byte) int64 {
	sum := sha256.Sum256(b)
	return int64(binary.LittleEndian.Uint64(sum[:8]))
}

// recordColumns are columns, and the checksum that belongs to them.
const recordColumns = columns + ", r.sum"

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

// readAfter returns up to summedPage records after a row, and their rows.
func (s verification) readAfter(ctx context.Context, q database.Querier, after int64) (list []stored, rows []int64, err error) {
	err = database.Each(ctx, database.For(q, "read records"), func(scan database.Scan) error {
		var x stored
		var row int64
		err := scan(append([]any{&row}, x.fields()...)...)
		list, rows = append(list, x), append(rows, row)
		return err
	}, "SELECT r.rowid, "+recordColumns+" FROM records r JOIN texts t ON t.record=r.rowid WHERE r.rowid>? ORDER BY r.rowid LIMIT ?", after, summedPage)
	return list, rows, err
}

// unsound counts the records whose checksum does not hold, and names the first
// few by id.
func (s verification) unsound(ctx context.Context, q database.Querier) (n int, ids []string, err error) {
	for after := int64(0); ; {
		list, rows, err := s.readAfter(ctx, q, after)
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

// unsoundFacts counts the facts whose checksum does not hold.
func (s verification) unsoundFacts(ctx context.Context, q database.Querier) (n int, err error) {
	has, err := s.hasFacts(ctx)
	if err != nil || !has {
		return 0, err
	}
	facts, sums, err := readFacts(ctx, q)
	for i, f := range facts {
		if sums[i] != sumOfFact(f) {
			n++
		}
	}
	return n, err
}

// readFacts reads what is stored of all facts beside their records: facts are
// few. Of the records they have the id.
func readFacts(ctx context.Context, q database.Querier) (facts []Fact, sums []int64, err error) {
	err = database.Each(ctx, database.For(q, "read facts"), func(scan database.Scan) error {
		var f Fact
		var sum int64
		err := scan(f.fields(&sum)...)
		facts, sums = append(facts, f), append(sums, sum)
		return err
	}, selectFact)
	return facts, sums, err
}

// shownIDs is how many damaged records are named; the rest is counted.
const shownIDs = 3
