package memory

import (
	"cmp"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// newRows writes unit rows to two files in turn and returns their places, and
// the vectors as they are kept.
func newRows(t testing.TB, dir string, rows [][]float32) (places []place, kept [][]float32) {
	t.Helper()
	files := [2][]byte{}
	for i, x := range rows {
		row, at, err := encodeRows([]Vector{{Values: x}}, len(x))
		if err != nil {
			t.Fatal(err)
		}
		places = append(places, place{
			record: int64(i + 1), file: filepath.Join(dir, []string{"a", "b"}[i%2]+packedSuffix),
			slot: int64(len(files[i%2]) / slotBytes), crc: at[0].crc, importance: float64(i%7) / 7,
		})
		files[i%2] = append(files[i%2], row...)
		vector := make([]float32, len(x))
		if !formatOf("", len(x)).decode(row, vector) {
			t.Fatal("not a row")
		}
		kept = append(kept, vector)
	}
	for k, name := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(dir, name+packedSuffix), files[k], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return places, kept
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
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		dim := rapid.SampledFrom([]int{1, 3, 16, 33}).Draw(rt, "dim")
		count := rapid.IntRange(0, 2600).Draw(rt, "rows")
		variety := rapid.IntRange(1, 2600).Draw(rt, "variety")
		n := rapid.SampledFrom([]int{1, 5, 100, 3000}).Draw(rt, "n")
		rows := make([][]float32, count)
		for i := range rows {
			if i < variety {
				rows[i] = unit(random, dim)
				continue
			}
			rows[i] = rows[random.IntN(variety)]
		}
		places, rows := newRows(t, dir, rows)
		random.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
		query := unit(random, dim)
		want := plainly(query, rows, n)
		for name, e := range map[string]engine{"chromem": chromemEngine{}, "scan": scanEngine{}} {
			got, err := nearest(context.Background(), e, &rowReader{dim: dim}, vectorQuery{query, places, n})
			if err != nil {
				rt.Fatal(err)
			}
			if len(got)+len(want) > 0 && !slices.Equal(got, want) {
				rt.Fatalf("%s: %s", name, gocmp.Diff(want, got, gocmp.AllowUnexported(scored{})))
			}
		}
	})
}

// A row that is damaged, beyond the end of its file, or whose file is missing,
// is passed over and counted; the others are found.
func TestDamagedRowsArePassedOver(t *testing.T) {
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(3, 4))
	rows := make([][]float32, 40)
	for i := range rows {
		rows[i] = unit(random, 8)
	}
	places, rows := newRows(t, dir, rows)
	raw, err := os.ReadFile(places[0].file)
	if err != nil {
		t.Fatal(err)
	}
	raw[places[6].slot*slotBytes+rowHeader] ^= 1                                  // a number of record 7
	if err := os.WriteFile(places[0].file, raw[:len(raw)-1], 0o600); err != nil { // and the last is record 39
		t.Fatal(err)
	}
	lost := append(slices.Clone(places), place{record: 99, file: filepath.Join(dir, "missing"+packedSuffix)})
	for name, e := range map[string]engine{"chromem": chromemEngine{}, "scan": scanEngine{}} {
		reader := &rowReader{dim: 8}
		got, err := nearest(context.Background(), e, reader, vectorQuery{rows[0], lost, 100})
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != 38 || reader.damaged != 3 {
			t.Errorf("%s: %d rows, %d damaged", name, len(got), reader.damaged)
		}
		for _, x := range got {
			if x.record == 7 || x.record == 39 || x.record == 99 {
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
	places, rows := newRows(t, t.TempDir(), rows)
	query := unit(random, 12)
	var want []scored
	for i, p := range places {
		c := dot(query, rows[i])
		want = append(want, scored{p.record, c, 0.7*c + 0.3*p.importance})
	}
	slices.SortFunc(want, func(x, y scored) int { return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(x.record, y.record)) })
	got, err := highest(context.Background(), &rowReader{dim: 12}, vectorQuery{query, places, 50})
	if err != nil {
		t.Fatal(err)
	}
	if d := gocmp.Diff(want[:50], got, gocmp.AllowUnexported(scored{})); d != "" {
		t.Fatal(d)
	}
}

func TestAgentsNeverShareAFile(t *testing.T) {
	seen := map[string]string{}
	for _, agent := range []string{"a", "A", "a/b", "a_b", "../x", "", "é", "è"} {
		name := safeName(agent)
		if other, ok := seen[name]; ok {
			t.Errorf("%q and %q are both %s", agent, other, name)
		}
		seen[name] = agent
		if filepath.Base(name) != name || name == "." || name == ".." {
			t.Errorf("%q gives %q", agent, name)
		}
	}
}
