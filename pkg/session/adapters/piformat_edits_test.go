package adapters_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/samples"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/piformat"
)

// sentEntries are the ids of the entries of a pi log that its model is sent something
// of, by an independent reading of pi's own rule for context edits (compactions aside).
func sentEntries(t *testing.T, log []byte) (sent []string) {
	t.Helper()
	type entry struct {
		Type, ID, ParentID, TargetID string
		Replacement                  json.RawMessage
	}
	byID, leaf := map[string]entry{}, ""
	for line := range bytes.Lines(log) {
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		if e.Type != "session" {
			byID[e.ID], leaf = e, e.ID
		}
	}
	omitted, met := map[string]bool{}, map[string]bool{}
	for ; leaf != ""; leaf = byID[leaf].ParentID {
		switch e := byID[leaf]; e.Type {
		case "context_edit":
			omitted[e.TargetID] = !met[e.TargetID] && string(e.Replacement) == "null" || omitted[e.TargetID]
			met[e.TargetID] = true
		case "message", "compaction", "custom_message", "branch_summary":
			if !omitted[e.ID] {
				sent = append(sent, e.ID)
			}
		}
	}
	slices.Reverse(sent)
	return sent
}

// scanEdited are the messages of a log, its branches and edits known.
func scanEdited(t *testing.T, log []byte) (all []session.Message) {
	t.Helper()
	var tree *session.Tree
	for range 2 {
		all = nil
		scan, err := piformat.Scan(t.Context(), bytes.NewReader(log), session.ScanOptions{Tree: tree}, func(m *session.Message) error {
			own := *m
			own.ID, own.Parts = bytes.Clone(m.ID), slices.Clone(m.Parts)
			for i := range own.Parts {
				own.Parts[i].Text = bytes.Clone(own.Parts[i].Text)
			}
			all = append(all, own)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		tree = scan.Tree
	}
	return all
}

// TestContextEdits holds what is in the context of logs that the real pi 1.6.0 wrote.
func TestContextEdits(t *testing.T) {
	for _, path := range samples.Matching(t, "findings/runtimes/samples/pi-1.6.0/*.jsonl") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			log, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var sent []string
			for _, m := range scanEdited(t, log) {
				if m.Branch == session.Active && !m.OutOfContext {
					sent = append(sent, string(m.ID))
				}
			}
			if want := sentEntries(t, log); !slices.Equal(sent, want) {
				t.Errorf("the context has %v, pi sends %v", sent, want)
			}
		})
	}
}

// editedLog is a log whose question is edited, for each line of edits.
func editedLog(edits ...string) []byte {
	const link = `"timestamp":"2026-05-07T12:10:00.000Z"`
	lines := []string{
		`{"type":"session","version":3,"id":"s","timestamp":"2026-05-07T12:10:00.000Z","cwd":"/w"}`,
		`{"type":"message","id":"b0000001","parentId":null,` + link + `,"message":{"role":"user","content":"The code is HERON-4711."}}`,
		`{"type":"message","id":"b0000002","parentId":"b0000001",` + link + `,"message":{"role":"assistant","content":[{"type":"text","text":"Noted."}],"stopReason":"stop","usage":{"input":9000,"output":10,"totalTokens":9010}}}`,
	}
	return []byte(strings.Join(append(lines, edits...), "\n") + "\n")
}

// TestContextEditContent holds what is sent of an edited entry, from both ends of its
// log, and that its words stay.
func TestContextEditContent(t *testing.T) {
	const omit, replace = `,"targetId":"b0000001","replacement":null}`, `,"targetId":"b0000001","replacement":{"content":"The code is gone."}}`
	edit := func(id, parent, rest string) string {
		return `{"type":"context_edit","id":"` + id + `","parentId":"` + parent + `"` + rest
	}
	for name, test := range map[string]struct {
		edits       []string
		sent        string
		out, counts bool
	}{
		"none":                    {nil, "The code is HERON-4711.", false, true},
		"out":                     {[]string{edit("e1", "b0000002", omit)}, "", true, false},
		"replaced":                {[]string{edit("e1", "b0000002", replace)}, "The code is gone.", false, false},
		"the last one counts":     {[]string{edit("e1", "b0000002", omit), edit("e2", "e1", replace)}, "The code is gone.", false, false},
		"the last one takes out":  {[]string{edit("e1", "b0000002", replace), edit("e2", "e1", omit)}, "", true, false},
		"of another branch":       {[]string{edit("e1", "b0000002", omit), `{"type":"label","id":"l1","parentId":"b0000002"}`}, "The code is HERON-4711.", false, true},
		"of an entry that is not": {[]string{edit("e1", "b0000002", `,"targetId":"b9999999","replacement":null}`)}, "The code is HERON-4711.", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			log := editedLog(test.edits...)
			said := scanEdited(t, log)
			sent, whole := "", string(said[0].AppendText(nil))
			for _, p := range said[0].Parts {
				if p.Kind == session.PartText && !said[0].OutOfContext {
					sent += string(p.Text)
				}
			}
			if sent != test.sent || said[0].OutOfContext != test.out || !strings.Contains(whole, "HERON-4711") {
				t.Errorf("sent is %q (out of context %v), kept %q", sent, said[0].OutOfContext, whole)
			}
			tail, err := piformatTailOf(log, time.Time{})
			if err != nil || (tail.TokenSource == session.TokensFromUsage) != test.counts || !test.counts && tail.Tokens > 50 {
				t.Errorf("the end says %d tokens from %v, %v", tail.Tokens, tail.TokenSource, err)
			}
		})
	}
}
