package cmd

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/tailcache"
)

// sizesAt runs `sizes` with a clock that is ahead, so that the logs of a test
// have been left alone long enough to be remembered.
func sizesAt(t *testing.T, home string, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	a := testApp(newStreams(strings.NewReader(""), &out, &errs), workspace.Run{Report: workspace.Report{Notes: []workspace.Note{}}, Settings: workspace.Settings{Now: func() time.Time { return time.Now().Add(time.Hour) }, Getenv: func(name string) string { return map[string]string{"HOME": home}[name] }}})
	root := newRootCommand(a)
	root.SetArgs(append([]string{"sizes"}, args...))
	root.SetOut(io.Discard)
	if err := root.ExecuteContext(context.Background()); err != nil {
		t.Fatalf("sizes %q: %v\n%s", args, err, &errs)
	}
	return out.String()
}

func TestSizesAreRemembered(t *testing.T) {
	home := t.TempDir()
	if err := os.CopyFS(home, os.DirFS(filepath.Join("..", "testdata", "sample"))); err != nil {
		t.Fatal(err)
	}
	plain := sizesAt(t, home, "--no-cache")
	file := filepath.Join(home, ".cache", "sessctl", "sizes")
	if workspace.Exists(file) {
		t.Fatal("--no-cache made a cache")
	}
	for range 2 {
		if got := sizesAt(t, home); got != plain {
			t.Fatalf("with a cache:\n%s\nwithout:\n%s", got, plain)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Skipf("no cache of one's own here: %v, %v", info, err)
	}

	// What is written there is what is told: so the runs above used it.
	logs, err := filepath.Glob(filepath.Join(home, ".pi", "agent", "sessions", "*", "*.jsonl"))
	if err != nil || len(logs) == 0 {
		t.Fatalf("no log of pi: %v", err)
	}
	forge(t, file, logs[0])
	if got := sizesAt(t, home); !strings.Contains(got, "\t987654321\t") {
		t.Fatalf("the cache is not used:\n%s", got)
	}
	if got := sizesAt(t, home, "--no-cache"); got != plain {
		t.Fatalf("--no-cache with a cache:\n%s", got)
	}

	// But not of a log that has changed since, in whatever way.
	text, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(logs[0], text, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := sizesAt(t, home); strings.Contains(got, "987654321") {
		t.Fatalf("a log that was written again is taken for what it was:\n%s", got)
	}
}

// forge makes the cache say something else of one log.
func forge(t *testing.T, file, path string) {
	t.Helper()
	o := tailcache.Options{File: file, Stamp: selection.ProgramStamp(programVersion()), Now: func() time.Time { return time.Now().Add(time.Hour) }}
	c := tailcache.Open(o)
	log, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	info, err := log.Stat()
	if err != nil {
		t.Fatal(err)
	}
	g, ok := c.Find(path, info)
	if !ok {
		t.Fatalf("%s is not remembered", path)
	}
	g.Tail.Tokens, g.Tail.TokenSource = 987654321, session.TokensFromUsage
	c.Keep(path, info, log, g)
	if err := c.Save(); err != nil {
		t.Fatal(err)
	}
}

func TestSizesFooterCountsAllSessions(t *testing.T) {
	a := testApp(newStreams(strings.NewReader(""), io.Discard, io.Discard), workspace.Run{Settings: workspace.Settings{Now: time.Now, Getenv: func(string) string { return "" }}})
	doc := selection.SizesDocument{Threshold: 100, Measured: 9, Sessions: []*selection.SessionRow{
		{Session: "large", Tokens: 100, Over: true}, {Session: "small, and due", Tokens: 75, Over: true},
	}}
	const want = "1 of 9 sessions at or over 100 tokens, 1 more over by the runtime's own rule"
	if got := sizesTable(&a.Run.Settings, doc).footer; got != want {
		t.Fatalf("footer %q, want %q", got, want)
	}
}
