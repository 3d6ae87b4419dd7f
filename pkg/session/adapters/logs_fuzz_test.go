package adapters_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/agent"
	"github.com/sessctl/sessctl/pkg/session/annabelle"
	"github.com/sessctl/sessctl/pkg/session/antigravity"
	"github.com/sessctl/sessctl/pkg/session/claude"
	"github.com/sessctl/sessctl/pkg/session/cline"
	"github.com/sessctl/sessctl/pkg/session/codex"
	"github.com/sessctl/sessctl/pkg/session/copilot"
	"github.com/sessctl/sessctl/pkg/session/cursor"
	"github.com/sessctl/sessctl/pkg/session/droid"
	"github.com/sessctl/sessctl/pkg/session/gemini"
	"github.com/sessctl/sessctl/pkg/session/goose"
	"github.com/sessctl/sessctl/pkg/session/grok"
	"github.com/sessctl/sessctl/pkg/session/hermes"
	"github.com/sessctl/sessctl/pkg/session/kimi"
	"github.com/sessctl/sessctl/pkg/session/macstats"
	"github.com/sessctl/sessctl/pkg/session/omp"
	"github.com/sessctl/sessctl/pkg/session/openclaw"
	"github.com/sessctl/sessctl/pkg/session/opencode"
	"github.com/sessctl/sessctl/pkg/session/pi"
	"github.com/sessctl/sessctl/pkg/session/qwen"
	"github.com/sessctl/sessctl/pkg/session/yarnnn"
)

// fuzzedID names the session whose log is foreign.
const fuzzedID = "33333333-3333-4333-8333-333333333333"

// logReader is a runtime, with a log of its own to begin with.
type logReader struct {
	open func(root string) session.Store
	// log is where a session's log lies below the root, "" for a runtime that has
	// them in a database: its logs are what is written of that.
	log  string
	seed string // below testdata, or the text itself
}

