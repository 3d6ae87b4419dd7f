package cmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/removal"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/retention"
)

// The last copy of what memory takes nothing from stays: that memory lacks nothing
// of it says nothing. The journal of a session is such an archive, always.
func TestLastCopiesOfWhatSaysNothing(t *testing.T) {
	a := mcpHome(t)
	root := newRootCommand(a.printingTo(&bytes.Buffer{}))
	root.SetArgs([]string{"archive", "--agent", "work-orders-api", "--remember"})
	err := root.ExecuteContext(t.Context())
	if err == nil { // its archive is the last copy of what memory has, as that of a compacted session is
		err = os.RemoveAll(filepath.Join(a.Getenv("HOME"), ".pi", "agent", "sessions", "--work-orders-api--"))
	}
	archives, openErr := a.OpenArchive()
	if err := errors.Join(err, openErr); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"work-orders-api": retention.ActionTrash, "coordinator": retention.ActionTrash}
	for agent, c := range map[string]struct{ runtime, session, text string }{
		"journal":      {"opencode", "ses_1" + removal.JournalEnd, `{"type":"row","table":"event_sequence","row":{"aggregate_id":"ses_1","seq":1}}` + "\n" + `{"type":"opencode.event","row":{"id":"evt_1","aggregate_id":"ses_1","seq":1,"type":"message.removed.1"},"payload":{"messageID":"msg_1"}}` + "\n"},
		"said-journal": {"pi", "s2" + removal.JournalEnd, `{"type":"session","version":3,"id":"s2"}` + "\n"},
		"header":       {"pi", "s3", `{"type":"session","version":3,"id":"s3","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}` + "\n"},
		"unreadable":   {"pi", "s4", "{\"type\":\"mess\n"},
	} {
		m := archive.Meta{Runtime: c.runtime, Agent: agent, Session: c.session, Source: "/gone/" + c.session, Kind: "live"}
		if _, err := archives.Put(t.Context(), m, strings.NewReader(c.text), int64(len(c.text)), time.Now().Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
		want[agent] = removal.PruneKept
	}
	var out bytes.Buffer
	root = newRootCommand(a.printingTo(&out))
	root.SetArgs(strings.Fields("archives prune --max-age 0s --keep 0 --last-copies --force --dry-run --json"))
	var doc removal.PruneDocument
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil || len(doc.Archives) != len(want) {
		t.Fatalf("%v: %s", err, out.Bytes())
	}
	for _, r := range doc.Archives {
		if r.Outcome != want[r.Agent] {
			t.Errorf("%s: %s, want %s: %s", r.Agent, r.Outcome, want[r.Agent], r.Reason)
		}
	}
}
