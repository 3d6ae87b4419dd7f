package cmd

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/operate"
	"github.com/spf13/cobra"
)

// runApp is an app on a copy of the samples, whose clock calls tick.
func runApp(t *testing.T, tick func(a *app)) *app {
	t.Helper()
	home := t.TempDir()
	if err := os.CopyFS(home, os.DirFS(filepath.Join("..", "testdata", "sample"))); err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-240 * time.Hour)
	err := filepath.WalkDir(home, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, long, long)
	})
	if err != nil {
		t.Fatal(err)
	}
	a := testApp(newStreams(strings.NewReader(""), io.Discard, io.Discard), invocation{reporting: reporting{notes: []note{}}, settings: settings{getenv: func(name string) string { return map[string]string{"HOME": home}[name] }}})
	a.now = func() time.Time { tick(a); return time.Now() }
	root := &cobra.Command{Use: "sessctl"}
	a.addGlobalFlags(root.Flags())
	if err := a.loadConfig(root); err != nil {
		t.Fatal(err)
	}
	return a
}

// TestRunProfileStopped: a run that is asked to end does so behind what is under
// way, says what it did not come to, and the next one completes it.
func TestRunProfileStopped(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	a := runApp(t, func(a *app) {
		if made, _ := filepath.Glob(filepath.Join(a.receiptsDir(), "*.json")); len(made) > 0 {
			cancel(errTerminated) // the first session was compacted
		}
	})
	record, err := a.runProfile(ctx, operate.DefaultProfile)
	if err != nil {
		t.Fatal(err)
	}
	if record.Outcome != operate.Interrupted || record.ExitCode != exitTerminate || record.Reason != "terminated" || !record.Told {
		t.Errorf("it ended as %+v", record)
	}
	if got := record.Steps[0]; got.Outcome != operate.Interrupted || got.ExitCode != exitTerminate {
		t.Errorf("the step under way ended as %+v", got)
	}
	for _, s := range record.Steps[1:] {
		if s.Outcome != operate.Skipped || s.Reason != notBegun || !s.Started.IsZero() {
			t.Errorf("%s ended as %+v", s.Step, s)
		}
	}
	again, err := a.runProfile(t.Context(), operate.DefaultProfile)
	if err != nil || again.Outcome != operate.OK {
		t.Fatalf("the next run: %+v, %v", again, err)
	}
	runs, err := a.listedRuns(t.Context())
	if err != nil || len(runs) != 2 || runs[0].ID != again.ID || runs[1].Outcome != operate.Interrupted {
		t.Errorf("recorded are %+v, %v", runs, err)
	}
}

// TestRunProfileSeen: while it is at work a run says so, and its steps have its
// lock; the app that it was called on is as it was.
func TestRunProfileSeen(t *testing.T) {
	seen := operate.Outcome("")
	a := runApp(t, func(a *app) {
		if made, _ := filepath.Glob(filepath.Join(a.receiptsDir(), "*.json")); len(made) == 0 || seen != "" {
			return
		}
		seen = "none"
		if runs, err := a.listedRuns(context.Background()); err == nil && len(runs) == 1 {
			seen = runs[0].Outcome
		}
	})
	record, err := a.runProfile(t.Context(), operate.DefaultProfile)
	if err != nil || record.Outcome != operate.OK {
		t.Fatalf("%+v, %v", record, err)
	}
	if seen != operate.Running {
		t.Errorf("while it was at work it was %q", seen)
	}
	if a.held != nil || len(a.notes) > 0 || len(a.opened) > 0 {
		t.Errorf("something is left of it: %v", a.notes)
	}
}
