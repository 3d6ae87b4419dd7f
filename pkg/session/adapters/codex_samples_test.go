package adapters_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/internal/samples"
	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/codex"
)

// codexReadLog returns a log's text, decompressed; of a stream that is cut off, the
// part that can be read.
func codexReadLog(t testing.TB, name string) []byte {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	plain, _, err := jsonl.Decompress(f, jsonl.Unsized)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	text, err := io.ReadAll(plain)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatal(err)
	}
	return text
}

// The number of messages of every sample, counted by hand in the smaller ones,
// and how often each role speaks in them.
func TestCodexSamples(t *testing.T) {
	for _, c := range []struct {
		name                                    string
		records                                 int
		users, answers, results, injected, sums int
	}{
		{"codex/derived/sessions/2026/07/20/rollout-2026-07-20T11-00-00-019f8a11-7b21-7c3d-9e10-aabbccddeeff.jsonl", 7, 1, 3, 2, 1, 1},
		{"codex/derived/archived_sessions/rollout-2026-07-01T10-00-00-019f8a11-7b21-7c3d-9e10-aabbccddee00.jsonl.zst", 7, 1, 3, 2, 1, 1},
		{"codex/deja-vu/rollout-2026-07-17T09-00-00-registry-codex.jsonl", 2, 1, 1, 0, 0, 0},
		{"codex/jazzyalex/codex_050_legacy.jsonl", 0, 0, 0, 0, 0, 0},
		{"codex/jazzyalex/codex_053_rate_limit.jsonl", 0, 0, 0, 0, 0, 0},
		{"codex/jazzyalex/large.jsonl", 16, 6, 8, 1, 1, 0},
		{"codex/jazzyalex/schema_drift.jsonl", 4, 1, 2, 1, 0, 0},
		{"codex/jazzyalex/session_branch.jsonl", 4, 1, 2, 1, 0, 0},
		{"codex/codexbar/harness-smoke/codex-home/archived_sessions/child.jsonl", 0, 0, 0, 0, 0, 0},
		{"_malformed/codex-fork-copy.jsonl", 1, 1, 0, 0, 0, 0},
		{"real/codex/01-three-turns-tool.jsonl", 11, 3, 5, 1, 2, 0},
		{"real/codex/rollout-2026-11-21T03-42-22-01a1fc32-ae0f-7cc0-b105-9609e89100ec.jsonl", 26, 11, 13, 1, 2, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := codexReadLog(t, samples.Beside(t, "samples/"+c.name))
			scan, err := new(codex.Store).Scan(context.Background(), bytes.NewReader(text), session.ScanOptions{}, func(*session.Message) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			type figures struct{ records, users, answers, results, injected, sums int }
			got := figures{scan.Records, scan.ByRole[session.RoleUser], scan.ByRole[session.RoleAssistant], scan.ByRole[session.RoleToolResult], scan.ByRole[session.RoleInjected], scan.ByRole[session.RoleSummary]}
			want := figures{c.records, c.users, c.answers, c.results, c.injected, c.sums}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(figures{})); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
}
