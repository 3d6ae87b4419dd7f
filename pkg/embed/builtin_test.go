package embed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sessctl/sessctl/pkg/embed/internal/wordtable"
	"pgregory.net/rapid"
)

func document(t rapid.TB, e *Builtin, text string) []float32 {
	t.Helper()
	vectors, err := e.EmbedDocuments(context.Background(), []string{text})
	if err != nil {
		t.Fatal(err)
	}
	return vectors[0]
}

func query(t rapid.TB, e *Builtin, text string) []float32 {
	t.Helper()
	v, err := e.EmbedQuery(context.Background(), text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func cosine(a, b []float32) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// anyText draws texts of words, names, numbers and signs, or of anything.
func anyText() *rapid.Generator[string] {
	words := strings.Fields(prose + " " + code + " " + japanese)
	mixed := rapid.Custom(func(t *rapid.T) string {
		list := rapid.SliceOfN(rapid.SampledFrom(words), 0, 80).Draw(t, "words")
		return strings.Join(list, rapid.SampledFrom([]string{" ", "\n", "_", "/", ""}).Draw(t, "between"))
	})
	return rapid.OneOf(mixed, rapid.String())
}

// TestUnitVectors: whatever the text, it has a sound vector of length one, the
// same for a fresh embedder, alone and in company; or it has none of either kind.
func TestUnitVectors(t *testing.T) {
	used := newBuiltin(t)
	var _ Embedder = used
	var _ QueryEmbedder = used
	rapid.Check(t, func(t *rapid.T) {
		text := anyText().Draw(t, "text")
		d, err := used.EmbedDocuments(context.Background(), []string{"something before", text, prose})
		q, queryErr := used.EmbedQuery(context.Background(), text)
		if len(AppendTerms(nil, text)) == 0 {
			var blame *textError
			if !errors.Is(err, ErrNoVector) || !errors.As(err, &blame) || blame.Index != 1 || queryErr != ErrNoVector {
				t.Fatalf("text without terms: %v, %v", err, queryErr)
			}
			return
		}
		if err == nil && queryErr == ErrNoVector {
			t.Skip("terms that cancel each other out: one query of two unknown terms in about 1,800")
		}
		if err != nil || queryErr != nil {
			t.Fatalf("%v, %v", err, queryErr)
		}
		fresh, freshErr := NewBuiltin()
		if freshErr != nil || !slices.Equal(d[1], document(t, fresh, text)) || !slices.Equal(q, query(t, fresh, text)) {
			t.Fatal("not the vector of a fresh embedder")
		}
		room := slices.Clone(q) // what was there before does not count
		if err := used.EmbedInto(context.Background(), text, room); err != nil || !slices.Equal(d[1], room) {
			t.Fatal("not the vector in the caller's room", err)
		}
		both := [][]float32{d[1], q}
		if err := Check(both, 2, used.Model().Dim); err != nil {
			t.Fatal(err)
		}
		for _, v := range both {
			if norm := cosine(v, v); math.Abs(norm-1) > 1e-6 {
				t.Fatalf("squared length %v", norm)
			}
		}
		if d[1][slackAt] < 0 || q[slackAt] != 0 {
			t.Fatalf("slack of document %v, of query %v", d[1][slackAt], q[slackAt])
		}
	})
}

func TestNoVector(t *testing.T) {
	e := newBuiltin(t)
	for _, text := range []string{"", " \n\t", "...!?", "the and of it", "That's what it was.", "don't", "🙂 👍", "\xff\xfe", "____"} {
		if _, err := e.EmbedQuery(context.Background(), text); err != ErrNoVector {
			t.Errorf("query %q: %v", text, err)
		}
		if err := e.EmbedInto(context.Background(), text, make([]float32, builtinDim)); err != ErrNoVector {
			t.Errorf("into room %q: %v", text, err)
		}
		v, err := e.EmbedDocuments(context.Background(), []string{"fine", text})
		var blame *textError
		if v != nil || !errors.Is(err, ErrNoVector) || !errors.As(err, &blame) || blame.Index != 1 {
			t.Errorf("document %q: %v, %v", text, v, err)
		}
	}
	if v, err := e.EmbedDocuments(context.Background(), nil); len(v) != 0 || err != nil {
		t.Errorf("no documents: %v, %v", v, err)
	}
}

func TestBatchesOfBuiltin(t *testing.T) {
	texts := []string{"", "one cake", "the", "two cakes", "..."}
	e := newBuiltin(t)
	for r := range Batches(context.Background(), e, texts, BatchOptions{Dim: e.Model().Dim}) {
		if bad := r.Index%2 == 0; bad != (r.Err == ErrNoVector) || bad != (r.Vector == nil) {
			t.Errorf("%+v", r)
		}
	}
}

func TestBuiltinCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	e := newBuiltin(t)
	if _, err := e.EmbedDocuments(ctx, []string{"text"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := e.EmbedQuery(ctx, "text"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestAsymmetry: a document's repeated word weighs more than its others and
// leaves slack; a query's does neither.
func TestAsymmetry(t *testing.T) {
	e := newBuiltin(t)
	const text = "backup backup backup firewall"
	d, q := document(t, e, text), query(t, e, text)
	weight := func(v []float32, word string) float64 {
		return math.Abs(float64(v[wordtable.Hash(word)%lexicalDim]))
	}
	if weight(d, "backup") < 1.3*weight(d, "firewall") || d[slackAt] < 0.5 {
		t.Errorf("document: backup %v, firewall %v, slack %v", weight(d, "backup"), weight(d, "firewall"), d[slackAt])
	}
	if weight(q, "backup") != weight(q, "firewall") || q[slackAt] != 0 {
		t.Errorf("query: backup %v, firewall %v, slack %v", weight(q, "backup"), weight(q, "firewall"), q[slackAt])
	}
}

// TestFinds: each question is nearest to the passage that answers it, by the
// same word, another form of it, another spelling, a part, or its meaning.
func TestFinds(t *testing.T) {
	e := newBuiltin(t)
	passages := []string{
		"Maria bought strawberries for the cake",
		"ack_timeout in pkg/queue/consumer.go: retryCount=3",
		"The physician prescribed some medicine for his headache",
		"取り込み処理が止まった原因を調べた",
		"We rehearsed the restore drill on the café's laptop",
		"Our attorney settled the lawsuit",
	}
	for text, want := range map[string]int{
		"who buys a strawberry": 0, "MARIA": 0,
		"what is the retry count": 1, "ackTimeout": 1, "consumer.go": 1, "pkg/queue/consumer.go": 1,
		"doctor": 2, "pain pill": 2,
		"処理の原因": 3,
		"CAFE":  4, "restoring": 4,
		"lawyer in court": 5,
	} {
		q := query(t, e, text)
		best, score := -1, math.Inf(-1)
		for i, passage := range passages {
			if s := cosine(q, document(t, e, passage)); s > score {
				best, score = i, s
			}
		}
		if best != want {
			t.Errorf("%q finds %q, not %q", text, passages[best], passages[want])
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	e := newBuiltin(t)
	texts := []string{prose, code, japanese, "short"}
	want := make([][]float32, len(texts))
	for i, text := range texts {
		want[i] = document(t, e, text)
	}
	var group sync.WaitGroup
	for g := range 8 {
		group.Go(func() {
			for n := range 20 {
				i := (g + n) % len(texts)
				v, err := e.EmbedDocuments(context.Background(), texts[i:i+1])
				if err != nil || !slices.Equal(v[0], want[i]) {
					t.Errorf("text %d got another vector beside others (%v)", i, err)
				}
			}
		})
	}
	group.Wait()
}

// TestHugeText: the room of a text with very many words is not kept.
func TestHugeText(t *testing.T) {
	e := newBuiltin(t)
	var b strings.Builder
	for i := range 3 * maxKeptWords {
		b.WriteString(" x" + strings.Repeat("y", i%7) + string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676%26)) + string(rune('a'+i/17576)))
	}
	v := document(t, e, b.String())
	if norm := cosine(v, v); math.Abs(norm-1) > 1e-6 {
		t.Errorf("squared length %v", norm)
	}
	if r, ok := e.rooms.Get().(*reading); ok && cap(r.words) > maxKeptWords {
		t.Errorf("room for %d words kept", cap(r.words))
	}
}

func TestBuiltinModel(t *testing.T) {
	const want = "builtin/lexglove-1024@" + builtinVersion + "-" + builtinTableHash + ";dim=1024;norm=l2;qp=-;chunk=-"
	if got := newBuiltin(t).Model().String(); got != want {
		t.Errorf("model %s, want %s", got, want)
	}
}

// TestWordTable holds the compiled-in table to the one that the constants and
// the notice were made for, and finds every word of it.
func TestWordTable(t *testing.T) {
	const hash = "d8c1b63482515230ac5901f36e5c85bcb7e1e80db25ebec63faac75bae078c6e"
	sum := sha256.Sum256([]byte(builtinTable))
	if got := hex.EncodeToString(sum[:]); got != hash || !strings.HasPrefix(hash, builtinTableHash) {
		t.Fatalf("table has SHA-256 %s, want %s, which begins %s", got, hash, builtinTableHash)
	}
	table, err := wordtable.Open(builtinTable)
	if err != nil {
		t.Fatal(err)
	}
	if table.Len() != 40000 || table.Dim() != semanticDim {
		t.Fatalf("%d words of %d components", table.Len(), table.Dim())
	}
	if table.Word(0) != "the" {
		t.Errorf("most frequent word is %q", table.Word(0))
	}
	var mean [semanticDim]float64
	for row := range table.Len() {
		word := table.Word(row)
		if got := table.Lookup(wordtable.Hash(word), []byte(word)); got != row || word == "" {
			t.Fatalf("%q of row %d is found in row %d", word, row, got)
		}
		components, scale := table.Row(row)
		if scale <= 0 || scale > 1 {
			t.Fatalf("row %d has scale %v", row, scale)
		}
		for i := range mean {
			mean[i] += float64(int8(components[i])) * float64(scale) / 40000
		}
	}
	if slices.ContainsFunc(mean[:], func(x float64) bool { return math.Abs(x) > 1e-3 }) {
		t.Errorf("the mean was not taken out: %v", mean)
	}
}

// slowVector is the definition of a lexglove vector, written down a second time
// with maps and numbers, for documents (query false) and queries.
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
				// A document at the bound leaves the difference of two equal
				// numbers.
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
