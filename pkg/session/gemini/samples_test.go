package gemini

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/pkg/session"
)

// samplesDir returns the directory of session samples beside the module, and
// skips the test if there is none.
func samplesDir(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	for err == nil {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			break
		}
		if parent := filepath.Dir(dir); parent != dir {
			dir = parent
			continue
		}
		t.Skip("no module root above the test")
	}
	dir = filepath.Join(dir, "..", "shared", "samples")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("no samples beside the module: ", err)
	}
	return dir
}

func readSample(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(samplesDir(t), filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The messages of every sample, counted by hand: how often each role speaks,
// and how many of the messages were taken back.
func TestSamples(t *testing.T) {
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
			text := readSample(t, c.name)
			scan, lines := scanned(t, text)
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
func TestScanRefusesTheUnknown(t *testing.T) {
	text := readSample(t, "gemini-cli/jazzyalex/schema_drift.json")
	scan, err := new(Store).Scan(context.Background(), bytes.NewReader(text), session.ScanOptions{}, func(*session.Message) error { return nil })
	if err == nil {
		t.Errorf("no error, %d messages", scan.Messages)
	}
}
