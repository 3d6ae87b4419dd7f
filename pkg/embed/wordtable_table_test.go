package embed_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/embed/internal/wordtable"
	"pgregory.net/rapid"
)

func open(t rapid.TB, words []string, rows [][]float64) wordtable.Table {
	t.Helper()
	data, err := wordtable.Build(words, rows)
	if err != nil {
		t.Fatal(err)
	}
	table, err := wordtable.Open(string(data))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// TestWordtableRoundTrip: every word is found in its row, no other word is found, and
// components come back within half a step.
func TestWordtableRoundTrip(t *testing.T) {
	// Few letters make near misses; a wide range of scales tries the rounding.
	word := rapid.StringOfN(rapid.SampledFrom([]rune("abé")), 1, 6, -1)
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfNDistinct(word, 1, 100, rapid.ID[string]).Draw(t, "words")
		dim := rapid.IntRange(0, 3).Draw(t, "dim")
		component := rapid.Float64Range(-1e3, 1e3)
		rows := make([][]float64, len(words))
		for i := range rows {
			rows[i] = rapid.SliceOfN(component, dim, dim).Draw(t, "row")
		}
		table := open(t, words, rows)
		if table.Len() != len(words) || table.Dim() != dim {
			t.Fatalf("%d words of %d components", table.Len(), table.Dim())
		}
		known := map[string]int{}
		for row, w := range words {
			known[w] = row
			if table.Word(row) != w {
				t.Fatalf("word %d is %q, want %q", row, table.Word(row), w)
			}
			checkRow(t, &table, row, rows[row])
		}
		for _, w := range append(rapid.SliceOf(word).Draw(t, "others"), words...) {
			want, ok := known[w]
			if !ok {
				want = -1
			}
			if got := table.Lookup(wordtable.Hash(w), []byte(w)); got != want {
				t.Fatalf("%q is in row %d, want %d", w, got, want)
			}
		}
	})
}

func checkRow(t *rapid.T, table *wordtable.Table, row int, want []float64) {
	t.Helper()
	components, scale := table.Row(row)
	if len(components) != len(want) {
		t.Fatalf("row %d has %d components", row, len(components))
	}
	for i, x := range want {
		got := float64(int8(components[i])) * float64(scale)
		if limit := 0.5001 * float64(scale); math.Abs(got-x) > limit+1e-30 {
			t.Fatalf("row %d component %d is %v, want %v within %v", row, i, got, x, limit)
		}
	}
}

// TestWordtableFullWindow: words that share slot and tag are told apart by their text.
func TestWordtableFullWindow(t *testing.T) {
	words := make([]string, 2000)
	rows := make([][]float64, len(words))
	for i := range words {
		words[i] = strings.Repeat("x", i/26) + string(rune('a'+i%26))
		rows[i] = []float64{float64(i + 1)}
	}
	table := open(t, words, rows)
	for i, w := range words {
		if got := table.Lookup(wordtable.Hash(w), []byte(w)); got != i {
			t.Fatalf("%q is in row %d, want %d", w, got, i)
		}
		if got := table.Lookup(wordtable.Hash(w), []byte(w+"!")); got != -1 {
			t.Fatalf("another word with the hash of %q is in row %d", w, got)
		}
	}
}

func TestWordtableBuildLayout(t *testing.T) {
	words, rows := []string{"one", "two"}, [][]float64{{1, -2}, {0, 0}}
	a, err := wordtable.Build(words, rows)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := wordtable.Build(words, rows)
	// header, 4 slots, 3 starts, 2 scales, 6 letters, 4 components
	if want := 24 + 4*4 + 4*3 + 4*2 + 6 + 4; len(a) != want || !bytes.Equal(a, b) {
		t.Errorf("%d bytes, want %d; the same again: %v", len(a), want, bytes.Equal(a, b))
	}
	if tail := a[len(a)-10:]; !bytes.Equal(tail, []byte("onetwo\x40\x81\x00\x00")) {
		t.Errorf("text and components %q", tail)
	}
}

func TestWordtableBuildRefuses(t *testing.T) {
	row := []float64{1}
	for name, input := range map[string]struct {
		words []string
		rows  [][]float64
	}{
		"nothing":         {},
		"more words":      {[]string{"a", "b"}, [][]float64{row}},
		"double word":     {[]string{"a", "b", "a"}, [][]float64{row, row, row}},
		"empty word":      {[]string{"a", ""}, [][]float64{row, row}},
		"uneven rows":     {[]string{"a", "b"}, [][]float64{row, {1, 2}}},
		"too many words":  {make([]string, math.MaxUint16), make([][]float64, math.MaxUint16)},
		"not a number":    {[]string{"a"}, [][]float64{{math.NaN()}}},
		"infinite number": {[]string{"a"}, [][]float64{{math.Inf(1)}}},
		"beyond float32":  {[]string{"a"}, [][]float64{{1e60}}},
	} {
		if _, err := wordtable.Build(input.words, input.rows); err == nil {
			t.Errorf("%s: built", name)
		}
	}
}

func TestWordtableOpenRefuses(t *testing.T) {
	data, err := wordtable.Build([]string{"a", "b", "c"}, [][]float64{{1, 2}, {3, 4}, {5, 6}})
	if err != nil {
		t.Fatal(err)
	}
	whole := string(data)
	for n := range len(whole) {
		if _, err := wordtable.Open(whole[:n]); !errors.Is(err, wordtable.ErrFormat) {
			t.Fatalf("first %d of %d bytes: %v", n, len(whole), err)
		}
	}
	for name, bad := range map[string]string{
		"longer":        whole + "x",
		"another magic": strings.Replace(whole, "WORDTAB1", "WORDTAB2", 1),
		"more words":    whole[:8] + "\x04" + whole[9:],
		"huge counts":   whole[:8] + strings.Repeat("\xff", 16) + whole[24:],
		"odd slots":     whole[:16] + "\x07" + whole[17:],
		"full slots":    whole[:8] + "\x08" + whole[9:],
		"more text":     whole[:20] + "\x04" + whole[21:],
		"one dimension": whole[:12] + "\x01" + whole[13:],
		"no slots":      "WORDTAB1" + strings.Repeat("\x00", 20),
	} {
		if _, err := wordtable.Open(bad); !errors.Is(err, wordtable.ErrFormat) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := wordtable.Open(whole); err != nil {
		t.Error(err)
	}
}

// TestWordtableHash pins the hash: tables and vectors are made with it.
func TestWordtableHash(t *testing.T) {
	for word, want := range map[string]uint64{"": 0xefd01f60ba992926, "a": 0x82a2a958a9bece5b, "foobar": 0x2c22194922d1672b} {
		if got := wordtable.Hash(word); got != want || wordtable.Hash([]byte(word)) != want {
			t.Errorf("Hash(%q) = %#x, want %#x", word, got, want)
		}
	}
}
