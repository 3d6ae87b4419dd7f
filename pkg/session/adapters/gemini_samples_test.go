package adapters_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/internal/samples"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/gemini"
)

// The messages of every sample, counted by hand: how often each role speaks,
// and how many of the messages were taken back.
func TestGeminiSamples(t *testing.T) {
	for _, c := range []struct {
		name                                         string
		users, answers, results, injected, summaries int
		abandoned                                    int
	}{
		{"gemini-cli/deja-vu/session.jsonl", 1, 1, 0, 0, 0, 0},
		{"gemini-cli/deja-vu/session-set-snapshot.jsonl", 1, 1, 0, 0, 0, 0},
		{"gemini-cli/derived/tmp/registry-demo/chats/session-2026-04-29T21-39-2e7d1c9a.jsonl", 3, 3, 1, 1, 1, 2},
		{"gemini-cli/jazzyalex/jsonl_v040.jsonl", 1, 2, 1, 0, 0, 0},
		{"gemini-cli/jazzyalex/large.json", 2, 4, 2, 1, 0, 0},
		{"gemini-cli/jazzyalex/small.json", 1, 1, 0, 0, 0, 0},
		{"_malformed/gemini-rewind-unknown.jsonl", 2, 0, 0, 0, 0, 1},
		{"real/gemini/session-2026-11-21T03-53-a9d56203.jsonl", 5, 6, 1, 1, 0, 0},
		{"real/gemini/session-2026-11-21T03-54-a9d56203.jsonl", 0, 0, 0, 1, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := samples.Read(t, c.name)
			scan, lines := geminiScanned(t, text)
			abandoned := 0
			for _, l := range lines {
				if l.Branch == "abandoned" {
					abandoned++
				}
			}
			got := []int{scan.ByRole[session.RoleUser], scan.ByRole[session.RoleAssistant], scan.ByRole[session.RoleToolResult], scan.ByRole[session.RoleInjected], scan.ByRole[session.RoleSummary], abandoned}
			if diff := cmp.Diff([]int{c.users, c.answers, c.results, c.injected, c.summaries, c.abandoned}, got); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
}

// A document of another form is refused, not read as empty.
func TestGeminiScanRefusesTheUnknown(t *testing.T) {
	text := samples.Read(t, "gemini-cli/jazzyalex/schema_drift.json")
	scan, err := new(gemini.Store).Scan(context.Background(), bytes.NewReader(text), session.ScanOptions{}, func(*session.Message) error { return nil })
	if err == nil {
		t.Errorf("no error, %d messages", scan.Messages)
	}
}
