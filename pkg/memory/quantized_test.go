package memory

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/viterin/vek/vek32"
	"pgregory.net/rapid"

	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory/quantized"
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
	return quantized.Unit(v)
}

// packed are the rows of vectors of one dimension.
func packed(t interface{ Fatal(...any) }, vectors ...[]float32) (rows [][]byte) {
	packer, err := quantized.NewPacker(len(vectors[0]))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors {
		_, row := packer.Append(nil, v)
		rows = append(rows, row)
	}
	return rows
}

// What has no direction has no row, and a vector that is too long has no packer.
func TestVectorsWithoutARow(t *testing.T) {
	packer, err := quantized.NewPacker(3)
	if err != nil {
		t.Fatal(err)
	}
	infinite := float32(math.Inf(1))
	for _, v := range [][]float32{{0, 0, 0}, {1, infinite, 0}, {1, infinite - infinite, 0}} {
		if all, row := packer.Append([]byte{1}, v); row != nil || len(all) != 1 {
			t.Errorf("%v has the row %x", v, row)
		}
	}
	if _, err := quantized.NewPacker(1<<15 + 1); err == nil {
		t.Error("a row would not say its size")
	}
}

// The rows with the highest scores are kept, whatever order they come in.
func TestBestRowsAreKept(t *testing.T) {
	const count, most = 5000, 300
	best := quantized.NewBest(most)
	row := []byte{0, 0, 0}
	for _, score := range rand.New(rand.NewPCG(3, 4)).Perm(count) {
		row[0], row[1] = byte(score), byte(score>>8)
		best.Add(quantized.Key{Record: int64(score), Block: int64(score % 7)}, float32(score), row)
	}
	rows := best.Rows()
	if len(rows) > 2*most {
		t.Errorf("%d rows are kept", len(rows))
	}
	for score := count - most; score < count; score++ {
		if got := rows[quantized.Key{Record: int64(score), Block: int64(score % 7)}]; !slices.Equal(got, []byte{byte(score), byte(score >> 8), 0}) {
			t.Errorf("the row of score %d is %x", score, got)
		}
	}
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
		rows := packed(rt, unit, unit)
		row := quantized.Cut(slices.Concat(rows...))
		if !slices.Equal(row, rows[0]) || !slices.Equal(row, rows[1]) || quantized.Sum(rows[0]) != quantized.Sum(rows[1]) || len(row) > 16+dim+dim/8+16 {
			rt.Fatalf("a row of %d bytes", len(row))
		}
		got := make([]float32, dim)
		if !quantized.Decode(row, got) {
			rt.Fatal("no row")
		}
		if n := math.Sqrt(quantized.Dot(got, got)); math.Abs(n-1) > 1e-6 {
			rt.Errorf("its length is %v", n)
		}
		if c := quantized.Dot(unit, got); c < 0.999 {
			rt.Errorf("it points elsewhere: %v", c)
		}
		for _, query := range [][]float32{unit, sparse(random, dim, 0.02, false), sparse(random, dim, 1, false), make([]float32, dim)} {
			c := quantized.NewComparer(query)
			if off := math.Abs(float64(c.Cosine(row)) - quantized.Dot(query, got)); off > c.Slack() {
				rt.Errorf("cosine is off by %v, slack is %v", off, c.Slack())
			}
		}
	})
}

// plainlyQuantized is what a row of a vector stands for, by the plain way: each
// component but the largest is the nearest whole number of 127ths of the second
// largest, and all are scaled to unit length.
func plainlyQuantized(v []float32) []float32 {
	unit, peakAt, second := quantized.Unit(v), 0, 0.0
	size := func(i int) float64 { return math.Abs(float64(unit[i])) }
	for i := range unit {
		if size(i) > size(peakAt) {
			peakAt = i
		}
	}
	for i := range unit {
		if i != peakAt {
			second = max(second, size(i))
		}
	}
	numbers, sum, top, step := make([]float64, len(v)), 0.0, float64(unit[peakAt]), second/127
	for i, x := range unit {
		if i != peakAt && second > 0 {
			numbers[i] = math.Round(float64(x) / second * 127)
			sum += numbers[i] * numbers[i]
		}
	}
	length := math.Sqrt(step*step*sum + top*top)
	got := make([]float32, len(v))
	for i, n := range numbers {
		got[i] = float32(step/length) * float32(n)
	}
	got[peakAt] = float32(top / length)
	return got
}

// A row stands for what the plain way makes of a vector, wherever its largest
// components are, and at the halves between whole numbers and beside them.
func TestRowsAreQuantizedAsPlainly(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	tried := [][]float32{{2}, {-3, 1, 2}, {1, 2, -3}, {2, -2}, {0, 0, -0.5, 0.25}, {0, 5, 0}}
	for range 300 {
		tried = append(tried, sparse(random, 1+random.IntN(200), random.Float64(), random.IntN(2) == 0))
	}
	const unit = 1.0 / 512
	for from := 1; from < 254; from += 4 { // odd numbers of units are halves of 127ths of 254 of them
		v, rest := []float32{0, 254 * unit}, 1-254*254*unit*unit
		for i := range 2 {
			half := float32(from+2*i) * unit
			for _, x := range []float32{half, -half, math.Nextafter32(half, 1), math.Nextafter32(half, 0)} {
				if size := float64(x) * float64(x); size < rest/2 {
					v, rest = append(v, x), rest-size
				}
			}
		}
		v[0] = float32(math.Sqrt(rest)) // then its length is 1, and nothing is scaled
		tried = append(tried, v)
	}
	for _, v := range tried {
		got := make([]float32, len(v))
		if want := plainlyQuantized(v); !quantized.Decode(packed(t, v)[0], got) || !slices.Equal(got, want) {
			t.Errorf("of %v\n%v, want\n%v", v, got, want)
		}
	}
}

// Whatever a file holds is a row or none, and nothing is read beyond it.
func TestAnyBytesAreARowOrNone(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 2))
		const dim = 200
		rows := packed(rt, sparse(random, dim, 0.1, true))[0]
		for range rapid.IntRange(1, 8).Draw(rt, "bytes") {
			rows[random.IntN(min(len(rows), 20))] = byte(random.Uint32())
		}
		rows = rows[:random.IntN(len(rows)+1)]
		row := quantized.Cut(slices.Clip(rows))
		quantized.Decode(row, make([]float32, dim))
		quantized.NewComparer(sparse(random, dim, 0.5, false)).Cosine(row)
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
		if row := packed(t, values)[0]; len(row) > most {
			t.Errorf("%d components take %d bytes, want at most %d", len(values), len(row), most)
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
		row := packed(b, sparse(random, c.dim, c.share, true))[0]
		query := sparse(random, c.dim, c.query, false)
		b.Run(name+", packed", func(b *testing.B) {
			compare := quantized.NewComparer(query)
			for b.Loop() {
				compare.Cosine(row)
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
