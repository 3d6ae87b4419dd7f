package memory

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sessctl/sessctl/internal/tier"
)

// newRows writes unit rows to blocks of a memory and returns their places, and the
// vectors as they are kept.
func newRows(t testing.TB, rows [][]float32) (s *Store, places []place, kept [][]float32) {
	t.Helper()
	s, err := Open(context.Background(), t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	b := &vectorBlock{number: spaceBlocks}
	err = s.inTransaction(context.Background(), func(tx *sql.Tx) error {
		exec := func(text string, args ...any) (sql.Result, error) { return tx.Exec(text, args...) }
		for i, x := range rows {
			row, sums, err := encodeRows([]Vector{{Values: x}}, len(x))
			if err != nil {
				return err
			}
			places = append(places, place{record: int64(i + 1), block: b.number, crc: sums[0], importance: float64(i%7) / 7})
			b.records, b.rows = append(b.records, int64(i+1)), append(b.rows, row[0]...)
			if len(b.records) == blockVectors || i == len(rows)-1 {
				if err := b.write(exec); err != nil {
					return err
				}
				b = &vectorBlock{number: b.number + 1}
			}
			vector := make([]float32, len(x))
			if !decodeRow(row[0], vector) {
				t.Fatal("not a row")
			}
			kept = append(kept, vector)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, places, kept
}

func unit(random *rand.Rand, dim int) []float32 {
	v := make([]float32, dim)
	for i := range v {
		v[i] = float32(random.NormFloat64())
	}
	return toUnit(v)
}

// plainly is the answer by a plain loop over what was written.
func plainly(query []float32, rows [][]float32, n int) []scored {
	var all []scored
	for i, row := range rows {
		c := dot(query, row)
		all = append(all, scored{int64(i + 1), c, c})
	}
	slices.SortFunc(all, func(x, y scored) int { return cmp.Or(cmp.Compare(y.cosine, x.cosine), cmp.Compare(x.record, y.record)) })
	return all[:min(n, len(all))]
}

// Property: both engines give exactly the answer of a plain loop, however many
// rows are equal: same records, same order, same cosines.
func TestEnginesAgree(t *testing.T) {
	most := 2600
	if tier.Smoke() {
		most /= 4
	}
	rapid.Check(t, func(rt *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		dim := rapid.SampledFrom([]int{1, 3, 16, 33}).Draw(rt, "dim")
		count := rapid.IntRange(0, most).Draw(rt, "rows")
		variety := rapid.IntRange(1, most).Draw(rt, "variety")
		n := rapid.SampledFrom([]int{1, 5, 100, 3000}).Draw(rt, "n")
		rows := make([][]float32, count)
		for i := range rows {
			if i < variety {
				rows[i] = unit(random, dim)
				continue
			}
			rows[i] = rows[random.IntN(variety)]
		}
		s, places, rows := newRows(t, rows)
		defer s.Close()
		random.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
		query := unit(random, dim)
		want := plainly(query, rows, n)
		for name, e := range map[string]engine{"chromem": chromemEngine{}, "scan": scanEngine{}} {
			got, err := nearest(context.Background(), e, &rowReader{q: s.db, dim: dim}, vectorQuery{query, places, n})
			if err != nil {
				rt.Fatal(err)
			}
			if len(got)+len(want) > 0 && !slices.Equal(got, want) {
				rt.Fatalf("%s: %s", name, gocmp.Diff(want, got, gocmp.AllowUnexported(scored{})))
			}
		}
	})
}

// A row that is damaged, beyond the end of its block, or whose block is missing, is
// passed over and counted; the others are found.
func TestDamagedRowsArePassedOver(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	rows := make([][]float32, 40)
	for i := range rows {
		rows[i] = unit(random, 8)
	}
	s, places, rows := newRows(t, rows)
	b, err := readBlock(t.Context(), s.db, spaceBlocks)
	if err != nil || b == nil {
		t.Fatal(b, err)
	}
	size := len(b.rows) / len(rows)
	b.rows[6*size+rowHeader] ^= 1 // a number of record 7; and the last is record 40
	if _, err := s.db.Exec("UPDATE vector_blocks SET rows=?", b.rows[:len(b.rows)-1]); err != nil {
		t.Fatal(err)
	}
	if b, err := readBlock(t.Context(), s.db, spaceBlocks); b != nil || err != nil {
		t.Errorf("a damaged block is taken for sound (%v)", err)
	}
	lost := append(slices.Clone(places), place{record: 99, block: spaceBlocks + 9}, place{record: 98, block: spaceBlocks})
	for name, e := range map[string]engine{"chromem": chromemEngine{}, "scan": scanEngine{}} {
		reader := &rowReader{q: s.db, dim: 8}
		got, err := nearest(context.Background(), e, reader, vectorQuery{rows[0], lost, 100})
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != 38 || reader.damaged != 4 {
			t.Errorf("%s: %d rows, %d damaged", name, len(got), reader.damaged)
		}
		for _, x := range got {
			if x.record == 7 || x.record == 40 || x.record > 90 {
				t.Errorf("%s: record %d has no row that verifies", name, x.record)
			}
		}
	}
}

// RankSeed looks at every row, not only at the nearest.
func TestHighestIsExact(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	rows := make([][]float32, 3000)
	for i := range rows {
		rows[i] = unit(random, 12)
	}
	s, places, rows := newRows(t, rows)
	query := unit(random, 12)
	var want []scored
	for i, p := range places {
		c := dot(query, rows[i])
		want = append(want, scored{p.record, c, 0.7*c + 0.3*p.importance})
	}
	slices.SortFunc(want, func(x, y scored) int { return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(x.record, y.record)) })
	got, err := highest(context.Background(), &rowReader{q: s.db, dim: 12}, vectorQuery{query, places, 50})
	if err != nil {
		t.Fatal(err)
	}
	if d := gocmp.Diff(want[:50], got, gocmp.AllowUnexported(scored{})); d != "" {
		t.Fatal(d)
	}
}

// Whatever is stored and deleted, and in what order: each vector that is named is
// found in its block, no block has more than it may, and none has another one.
func TestBlocksHaveWhatIsNamed(t *testing.T) {
	ctx, d := t.Context(), drawn{16}
	s := sweptMemory(t, t.TempDir(), d, 700, 700)
	defer s.Close()
	for round := range 6 {
		if _, err := s.Withdraw(ctx, Withdrawal{Runtime: "pi", Agent: "a", Session: "s0", From: []string{""}}); err != nil {
			t.Fatal(err)
		}
		_, err := s.Forget(ctx, Selection{IDs: []string{fmt.Sprint("id", 500+round), fmt.Sprint("id", 600+7*round)}})
		if err != nil {
			t.Fatal(err)
		}
		var vectors []Vector
		records := func(yield func(Record, error) bool) {
			for i := range 100 + 30*round {
				id := fmt.Sprint("again", i)
				text := fmt.Sprintf("no%d word%d in round %d", i, i%5, round*(i%2))
				v, _ := d.EmbedQuery(ctx, text)
				vectors = append(vectors, Vector{ID: id, Values: v})
				if !yield(Record{ID: id, Text: text, Category: "session_history", CreatedAt: int64(i), Position: i}, nil) {
					return
				}
			}
		}
		if _, err := s.Put(ctx, Source{Runtime: "pi", Agent: "a", Session: "again"}, iter.Seq2[Record, error](records)); err != nil {
			t.Fatal(err)
		}
		if err := s.PutVectors(ctx, d.model(), "a", vectors, nil); err != nil {
			t.Fatal(err)
		}
		mustVerify(t, s)
		for _, n := range tableOf(t, s, "SELECT length(records) FROM vector_blocks WHERE length(rows)>64*40") {
			t.Errorf("a block has a list of %s bytes", n)
		}
	}
	if few := tableOf(t, s, "SELECT count(*)<=20 FROM vector_blocks"); few[0] != "1" {
		t.Error("more than 20 blocks for less than 900 vectors")
	}
}