func logReaders() []logReader {
	const message = `{"recordType":"message","schemaVersion":1,"seq":1,"role":"user","content":[{"type":"text","text":"hi"}],"timestamp":"2026-03-01T10:00:00Z"}` + "\n"
	pottery := "copilot/pottery.jsonl"
	return []logReader{
		{func(r string) session.Store { return agent.Open(r, agent.Options{}) }, first + "/session.jsonl", message},
		{func(r string) session.Store { return annabelle.Open(r, annabelle.Options{}) }, "a/1.jsonl", header + `{"type":"turn","user":"hi","assistant":"Hello.","messages":[]}` + "\n" + `{"type":"message","role":"user","content":[{"type":"text","text":"hi"},{"type":"tool-result","output":{"type":"json","value":[1]}}]}` + "\n"},
		{func(r string) session.Store { return claude.Open(r) }, "projects/-w/" + fuzzedID + ".jsonl", "claude/.claude/projects/-work-bakery/45b855fd-82b2-4a6a-a585-f64ebc0e1d34.jsonl"},
		{func(r string) session.Store { return cline.Open(r) }, "data/sessions/1772359200000_k3ln0/1772359200000_k3ln0.messages.json", "cline/.cline/data/sessions/1772359200000_k3ln0/1772359200000_k3ln0.messages.json"},
		{func(r string) session.Store { return cline.OpenTasks(r) }, "tasks/1772100000000/api_conversation_history.json", "cline-tasks/.config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks/1772100000000/api_conversation_history.json"},
		{func(r string) session.Store { return cline.OpenTasks(r) }, "tasks/1772100000000/ui_messages.json", "cline-tasks/.config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks/1772100000000/ui_messages.json"},
		{func(r string) session.Store { return codex.Open(r) }, "sessions/2026/03/01/rollout-2026-03-01T10-00-00-" + fuzzedID + ".jsonl", "sessions/codex/sessions/2026/05/12/rollout-2026-05-12T08-00-00-019e1a2b-3c4d-7e5f-8a6b-0c1d2e3f4a5b.jsonl"},
		{func(r string) session.Store { return copilot.Open(r) }, "session-state/" + fuzzedID + "/events.jsonl", pottery},
		{func(r string) session.Store { return cursor.Open(r) }, "projects/w/agent-transcripts/" + fuzzedID + "/" + fuzzedID + ".jsonl", "cursor/.cursor/projects/home-lea-smithy/agent-transcripts/4b1f6f0a-93c7-4f0e-8f55-0c7a4d1e2b33/4b1f6f0a-93c7-4f0e-8f55-0c7a4d1e2b33.jsonl"},
		{func(r string) session.Store { return droid.Open(r) }, "sessions/-w/" + fuzzedID + ".jsonl", "droid/.factory/sessions/-home-lea-smithy/7d1c0a52-6b0e-4c55-9a3e-2f4b8d6e1a01.jsonl"},
		{func(r string) session.Store { return kimi.Open(r) }, "sessions/w/" + fuzzedID + "/agents/main/wire.jsonl", "kimi/.kimi-code/sessions/wd_smithy_4557ee6a6090/session_7d1c0a52-6b0e-4c55-9a3e-2f4b8d6e1b01/agents/main/wire.jsonl"},
		{func(r string) session.Store { return grok.Open(r) }, "sessions/w/" + fuzzedID + "/updates.jsonl", "grok/.grok/sessions/%2Fhome%2Flea%2Fsmithy/01a2247f-49cd-7ea3-9883-2bb6b8394801/updates.jsonl"},
		{func(r string) session.Store { return antigravity.Open(r) }, "brain/" + fuzzedID + "/.system_generated/logs/transcript.jsonl", "antigravity/.gemini/antigravity-cli/brain/7d1c0a52-6b0e-4c55-9a3e-2f4b8d6e1c01/.system_generated/logs/transcript_full.jsonl"},
		{func(r string) session.Store { return gemini.Open(r) }, "tmp/w/chats/session-2026-03-01T10-00-33333333.jsonl", "sessions/gemini/tmp/garden/chats/session-2026-06-02T08-00-4e5f6a7b.jsonl"},
		{func(r string) session.Store { return gemini.Open(r) }, "tmp/w/chats/session-2026-03-01T10-00-33333333.json", "sessions/gemini/tmp/garden/chats/session-2025-10-04T07-30-9c8b7a6d.json"},
		{func(r string) session.Store { return goose.Open(r) }, "", `{"type":"message","role":"user","content_json":"[{\"type\":\"text\",\"text\":\"hi\"}]"}` + "\n"},
		{func(r string) session.Store { return hermes.Open(r) }, "", "hermes/schema30-20260506_091500_d4e5f6.jsonl"},
		{func(r string) session.Store { return macstats.Open(r, macstats.Options{}) }, "session/session-memory-1-20260214-093015-x.md", macstatsTalk},
		{func(r string) session.Store { return omp.Open(r) }, "sessions/-w/2026-05-04T08-00-00-000Z_" + fuzzedID + ".jsonl", "omp/.omp/agent/sessions/-garden/2026-05-04T08-00-00-000Z_01a2f000-1111-7222-8333-444455556666.jsonl"},
		{func(r string) session.Store { return openclaw.Open(r, openclaw.Options{}) }, "agents/a/sessions/" + fuzzedID + ".jsonl", "sample/.openclaw/agents/coordinator/sessions/12969c36-b5c2-40d3-9935-541d523704d3.jsonl"},
		{func(r string) session.Store { return opencode.Open(session.RuntimeOpenCode, r) }, "", "opencode/revert.jsonl"},
		{func(r string) session.Store { return pi.Open(r) }, "sessions/--w--/" + fuzzedID + ".jsonl", "sessions/pi-v3-tree.jsonl"},
		{func(r string) session.Store { return qwen.Open(r) }, "projects/-w/chats/" + fuzzedID + ".jsonl", "qwen/.qwen/projects/-home-lea-bakery/chats/5b0c1d2e-3f40-4a51-8b62-7c83d94ea5f6.jsonl"},
		{func(r string) session.Store {
			return yarnnn.Open("postgres://nobody@127.0.0.1:1/none", yarnnn.Options{})
		}, "", `{"id":"m","role":"user","content":"hi","created_at":"2026-02-14T09:30:15Z"}` + "\n"},
	}
}

