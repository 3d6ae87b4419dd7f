package memory_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/memory"
)

// Of two records with the same words, equally long, the one that says them in
// one message comes first.
func TestOnePassageBeatsScatteredWords(t *testing.T) {
	s, _ := newStore(t)
	random := rand.New(rand.NewPCG(1, 2))
	words := vocabulary(random, 400)
	answer := []string{"heron", "ladder", "marigold", "cellar"}
	long := func(in [4]string) string {
		var parts []string
		for _, extra := range in {
			parts = append(parts, "[Agent]: "+sentence(random, words, 60)+" "+extra+" "+sentence(random, words, 60))
		}
		return strings.Join(parts, "\n\n")
	}
	scattered, together := long([4]string{answer[0], answer[1], answer[2], answer[3]}), long([4]string{"", strings.Join(answer, " "), "", ""})
	var records []memory.Record
	for i := range 40 {
		records = append(records, record(10*i+100, long([4]string{answer[i%4], "", "", ""})))
	}
	put(t, s, append(records, record(0, scattered), record(50, together))...)
	embedAll(t, s, "a")
	hits := recall(t, s, memory.Query{Text: strings.Join(answer, " "), Limit: 2}).Hits
	if len(hits) != 2 || hits[0].Position != 50 || hits[1].Position != 0 {
		t.Fatalf("positions %v", positions(hits))
	}
}

// With more hits than are shown by default the first five stay, and what resembles
// the first comes sixth; ranked by words alone it is the score that decides.
func TestSixthHit(t *testing.T) {
	s, _ := newStore(t)
	texts := []string{
		"our boat Marigold got varnish on its keel", "our boat is Marigold: varnish and keel, all new", "varnish on the keel of our boat Marigold, again", "our boat lies here", "our boat is here",
		"we saw a boat on the lake beside Lindau", "the boat with a keel and varnish, Marigold",
	}
	var records []memory.Record
	for i, text := range texts {
		r := record(10*(i+1), "[Human]: "+text)
		r.ID, r.Session, r.Importance = fmt.Sprint("r", i), fmt.Sprint("session", i), 0.5-0.03*float64(i)
		records = append(records, r)
	}
	put(t, s, records...)
	embedAll(t, s, "a")
	five := positions(recall(t, s, memory.Query{Text: "our boat"}).Hits)
	ten := positions(recall(t, s, memory.Query{Text: "our boat", Limit: 10}).Hits)
	words := positions(recall(t, s, memory.Query{Text: "our boat", Limit: 10, Rank: memory.RankText}).Hits)
	if len(ten) != 7 || !slices.Equal(ten[:5], five) || !slices.Equal(ten[5:], []int{20, 60}) {
		t.Errorf("five hits %v, ten %v", five, ten)
	}
	if len(words) != 7 || !slices.Equal(words[5:], []int{60, 20}) {
		t.Errorf("by words %v", words)
	}
}

// A short record between two relevant ones comes before one that says the same
// elsewhere.
func TestNeighboursCount(t *testing.T) {
	s, _ := newStore(t)
	records := []memory.Record{
		record(10, "shall we paint the boat before summer"), record(11, "yes, green, the paint is in the shed, for sure"), record(12, "then the boat is green by summer"),
		record(30, "yes, green, the paint is in the shed, certainly"),
	}
	for i := range 60 {
		records = append(records, record(100+10*i, fmt.Sprintf("something else entirely was said on day %d", i)))
	}
	put(t, s, records...)
	embedAll(t, s, "a")
	hits := recall(t, s, memory.Query{Text: "paint the boat in summer", Limit: 10}).Hits
	place := map[int]int{}
	for i, h := range hits {
		place[h.Position] = i + 1
	}
	if place[11] == 0 || place[30] == 0 || place[11] > place[30] {
		t.Fatalf("positions %v", positions(hits))
	}
}

// The same question has the same answer, to the last bit.
func TestRecallIsDeterministic(t *testing.T) {
	s, _ := newStore(t)
	random := rand.New(rand.NewPCG(3, 4))
	words := vocabulary(random, 300)
	var records []memory.Record
	for i := range 200 {
		records = append(records, record(i, sentence(random, words, 40)))
	}
	put(t, s, records...)
	embedAll(t, s, "a")
	query := memory.Query{Text: sentence(random, words, 12), Limit: 50}
	first := fmt.Sprint(recall(t, s, query).Hits)
	for range 5 {
		if again := fmt.Sprint(recall(t, s, query).Hits); again != first {
			t.Fatal("another answer to the same question")
		}
	}
}

func positions(hits []memory.Hit) (list []int) {
	for _, h := range hits {
		list = append(list, h.Position)
	}
	return list
}

// Of two records with the same words, the one that says when comes first if
// that is asked.
func TestWhenIsAnsweredByATime(t *testing.T) {
	s, _ := newStore(t)
	records := []memory.Record{
		record(10, "I moved the importer to the other server, and it was easy"),
		record(500, "I moved the importer to the other server, it was yesterday"),
	}
	for i := range 40 {
		records = append(records, record(1000+10*i, fmt.Sprintf("something else entirely was said about boat number %d", i)))
	}
	put(t, s, records...)
	embedAll(t, s, "a")
	hits := recall(t, s, memory.Query{Text: "when did you move the importer to the server"}).Hits
	if len(hits) < 2 || hits[0].Position != 500 {
		t.Errorf("positions %v", positions(hits))
	}
}
