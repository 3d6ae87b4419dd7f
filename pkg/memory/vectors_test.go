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
	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory/quantized"
	"github.com/sessctl/sessctl/pkg/memory/vectors"
)

// ofDim is a model that makes vectors of a dimension.
func ofDim(dim int) embed.Model { return embed.Model{Provider: "test", Name: "rows", Dim: dim} }

// newRows stores unit vectors, that of record 1 first, and returns them as they are
// kept. There are more records, which have none.
func newRows(t testing.TB, more int, list [][]float32) (s *Store, kept [][]float32) {
	t.Helper()
	s, err := Open(context.Background(), t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	err = s.inTransaction(context.Background(), func(tx *sql.Tx) error {
		_, err := tx.Exec(`INSERT INTO sources VALUES (1, 'session_history', 'pi', 'a', 's', '', '', '', 'active');
			WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<?)
			INSERT INTO record_rows SELECT i, 'id'||i, 1, ((i-1)%7)/7.0, i, 0, 0, 0, 0, i, 0 FROM n WHERE i<=?1`, len(list)+more)
		if err != nil || len(list) == 0 {
			return err
		}
		w, err := vectors.NewWriter(context.Background(), tx, ofDim(len(list[0])), "a")
		if err != nil {
			return err
		}
		for i, row := range packed(t, list...) {
			if err := w.Add(int64(i+1), row); err != nil {
				return err
			}
			vector := make([]float32, len(list[i]))
			if !quantized.Decode(row, vector) {
				t.Fatal("not a row")
			}
			kept = append(kept, vector)
		}
		return w.Flush()
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, kept
}

// everything is a scope of all records.
func everything(sweep bool) vectors.Scope {
	return vectors.Scope{Condition: "1=1", Unfiltered: sweep, First: 100}
}

// nearestTo asks for the n records of a scope that are nearest.
func nearestTo(t interface{ Fatal(...any) }, s *Store, scope vectors.Scope, query []float32, n int) (found []vectors.Scored, x *vectors.Search) {
	x = vectors.NewSearch(s.db, ofDim(len(query)))
	has, err := x.Within(context.Background(), scope)
	if err == nil && has {
		has, err = x.Compare(context.Background(), query)
	}
	if err == nil && has {
		found, err = x.Nearest(context.Background(), n)
	}
	if err != nil {
		t.Fatal(err)
	}
	return found, x
}

func unit(random *rand.Rand, dim int) []float32 {
	v := make([]float32, dim)
	for i := range v {
		v[i] = float32(random.NormFloat64())
	}
	return quantized.Unit(v)
}

// plainly is the answer by a plain loop over what was written.
func plainly(rows [][]float32, n int, score func(i int) float64, query []float32) []vectors.Scored {
	all := make([]int, len(rows))
	for i := range all {
		all[i] = i
	}
	slices.SortFunc(all, func(x, y int) int { return cmp.Or(cmp.Compare(score(y), score(x)), cmp.Compare(x, y)) })
	best := make([]vectors.Scored, min(n, len(rows)))
	for i := range best {
		best[i] = vectors.Scored{Key: int64(all[i] + 1), Cosine: quantized.Dot(query, rows[all[i]])}
	}
	return best
}

// Property: small memories, which chromem-go answers, larger ones, and those that are
// swept give exactly the answer of a plain loop, however many rows are equal: same
// records, same order, same cosines.
func TestEnginesAgree(t *testing.T) {
	few, many := rapid.IntRange(0, 1000), rapid.IntRange(1001, 2600)
	if tier.Smoke() {
		few, many = rapid.IntRange(0, 400), rapid.IntRange(1001, 1300)
	}
	rapid.Check(t, func(rt *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		dim := rapid.SampledFrom([]int{1, 3, 16, 33}).Draw(rt, "dim")
		count := rapid.OneOf(few, few, many).Draw(rt, "rows")
		variety := rapid.IntRange(1, max(count, 1)).Draw(rt, "variety")
		n := rapid.SampledFrom([]int{1, 5, 100, 3000}).Draw(rt, "n")
		rows := make([][]float32, count)
		for i := range rows {
			if i < variety {
				rows[i] = unit(random, dim)
				continue
			}
			rows[i] = rows[random.IntN(variety)]
		}
		s, rows := newRows(t, 0, rows)
		defer s.Close()
		query := unit(random, dim)
		want := plainly(rows, n, func(i int) float64 { return quantized.Dot(query, rows[i]) }, query)
		for _, sweep := range []bool{false, true} {
			if got, _ := nearestTo(rt, s, everything(sweep), query, n); len(got)+len(want) > 0 && !slices.Equal(got, want) {
				rt.Fatalf("sweep is %v: %s", sweep, gocmp.Diff(want, got))
			}
		}
	})
}

// A row that is damaged, beyond the end of its block, or whose block is missing, is
// passed over and counted; the others are found, by either engine. Nothing is added to
// a block that is damaged.
func TestDamagedRowsArePassedOver(t *testing.T) {
	const inBlock, block = 64, 1 << 32
	random := rand.New(rand.NewPCG(3, 4))
	for _, count := range []int{40, 1100} {
		list := make([][]float32, count)
		for i := range list {
			list[i] = unit(random, 8)
		}
		s, kept := newRows(t, 3, list)
		var data []byte
		if err := s.db.QueryRow("SELECT rows FROM vector_blocks WHERE block=?", block).Scan(&data); err != nil {
			t.Fatal(err)
		}
		last := min(count, inBlock)
		data[6*len(data)/last+16] ^= 1 // a number of record 7; and the last of the block is cut
		missing, unlisted := int64(count+1), int64(count+2)
		for _, err := range []error{
			second(s.db.Exec("UPDATE vector_blocks SET rows=? WHERE block=?", data[:len(data)-1], block)),
			second(s.db.Exec("INSERT INTO vector_rows VALUES (?, 1, ?, 0), (?, 1, ?, 0)", missing, block+99, unlisted, block)),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		got, x := nearestTo(t, s, everything(false), kept[0], count+100)
		if len(got) != count-2 || x.Damaged() != 4 {
			t.Errorf("%d rows, %d damaged", len(got), x.Damaged())
		}
		for _, f := range got {
			if f.Key == 7 || f.Key == int64(last) || f.Key > int64(count) {
				t.Errorf("record %d has no row that verifies", f.Key)
			}
		}
		before := tableOf(t, s, "SELECT hex(rows) FROM vector_blocks WHERE block=4294967296")
		if err := s.PutVectors(t.Context(), ofDim(8), "a", []Vector{{ID: fmt.Sprint("id", count+3), Values: kept[0]}}, nil); err != nil {
			t.Fatal(err)
		}
		if after := tableOf(t, s, "SELECT hex(rows) FROM vector_blocks WHERE block=4294967296"); !slices.Equal(before, after) {
			t.Error("a damaged block is taken for sound")
		}
	}
}

func second(_ any, err error) error { return err }

// RankSeed looks at every row, not only at the nearest.
func TestHighestIsExact(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	rows := make([][]float32, 3000)
	for i := range rows {
		rows[i] = unit(random, 12)
	}
	s, rows := newRows(t, 0, rows)
	query := unit(random, 12)
	scope := everything(true)
	scope.Score = func(cosine, importance float64) float64 { return 0.7*cosine + 0.3*importance }
	want := plainly(rows, 50, func(i int) float64 { return scope.Score(quantized.Dot(query, rows[i]), float64(i%7)/7) }, query)
	got, x := nearestTo(t, s, scope, query, 50)
	if d := gocmp.Diff(want, got); d != "" || x.Sweeps() {
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
		var list []Vector
		records := func(yield func(Record, error) bool) {
			for i := range 100 + 30*round {
				id := fmt.Sprint("again", i)
				text := fmt.Sprintf("no%d word%d in round %d", i, i%5, round*(i%2))
				v, _ := d.EmbedQuery(ctx, text)
				list = append(list, Vector{ID: id, Values: v})
				if !yield(Record{ID: id, Text: text, Category: "session_history", CreatedAt: int64(i), Position: i}, nil) {
					return
				}
			}
		}
		if _, err := s.Put(ctx, Source{Runtime: "pi", Agent: "a", Session: "again"}, iter.Seq2[Record, error](records)); err != nil {
			t.Fatal(err)
		}
		if err := s.PutVectors(ctx, d.model(), "a", list, nil); err != nil {
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
