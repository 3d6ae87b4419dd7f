package adapters_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/internal/fakeagentdb"
	"github.com/sessctl/sessctl/pkg/session/openclaw/agentdb"
	"github.com/sessctl/sessctl/pkg/session/sqlitefile"
)

// aged makes files two hours old.
func aged(t *testing.T, dir string) {
	t.Helper()
	when := time.Now().Add(-2 * time.Hour)
	names, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if err := os.Chtimes(filepath.Join(dir, n.Name()), when, when); err != nil {
			t.Fatal(err)
		}
	}
}

// agentdbWritten makes a database of a test.
func agentdbWritten(t *testing.T, c fakeagentdb.Content) agentdb.File {
	t.Helper()
	f := agentdb.File{Base: t.TempDir(), Name: "openclaw-agent.sqlite"}
	if err := fakeagentdb.Write(f.Path(), c); err != nil {
		t.Fatal(err)
	}
	aged(t, f.Base)
	return f
}

func opened(t *testing.T, f agentdb.File) *agentdb.Database {
	t.Helper()
	d, err := agentdb.Open(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// trace is everything that a reader could leave in a directory.
func trace(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content := ""
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			content = fmt.Sprintf("%x", data)
		}
		fmt.Fprintln(&b, path, info.Mode(), info.Size(), info.ModTime().UnixNano(), content)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func text(t *testing.T, d *agentdb.Database, session string) string {
	t.Helper()
	log, err := d.Log(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(io.NewSectionReader(log, 0, log.Size()))
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(b)) != log.Size() {
		t.Fatalf("%d bytes, Size is %d", len(b), log.Size())
	}
	return string(b)
}

func joined(lines []string) string { return strings.Join(lines, "\n") + "\n" }

// scratchless points the temporary directory at a new one and checks that
// nothing is left in it.
func scratchless(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir)
	t.Cleanup(func() {
		left, err := os.ReadDir(dir)
		if err != nil || len(left) > 0 {
			t.Errorf("left behind: %v %v", left, err)
		}
	})
}

func TestAgentdbLogIsTheRecordsInTheirOrder(t *testing.T) {
	for name, live := range map[string]bool{"stopped": false, "live": true} {
		t.Run(name, func(t *testing.T) {
			f := agentdbWritten(t, fakeagentdb.Story(live))
			if _, err := os.Stat(f.Path() + "-wal"); (err == nil) != live {
				t.Fatalf("the fixture's log: %v", err)
			}
			scratchless(t)
			before := trace(t, f.Base)
			d := opened(t, f)
			for range 2 {
				if diff := cmp.Diff(joined(fakeagentdb.Lines()), text(t, d, fakeagentdb.Current)); diff != "" {
					t.Error(diff)
				}
			}
			if diff := cmp.Diff(joined(fakeagentdb.EarlierLines()), text(t, d, fakeagentdb.Earlier)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, trace(t, f.Base)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Any piece of the log is the same bytes, whichever piece was read before.
func TestAgentdbReadAtAgreesWithTheWhole(t *testing.T) {
	d := opened(t, agentdbWritten(t, fakeagentdb.Story(true)))
	whole := joined(fakeagentdb.Lines())
	log, err := d.Log(t.Context(), fakeagentdb.Current)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		offset := random.IntN(len(whole) + 3)
		p := make([]byte, random.IntN(3000))
		n, err := log.ReadAt(p, int64(offset))
		want := whole[min(offset, len(whole)):min(offset+len(p), len(whole))]
		if string(p[:n]) != want || (err != nil) != (n < len(p)) || err != nil && err != io.EOF {
			t.Fatalf("ReadAt(%d bytes, %d) = %d, %v", len(p), offset, n, err)
		}
	}
	if _, err := log.ReadAt(make([]byte, 1), -1); err == nil {
		t.Error("a negative offset")
	}
}

func TestAgentdbSessions(t *testing.T) {
	d := opened(t, agentdbWritten(t, fakeagentdb.Story(true)))
	sessions, err := d.Sessions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at := func(n int) time.Time { return time.Date(2026, 9, 2, 8, 0, n, 0, time.UTC) }
	want := []agentdb.Session{
		{ID: fakeagentdb.Current, Key: fakeagentdb.MainKey, Model: "mock-large", Records: 8, Bytes: int64(len(joined(fakeagentdb.Lines()))), Changed: at(7)},
		{ID: fakeagentdb.Earlier, Key: fakeagentdb.MainKey, Model: "mock-large", Records: 3, Bytes: int64(len(joined(fakeagentdb.EarlierLines()))), Changed: at(2)},
		{ID: fakeagentdb.Group, Key: "agent:coordinator:telegram:group:42", Model: "mock-large", Records: 3, Bytes: sessions[2].Bytes, Changed: at(2)},
	}
	if diff := cmp.Diff(want, sessions); diff != "" {
		t.Error(diff)
	}
	if text := text(t, d, fakeagentdb.Group); int64(len(text)) != sessions[2].Bytes {
		t.Errorf("%d bytes, the log has %d", sessions[2].Bytes, len(text))
	}
	if _, err := d.Log(t.Context(), "nobody"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if main, err := d.MainKey(t.Context()); err != nil || main != "main" {
		t.Error(main, err)
	}
}

// Schema 19 has neither compressed records nor cold storage nor a main key.
func TestAgentdbOlderSchema(t *testing.T) {
	line := `{"type":"session","id":"s"}`
	d := opened(t, agentdbWritten(t, fakeagentdb.Content{Version: 19, Before: true, Rows: []fakeagentdb.Row{{Session: "s", JSON: line}}}))
	if got := text(t, d, "s"); got != line+"\n" {
		t.Error(got)
	}
	cold, err := d.Cold(t.Context())
	main, err2 := d.MainKey(t.Context())
	deleted, err3 := d.Deleted(t.Context())
	if len(cold)+len(deleted) > 0 || main != "main" || err != nil || err2 != nil || err3 != nil {
		t.Error(cold, main, deleted, err, err2, err3)
	}
}

func TestAgentdbColdStorage(t *testing.T) {
	d := opened(t, agentdbWritten(t, fakeagentdb.Content{Version: 23, Cold: []string{"b", "a"}}))
	cold, err := d.Cold(t.Context())
	want := []agentdb.Cold{{Session: "a", Name: "a.cold", Records: 7}, {Session: "b", Name: "b.cold", Records: 7}}
	if diff := cmp.Diff(want, cold); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestAgentdbDeletedSessions(t *testing.T) {
	d := opened(t, agentdbWritten(t, fakeagentdb.Content{Version: 23, Deleted: []string{"b", "a"}}))
	deleted, err := d.Deleted(t.Context())
	want := []agentdb.Deleted{{Session: "a", Name: "a" + fakeagentdb.DeletedEnd}, {Session: "b", Name: "b" + fakeagentdb.DeletedEnd}}
	if diff := cmp.Diff(want, deleted); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestAgentdbVersionsThatAreNotKnown(t *testing.T) {
	for _, version := range []int{0, 13, 24, 99} {
		scratchless(t)
		_, err := agentdb.Open(t.Context(), agentdbWritten(t, fakeagentdb.Content{Version: version}))
		unknown := sqlitefile.UnknownSchema("")
		if !errors.As(err, &unknown) || !strings.Contains(err.Error(), fmt.Sprintf("version %d,", version)) {
			t.Errorf("version %d: %v", version, err)
		}
	}
}

func TestAgentdbWhatIsNoDatabase(t *testing.T) {
	base := t.TempDir()
	for name, content := range map[string]string{"text": "hello", "empty": "", "header only": "SQLite format 3\x00"} {
		path := filepath.Join(base, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	aged(t, base)
	before := trace(t, base)
	for _, name := range []string{"text", "empty", "header only"} {
		if _, err := agentdb.Open(t.Context(), agentdb.File{Base: base, Name: name}); err == nil {
			t.Error(name)
		}
	}
	if _, err := agentdb.Open(t.Context(), agentdb.File{Base: base, Name: "gone"}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if diff := cmp.Diff(before, trace(t, base)); diff != "" {
		t.Error(diff)
	}
}

func TestAgentdbOpenEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	scratchless(t)
	if _, err := agentdb.Open(ctx, agentdbWritten(t, fakeagentdb.Story(true))); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
