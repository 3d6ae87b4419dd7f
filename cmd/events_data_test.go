package cmd

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/compact"
)

// The data of session.compacted is what docs/events.md shows: fields are added,
// never renamed.
func TestEventData(t *testing.T) {
	a := testApp(&streams{}, workspace.Run{Settings: workspace.Settings{Global: workspace.Options{DataDir: "/home/me/.local/share/sessctl"}, Getenv: func(string) string { return "" }}})
	const id = "01M81MG8CWQAQEEQ2MCVT7W348"
	data, ok := workspace.EventOf(a.Run, compact.Receipt{ID: id, At: time.Unix(1, 0), Compaction: compact.Compaction{
		Outcome: compact.Compacted, Runtime: "openclaw", Agent: "coordinator", Session: "600fa7f5-3a0b-4cc5-9e68-d8388de117a2",
		Key: "agent:coordinator:main", TokensBefore: 168044, Chunks: 162, Strategy: "rotate", Bytes: 530055,
		Archive: &compact.Archived{Path: "/home/me/.openclaw/session_archive/coordinator/600fa7f5.20261122T124308Z.6a3d0645.jsonl"},
		Summary: &compact.SummaryResult{Kind: "extractive"},
	}})
	var got bytes.Buffer
	encoder := json.NewEncoder(&got)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(data); err != nil || !ok {
		t.Fatal(err, ok)
	}
	want, err := os.ReadFile("testdata/event_session_compacted.json")
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("the data is\n%s", got.String())
	}
	page, err := os.ReadFile("../docs/events.md")
	if err != nil || !strings.Contains(string(page), "```json\n"+string(want)+"```") {
		t.Errorf("docs/events.md does not show testdata/event_session_compacted.json (%v)", err)
	}
	for name, other := range map[string]compact.Receipt{
		"an undo":   {ID: id, At: time.Unix(1, 0), Undo: &compact.UndoProof{}, Compaction: compact.Compaction{Outcome: compact.Compacted}},
		"a partial": {ID: id, At: time.Unix(1, 0), Compaction: compact.Compaction{Outcome: compact.Partial}},
	} {
		if _, ok := workspace.EventOf(a.Run, other); ok {
			t.Errorf("%s has an event", name)
		}
	}
}
