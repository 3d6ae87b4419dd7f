package memory

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/embed"
)

// embedded is a memory of some records with vectors.
func embedded(t *testing.T) (*Store, *embed.Builtin) {
	t.Helper()
	return embeddedMany(t, 20)
}

func embeddedMany(t *testing.T, count int) (*Store, *embed.Builtin) {
	t.Helper()
	ctx := context.Background()
	s, err := Open(ctx, t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	_, err = s.Put(ctx, Source{Runtime: "pi", Agent: "a", Session: "s"}, func(yield func(Record, error) bool) {
		for i := range count {
			text := fmt.Sprintf("the heron number %d", i)
			yield(Record{ID: RecordID("a", "s", i, "v", text), Text: text, Category: "session_history", Position: i}, nil)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	e, err := embed.NewBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	reindexed(t, s, e)
	return s, e
}

func reindexed(t *testing.T, s *Store, e *embed.Builtin) {
	t.Helper()
	if _, err := s.Reindex(context.Background(), e, e.Model(), []string{"a"}, nil); err != nil {
		t.Fatal(err)
	}
}

// A reindex, or a forget, that takes place while the memory is checked is no
// damage.
func TestVerifyBesideAnotherRun(t *testing.T) {
	ctx := context.Background()
	for name, run := range map[string]func(*Store, *embed.Builtin){
		"reindex": func(s *Store, e *embed.Builtin) { reindexed(t, s, e) },
		"forget": func(s *Store, _ *embed.Builtin) {
			// The check reads the memory: its log cannot be emptied now.
			if _, err := s.Forget(ctx, Selection{Session: "s"}); err != nil {
				t.Log(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, e := embedded(t)
			reader, err := Open(ctx, s.dir, Options{ReadOnly: true})
			if err != nil {
				t.Fatal(err)
			}
			defer reader.Close()
			s.db.SetMaxOpenConns(1)
			if _, err := s.db.Exec("PRAGMA busy_timeout=0"); err != nil { // patience would only cost time
				t.Fatal(err)
			}
			var problems []Problem
			err = reader.atOneMoment(ctx, func(c *sql.Conn) error {
				if found, err := reader.verifyDatabase(ctx, c); err != nil || len(found) > 0 {
					return fmt.Errorf("%v %w", found, err)
				}
				run(s, e)
				for _, check := range []func(context.Context, *sql.Conn) ([]Problem, error){reader.verifyDatabase, reader.verifyRecords, reader.verifyWords, reader.verifyVectors} {
					found, err := check(ctx, c)
					if err != nil {
						return err
					}
					problems = append(problems, found...)
				}
				return nil
			})
			if err != nil || len(problems) > 0 {
				t.Error(problems, err)
			}
		})
	}
}

// interrupting is an embedder during whose work the vectors are made anew.
type interrupting struct {
	*embed.Builtin
	reindex func()
}

func (i *interrupting) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	if i.reindex != nil {
		i.reindex()
		i.reindex = nil
	}
	return i.Builtin.EmbedQuery(ctx, text)
}

// A reindex that takes place while a question is answered is no damage either.
func TestRecallBesideReindex(t *testing.T) {
	s, e := embedded(t)
	asked := &interrupting{Builtin: e, reindex: func() { reindexed(t, s, e) }}
	result, err := s.Recall(context.Background(), Query{Text: "heron"}, asked, e.Model())
	if err != nil || len(result.Hits) == 0 || strings.Contains(result.Notice, "damaged") {
		t.Errorf("%d hits, %q, %v", len(result.Hits), result.Notice, err)
	}
	if asked.reindex != nil {
		t.Error("nothing was made anew meanwhile")
	}
}
