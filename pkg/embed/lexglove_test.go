package embed

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/embed/internal/wordtable"
	"pgregory.net/rapid"
)

// slowVector is the definition of research/recall.md section 5, written down a
// second time with maps and numbers, for documents (query false) and queries.
func slowVector(table *wordtable.Table, text string, query bool) []float64 {
	terms, words, length := map[string]float64{}, map[string]float64{}, 0.0
	s := scanner{emit: func(w []byte, extra bool) {
		if isStop(w) {
			return
		}
		words[string(w)]++
		terms[string(stem(slices.Clone(w)))]++
		if !extra {
			length++
		}
	}}
	s.scan(text)
	lexical, semantic := make([]float64, 924), make([]float64, 100)
	for term, f := range terms {
		weight := f * 1.9 / (f + 0.9*(0.6+0.4*length/80))
		if query {
			weight = 1
		}
		if h := wordtable.Hash(term); h>>63 == 0 {
			lexical[h%923] += weight
		} else {
			lexical[h%923] -= weight
		}
	}
	for word, f := range words {
		row := table.Lookup(wordtable.Hash(word), []byte(word))
		if row < 0 {
			continue
		}
		p := 1 / ((float64(row) + 2.7) * (math.Log(40000) + 0.5772))
		components, scale := table.Row(row)
		for i := range semantic {
			semantic[i] += (1 + math.Log(f)) * 1e-3 / (1e-3 + p) * float64(scale) * float64(int8(components[i]))
		}
	}
	norm := func(v []float64) float64 {
		sum := 0.0
		for _, x := range v {
			sum += x * x
		}
		return math.Sqrt(sum)
	}
	divide := func(v []float64, by float64) {
		for i := range v {
			v[i] /= by
		}
	}
	if n := norm(semantic); n > 0 {
		divide(semantic, n/math.Sqrt(0.1))
	}
	n := norm(lexical)
	if query {
		if n > 0 {
			divide(lexical, n/math.Sqrt(0.9))
		}
		all := append(lexical, semantic...)
		divide(all, norm(all))
		return all
	}
	divide(lexical, max(18, n)/math.Sqrt(0.9))
	all := append(lexical, semantic...)
	all[923] = math.Sqrt(max(0, 1-norm(all)*norm(all)))
	return all
}

// TestVectorsAreTheDesign compares with the definition; the order of sums and
// float32 leave 1e-6.
func TestVectorsAreTheDesign(t *testing.T) {
	e := newBuiltin(t)
	check := func(t rapid.TB, text string) {
		if len(AppendTerms(nil, text)) == 0 {
			return
		}
		for kind, got := range map[bool][]float32{false: document(t, e, text), true: query(t, e, text)} {
			for i, want := range slowVector(&e.table, text, kind) {
				// A document at the bound leaves the difference of two equal numbers.
				if limit := 1e-6; math.Abs(float64(got[i])-want) > limit && (i != slackAt || want > 1e-3) {
					t.Fatalf("query %v, dimension %d: %v, want %v", kind, i, got[i], want)
				}
			}
		}
	}
	for _, text := range []string{prose, code, japanese, chunkOf(prose, 3500), strings.Repeat(code, 5), "xqzzyv"} {
		check(t, text)
	}
	words := strings.Fields(prose + code)
	rapid.Check(t, func(t *rapid.T) {
		check(t, "Maria "+strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 1, 200).Draw(t, "words"), " "))
	})
}

// TestBound: a text with more weight than fits a unit vector still gets one.
func TestBound(t *testing.T) {
	e := newBuiltin(t)
	var b strings.Builder
	for i := range 2000 {
		name := " q" + string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676))
		b.WriteString(strings.Repeat(name, 60))
	}
	v := document(t, e, b.String())
	if norm := cosine(v, v); math.Abs(norm-1) > 1e-6 {
		t.Errorf("squared length %v", norm)
	}
}

func TestNaturalLog(t *testing.T) {
	if got := naturalLog(1); got != 0 {
		t.Errorf("ln 1 = %v", got)
	}
	for n := 2; n < 1<<29; n = n/2*3 + 1 {
		if got, want := naturalLog(n), math.Log(float64(n)); math.Abs(got-want) > 1e-14*want {
			t.Errorf("ln %d = %v, want %v", n, got, want)
		}
	}
}

func TestTally(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var counted tally
		for range rapid.IntRange(1, 3).Draw(t, "rounds") {
			counted.reset()
			numbers := map[uint64]int{}
			// Hashes that differ in the top bits only share their first slot.
			hash := rapid.Custom(func(t *rapid.T) uint64 {
				return rapid.Uint64Range(0, 40).Draw(t, "high")<<58 | rapid.Uint64Range(0, 30).Draw(t, "low")
			})
			for _, h := range rapid.SliceOfN(hash, 0, 1500).Draw(t, "hashes") {
				want, seen := numbers[h]
				if !seen {
					want = len(numbers)
					numbers[h] = want
				}
				if got, isNew := counted.number(h); got != want || isNew == seen {
					t.Fatalf("number(%x) = %d, %v, want %d, %v", h, got, isNew, want, !seen)
				}
			}
		}
	})
}
