package memory

import (
	"context"
	"errors"
	"testing"
)

// While somebody reads the memory its log cannot be emptied. That is told, and
// the next wipe does it.
func TestWipeWaitsForReaders(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	s, err := Open(ctx, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.db.SetMaxOpenConns(1)
	if _, err := s.db.Exec("PRAGMA busy_timeout=0"); err != nil { // patience would only cost time
		t.Fatal(err)
	}
	_, err = s.Put(ctx, Source{Runtime: "pi", Agent: "a", Session: "s"}, func(yield func(Record, error) bool) {
		yield(Record{ID: RecordID("a", "s", 0, "v", ""), Text: "heron"}, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	reader, err := Open(ctx, dir, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	rows, err := reader.db.Query("SELECT id FROM records")
	if err != nil || !rows.Next() {
		t.Fatal("nothing is read", err)
	}
	if n, err := s.Forget(ctx, Selection{Session: "s"}); n.Marked != 1 || !errors.Is(err, ErrUnwiped) || !errors.Is(err, ErrBusy) {
		t.Errorf("%+v forgotten, %v; want 1, and that it is not wiped", n, err)
	}
	if err := rows.Close(); err != nil {
		t.Fatal(err)
	}
	if due, err := s.WipeIsDue(ctx); !due || err != nil {
		t.Fatal(due, err)
	}
	if err := s.Wipe(ctx); err != nil {
		t.Fatal(err)
	}
	if due, err := s.WipeIsDue(ctx); due || err != nil {
		t.Fatal(due, err)
	}
}
