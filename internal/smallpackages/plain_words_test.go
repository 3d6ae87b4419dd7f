package smallpackages

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/front/pages"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/removal"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/report"
	"github.com/sessctl/sessctl/pkg/session"
)

// A replay cuts tool results where the runtime does, and where it is asked to.
func TestReplayCutsAsTheRuntime(t *testing.T) {
	t.Parallel()
	for runtime, want := range map[string]int{"annabelle": 2, "openclaw": -1, "claude": -1, "pi": -1} {
		if got := (&steps.ReplayOptions{KeepToolResults: -1}).WholeResults(runtime); got != want {
			t.Errorf("%s: %d", runtime, got)
		}
		if got := (&steps.ReplayOptions{KeepToolResults: 5, CutResults: true}).WholeResults(runtime); got != 5 {
			t.Errorf("%s, asked for 5: %d", runtime, got)
		}
	}
}

// What goes is counted with its units.
func TestCleanCountsWithUnits(t *testing.T) {
	t.Parallel()
	for want, rows := range map[string][]removal.CleanRow{
		"2 sessions with 5 files":                     {{Outcome: "trash", Files: 1}, {Outcome: "trash", Files: 4}, {Outcome: removal.PruneKept, Files: 9}},
		"1 session with 1 file, 2 files of the trash": {{Outcome: "purge", Files: 1}, {Outcome: "trash", Files: 1}, {Outcome: "purge", Files: 1}},
		"3 files of the trash":                        {{Outcome: "undelete", Files: 1}, {Outcome: "undelete", Files: 1}, {Outcome: "undelete", Files: 1}},
		"nothing":                                     {{Outcome: removal.PruneKept, Files: 1}},
	} {
		if got := (&removal.Cleaner{Rows: rows}).Counted(); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
}

// A runtime deletes when it starts: no day that is past is told.
func TestNoDayThatIsPast(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	for at, want := range map[string]string{"2026-10-28T00:00:00Z": "at its next start", "2026-12-24T12:00:00Z": "2026-12-24"} {
		if got := pages.GoesOn(at, now); got != want {
			t.Errorf("%s: %s", at, got)
		}
		var page bytes.Buffer
		doc := report.Document{MadeAt: now.Format(time.RFC3339), Purges: []report.Purge{{Runtime: "claude", Agent: "w", First: at, Last: "2026-12-31T12:00:00Z", Sessions: 2}}}
		if err := report.WriteHTML(&page, doc, time.UTC); err != nil || !strings.Contains(page.String(), `<td class="t">`+want+`</td><td class="t">2026-12-31</td>`) {
			t.Errorf("%s: the page does not say %s: %v", at, want, err)
		}
	}
}

// An undo is offered where there is one.
func TestNoUndoThatIsNone(t *testing.T) {
	t.Parallel()
	for _, kind := range workspace.Runtimes() {
		can := kind.Open(t.TempDir(), workspace.Config{}).Capabilities()
		changes := len(can.Strategies) > 0 && can.Strategies[0] != session.StrategyNone
		if back := can.Undoer != nil || can.Restorer != nil; changes && back == kind.Traits().Irreversible {
			t.Errorf("%s is changed; put back: %v, irreversible: %v", kind.Name, back, !back)
		}
		var receipt compact.Receipt
		receipt.ID, receipt.Runtime, receipt.Outcome, receipt.Rotation = "01KB0000000000000000000000", kind.Name, compact.Compacted, &session.Rotation{}
		shown := selection.DescribeResult(selection.CompactedSession{Runtime: kind.Name, Outcome: compact.Compacted, Receipt: receipt.ID + ".json"})
		if strings.Contains(shown, "sessctl undo") == kind.Traits().Irreversible {
			t.Errorf("%s: %s", kind.Name, shown)
		}
		receipt.Archive = &compact.Archived{ID: "0123456789abcdef"}
		refused := &removal.UndoRun{Request: compact.UndoRequest{Receipt: receipt}}
		var failed *failure.Error
		if !errors.As(refused.Failure(session.ErrUnsupported), &failed) || strings.Contains(failed.Hint, "puts the log back") == kind.Traits().Irreversible {
			t.Errorf("%s: %v", kind.Name, failed)
		}
		if row := audit.ReceiptRow(receipt, ""); (row.Undo == "") != kind.Traits().Irreversible {
			t.Errorf("%s: %q", kind.Name, row.Undo)
		}
	}
}

// A hit in a list says its category where that is not what nearly all have, and its line.
func TestHitHeading(t *testing.T) {
	t.Parallel()
	hit := recall.Hit{Agent: "w", Fit: 0.5, Category: compact.CategoryHistory}
	hit.Source.FirstLine = 7
	for want, change := range map[string]func(*recall.Hit){
		"?  w  fit 0.50":                          func(*recall.Hit) {},
		"?  w  fit 0.50  session_summary":         func(h *recall.Hit) { h.Category = compact.CategorySummary },
		"?  w  fit 0.50  session_summary  line 7": func(h *recall.Hit) { h.Category, h.Source.Archive = compact.CategorySummary, "a" },
	} {
		of := hit
		change(&of)
		if got := of.Heading(); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
