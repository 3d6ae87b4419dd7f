package memory_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/tier"
	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory"
)

func TestRecallFilters(t *testing.T) {
	s, _ := newStore(t)
	old, other, summary := record(0, "the heron by the lake"), record(1, "a heron on the roof"), record(2, "heron summary")
	old.CreatedAt = 1000
	other.Agent, other.Session = "b", "s2"
	summary.Category, summary.Session = "session_summary", "s3"
	put(t, s, old, other, summary)
	embedAll(t, s, "a")
	embedAll(t, s, "b")
	for name, c := range map[string]struct {
		q    memory.Query
		want []int
	}{
		"all":      {memory.Query{}, []int{0, 1, 2}},
		"agent":    {memory.Query{Agent: "b"}, []int{1}},
		"session":  {memory.Query{Session: "s1"}, []int{0}},
		"category": {memory.Query{Category: "session_summary"}, []int{2}},
		"since":    {memory.Query{Since: 2000}, []int{1, 2}},
		"until":    {memory.Query{Until: 2000}, []int{0}},
		"runtime":  {memory.Query{Runtime: "openclaw"}, nil},
		"limit":    {memory.Query{Limit: 1, Category: "session_summary"}, []int{2}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, rank := range []string{memory.RankHybrid, memory.RankText, memory.RankVector, memory.RankSeed} {
				c.q.Text, c.q.Rank = "heron", rank
				var got []int
				for _, h := range recall(t, s, c.q).Hits {
					got = append(got, h.Position)
				}
				slices.Sort(got)
				if !slices.Equal(got, c.want) {
					t.Errorf("%s: positions %v, want %v", rank, got, c.want)
				}
			}
		})
	}
}

// An identifier is found by itself, whatever stands around it, among many
// texts that look alike.
func TestExactIdentifierIsInTheFirstThree(t *testing.T) {
	s, _ := newStore(t)
	names := []string{
		"01J9ZK3V5Q8R7T6Y4W2X1N0M", "/srv/app/config/importer.yaml", "ERR_TOKEN_TOO_LONG", "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
		"E0308", "10.20.4.11:8090", "handleImportRetry", "TS-2305",
	}
	var records []memory.Record
	for i := range 400 {
		records = append(records, record(i, fmt.Sprintf("The importer failed again with error %d in config file number %d; retry the import and look at the token handling.", i, i)))
	}
	for i, name := range names {
		records = append(records, record(1000+i, "We looked into it for a while and then saw "+name+" in the log of the importer."))
	}
	put(t, s, records...)
	embedAll(t, s, "a")
	for i, name := range names {
		hits := recall(t, s, memory.Query{Text: name, Limit: 3}).Hits
		if !slices.ContainsFunc(hits, func(h memory.Hit) bool { return h.Position == 1000+i }) {
			t.Errorf("%s is not in the first three", name)
		}
	}
}

// So it is in a question whose other words stand all together in many records
// that are more important.
func TestExactIdentifierInAQuestion(t *testing.T) {
	s, _ := newStore(t)
	names := []string{"01J9ZK3V5Q8R7T6Y4W2X1N0M", "/srv/app/config/importer.yaml", "ERR_TOKEN_TOO_LONG", "10.20.4.11:8090"}
	const question = "zeppelin quarry marigold lantern cellar heron ladder"
	var records []memory.Record
	for i := range 600 {
		records = append(records, record(20_000+10*i, fmt.Sprintf("nothing of the kind was said on day %d", i)))
	}
	for i := range 120 {
		r := record(10*i, fmt.Sprintf("the %s, seen for the %dth time; app config importer err token long 10 20 4 11 8090", question, i))
		r.Importance = 0.9
		records = append(records, r)
	}
	for i, name := range names {
		r := record(10_000+10*i, "it was "+name+", as I said")
		r.Importance = 0.05
		records = append(records, r)
	}
	put(t, s, records...)
	embedAll(t, s, "a")
	for i, name := range names {
		hits := recall(t, s, memory.Query{Text: question + " " + name, Limit: 3}).Hits
		if !slices.ContainsFunc(hits, func(h memory.Hit) bool { return h.Position == 10_000+10*i }) {
			t.Errorf("%s is not in the first three: %v", name, positions(hits))
		}
	}
}

func TestRecallFindsOtherScriptsAndParts(t *testing.T) {
	s, _ := newStore(t)
	put(t, s, record(0, "配送は第二便に変更しました"), record(1, "das Café öffnet um acht"), record(2, "the parseImportFile function"), record(3, "nothing of interest"))
	for query, want := range map[string]int{"第二便": 0, "Café": 1, "import file": 2, "parseImportFile": 2} {
		if hits := recall(t, s, memory.Query{Text: query}).Hits; len(hits) == 0 || hits[0].Position != want {
			t.Errorf("%q: %v", query, hits)
		}
	}
}

func TestDuplicatesAreFolded(t *testing.T) {
	s, _ := newStore(t)
	put(t, s, record(0, "the same heron"), record(1, "the same heron"), record(2, "another heron"))
	hits := recall(t, s, memory.Query{Text: "same heron"}).Hits
	if len(hits) != 2 || hits[0].Duplicates != 1 {
		t.Fatalf("hits %+v", hits)
	}
}

