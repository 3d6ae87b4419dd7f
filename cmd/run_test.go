package cmd

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/removal"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/compact"
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
	a := testApp(newStreams(strings.NewReader(""), io.Discard, io.Discard), workspace.Run{Report: workspace.Report{Notes: []workspace.Note{}}, Settings: workspace.Settings{Getenv: func(name string) string { return map[string]string{"HOME": home}[name] }}})
	a.Now = func() time.Time { tick(a); return time.Now() }
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
		if made, _ := filepath.Glob(filepath.Join(a.ReceiptsDir(), "*.json")); len(made) > 0 {
			cancel(failure.ErrTerminated) // the first session was compacted
		}
	})
	record, err := runProfile(ctx, a, operate.DefaultProfile)
	if err != nil {
		t.Fatal(err)
	}
	if record.Outcome != operate.Interrupted || record.ExitCode != failure.ExitTerminate || record.Reason != "terminated" || !record.Told {
		t.Errorf("it ended as %+v", record)
	}
	if got := record.Steps[0]; got.Outcome != operate.Interrupted || got.ExitCode != failure.ExitTerminate {
		t.Errorf("the step under way ended as %+v", got)
	}
	for _, s := range record.Steps[1:] {
		if s.Outcome != operate.Skipped || s.Reason != steps.NotBegun || !s.Started.IsZero() {
			t.Errorf("%s ended as %+v", s.Step, s)
		}
	}
	again, err := runProfile(t.Context(), a, operate.DefaultProfile)
	if err != nil || again.Outcome != operate.OK {
		t.Fatalf("the next run: %+v, %v", again, err)
	}
	runs, err := audit.ListedRuns(t.Context(), a.Run)
	if err != nil || len(runs) != 2 || runs[0].ID != again.ID || runs[1].Outcome != operate.Interrupted {
		t.Errorf("recorded are %+v, %v", runs, err)
	}
}

// TestRunProfileSeen: while it is at work a run says so, and its steps have its
// lock; the app that it was called on is as it was.
func TestRunProfileSeen(t *testing.T) {
	seen := operate.Outcome("")
	a := runApp(t, func(a *app) {
		if made, _ := filepath.Glob(filepath.Join(a.ReceiptsDir(), "*.json")); len(made) == 0 || seen != "" {
			return
		}
		seen = "none"
		if runs, err := audit.ListedRuns(context.Background(), a.Run); err == nil && len(runs) == 1 {
			seen = runs[0].Outcome
		}
	})
	record, err := runProfile(t.Context(), a, operate.DefaultProfile)
	if err != nil || record.Outcome != operate.OK {
		t.Fatalf("%+v, %v", record, err)
	}
	if seen != operate.Running {
		t.Errorf("while it was at work it was %q", seen)
	}
	if a.Held != nil || len(a.Notes) > 0 || len(a.Opened) > 0 {
		t.Errorf("something is left of it: %v", a.Notes)
	}
}

// What a step was to do and did not is a problem of it, what failed first.
func TestStepsTellWhatWasLeft(t *testing.T) {
	for _, c := range []struct {
		step string
		told steps.StepResult
		want string
	}{
		{"compact", steps.TellCompact(selection.CompactDocument{Sessions: []selection.CompactedSession{
			{Agent: "a", Session: "1", Outcome: compact.Busy, Reason: "locked by process 7"}, {Agent: "a", Session: "2", Outcome: compact.Failed, Reason: "no space"},
		}}), "a 2: no space; a 1: locked by process 7"},
		{"clean", steps.TellClean(removal.CleanDocument{Sessions: []removal.CleanRow{
			{Agent: "a", Session: "1", Outcome: removal.PruneKept, Reason: "among the newest of its agent"}, {Agent: "a", Session: "2", Outcome: removal.PruneKept, Reason: "busy", Left: true},
		}}), "a 2: busy"},
		{"prune", steps.TellPrune(removal.PruneDocument{Archives: []removal.PruneRow{{Agent: "a", Session: "1", Outcome: removal.PruneKept, Reason: "stays in the trash", Left: true}}}), "a 1: stays in the trash"},
	} {
		if got := strings.Join(c.told.Problems, "; "); got != c.want {
			t.Errorf("%s: %q, want %q", c.step, got, c.want)
		}
	}
}
