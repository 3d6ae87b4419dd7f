package memory

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/sessctl/sessctl/pkg/memory/database"
)

// A store that was made today looks as the golden file says. Who changes the
// schema of a released version raises schemaVersion and writes the way there.
func TestSchemaIsGolden(t *testing.T) {
	s, err := Open(context.Background(), t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	lines, err := database.Strings(context.Background(), s.db, `SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name`)
	if err != nil {
		t.Fatal(err)
	}
	pragmas, err := database.Strings(context.Background(), s.db, `SELECT 'user_version ' || user_version || ', application_id ' || application_id || ', page_size ' || page_size || ', journal_mode ' || journal_mode
		FROM pragma_user_version, pragma_application_id, pragma_page_size, pragma_journal_mode`)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(append(pragmas, lines...), "\n") + "\n"
	golden := filepath.Join("testdata", "schema-1.sql")
	if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := gocmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), got); d != "" {
		t.Fatal(d)
	}
}

// Many processes may be the first to open a store.
func TestFirstOpenIsARace(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() {
			s, err := Open(context.Background(), dir, Options{})
			if err == nil {
				err = s.Close()
			}
			errs[i] = err
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// What is not ours, or newer, is refused and not changed by a byte.
func TestOpenDoesNotTouchWhatItRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		setUp string
		want  error
	}{
		"newer":            {"CREATE TABLE x (a); PRAGMA user_version=99; PRAGMA application_id=1936028525", ErrNewerSchema},
		"another program":  {"CREATE TABLE x (a); PRAGMA user_version=1; PRAGMA application_id=7", ErrCorrupt},
		"nameless program": {"CREATE TABLE x (a)", ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "memory.db")
			db, err := sql.Open("sqlite", path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.Exec(c.setUp); err != nil {
				t.Fatal(err)
			}
			db.Close()
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, readOnly := range []bool{true, false} {
				if _, err := Open(context.Background(), filepath.Dir(path), Options{ReadOnly: readOnly}); !errors.Is(err, c.want) {
					t.Fatalf("%v, want %v", err, c.want)
				}
			}
			after, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if string(before) != string(after) {
				t.Fatal("the file was changed")
			}
		})
	}
}

// A database cut off anywhere is refused, found damaged by Verify, or still has
// every record: it never panics, and is never taken for a new one.
func TestDamagedDatabase(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	s, err := Open(ctx, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Put(ctx, Source{Runtime: "pi", Agent: "a", Session: "s"}, func(yield func(Record, error) bool) {
		for i := range 30 {
			yield(Record{ID: RecordID("a", "s", i, "v", ""), Text: strings.Repeat("word ", 200), Position: i}, nil)
		}
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(dir, "memory.db"))
	if err != nil {
		t.Fatal(err)
	}
	for size := 1; size < len(whole); size += len(whole)/37 + 1 {
		torn := t.TempDir()
		if err := os.WriteFile(filepath.Join(torn, "memory.db"), whole[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(ctx, torn, Options{})
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("%d of %d bytes: %v", size, len(whole), err)
			}
			continue
		}
		problems, err := s.Verify(ctx)
		if n, _ := s.CountRecords(ctx, "a"); err == nil && len(problems) == 0 && n != 30 {
			t.Errorf("%d of %d bytes: taken for whole with %d records", size, len(whole), n)
		}
		s.Close()
	}
}
