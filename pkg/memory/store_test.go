package memory_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory"
)

func newStore(t testing.TB) (*memory.Store, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "memory")
	return open(t, dir), dir
}

func open(t testing.TB, dir string) *memory.Store {
	t.Helper()
	s, err := memory.Open(context.Background(), dir, memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// record is a chunk of agent a, session s1; its position is its identity.
func record(position int, text string) memory.Record {
	return memory.Record{
		ID: memory.RecordID("a", "s1", position, "v1", text), Text: text, Category: "session_history", Importance: 0.25,
		CreatedAt: 1_772_000_000_000 + int64(position)*60_000, Runtime: "pi", Agent: "a", Session: "s1", Archive: "arc1", ArchivePath: "/archive/s1.jsonl",
		FirstLine: 10 * position, LastLine: 10*position + 9, FirstByte: int64(100 * position), EndByte: int64(100*position + 99), Branch: "active", Position: position,
	}
}

func all(records ...memory.Record) iter.Seq2[memory.Record, error] {
	return func(yield func(memory.Record, error) bool) {
		for _, r := range records {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func put(t testing.TB, s *memory.Store, records ...memory.Record) memory.PutResult {
	t.Helper()
	result, err := s.Put(context.Background(), memory.Source{Runtime: "pi", Agent: "a", Session: "s1"}, all(records...))
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func builtin(t testing.TB) (*embed.Builtin, embed.Model) {
	t.Helper()
	b, err := embed.NewBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	return b, b.Model()
}

func embedAll(t testing.TB, s *memory.Store, agent string) int {
	t.Helper()
	b, m := builtin(t)
	pending, err := s.EmbedPending(context.Background(), b, m, agent, nil)
	if err != nil {
		t.Fatal(err)
	}
	return pending
}

// pendingOf counts the records of an agent that have no vector and may get one.
func pendingOf(t testing.TB, s *memory.Store, agent string) int {
	t.Helper()
	_, m := builtin(t)
	open, _, err := s.CountPending(context.Background(), m, agent)
	if err != nil {
		t.Fatal(err)
	}
	return open
}

func recall(t testing.TB, s *memory.Store, q memory.Query) memory.Result {
	t.Helper()
	b, m := builtin(t)
	result, err := s.Recall(context.Background(), q, b, m)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// Any step may run twice: the second time nothing is new and vectors stay.
func TestPutTwiceStoresOnce(t *testing.T) {
	s, _ := newStore(t)
	records := []memory.Record{record(0, "the importer hangs"), record(1, "use a reader")}
	if got, want := put(t, s, records...), (memory.PutResult{Stored: 2}); got != want {
		t.Fatalf("%+v, want %+v", got, want)
	}
	if pending := embedAll(t, s, "a"); pending != 0 {
		t.Fatalf("%d pending", pending)
	}
	if got, want := put(t, s, records...), (memory.PutResult{Existing: 2}); got != want {
		t.Fatalf("%+v, want %+v", got, want)
	}
	if n, err := s.CountRecords(context.Background(), "a"); n != 2 || err != nil {
		t.Fatalf("%d records, %v", n, err)
	}
	if pending := pendingOf(t, s, "a"); pending != 0 {
		t.Fatalf("%d pending", pending)
	}
}

// A record that was remembered without an archive learns its archive later,
// and does not forget it again.
func TestPutLearnsTheArchive(t *testing.T) {
	s, _ := newStore(t)
	bare := record(0, "the importer hangs")
	bare.Archive, bare.ArchivePath = "", "/live/s1.jsonl"
	for _, step := range []struct {
		put  memory.Record
		want string
	}{{bare, "/live/s1.jsonl"}, {record(0, "the importer hangs"), "/archive/s1.jsonl"}, {bare, "/archive/s1.jsonl"}} {
		put(t, s, step.put)
		if got := recall(t, s, memory.Query{Text: "importer"}).Hits[0].ArchivePath; got != step.want {
			t.Fatalf("path %s, want %s", got, step.want)
		}
	}
}

// An error in the middle stores nothing of the session.
func TestPutIsAllOrNothing(t *testing.T) {
	s, _ := newStore(t)
	broken := errors.New("torn")
	_, err := s.Put(context.Background(), memory.Source{}, func(yield func(memory.Record, error) bool) {
		_ = yield(record(0, "one"), nil) && yield(memory.Record{}, broken)
	})
	if !errors.Is(err, broken) {
		t.Fatal(err)
	}
	if n, err := s.CountRecords(context.Background(), "a"); n != 0 || err != nil {
		t.Fatalf("%d records, %v", n, err)
	}
}

// A text that changed under its id needs a new vector and new words.
func TestChangedTextIsIndexedAgain(t *testing.T) {
	s, _ := newStore(t)
	r := record(-1, "old summary about herons")
	put(t, s, r)
	embedAll(t, s, "a")
	r.Text = "new summary about otters"
	put(t, s, r)
	if pending := pendingOf(t, s, "a"); pending != 1 {
		t.Fatalf("%d pending, want 1", pending)
	}
	if hits := recall(t, s, memory.Query{Text: "herons", Rank: memory.RankText}).Hits; len(hits) > 0 {
		t.Fatalf("the old words are found: %v", hits[0].Text)
	}
	if hits := recall(t, s, memory.Query{Text: "otter"}).Hits; len(hits) != 1 || hits[0].Text != r.Text {
		t.Fatalf("hits %v", hits)
	}
}

// Whatever happens to a block of vectors, nothing is lost: the records are pending
// again, found by words, and the next run makes their vectors.
func TestLostVectorsArePendingAgain(t *testing.T) {
	for name, harm := range map[string]string{
		"deleted":         "DELETE FROM vector_blocks",
		"truncated":       "UPDATE vector_blocks SET rows=substr(rows, 1, 300)",
		"flipped":         "UPDATE vector_blocks SET rows=CAST(substr(rows, 1, 400) || x'55AA' || substr(rows, 403) AS BLOB)",
		"of another":      "UPDATE vector_blocks SET records=x'020204'",
		"without a list":  "UPDATE vector_blocks SET records=x''",
		"another one's":   "UPDATE vector_rows SET crc=crc+1 WHERE record=2",
		"another's place": "UPDATE vector_blocks SET block=block+1",
	} {
		t.Run(name, func(t *testing.T) {
			s, dir := newStore(t)
			put(t, s, record(0, "the importer hangs"), record(1, "use a bigger buffer"), record(2, "ship it on friday"))
			embedAll(t, s, "a")
			alter(t, dir, harm)
			b, m := builtin(t)
			if problems, err := s.Verify(context.Background()); err != nil || len(problems) != 1 {
				t.Fatalf("problems %v, %v", problems, err)
			}
			if hits := recall(t, s, memory.Query{Text: "bigger buffer"}).Hits; len(hits) == 0 || hits[0].Position != 1 {
				t.Fatalf("hits %v", hits)
			}
			lost := 0
			result, err := s.EmbedMissing(context.Background(), b, m, []string{"a"}, func(_ string, done, total int64) { lost = int(total) })
			if err != nil || lost != 3 || result.Vectors != 3 {
				t.Fatalf("%d were lost, %+v, %v", lost, result, err)
			}
			if problems, err := s.Verify(context.Background()); err != nil || len(problems) != 0 {
				t.Fatalf("problems %v, %v", problems, err)
			}
		})
	}
}

func TestRefusedVectors(t *testing.T) {
	s, _ := newStore(t)
	put(t, s, record(0, "first"))
	_, m := builtin(t)
	id := record(0, "first").ID
	for name, values := range map[string][]float32{"short": make([]float32, 3), "zero": make([]float32, m.Dim)} {
		if err := s.PutVectors(context.Background(), m, "a", []memory.Vector{{ID: id, Values: values}}, nil); err == nil {
			t.Errorf("%s vector was taken", name)
		}
	}
}

// A text with nothing to embed is not pending for ever.
func TestNothingToEmbedIsNotPending(t *testing.T) {
	s, _ := newStore(t)
	put(t, s, record(0, "... --- ..."), record(1, "words"))
	if pending := embedAll(t, s, "a"); pending != 0 {
		t.Fatalf("%d pending", pending)
	}
}

// outage is an embedder whose server is down.
type outage struct{}

func (outage) EmbedDocuments(context.Context, []string) ([][]float32, error) {
	return nil, fmt.Errorf("refused: %w", embed.ErrUnavailable)
}

func TestOutageLeavesEverythingPending(t *testing.T) {
	s, _ := newStore(t)
	put(t, s, record(0, "one"), record(1, "two"))
	_, m := builtin(t)
	for range 5 { // an outage is never counted against the texts
		if pending, err := s.EmbedPending(context.Background(), outage{}, m, "a", nil); pending != 2 || err != nil {
			t.Fatalf("%d pending, %v", pending, err)
		}
	}
	if pending := embedAll(t, s, "a"); pending != 0 {
		t.Fatalf("%d pending after the outage", pending)
	}
}

func TestOpenRefusesWhatItDoesNotKnow(t *testing.T) {
	_, dir := newStore(t)
	db, err := sql.Open("sqlite", filepath.Join(dir, "memory.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("PRAGMA user_version = 99"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	if _, err := memory.Open(context.Background(), dir, memory.Options{}); !errors.Is(err, memory.ErrNewerSchema) {
		t.Fatal(err)
	}
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "memory.db"), []byte(strings.Repeat("not a database ", 400)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := memory.Open(context.Background(), dir, memory.Options{}); !errors.Is(err, memory.ErrCorrupt) {
		t.Fatal(err)
	}
	if _, err := memory.Open(context.Background(), t.TempDir(), memory.Options{ReadOnly: true}); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
}

func TestStats(t *testing.T) {
	s, _ := newStore(t)
	put(t, s, record(0, "one"), record(1, "two"))
	embedAll(t, s, "a")
	got, err := s.Stats(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	_, m := builtin(t)
	want := []memory.AgentStats{{Runtime: "pi", Agent: "a", Sessions: 1, Records: 2, Category: map[string]int{"session_history": 2}, Vectors: map[string]int{m.String(): 2}, Pending: map[string]int{}, Actions: map[string]int{}}}
	if d := cmp.Diff(want, got.Agents); d != "" || got.Bytes == 0 {
		t.Fatal(d, got.Bytes)
	}
}
