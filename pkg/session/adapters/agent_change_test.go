package adapters_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
)

// carried plans and appends, and returns what the log is then.
func (s agentStore) carried(path, tail string) (session.Carrying, string) {
	s.t.Helper()
	plan, err := s.PlanCarry(s.t.Context(), session.CarryRequest{
		Rotation: session.Rotation{Live: path, Session: first}, Tail: []byte(tail), Now: time.Now(), Quiet: time.Minute,
	})
	if err == nil && plan.Record != "" {
		err = s.Shorten(s.t.Context(), plan.Shortening)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		s.t.Fatal(err)
	}
	return plan, string(text)
}

func TestAgentCarryCountsOn(t *testing.T) {
	const (
		call   = `{"recordType":"message","schemaVersion":1,"seq":41,"role":"assistant","content":[{"type":"toolCall","toolCallId":"t1","id":"t1","toolName":"read","name":"read","arguments":{"seq":7}}]}` + "\n"
		result = `{"recordType":"message","schemaVersion":1,"seq":42,"role":"toolResult","toolCallId":"t1","content":[]}` + "\n"
		orphan = `{"recordType":"message","schemaVersion":1,"seq":43,"role":"toolResult","toolCallId":"t0","content":[]}` + "\n"
		folded = `{"recordType":"compaction","schemaVersion":1,"seq":44,"firstKeptSeq":40,"summary":"s"}` + "\n"
	)
	tail := orphan + folded + "torn\n" + call + result + message(45, "assistant", "late") + message(46, "assistant", "half")[:30]
	for name, there := range map[string]string{
		"an empty log":       "",
		"a log that goes on": message(1, "user", "hello") + message(2, "assistant", "yes"),
	} {
		t.Run(name, func(t *testing.T) {
			s := newAgentStore(t)
			path := s.write(first, "session.jsonl", there)
			n := strings.Count(there, "\n")
			want := there + fmt.Sprintf(strings.Replace(call, `"seq":41`, `"seq":%d`, 1)+strings.Replace(result, `"seq":42`, `"seq":%d`, 1)+strings.Replace(message(45, "assistant", "late"), `"seq":45`, `"seq":%d`, 1), n+1, n+2, n+3)
			plan, got := s.carried(path, tail)
			if got != want || plan.Records != 3 || plan.LeftOut != 4 {
				t.Fatalf("%d records, %d left out:\n%s\nwant\n%s", plan.Records, plan.LeftOut, got, want)
			}
			if _, again := s.carried(path, tail); again != want {
				t.Fatalf("carried again:\n%s", again)
			}
		})
	}
}

func TestAgentCarryWaits(t *testing.T) {
	for name, use := range map[string]func(s agentStore, path string){
		"gone":       func(_ agentStore, path string) { os.Remove(path) },
		"just made":  func(_ agentStore, path string) { os.Chtimes(path, time.Now(), time.Now()) },
		"unanswered": func(s agentStore, _ string) { s.write(first, "session.jsonl", message(1, "user", "hello")) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newAgentStore(t)
			path := s.write(first, "session.jsonl", "")
			use(s, path)
			_, err := s.PlanCarry(t.Context(), session.CarryRequest{
				Rotation: session.Rotation{Live: path}, Tail: []byte(message(40, "assistant", "late")), Now: time.Now(), Quiet: time.Minute,
			})
			if !errors.Is(err, session.ErrBusy) {
				t.Fatalf("error %v", err)
			}
		})
	}
}
