package adapters_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/samples"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/agent"
)

const (
	first  = "01JKTS6Q2N8R3Z5V7W9XYB4CDE"
	second = "01JKTS6Q2N8R3Z5V7W9XYB4CDF"
)

// agentStore is a sessions directory of the test's own.
type agentStore struct {
	t   *testing.T
	dir string
	*agent.Store
}

func newAgentStore(t *testing.T) agentStore {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "sessions")
	return agentStore{t, dir, agent.Open(dir, agent.Options{})}
}

func (s agentStore) write(id, file, text string) string {
	s.t.Helper()
	path := filepath.Join(s.dir, id, file)
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

func (s agentStore) list() session.Listing {
	s.t.Helper()
	l, err := s.List(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return l
}

func message(seq int, role, text string) string {
	return fmt.Sprintf(`{"recordType":"message","schemaVersion":1,"seq":%d,"role":"%s","content":[{"type":"text","text":"%s"}],"timestamp":"2026-03-01T10:00:%02dZ"}`+"\n", seq, role, text, seq%60)
}

func (s agentStore) snapshot(path string) session.Snapshot {
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

func TestAgentDue(t *testing.T) {
	s := agent.Open(t.TempDir(), agent.Options{ContextWindow: 100_000, ReserveTokens: 16_384})
	for tokens, want := range map[int64]bool{83_616: false, 83_617: true, 0: false} {
		due, reason, err := s.Due(t.Context(), session.DueQuestion{Tail: session.Tail{Tokens: tokens}})
		if due != want || err != nil {
			t.Errorf("%d tokens: due %v (%s), want %v", tokens, due, reason, want)
		}
	}
}

// The context is the union of what the last compaction kept and what follows.
func TestAgentTailAfterCompaction(t *testing.T) {
	s := newAgentStore(t)
	s.write(first, "session.jsonl", message(1, "user", strings.Repeat("x", 3000))+message(2, "assistant", strings.Repeat("y", 300))+
		`{"recordType":"compaction","schemaVersion":1,"seq":3,"firstKeptSeq":2,"summary":"abc","timestamp":"2026-03-01T10:00:03Z"}`+"\n"+
		message(4, "user", strings.Repeat("z", 300)))
	tail, err := s.Tail(t.Context(), s.list().Refs[0])
	if err != nil || tail.Tokens != 100+1+100 || tail.Answered || tail.LastRole != session.RoleUser || tail.Messages != 3 {
		t.Fatalf("tail %+v, %v; want 201 tokens", tail, err)
	}
}

func TestAgentRotate(t *testing.T) {
	for _, stop := range []string{"", "lease", "stage", "exchange", "keep"} {
		s := newAgentStore(t)
		text := message(1, "user", "a") + message(2, "assistant", "b")
		path := s.write(first, "session.jsonl", text)
		s.write(first, "metadata.json", `{"id":"`+first+`","messageCount":2,"name":"kept"}`)
		plan, err := s.PlanRotation(t.Context(), s.list().Refs[0], s.snapshot(path), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		s.Step = func(name string) error {
			err := stopAfter(stop)(name)
			if err != nil {
				cancel()
			}
			return err
		}
		_ = s.Rotate(ctx, plan)
		s.Step = nil
		if err := s.Rotate(t.Context(), plan); err != nil {
			t.Fatalf("stopped after %q, then: %v", stop, err)
		}
		s.wantFile(path, "")
		s.wantFile(plan.Kept, text)
		var m map[string]any
		raw, err := os.ReadFile(filepath.Join(s.dir, first, "metadata.json"))
		if err := json.Unmarshal(raw, &m); err != nil || m["messageCount"] != 0.0 || m["name"] != "kept" {
			t.Fatalf("metadata %s, %v", raw, err)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Dispose(t.Context(), plan); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(plan.Kept); !os.IsNotExist(err) {
			t.Fatalf("the old log is still there: %v", err)
		}
	}
}

func (s agentStore) wantFile(path, text string) {
	s.t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != text {
		s.t.Fatalf("%s holds %q, %v; want %q", path, got, err, text)
	}
}

// Every sample is read with as many messages as it has records that say
// something, counted by another decoder.
func TestAgentSamples(t *testing.T) {
	dir := samples.Beside(t, "samples/agent-ulid/derived")
	s := agent.Open(dir, agent.Options{})
	listing, err := s.List(t.Context())
	if err != nil || len(listing.Refs) != 3 {
		t.Fatalf("listed %+v, %v", listing, err)
	}
	for _, ref := range listing.Refs {
		raw, err := os.ReadFile(ref.Path)
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		for line := range strings.Lines(string(raw)) {
			var r struct{ RecordType string }
			if json.Unmarshal([]byte(line), &r) == nil && (r.RecordType == "message" || r.RecordType == "compaction") {
				want++
			}
		}
		scan, err := s.Scan(t.Context(), strings.NewReader(string(raw)), session.ScanOptions{}, func(*session.Message) error { return nil })
		if err != nil || scan.Messages != want {
			t.Errorf("%s: %d messages, %v; want %d", ref.ID, scan.Messages, err, want)
		}
	}
}