// Vectors of different models never meet in a query.
func TestOtherModel(t *testing.T) {
	s, _ := newStore(t)
	put(t, s, record(0, "the heron"))
	embedAll(t, s, "a")
	b, m := builtin(t)
	m.Revision = "another"
	for rank, refused := range map[string]bool{memory.RankHybrid: false, memory.RankText: false, memory.RankVector: true, memory.RankSeed: true} {
		result, err := s.Recall(context.Background(), memory.Query{Text: "heron", Rank: rank}, b, m)
		switch {
		case refused && !errors.Is(err, memory.ErrOtherModel):
			t.Errorf("%s: %v", rank, err)
		case !refused && (err != nil || len(result.Hits) != 1):
			t.Errorf("%s: %v, %v", rank, result, err)
		case rank == memory.RankHybrid && !strings.Contains(result.Notice, "memory reindex"):
			t.Errorf("notice %q", result.Notice)
		}
	}
	if result, err := s.Recall(context.Background(), memory.Query{Text: "heron"}, nil, m); err != nil || len(result.Hits) != 1 || result.Notice == "" {
		t.Errorf("without an embedder: %+v, %v", result, err)
	}
}

// RankSeed is the formula on raw cosines.
func TestSeedRank(t *testing.T) {
	s, _ := newStore(t)
	important := record(0, "something else entirely")
	important.Importance = 0.9
	put(t, s, important, record(1, "the heron by the lake"))
	embedAll(t, s, "a")
	b, _ := builtin(t)
	query, err := b.EmbedQuery(context.Background(), "heron")
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range recall(t, s, memory.Query{Text: "heron", Rank: memory.RankSeed}).Hits {
		document, err := b.EmbedDocuments(context.Background(), []string{h.Text})
		if err != nil {
			t.Fatal(err)
		}
		cosine := 0.0
		for i, x := range query {
			cosine += float64(x) * float64(document[0][i])
		}
		if want := 0.7*cosine + 0.3*h.Importance; h.Score < want-1e-3 || h.Score > want+1e-3 {
			t.Errorf("score %v, want %v", h.Score, want)
		}
	}
}

// Property: importance that says nothing costs next to no recall
// (docs/dev/decisions.md D9).
func TestRandomImportanceCostsLittle(t *testing.T) {
	tier.SkipSmoke(t, "it asks a memory 200 questions")
	random := rand.New(rand.NewPCG(1, 2))
	words := vocabulary(random, 2000)
	var records []memory.Record
	for i := range 600 {
		r := record(i, sentence(random, words, 60))
		r.Importance = 0.25
		records = append(records, r)
	}
	found := func(importance func() float64) (hits int) {
		s, _ := newStore(t)
		for i := range records {
			records[i].Importance = importance()
		}
		put(t, s, records...)
		embedAll(t, s, "a")
		for i := 0; i < len(records); i += 6 {
			query := strings.Join(strings.Fields(records[i].Text)[10:16], " ")
			got := recall(t, s, memory.Query{Text: query, Limit: 10}).Hits
			if slices.ContainsFunc(got, func(h memory.Hit) bool { return h.Position == i }) {
				hits++
			}
		}
		return hits
	}
	even, uneven := found(func() float64 { return 0.25 }), found(random.Float64)
	if even < 95 || uneven < even-2 {
		t.Fatalf("%d of 100 found with even importance, %d with random importance", even, uneven)
	}
}

func vocabulary(random *rand.Rand, n int) []string {
	words := make([]string, n)
	for i := range words {
		b := make([]byte, 4+random.IntN(6))
		for j := range b {
			b[j] = byte('a' + random.IntN(26))
		}
		words[i] = string(b)
	}
	return words
}

func sentence(random *rand.Rand, words []string, n int) string {
	out := make([]string, n)
	for i := range out {
		out[i] = words[int(float64(len(words))*random.Float64()*random.Float64())]
	}
	return strings.Join(out, " ")
}

// No text is a syntax error of the full-text index.
func FuzzQueryText(f *testing.F) {
	for _, s := range []string{"", `"`, "a AND b OR NOT", "NEAR(x, y)", "col:x", "*", "^a", "(", "a\x00b", "'; DROP TABLE records; --", "配送", "\xff\xfe", "-x", "{a}"} {
		f.Add(s)
	}
	dir := f.TempDir()
	s, err := memory.Open(context.Background(), dir, memory.Options{})
	if err != nil {
		f.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Put(context.Background(), memory.Source{}, all(record(0, "the heron"), record(1, "a OR b"))); err != nil {
		f.Fatal(err)
	}
	b, err := embed.NewBuiltin()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, rank := range []string{memory.RankHybrid, memory.RankText} {
			if _, err := s.Recall(context.Background(), memory.Query{Text: text, Rank: rank}, b, b.Model()); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
		}
	})
}

func TestNeighbors(t *testing.T) {
	s, _ := newStore(t)
	var records []memory.Record
	for i := range 6 {
		records = append(records, record(i, fmt.Sprintf("part %d", i)))
	}
	other, summary, again := record(3, "of another session"), record(-1, "in short"), record(2, "part 2, cut again")
	other.Session, summary.Category, again.Archive = "s2", "session_summary", "later"
	put(t, s, append(records, other, summary, again)...)
	for name, c := range map[string]struct {
		of            memory.Record
		n             int
		before, after string
	}{
		"none":      {records[3], 0, "[]", "[]"},
		"one":       {records[3], 1, "[part 2]", "[part 4]"},
		"two":       {records[1], 2, "[part 0]", "[part 2 part 3]"},
		"all":       {records[5], 100, "[part 0 part 1 part 2 part 3 part 4]", "[]"},
		"a summary": {summary, 3, "[]", "[]"},
	} {
		near, err := s.Neighbors(context.Background(), c.of, c.n)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(texts(near.Before), texts(near.After)); got != c.before+" "+c.after {
			t.Errorf("%s: %s, want %s %s", name, got, c.before, c.after)
		}
	}
}

func texts(records []memory.Record) []string {
	list := []string{}
	for _, r := range records {
		list = append(list, r.Text)
	}
	return list
}
