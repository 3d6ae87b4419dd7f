package smallpackages_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sessctl/sessctl/internal/samples"
	"github.com/sessctl/sessctl/pkg/replay"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/agent"
	"github.com/sessctl/sessctl/pkg/session/annabelle"
	"github.com/sessctl/sessctl/pkg/session/pi"
)

func read(t *testing.T, s session.Scanner, log string) []replay.Message {
	t.Helper()
	messages, _, err := replay.Read(t.Context(), s, func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(log)), nil })
	if err != nil {
		t.Fatal(err)
	}
	return messages
}

func brief(messages []replay.Message) (all []string) {
	for _, m := range messages {
		all = append(all, string(m.Role)+" "+m.Text)
	}
	return all
}

const talk = `{"recordType":"message","schemaVersion":1,"seq":1,"role":"user","content":[{"type":"text","text":"one"}],"timestamp":"2026-03-01T10:00:01Z"}
{"recordType":"message","schemaVersion":1,"seq":2,"role":"assistant","content":[{"type":"text","text":"two"}],"timestamp":"2026-03-01T10:00:02Z"}
{"recordType":"message","schemaVersion":1,"seq":3,"role":"user","content":[{"type":"text","text":"three"}],"timestamp":"2026-03-01T10:00:03Z"}
`

// Loading a session gives its whole history.
func TestReplayWholeHistory(t *testing.T) {
	want := []string{"user one", "assistant two", "user three"}
	if diff := cmp.Diff(want, brief(read(t, agent.Open("", agent.Options{}), talk+`{"recordType":"mess`))); diff != "" {
		t.Fatalf("messages (-want +got):\n%s", diff)
	}
}

// After a compaction the context is the summary and the messages from
// firstKeptSeq on, each once; the latest compaction wins.
func TestReplayOverlay(t *testing.T) {
	log := talk +
		`{"recordType":"compaction","schemaVersion":1,"seq":4,"firstKeptSeq":3,"summary":"first","timestamp":"2026-03-01T10:00:04Z"}` + "\n" +
		`{"recordType":"message","schemaVersion":1,"seq":5,"role":"assistant","content":[{"type":"text","text":"five"}],"timestamp":"2026-03-01T10:00:05Z"}` + "\n"
	s := agent.Open("", agent.Options{})
	if diff := cmp.Diff([]string{"summary first", "user three", "assistant five"}, brief(read(t, s, log))); diff != "" {
		t.Fatalf("messages (-want +got):\n%s", diff)
	}
	log += `{"recordType":"compaction","schemaVersion":1,"seq":6,"firstKeptSeq":5,"summary":"second","timestamp":"2026-03-01T10:00:06Z"}` + "\n"
	if diff := cmp.Diff([]string{"summary second", "assistant five"}, brief(read(t, s, log))); diff != "" {
		t.Fatalf("messages after the second (-want +got):\n%s", diff)
	}
}

// The samples, and what is left of them when lines are cut away, are taken by
// every provider once they are repaired.
func TestReplaySamplesForProviders(t *testing.T) {
	root := samples.Beside(t, "samples")
	stores := map[string]session.Scanner{
		"pi/large-session.jsonl": pi.Open(""), "pi/jazzyalex/small.jsonl": pi.Open(""),
		"agent-ulid/derived/01JKTS6Q2N8R3Z5V7W9XYB4CDE/session.jsonl": agent.Open("", agent.Options{}),
		"annabelle/derived/annabelle/8304042211.jsonl":                annabelle.Open("", annabelle.Options{}),
	}
	for name, s := range stores {
		raw, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Error(err)
			continue
		}
		lines := strings.SplitAfter(string(raw), "\n")
		for _, from := range []int{0, 1, 7, len(lines) / 3, len(lines) / 2, len(lines) - 4} {
			log := strings.Join(append(lines[:1:1], lines[min(max(1, from), len(lines)):]...), "")
			messages := replay.Truncate(replay.Repair(read(t, s, log)), 2)
			for _, f := range []replay.Format{replay.OpenAI, replay.Anthropic, replay.AISDK} {
				var b bytes.Buffer
				if err := replay.Write(&b, f, replay.Origin{}, messages); err != nil {
					t.Fatal(err)
				}
				if err := validate(f, b.Bytes()); err != nil {
					t.Errorf("%s from line %d, %s: %v", name, from, f, err)
				}
			}
		}
	}
}
