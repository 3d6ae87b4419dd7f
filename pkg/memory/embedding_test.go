package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory/database"
	"github.com/sessctl/sessctl/pkg/memory/vectors"
	"github.com/sessctl/sessctl/pkg/memory/words"
)

// embeddingStore is an empty memory and the built-in embedder.
func embeddingStore(t *testing.T) (s *Store, e *embedding) {
	t.Helper()
	s, err := Open(context.Background(), t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	b, err := embed.NewBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	e = &embedding{b, b.Model(), "a"}
	return s, e
}

// toEmbed are more texts than are prepared together, one of which has nothing to
// embed, and one of which is another agent's.
func toEmbed() (list []Record) {
	for i := range 150 {
		list = append(list, Record{ID: fmt.Sprint("id", i), Agent: "a", Text: fmt.Sprintf("the crane number %d lifts %d beams", i, i*i), Category: "session_history", Branch: "active", Position: i})
	}
	list[70].Text = "the of and"
	list[80].Agent = "b"
	return list
}

func sequence(list []Record, last error) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for _, r := range list {
			if !yield(r, nil) {
				return
			}
		}
		if last != nil {
			yield(Record{}, last)
		}
	}
}

// tableOf are the rows of a query.
func tableOf(t *testing.T, s *Store, query string) (rows []string) {
	t.Helper()
	rows, err := database.Strings(t.Context(), s.db, query)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func namesOf(t *testing.T, s *Store) []string {
	return tableOf(t, s, "SELECT r.id||' '||v.block||' '||v.crc||' '||v.agent FROM vectors v JOIN records r ON r.rowid=v.record ORDER BY r.id")
}

func pendingOf(t *testing.T, s *Store) []string {
	return tableOf(t, s, "SELECT r.id||' '||p.agent||' '||p.tries||' '||p.reason FROM pending p JOIN records r ON r.rowid=p.record ORDER BY r.id")
}

func mustVerify(t *testing.T, s *Store) {
	t.Helper()
	if problems, err := s.Verify(t.Context()); err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
}

// Records that are embedded while they are stored have the vectors, the rows and
// the failures that they have when they are stored first and embedded then.
func TestPutEmbeddedIsPutThenEmbed(t *testing.T) {
	ctx, source := t.Context(), Source{Agent: "a", Session: "s"}
	first, e := embeddingStore(t)
	if _, err := first.Put(ctx, source, sequence(toEmbed(), nil)); err != nil {
		t.Fatal(err)
	}
	if _, err := first.EmbedPending(ctx, e.embedder, e.model, "a", nil); err != nil {
		t.Fatal(err)
	}
	s, _ := embeddingStore(t)
	list := toEmbed()
	for _, part := range [][]Record{list[:120], list} { // some are there when all are put
		if _, err := s.PutEmbedded(ctx, source, Embedding{e.embedder, e.model}, sequence(part, nil)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := gocmp.Diff(namesOf(t, first), namesOf(t, s)); diff != "" {
		t.Error(diff)
	}
	if diff := gocmp.Diff(pendingOf(t, first), pendingOf(t, s)); diff != "" {
		t.Error(diff)
	}
	if got := pendingOf(t, s); len(got) != 2 {
		t.Error(got)
	}
	sameVectors(t, first, s)
	mustVerify(t, s)
}

// sameVectors holds the blocks of one memory to those of another.
func sameVectors(t *testing.T, want, got *Store) {
	t.Helper()
	const blocks = "SELECT block||' '||sum||' '||hex(records)||' '||hex(rows) FROM vector_blocks ORDER BY block"
	if a, b := tableOf(t, want, blocks), tableOf(t, got, blocks); len(a) == 0 || !slices.Equal(a, b) {
		t.Errorf("%d blocks of vectors, want %d with the same", len(b), len(a))
	}
}

// More batches than are on their way at once: each text keeps its words and its
// vector, although batches are used again.
func TestManyBatches(t *testing.T) {
	s, e := embeddingStore(t)
	list := make([]Record, 8*batchTexts)
	for i := range list {
		list[i] = Record{ID: fmt.Sprint("id", i), Text: fmt.Sprintf("the crane number %d lifts beams", i), Category: "session_history", Branch: "active", Position: i}
	}
	result, err := s.PutEmbedded(t.Context(), Source{Agent: "a", Session: "s"}, Embedding{e.embedder, e.model}, sequence(list, nil))
	if err != nil || result.Stored != len(list) || len(namesOf(t, s)) != len(list) {
		t.Errorf("%+v, %d vectors: %v", result, len(namesOf(t, s)), err)
	}
	if segments := tableOf(t, s, "SELECT segment FROM word_segments"); len(segments) != 1 {
		t.Errorf("%d segments of words", len(segments))
	}
	mustVerify(t, s)
}

// A batch is full by its texts or by their bytes, and keeps no text when it is used
// again.
func TestTextBatch(t *testing.T) {
	var b textBatch
	for i := range batchTexts {
		if b.full() {
			t.Errorf("full with %d texts", i)
		}
		b.add(int64(i), Record{Text: "beam"})
	}
	if !b.full() {
		t.Error("not full")
	}
	held := b.texts
	b.reset()
	if b.full() || held[0].text != "" {
		t.Error("a batch that was reset has texts")
	}
	b.add(1, Record{Text: strings.Repeat("a", batchBytes-1)})
	if b.full() {
		t.Error("full with a byte less")
	}
	b.add(2, Record{Text: "a"})
	if !b.full() {
		t.Error("not full with as many bytes")
	}
}

// The words that are known from one text to the next are bounded: then all begin
// anew, and the texts before keep theirs.
func TestVocabularyIsRenewed(t *testing.T) {
	p, err := newPreparer(nil)
	if err != nil {
		t.Fatal(err)
	}
	var b textBatch
	first := p.reader.Vocabulary()
	for from := 0; first.Size() <= words.VocabularyBytes; from += 20_000 {
		var text strings.Builder
		for i := range 20_000 {
			fmt.Fprintf(&text, "quay%09d ", from+i)
		}
		p.read(&preparedText{text: text.String()}, &b)
	}
	if p.reader.Vocabulary() != first {
		t.Error("renewed too early")
	}
	last := preparedText{text: "quay000000000"}
	p.read(&last, &b)
	if v := p.reader.Vocabulary(); v == first || v.Size() >= first.Size() || len(v.Terms()) != 1 {
		t.Errorf("%d bytes, %d before", v.Size(), first.Size())
	}
}

// A writer that is closed has nothing left that prepares texts.
func TestClosedWriterPreparesNothing(t *testing.T) {
	s, e := embeddingStore(t)
	err := s.inTransaction(t.Context(), func(tx *sql.Tx) error {
		w, err := s.newEmbeddingWriter(t.Context(), tx, e, &PutResult{})
		if err != nil {
			return err
		}
		for _, r := range toEmbed() {
			if err := w.put(r); err != nil {
				return err
			}
		}
		done := w.ahead.done
		w.close()
		select {
		case _, open := <-done:
			if open {
				t.Error("a batch is left")
			}
		default:
			t.Error("texts are still prepared")
		}
		return errors.New("undo")
	})
	if err == nil {
		t.Error("stored")
	}
}

// The vectors of another model are not those of the built-in embedder: for that
// model the records are pending.
func TestPutEmbeddedBesideAnotherModel(t *testing.T) {
	s, e := embeddingStore(t)
	other := e.model
	other.Revision += "-other"
	if err := s.inTransaction(t.Context(), func(tx *sql.Tx) error { return vectors.Register(t.Context(), tx, other) }); err != nil {
		t.Fatal(err)
	}
	list := toEmbed()[:3]
	if _, err := s.PutEmbedded(t.Context(), Source{Agent: "a", Session: "s"}, Embedding{e.embedder, e.model}, sequence(list, nil)); err != nil {
		t.Fatal(err)
	}
	if named, pending := len(namesOf(t, s)), len(pendingOf(t, s)); named != len(list) || pending != len(list) {
		t.Errorf("%d vectors, %d pending", named, pending)
	}
	mustVerify(t, s)
}

// A record whose text has changed gets the vector of the new one, in the same run.
func TestPutEmbeddedChangedText(t *testing.T) {
	ctx, source := t.Context(), Source{Agent: "a", Session: "s"}
	s, e := embeddingStore(t)
	list := toEmbed()[:3]
	for range 2 {
		if _, err := s.PutEmbedded(ctx, source, Embedding{e.embedder, e.model}, sequence(list, nil)); err != nil {
			t.Fatal(err)
		}
		list[1].Text = "a bridge of stone"
	}
	if names := namesOf(t, s); len(names) != 3 || len(pendingOf(t, s)) != 0 {
		t.Error(names, pendingOf(t, s))
	}
	mustVerify(t, s)
	if r, err := s.Recall(ctx, Query{Text: "stone bridges", Agent: "a"}, e.embedder, e.model); err != nil || len(r.Hits) == 0 || r.Hits[0].ID != "id1" {
		t.Error(r, err)
	}
}

// What a run that fails has written is not there.
func TestFailedPutStoresNothing(t *testing.T) {
	ctx, source := t.Context(), Source{Agent: "a", Session: "s"}
	s, e := embeddingStore(t)
	broken := errors.New("the log has changed")
	err := s.inTransaction(ctx, func(tx *sql.Tx) error {
		w, err := s.newEmbeddingWriter(ctx, tx, e, &PutResult{})
		if err != nil {
			return err
		}
		defer w.close()
		for _, r := range toEmbed() {
			if err := w.put(source.complete(r)); err != nil {
				return err
			}
		}
		return errors.Join(w.settle(), w.vectors.Flush(), broken)
	})
	if !errors.Is(err, broken) {
		t.Fatal(err)
	}
	if names, blocks := namesOf(t, s), tableOf(t, s, "SELECT block FROM vector_blocks"); len(names)+len(blocks) != 0 {
		t.Error(names, blocks)
	}
	mustVerify(t, s)
	if _, err := s.PutEmbedded(ctx, source, Embedding{e.embedder, e.model}, sequence(toEmbed()[:40], nil)); err != nil {
		t.Fatal(err)
	}
	if names := namesOf(t, s); len(names) != 40 {
		t.Error(names)
	}
	mustVerify(t, s)
}

// An error of the sequence undoes all, also what is being prepared.
func TestPutEmbeddedIsAllOrNothing(t *testing.T) {
	s, e := embeddingStore(t)
	broken := errors.New("broken")
	if _, err := s.PutEmbedded(t.Context(), Source{Agent: "a"}, Embedding{e.embedder, e.model}, sequence(toEmbed(), broken)); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	if rows := tableOf(t, s, "SELECT id FROM record_rows"); len(rows) != 0 {
		t.Error(rows)
	}
	mustVerify(t, s)
}

// A vector that cannot be written fails its transaction like anything else: nothing
// is stored, and the next run stores all.
func TestVectorsThatCannotBeWritten(t *testing.T) {
	for _, table := range []string{"vector_spaces", "vector_blocks", "vector_rows", "pending"} {
		s, e := embeddingStore(t)
		if _, err := s.PutEmbedded(t.Context(), Source{Agent: "b"}, Embedding{e.embedder, e.model}, sequence(nil, nil)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.db.Exec("CREATE TRIGGER broken BEFORE INSERT ON " + table + " BEGIN SELECT RAISE(ROLLBACK, 'the disk is broken'); END"); err != nil {
			t.Fatal(err)
		}
		_, err := s.PutEmbedded(t.Context(), Source{Agent: "a"}, Embedding{e.embedder, e.model}, sequence(toEmbed(), nil))
		if err == nil || !strings.Contains(err.Error(), "the disk is broken") {
			t.Errorf("%s: the run says %v", table, err)
		}
		if _, err := s.db.Exec("DROP TRIGGER broken"); err != nil {
			t.Fatal(err)
		}
		if rows := tableOf(t, s, "SELECT id FROM record_rows"); len(rows) > 0 {
			t.Errorf("%s: %d records are stored", table, len(rows))
		}
		mustVerify(t, s)
		if _, err := s.PutEmbedded(t.Context(), Source{Agent: "a"}, Embedding{e.embedder, e.model}, sequence(toEmbed(), nil)); err != nil {
			t.Fatal(err)
		}
		if names := namesOf(t, s); len(names) != len(toEmbed())-2 {
			t.Errorf("%s: %d vectors", table, len(names))
		}
		mustVerify(t, s)
	}
}

// A record that is given twice, the second time without anything to embed, keeps
// no vector of the first text.
func TestEmbeddedTwiceInOnePut(t *testing.T) {
	s, e := embeddingStore(t)
	list := []Record{
		{ID: "twice", Text: "red apples", Category: "session_history", Branch: "active"},
		{ID: "twice", Text: "the of", Category: "session_history", Branch: "active"},
	}
	if _, err := s.PutEmbedded(t.Context(), Source{Agent: "a", Session: "s"}, Embedding{e.embedder, e.model}, sequence(list, nil)); err != nil {
		t.Fatal(err)
	}
	if names := namesOf(t, s); len(names) > 0 {
		t.Errorf("vectors of a text that is gone: %v", names)
	}
	mustVerify(t, s)
}

// The text of a record that is another agent's changes, and its vector is not put
// among those of the agent whose run that is.
func TestEmbeddedRecordOfAnotherAgent(t *testing.T) {
	s, e := embeddingStore(t)
	list := []Record{{ID: "shared", Agent: "b", Text: "red apples", Category: "session_history", Branch: "active"}}
	if _, err := s.Put(t.Context(), Source{Agent: "b", Session: "s"}, sequence(list, nil)); err != nil {
		t.Fatal(err)
	}
	list[0].Agent, list[0].Text = "a", "green pears"
	if _, err := s.PutEmbedded(t.Context(), Source{Agent: "a", Session: "s"}, Embedding{e.embedder, e.model}, sequence(list, nil)); err != nil {
		t.Fatal(err)
	}
	for _, agent := range []string{"a", "b"} {
		if _, err := s.EmbedPending(t.Context(), e.embedder, e.model, agent, nil); err != nil {
			t.Fatal(err)
		}
	}
	if names := tableOf(t, s, "SELECT agent FROM vectors"); !slices.Equal(names, []string{"b"}) {
		t.Error("vectors are among those of", names)
	}
	mustVerify(t, s)
}
