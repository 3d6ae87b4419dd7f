package memory

import (
	"context"
	"database/sql"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/pkg/embed"
)

// interrupted is an embedder in the midst of whose work something happens, once:
// when it is asked for the query, or for the n-th text that is compared with it.
type interrupted struct {
	*embed.Builtin
	happens func()
	at      int // 0 is the query
}

func (i *interrupted) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	i.step()
	return i.Builtin.EmbedQuery(ctx, text)
}

func (i *interrupted) EmbedInto(ctx context.Context, text string, vector []float32) error {
	i.step()
	return i.Builtin.EmbedInto(ctx, text, vector)
}

func (i *interrupted) step() {
	if i.at--; i.at == -1 {
		i.happens()
	}
}

// What another process does to the memory while it is asked is in the answer as a
// whole or not at all: the answer is that of before, or that of afterwards, with
// the vectors and whole neighbourhoods of either.
func TestRecallBesideAnotherRun(t *testing.T) {
	ctx := context.Background()
	for name, run := range map[string]func(*Store, *embed.Builtin) error{
		"reindex": func(s *Store, e *embed.Builtin) error {
			_, err := s.Reindex(ctx, e, e.Model(), []string{"a"}, nil)
			return err
		},
		"forget": func(s *Store, _ *embed.Builtin) error {
			return s.inTransaction(ctx, func(tx *sql.Tx) error {
				_, err := remove(ctx, tx, "position%2=0", nil)
				return err
			})
		},
		"compact": func(s *Store, _ *embed.Builtin) error {
			_, err := s.Put(ctx, Source{Runtime: "pi", Agent: "a", Session: "later"}, func(yield func(Record, error) bool) {
				for i := range 30 {
					yield(Record{ID: RecordID("a", "later", i, "v", ""), Text: "the heron once more", Category: "session_history", Position: i}, nil)
				}
			})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			for at := range 3 {
				besideRun(t, 20, at, run)
			}
			besideRun(t, 1100, 0, run) // they are swept
		})
	}
}

// besideRun asks a memory of so many records while the run happens at a step of
// the embedder.
func besideRun(t *testing.T, count, at int, run func(*Store, *embed.Builtin) error) {
	t.Helper()
	writer, e := embeddedMany(t, count)
	reader, err := Open(t.Context(), writer.dir, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	ask := func(e embed.QueryEmbedder) Result {
		result, err := reader.Recall(t.Context(), Query{Text: "heron number 7"}, e, e.(interface{ Model() embed.Model }).Model())
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	before := ask(e)
	happened := false
	during := ask(&interrupted{Builtin: e, at: at, happens: func() {
		happened = true
		if err := run(writer, e); err != nil {
			t.Fatal(err)
		}
	}})
	after := ask(e)
	if !happened {
		t.Fatal("nothing happened meanwhile")
	}
	if gocmp.Diff(before, during) != "" && gocmp.Diff(after, during) != "" {
		t.Errorf("%d records, step %d: the answer is neither that of before:\n%s\nnor that of afterwards:\n%s", count, at, gocmp.Diff(before, during), gocmp.Diff(after, during))
	}
}
