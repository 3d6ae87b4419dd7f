package memory

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/viterin/vek/vek32"
	"pgregory.net/rapid"

	"github.com/sessctl/sessctl/pkg/embed"
)

// sparse is a unit vector of which a share is not 0, and one component may be
// much larger than all others.
func sparse(random *rand.Rand, dim int, share float64, slack bool) []float32 {
	v := make([]float32, dim)
	for i := range v {
		if random.Float64() < share || i >= dim*9/10 {
			v[i] = float32(random.NormFloat64())
		}
	}
	v[random.IntN(dim)] = 1
	if slack {
		v[random.IntN(dim)] = 30
	}
	return toUnit(v)
}

// Property: a row stands for a unit vector near to the one that it was made of,
// and is compared with a query as that vector would be, to within slack,
// however many components are 0.
func TestRowsAreCompared(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		dim := rapid.SampledFrom([]int{1, 7, 8, 63, 64, 65, 100, 384, 768, 1024, 1536}).Draw(rt, "dim")
		share := rapid.SampledFrom([]float64{0, 0.05, 0.3, 1}).Draw(rt, "share")
		unit := sparse(random, dim, share, rapid.Bool().Draw(rt, "slack"))
		rows, sums, err := encodeRows([]Vector{{Values: unit}, {Values: unit}}, dim)
		if err != nil {
			rt.Fatal(err)
		}
		row := cutRow(slices.Concat(rows...))
		if !slices.Equal(row, rows[0]) || !slices.Equal(row, rows[1]) || sums[0] != sums[1] || len(row) > rowHeader+dim+dim/8+16 {
			rt.Fatalf("a row of %d bytes", len(row))
		}
		got := make([]float32, dim)
		if !decodeRow(row, got) {
			rt.Fatal("no row")
		}
		if n := norm(got); math.Abs(n-1) > 1e-6 {
			rt.Errorf("its length is %v", n)
		}
		if c := dot(unit, got); c < 0.999 {
			rt.Errorf("it points elsewhere: %v", c)
		}
		for _, query := range [][]float32{unit, sparse(random, dim, 0.02, false), sparse(random, dim, 1, false), make([]float32, dim)} {
			c := newComparer(query)
			if off := math.Abs(float64(c.cosine(row)) - dot(query, got)); off > c.slack {
				rt.Errorf("cosine is off by %v, slack is %v", off, c.slack)
			}
		}
	})
}

// Whatever a file holds is a row or none, and nothing is read beyond it.
func TestAnyBytesAreARowOrNone(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 2))
		const dim = 200
		made, _, err := encodeRows([]Vector{{Values: sparse(random, dim, 0.1, true)}}, dim)
		if err != nil {
			rt.Fatal(err)
		}
		rows := made[0]
		for range rapid.IntRange(1, 8).Draw(rt, "bytes") {
			rows[random.IntN(min(len(rows), 20))] = byte(random.Uint32())
		}
		rows = rows[:random.IntN(len(rows)+1)]
		row := cutRow(slices.Clip(rows))
		decodeRow(row, make([]float32, dim))
		newComparer(sparse(random, dim, 0.5, false)).cosine(row)
	})
}

// The vectors of the built-in embedder take a third of their dimension in
// bytes, those of a served model hardly more than it.
func TestRowsAreShort(t *testing.T) {
	b, err := embed.NewBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	vectors, err := b.EmbedDocuments(t.Context(), []string{"Sarah: we grow tomatoes on the roof, and herons come by in the evening. John: I would love to see that one day!"})
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for most, values := range map[int][]float32{300: vectors[0], 768 + 16: unit(random, 768)} {
		if rows, _, err := encodeRows([]Vector{{Values: values}}, len(values)); err != nil || len(rows[0]) > most {
			t.Errorf("%d components take %d bytes, want at most %d (%v)", len(values), len(rows[0]), most, err)
		}
	}
}

// Comparing one row: packed as the built-in embedder's and a served model's
// are, and a row of float32.
func BenchmarkCompare(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	for name, c := range map[string]struct {
		dim          int
		share, query float64
	}{"built-in, 1024": {1024, 0.2, 0.01}, "served, 768": {768, 1, 1}} {
		rows, _, err := encodeRows([]Vector{{Values: sparse(random, c.dim, c.share, true)}}, c.dim)
		if err != nil {
			b.Fatal(err)
		}
		query := sparse(random, c.dim, c.query, false)
		b.Run(name+", packed", func(b *testing.B) {
			compare := newComparer(query)
			for b.Loop() {
				compare.cosine(rows[0])
			}
		})
		b.Run(name+", float32", func(b *testing.B) {
			plain := unit(random, c.dim)
			for b.Loop() {
				vek32.Dot(query, plain)
			}
		})
	}
}
