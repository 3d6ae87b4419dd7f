package adapters_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/internal/samples"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/annabelle"
)

const header = `{"type":"header","chatId":"8304042211","agentId":"annabelle","createdAt":"2026-02-11T01:00:00.000Z","version":1,"extra":{"kept":true}}` + "\r\n"

// annabelleStore is a sessions directory of the test's own.
type annabelleStore struct {
	t   *testing.T
	dir string
	*annabelle.Store
}

func newAnnabelleStore(t *testing.T) annabelleStore {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "sessions")
	return annabelleStore{t, dir, annabelle.Open(dir, annabelle.Options{})}
}

func (s annabelleStore) write(agent, chat, text string) string {
	s.t.Helper()
	path := filepath.Join(s.dir, agent, chat+".jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		s.t.Fatal(err)
	}
	return path
}

func (s annabelleStore) ref() session.Ref {
	s.t.Helper()
	l, err := s.List(s.t.Context())
	if err != nil || len(l.Refs) != 1 {
		s.t.Fatalf("listed %+v, %v", l, err)
	}
	return l.Refs[0]
}

func (s annabelleStore) snapshot(path string) session.Snapshot {
	s.t.Helper()
	f, err := os.Open(path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	snap, err := session.TakeSnapshot(s.t.Context(), f, path)
	if err != nil {
		s.t.Fatal(err)
	}
	return snap
}

func (s annabelleStore) messages(text string) []string {
	s.t.Helper()
	var all []string
	_, err := s.Scan(s.t.Context(), strings.NewReader(text), session.ScanOptions{}, func(m *session.Message) error {
		said := m.Role.String()
		for _, p := range m.Parts {
			said += fmt.Sprintf(" %s%s%s", p.Name, p.CallID, p.Text)
		}
		if m.Role == session.RoleToolResult {
			said += fmt.Sprintf(" for %s %s", m.CallID, m.ToolName)
		}
		if m.HasUsage {
			said += fmt.Sprintf(" (%d)", m.Usage.Context())
		}
		all = append(all, said)
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return all
}

func turn(n int, text string) string {
	return fmt.Sprintf(`{"type":"turn","user":"%s %d","assistant":"answer %d","timestamp":"2026-02-11T01:%02d:00.000Z","toolsUsed":[],"tokens":{"prompt":100,"completion":%d}}`+"\n", text, n, n, n%60, n)
}

// Of a turn with a chain of messages the chain counts, and not its texts again.
func TestAnnabelleScanTurn(t *testing.T) {
	text := header +
		`{"type":"compaction","summary":"before","compactedTurns":2.5,"timestamp":"2026-02-11T01:00:00.000Z"}` + "\n" +
		`{"type":"turn","user":"mail?","assistant":"three","timestamp":"2026-02-11T01:00:20.000Z","toolsUsed":["list"],"tokens":{"prompt":10,"completion":2},"messages":[` +
		`{"role":"user","content":"mail?"},` +
		`{"id":"a","role":"assistant","content":[{"type":"text","text":"wait"},{"type":"tool-call","toolCallId":"c1","toolName":"list","args":{"n":1}},{"type":"tool-call","toolCallId":"c2","toolName":"count","args":{}}]},` +
		`{"id":"b","role":"tool","content":[{"type":"tool-result","toolCallId":"c1","toolName":"list","result":{"ok":true}},{"type":"tool-result","toolCallId":"c2","toolName":"count","result":"3"}]},` +
		`{"role":"assistant","content":"three"}]}` + "\n" +
		`{"type":"turn","user":"","assistant":"good morning","timestamp":"2026-02-11T07:00:00.000Z","toolsUsed":[]}` + "\n" +
		`{"type":"turn","user":"and?","assistant":null,"timestamp":"2026-02-11T08:00:00.000Z","messages":[]}` + "\n"
	want := []string{
		"summary before", "user mail?", `assistant wait listc1{"n":1} countc2{} (12)`,
		`tool_result {"ok":true} for c1 list`, "tool_result 3 for c2 count", "assistant three (12)",
		"assistant good morning", "user and?",
	}
	if diff := cmp.Diff(want, newAnnabelleStore(t).messages(text)); diff != "" {
		t.Fatalf("messages (-want +got):\n%s", diff)
	}
}

// All conditions of the trigger must be true.
func TestAnnabelleTrigger(t *testing.T) {
	now := time.Date(2026, 2, 11, 12, 0, 0, 0, time.UTC)
	long := strings.Repeat("x", 2600)
	compacted := func(at string) string {
		return `{"type":"compaction","summary":"s","compactedTurns":3,"timestamp":"` + at + `"}` + "\n"
	}
	turns := func(n int, text string) (all string) {
		for i := range n {
			all += turn(i, text)
		}
		return all
	}
	for name, c := range map[string]struct {
		log  string
		want bool
	}{
		"enough of all":               {turns(8, long), true},
		"too few turns":               {turns(7, long+long), false},
		"too few characters":          {turns(8, "short"), false},
		"compacted a minute ago":      {compacted("2026-02-11T11:59:00.000Z") + turns(8, long), false},
		"compacted two minutes ago":   {compacted("2026-02-11T11:58:00.000Z") + turns(8, long), true},
		"only what follows counts":    {turns(20, long) + compacted("2026-02-11T01:00:00.000Z") + turns(7, long), false},
		"exactly 20,000 is not above": {turns(7, "x") + `{"type":"turn","user":"` + strings.Repeat("é", 20000-7*11) + `","assistant":""}` + "\n", false},
		"20,001 is":                   {turns(7, "x") + `{"type":"turn","user":"` + strings.Repeat("é", 20000-7*11) + `","assistant":"x"}` + "\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAnnabelleStore(t)
			s.write("annabelle", "1", header+c.log)
			due, reason, err := s.Due(t.Context(), session.DueQuestion{Ref: s.ref(), Now: now})
			if due != c.want || err != nil || due != (reason == "") {
				t.Fatalf("due %v (%s), %v; want %v", due, reason, err, c.want)
			}
		})
	}
}

// rewriteOf plans a rewrite that keeps the turns from line first of the log on.
func (s annabelleStore) rewriteOf(path string, first int, summary string) session.Shortening {
	s.t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	lines := strings.SplitAfter(string(raw), "\n")
	cut := session.Cut{Kept: 1, KeptByte: int64(len(strings.Join(lines[:first-1], "")))}
	plan, err := s.PlanRewrite(s.t.Context(), session.ShortenRequest{
		Ref: s.ref(), Snapshot: s.snapshot(path), Cut: cut,
		Summary: session.Summed{Text: summary}, Now: time.Date(2026, 2, 11, 9, 0, 0, 0, time.UTC),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return plan
}

// The header and the turns that stay are byte for byte what they were, and the
// turns of the compaction before are counted on.
func TestAnnabelleRewriteKeepsBytes(t *testing.T) {
	for _, stop := range []string{"", "lease", "check", "stage", "exchange", "keep"} {
		s := newAnnabelleStore(t)
		before := header + `{"type":"compaction","summary":"old","compactedTurns":4.5,"timestamp":"2026-02-11T00:00:00.000Z"}` + "\n" +
			turn(1, "a") + turn(2, "b") + turn(3, "é\\u0000") + `{"type":"note","unknown":1}` + "\n" + turn(4, "c")
		path := s.write("annabelle", "8304042211", before)
		plan := s.rewriteOf(path, 5, "<all> & so on")
		s.Step = stopAfter(stop)
		_ = s.Shorten(t.Context(), plan)
		s.Step = nil
		for range 2 {
			if err := s.Shorten(t.Context(), plan); err != nil {
				t.Fatalf("stopped after %q, then: %v", stop, err)
			}
		}
		want := header + `{"type":"compaction","summary":"\u003call\u003e \u0026 so on","compactedTurns":6,"timestamp":"2026-02-11T09:00:00.000Z","summaryBy":"sessctl"}` + "\n" +
			turn(3, "é\\u0000") + `{"type":"note","unknown":1}` + "\n" + turn(4, "c")
		s.wantFile(path, want)
		s.wantFile(plan.Kept, before)
		if err := s.Dispose(t.Context(), plan.Rotation); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(plan.Kept); !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("the old log is still there: %v", err)
		}
	}
}

func (s annabelleStore) wantFile(path, text string) {
	s.t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	if diff := cmp.Diff(text, string(got)); diff != "" {
		s.t.Fatalf("%s (-want +got):\n%s", path, diff)
	}
}

func TestAnnabelleRewriteLeavesAChangedLogAlone(t *testing.T) {
	s := newAnnabelleStore(t)
	before := header + turn(1, "a") + turn(2, "b")
	path := s.write("annabelle", "1", before)
	plan := s.rewriteOf(path, 3, "s")
	s.write("annabelle", "1", before+turn(3, "late"))
	if err := s.Shorten(t.Context(), plan); !errors.Is(err, session.ErrBusy) {
		t.Fatalf("error %v, want busy", err)
	}
	s.wantFile(path, before+turn(3, "late"))
}

func TestAnnabelleClearSession(t *testing.T) {
	s := newAnnabelleStore(t)
	path := s.write("annabelle", "-100", header+turn(1, "a"))
	plan, err := s.PlanRotation(t.Context(), s.ref(), s.snapshot(path), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Rotate(t.Context(), plan); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("the log is still there: %v", err)
	}
	s.wantFile(plan.Kept, header+turn(1, "a"))
}

func TestAnnabelleSubagentSessions(t *testing.T) {
	s := newAnnabelleStore(t)
	s.write("annabelle", "-1002233", header)
	s.write("annabelle-sub-1770772499755", "task", header)
	l, err := s.List(context.Background())
	if err != nil || len(l.Refs) != 2 {
		t.Fatalf("listed %+v, %v", l, err)
	}
	if !l.Refs[0].Primary || l.Refs[0].Key != "-1002233" || !session.SafeID(l.Refs[0].ID) || l.Refs[1].Primary {
		t.Fatalf("listed %+v", l.Refs)
	}
}

// Every sample is read with the messages that another decoder finds.
func TestAnnabelleSamples(t *testing.T) {
	dir := samples.Beside(t, "samples/annabelle/derived")
	s := annabelleStore{t, dir, annabelle.Open(dir, annabelle.Options{})}
	l, err := s.List(t.Context())
	if err != nil || len(l.Refs) != 3 {
		t.Fatalf("listed %+v, %v", l, err)
	}
	for _, ref := range l.Refs {
		raw, err := os.ReadFile(ref.Path)
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		for line := range strings.Lines(string(raw)) {
			want += naiveMessages(t, line)
		}
		if got := len(s.messages(string(raw))); got != want {
			t.Errorf("%s: %d messages, want %d", ref.Path, got, want)
		}
	}
}

func naiveMessages(t *testing.T, line string) (n int) {
	var r struct {
		Type, User, Summary string
		Assistant           *string
		Messages            []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		t.Fatal(err)
	}
	count := func(yes bool) {
		if yes {
			n++
		}
	}
	count(r.Summary != "")
	for _, m := range r.Messages {
		var parts []struct{ Type string }
		if m.Role == "tool" && json.Unmarshal(m.Content, &parts) == nil {
			n += len(parts)
			continue
		}
		n++
	}
	if r.Type == "turn" && len(r.Messages) == 0 {
		count(r.User != "")
		count(r.Assistant != nil && *r.Assistant != "")
	}
	return n
}
