package memory

import (
	"context"
	"fmt"
	"hash/fnv"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/internal/tier"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/embed"
)

// drawn embeds a text at random, the same text always alike.
type drawn struct{ dim int }

func (d drawn) EmbedQuery(_ context.Context, text string) ([]float32, error) {
	h := fnv.New64a()
	h.Write([]byte(text))
	return unit(rand.New(rand.NewPCG(h.Sum64(), 7)), d.dim), nil
}

func (d drawn) model() embed.Model { return embed.Model{Provider: "test", Name: "drawn", Dim: d.dim} }

// sweptMemory has records of two agents, in sessions of 500. variety is how
// many different texts there are.
func sweptMemory(t interface{ Fatal(...any) }, dir string, d drawn, count, variety int) *Store {
	ctx := context.Background()
	s, err := Open(ctx, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for first := 0; first < count; first += 500 {
		agent := []string{"a", "b"}[first/500%2]
		source := Source{Runtime: "pi", Agent: agent, Session: fmt.Sprint("s", first)}
		var vectors []Vector
		records := func(yield func(Record, error) bool) {
			for i := first; i < min(first+500, count); i++ {
				text := fmt.Sprintf("no%d word%d", i%variety, i%variety%17)
				v, _ := d.EmbedQuery(ctx, text)
				vectors = append(vectors, Vector{ID: fmt.Sprint("id", i), Values: v})
				if !yield(Record{ID: fmt.Sprint("id", i), Text: text, Category: "session_history", Importance: 0.5, CreatedAt: int64(1000 + i), Position: i}, nil) {
					return
				}
			}
		}
		if _, err := s.Put(ctx, source, iter.Seq2[Record, error](records)); err != nil {
			t.Fatal(err)
		}
		if err := s.PutVectors(ctx, d.model(), agent, vectors, nil); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// sameEitherWay asks with a sweep, and with a filter that all records pass, so
// that vectors are listed first.
func sameEitherWay(t interface{ Fatal(...any) }, s *Store, d drawn, q Query) Result {
	ctx := context.Background()
	swept, err := s.Recall(ctx, q, d, d.model())
	if err != nil {
		t.Fatal(err)
	}
	q.Until = 1 << 60
	listed, err := s.Recall(ctx, q, d, d.model())
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(listed, swept); diff != "" {
		t.Fatal(fmt.Sprintf("%+v: swept is not what is listed: %s", q, diff))
	}
	return swept
}

// isSwept reports whether a query is answered by a sweep to its end.
func isSwept(t interface{ Fatal(...any) }, s *Store, d drawn, q Query) bool {
	ctx := context.Background()
	x, err := s.newIndex(ctx, d.model())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Ask(ctx, x, q, d, d.model()); err != nil {
		t.Fatal(err)
	}
	return x.Sweeps()
}

// TestSweepIsExact: records, order and scores are those of listing all vectors,
// whatever was forgotten, however many are alike, whoever is asked.
func TestSweepIsExact(t *testing.T) {
	tier.SkipSmoke(t, "it draws 10,800 vectors")
	for name, c := range map[string]struct {
		dim, variety int
		swept        bool
	}{
		"all different": {24, 100_000, true}, "copies": {24, 1500, true}, "nearly all alike": {5, 3, false}, "one dimension": {1, 100_000, false},
	} {
		d := drawn{c.dim}
		s := sweptMemory(t, t.TempDir(), d, 2700, c.variety)
		defer s.Close()
		if got := isSwept(t, s, d, Query{Text: "importer", Now: time.Now()}); got != c.swept {
			t.Errorf("%s: swept is %v", name, got)
		}
		askEveryWay(t, s, d)
		for _, session := range []string{"s500", "s1500", "s2500"} {
			if _, err := s.Forget(t.Context(), Selection{Session: session}); err != nil {
				t.Fatal(err)
			}
		}
		askEveryWay(t, s, d)
	}
}

func askEveryWay(t *testing.T, s *Store, d drawn) {
	for _, text := range []string{"word3 importer", "no7 word7"} {
		for _, agent := range []string{"", "b"} {
			for _, limit := range []int{5, 60} {
				for _, rank := range []string{RankHybrid, RankVector} {
					sameEitherWay(t, s, d, Query{Text: text, Agent: agentset.Set(agent), Limit: limit, Rank: rank})
				}
			}
		}
	}
}

// TestSweepOfDamage: a vector that is damaged gives no wrong answer, and is told:
// where the checksum of its block does not hold every vector is read and held to its
// own.
func TestSweepOfDamage(t *testing.T) {
	ctx, d := context.Background(), drawn{16}
	s := sweptMemory(t, t.TempDir(), d, 3000, 100_000)
	defer s.Close()
	q := Query{Text: "no1004 word1", Rank: RankVector, Limit: 3}
	if !isSwept(t, s, d, q) {
		t.Fatal("not swept")
	}
	whole := sameEitherWay(t, s, d, q)
	if whole.Hits[0].ID != "id1004" {
		t.Fatalf("nearest is %s", whole.Hits[0].ID)
	}
	var number, record int64
	if err := s.db.QueryRow("SELECT v.block, v.record FROM vectors v JOIN records r ON r.rowid=v.record WHERE r.id='id1004'").Scan(&number, &record); err != nil {
		t.Fatal(err)
	}
	var sound []byte
	var before, all int
	if err := s.db.QueryRow("SELECT rows, (SELECT count(*) FROM vector_rows v WHERE v.block=b.block AND v.record<?), (SELECT count(*) FROM vector_rows v WHERE v.block=b.block) FROM vector_blocks b WHERE block=?",
		record, number).Scan(&sound, &before, &all); err != nil {
		t.Fatal(err)
	}
	at := before * len(sound) / all
	for what, harm := range map[string]string{
		"zeroes": "\x08\x00" + strings.Repeat("\x00", 30), "large": "\x08\x00" + strings.Repeat("\x00\x00\x00\x7f", 4), "not a number": "\x08\x00" + strings.Repeat("\xff", 14),
		"another size": "\xff\xff", "end of file": "",
	} {
		data := slices.Clone(sound)
		if copy(data[at:], harm); harm == "" {
			data = data[:at]
		}
		if _, err := s.db.Exec("UPDATE vector_blocks SET rows=? WHERE block=?", data, number); err != nil {
			t.Fatal(err)
		}
		if isSwept(t, s, d, q) {
			t.Fatalf("%s: swept", what)
		}
		got, err := s.Recall(ctx, q, d, d.model())
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(got.Notice, "vectors are lost or damaged") {
			t.Errorf("%s: notice %q", what, got.Notice)
		}
		if slices.ContainsFunc(got.Hits, func(h Hit) bool { return h.ID == "id1004" }) || harm != "" && got.Hits[0].ID != whole.Hits[1].ID {
			t.Errorf("%s: %v", what, got.Hits)
		}
		if problems, err := s.Verify(ctx); err != nil || len(problems) != 1 || !strings.Contains(problems[0].Message, "vectors are lost or damaged; sessctl memory reindex --pending") {
			t.Errorf("%s: %v, %v", what, problems, err)
		}
	}
	if lost, err := s.Reclaim(ctx, d.model(), "a"); err != nil || lost != 64 {
		t.Errorf("%d pending again, %v", lost, err)
	}
	mustVerify(t, s)
}

// A sweep takes the row of a record only for what its name says: this row, in this
// block.
func TestSweepHoldsRowsToTheirNames(t *testing.T) {
	ctx, d := t.Context(), drawn{16}
	for what, harm := range map[string]string{"another checksum": "crc=crc+1", "another block": "block=block+1"} {
		s := sweptMemory(t, t.TempDir(), d, 3000, 100_000)
		q := Query{Text: "no404 word13", Rank: RankVector, Limit: 3}
		whole, err := s.Recall(ctx, q, d, d.model())
		if err != nil || whole.Hits[0].ID != "id404" || !isSwept(t, s, d, q) {
			t.Fatal(whole.Hits, err)
		}
		if _, err := s.db.Exec("UPDATE vector_rows SET " + harm + " WHERE record=(SELECT rowid FROM records WHERE id='id404')"); err != nil {
			t.Fatal(err)
		}
		got, err := s.Recall(ctx, q, d, d.model())
		if err != nil || !isSwept(t, s, d, q) {
			t.Fatal(err)
		}
		if !strings.HasPrefix(got.Notice, "1 vectors are lost or damaged") || got.Hits[0].ID != whole.Hits[1].ID {
			t.Errorf("%s: %q, %v", what, got.Notice, got.Hits)
		}
		s.Close()
	}
}

// Who embeds checks every vector once a week, and who asks for what is missing does
// so at once.
func TestVectorsAreCheckedWeekly(t *testing.T) {
	ctx := t.Context()
	s, e := embeddingStore(t)
	if _, err := s.PutEmbedded(ctx, Source{Agent: "a", Session: "s"}, Embedding{e.embedder, e.model}, sequence(toEmbed()[:5], nil)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		days int
		want bool
	}{{6, false}, {8, true}} {
		if _, err := s.db.Exec("UPDATE vector_blocks SET sum=sum+1; UPDATE vector_spaces SET checked=?", time.Now().AddDate(0, 0, -c.days).UnixMilli()); err != nil {
			t.Fatal(err)
		}
		if _, err := s.EmbedPending(ctx, e.embedder, e.model, "a", nil); err != nil {
			t.Fatal(err)
		}
		if problems, err := s.Verify(ctx); err != nil || (len(problems) == 0) != c.want {
			t.Errorf("after %d days: %v, %v", c.days, problems, err)
		}
	}
	if _, err := s.db.Exec("UPDATE vector_blocks SET sum=sum+1"); err != nil {
		t.Fatal(err)
	}
	if result, err := s.EmbedMissing(ctx, e.embedder, e.model, []string{"a"}, nil); err != nil || result.Vectors != 5 {
		t.Error(result, err)
	}
	mustVerify(t, s)
}