// FuzzLogsOfRuntimes: whatever stands in a log, every message that is read of it
// has its place in it, the reader's buffers decide nothing, what is read is no
// larger than what stands there, and the listing and the end of the log are read
// too.
func FuzzLogsOfRuntimes(f *testing.F) {
	readers := logReaders()
	stores := make([]session.Store, len(readers))
	for i, r := range readers {
		root := f.TempDir()
		text := []byte(r.text(f))
		readers[i].log = filepath.Join(root, filepath.FromSlash(r.log))
		if r.log == "" {
			readers[i].log = ""
		} else if err := os.MkdirAll(filepath.Dir(readers[i].log), 0o700); err != nil {
			f.Fatal(err)
		}
		stores[i] = r.open(root) // some look for the directory of their logs
		f.Add(uint8(i), text)
		for _, odd := range []string{"", "null", "[]", "[null]", "{}", `{"messages":[null,1,{}]}`, "\xff\xfe{\x00}\x00", strings.Repeat("[", 2000), strings.Repeat(`{"content":[`, 2000)} {
			f.Add(uint8(i), []byte(odd))
		}
		if lines := bytes.SplitAfter(text, []byte("\n")); len(lines) > 3 {
			f.Add(uint8(i), bytes.Join(lines[:3], nil))
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, log []byte) {
		n := int(which) % len(stores)
		reads(t, stores[n], log)
		if readers[n].log != "" {
			lists(t, stores[n], readers[n].log, log)
		}
	})
}

// reads scans a log in one piece, in small pieces, and with the tree that was found.
func reads(t *testing.T, store session.Store, log []byte) {
	t.Helper()
	whole, scan, err := messagesOf(t, store, bytes.NewReader(log), session.ScanOptions{}, log)
	pieces, _, inPieces := messagesOf(t, store, iotest.HalfReader(bytes.NewReader(log)), session.ScanOptions{}, log)
	if whole != pieces || fmt.Sprint(err) != fmt.Sprint(inPieces) {
		t.Errorf("%s: %q\nis %s, %v\nand in small pieces %s, %v", store.Runtime(), log, whole, err, pieces, inPieces)
	}
	if err == nil {
		_, _, _ = messagesOf(t, store, bytes.NewReader(log), session.ScanOptions{Tree: scan.Tree, Thinking: true, Details: true}, log)
	}
}

// messagesOf is what is read of a log, in a few words.
func messagesOf(t *testing.T, store session.Store, r io.Reader, o session.ScanOptions, log []byte) (all string, scan session.Scan, err error) {
	t.Helper()
	var said strings.Builder
	n, text := 0, 0
	packed := bytes.HasPrefix(log, []byte("\x1f\x8b")) || bytes.HasPrefix(log, []byte("\x28\xb5\x2f\xfd"))
	scan, err = store.Scan(t.Context(), r, o, func(m *session.Message) error {
		if m.Ordinal != n || m.Line < 1 || m.Offset < 0 || m.Length < 0 || !packed && m.Offset+m.Length > int64(len(log)) {
			t.Fatalf("%s: %q: message %d is number %d of line %d, bytes %d+%d of %d", store.Runtime(), log, n, m.Ordinal, m.Line, m.Offset, m.Length, len(log))
		}
		n++
		words := m.AppendText(nil)
		text += len(words)
		fmt.Fprintf(&said, "%s %d %s %q;", m.Role, m.Line, m.ID, words)
		return nil
	})
	if !packed && text > 16*len(log)+4096 {
		t.Errorf("%s: %q: %d bytes of text are read of %d", store.Runtime(), log, text, len(log))
	}
	if err == nil && scan.Messages != n {
		t.Errorf("%s: %q: %d messages are counted, %d were read", store.Runtime(), log, scan.Messages, n)
	}
	if err != nil && !errors.Is(err, session.ErrUnknownFormat) {
		t.Errorf("%s: %q: %v", store.Runtime(), log, err)
	}
	return said.String(), scan, err
}

// lists lists the session whose log it is, and reads the end of that.
func lists(t *testing.T, store session.Store, path string, log []byte) {
	t.Helper()
	if err := os.WriteFile(path, log, 0o600); err != nil {
		t.Fatal(err)
	}
	listing, err := store.List(t.Context())
	if err != nil {
		t.Errorf("%s: %q: %v", store.Runtime(), log, err)
	}
	for _, ref := range listing.Refs {
		tail, err := store.Tail(t.Context(), ref)
		if tail.Tokens < 0 || tail.Messages < 0 || tail.ContextWindow < 0 || err != nil && tail != (session.Tail{}) {
			t.Errorf("%s: %q ends with %+v, %v", store.Runtime(), log, tail, err)
		}
	}
}
