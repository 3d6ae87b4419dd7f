package adapters_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/agent"
)

// What the runtime promises of its sessions, as far as it concerns this package.

const agentFour = 4 // messages in the log of the scenarios

func agentTalk() string {
	return message(1, "user", "a") + message(2, "assistant", "b") + message(3, "user", "c") + message(agentFour, "assistant", "d")
}

// A new session is a directory with an empty log and its metadata.
func TestAgentNewSessionIsEmpty(t *testing.T) {
	s := newAgentStore(t)
	s.write(first, "session.jsonl", "")
	s.write(first, "metadata.json", `{"id":"`+first+`","messageCount":0,"source":"interactive","model":"m"}`)
	l := s.list()
	if len(l.Refs) != 1 || l.Refs[0].ID != first || l.Refs[0].Model != "m" || !l.Refs[0].Primary {
		t.Fatalf("listed %+v", l)
	}
	tail, err := s.Tail(t.Context(), l.Refs[0])
	if err != nil || tail.Messages != 0 || tail.Tokens != 0 {
		t.Fatalf("tail %+v, %v", tail, err)
	}
}

// compaction plans a compaction that keeps the messages from seq 3 on.
func (s agentStore) compaction(path string) session.Shortening {
	s.t.Helper()
	plan, err := s.PlanOverlay(s.t.Context(), session.ShortenRequest{
		Ref: s.list().Refs[0], Snapshot: s.snapshot(path), Now: time.Date(2026, 3, 1, 11, 0, 0, 0, time.UTC),
		Cut:     session.Cut{FirstKept: 2, KeptID: "3", Kept: 2, SummarizedTokens: 40},
		Summary: session.Summed{Text: "## Goal\n<b>", ReadFiles: []string{"a.go"}},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return plan
}

const compactionLine = `{"recordType":"compaction","schemaVersion":1,"seq":5,"firstKeptSeq":3,"summary":"## Goal\n<b>","tokensBefore":40,"readFiles":["a.go"],"modifiedFiles":[],"timestamp":"2026-03-01T11:00:00.000Z","summaryBy":"sessctl"}` + "\n"

// The log is never rewritten: a compaction leaves the file that it is,
// and every byte of it.
func TestAgentLogIsNeverRewritten(t *testing.T) {
	s := newAgentStore(t)
	path := s.write(first, "session.jsonl", agentTalk())
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Shorten(t.Context(), s.compaction(path)); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(path)
	if err != nil || !os.SameFile(before, after) {
		t.Fatalf("another file has taken the log's place, %v", err)
	}
	text, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(string(text), agentTalk()) || len(text) == len(agentTalk()) {
		t.Fatalf("the log is\n%s, %v", text, err)
	}
	files, err := filepath.Glob(filepath.Join(s.dir, first, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("beside the log lie %v, %v", files, err)
	}
}

// Metadata belong to the interactions: a compaction is none and changes
// nothing in them. Starting fresh sets messageCount to 0 and nothing else.
func TestAgentMetadata(t *testing.T) {
	s := newAgentStore(t)
	path := s.write(first, "session.jsonl", agentTalk())
	text := `{ "id": "` + first + `", "messageCount" :4, "lastMessageAt":"2026-03-01T10:00:04Z", "metrics": {"messageCount": 7}, "name":"<b>" }`
	metadata := s.write(first, "metadata.json", text)
	if err := s.Shorten(t.Context(), s.compaction(path)); err != nil {
		t.Fatal(err)
	}
	s.wantFile(metadata, text)
	plan, err := s.PlanRotation(t.Context(), s.list().Refs[0], s.snapshot(path), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Rotate(t.Context(), plan); err != nil {
			t.Fatal(err)
		}
	}
	s.wantFile(metadata, strings.Replace(text, `"messageCount" :4`, `"messageCount" :0`, 1))
}

// Metadata that cannot be read, or are none, are left as they are.
func TestAgentOddMetadataStay(t *testing.T) {
	for _, text := range []string{"", "{", "[]", `{"id":1}`, `{"messageCount":4`, `{"messageCount":4}}`} {
		s := newAgentStore(t)
		path := s.write(first, "session.jsonl", agentTalk())
		metadata := s.write(first, "metadata.json", text)
		plan, err := s.PlanRotation(t.Context(), s.list().Refs[0], s.snapshot(path), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Rotate(t.Context(), plan); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		s.wantFile(metadata, text)
	}
}

// Sessions are listed by lastMessageAt, the newest first; by the time of
// the file where it has none.
func TestAgentListedByLastMessage(t *testing.T) {
	s := newAgentStore(t)
	ids := []string{first, second, "01JKTS6Q2N8R3Z5V7W9XYB4CDG", "01JKTS6Q2N8R3Z5V7W9XYB4CDH"}
	for i, last := range []string{`"2026-03-01T10:00:00Z"`, `"2026-03-03T10:00:00+00:00"`, `"2026-03-02T10:00:00.5Z"`, `"yesterday"`} {
		s.write(ids[i], "session.jsonl", message(1, "user", "a"))
		s.write(ids[i], "metadata.json", `{"lastMessageAt":`+last+`}`)
	}
	var got []string
	for _, ref := range s.list().Refs {
		got = append(got, ref.ID)
	}
	if diff := cmp.Diff([]string{ids[3], ids[1], ids[2], ids[0]}, got); diff != "" {
		t.Fatalf("order (-want +got):\n%s", diff)
	}
}

// A compaction appends one record, also when it is done twice.
func TestAgentCompactionAppends(t *testing.T) {
	s := newAgentStore(t)
	path := s.write(first, "session.jsonl", agentTalk())
	plan := s.compaction(path)
	for range 2 { // the second time it is done already
		if err := s.Shorten(t.Context(), plan); err != nil {
			t.Fatal(err)
		}
	}
	s.wantFile(path, agentTalk()+compactionLine)
}

// A session of a cron job says so, whatever else its metadata hold, and
// is no session that a run over everything compacts.
func TestAgentCronSession(t *testing.T) {
	for _, more := range []string{`"lastMessageAt":"2026-03-02T10:00:00Z"`, `"lastMessageAt":"yesterday"`, `"lastMessageAt":null,"name":7`} {
		s := newAgentStore(t)
		s.write(second, "session.jsonl", message(1, "user", "b"))
		s.write(second, "metadata.json", `{`+more+`,"source":"cron","cronJobId":"nightly"}`)
		if ref := s.list().Refs[0]; ref.Key != "cron:nightly" || ref.Primary {
			t.Errorf("%s: key %q, primary %v", more, ref.Key, ref.Primary)
		}
		s.write(second, "metadata.json", `{`+more+`,"source":"interactive","name":"scale"}`)
		if ref := s.list().Refs[0]; ref.Key != "scale" || !ref.Primary {
			t.Errorf("%s: key %q, primary %v", more, ref.Key, ref.Primary)
		}
	}
}

// An id that is no ULID is refused, and no path leads out of the store.
func TestAgentInvalidID(t *testing.T) {
	s := newAgentStore(t)
	for _, id := range []string{"01JKTS6Q2N8R3Z5V7W9XYB4CDI", "01JKTS6Q2N8R3Z5V7W9XYB4CDU", "short", strings.ToLower(first), first + "0"} {
		s.write(id, "session.jsonl", message(1, "user", "a"))
	}
	if l := s.list(); len(l.Refs) != 0 || len(l.Notices) != 5 {
		t.Fatalf("listed %+v", l)
	}
	outside := filepath.Join(s.dir, "..", "elsewhere", "session.jsonl")
	s.write("../elsewhere", "session.jsonl", agentTalk())
	if _, err := s.Tail(t.Context(), session.Ref{Path: outside}); err == nil {
		t.Error("a path outside the store was read")
	}
	if _, err := s.PlanOverlay(t.Context(), session.ShortenRequest{Ref: session.Ref{Path: outside}}); err == nil {
		t.Error("a path outside the store would be changed")
	}
}

// A partial last line, left by a crash, is ignored.
func TestAgentPartialLastLine(t *testing.T) {
	s := newAgentStore(t)
	whole := message(1, "user", "a") + message(2, "assistant", "b")
	for cut := range len(whole) {
		var texts []string
		scan, err := s.Scan(t.Context(), strings.NewReader(whole[:cut]), session.ScanOptions{}, func(m *session.Message) error {
			texts = append(texts, string(m.Parts[0].Text))
			return nil
		})
		want := strings.Count(whole[:cut], "\n")
		if tail := whole[strings.LastIndexByte(whole[:cut], '\n')+1 : cut]; json.Valid([]byte(tail)) {
			want++ // whole but for its line feed
		}
		if err != nil || len(texts) != want || scan.Messages != want {
			t.Fatalf("cut at %d: %d messages, error %v; want %d", cut, len(texts), err, want)
		}
	}
}

// What is written at the same time is not interleaved: a log that the
// runtime has open is left alone, and of two runs one appends.
func TestAgentNotInterleaved(t *testing.T) {
	s := newAgentStore(t)
	path := s.write(first, "session.jsonl", agentTalk())
	plan := s.compaction(path)
	writer, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	held := s.Shorten(t.Context(), plan)
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(held, session.ErrBusy) {
		t.Skipf("this system does not tell who has a file open (%v)", held)
	}
	s.wantFile(path, agentTalk())
	var runs sync.WaitGroup
	for range 4 {
		runs.Go(func() {
			for errors.Is(s.Shorten(t.Context(), plan), session.ErrBusy) {
				time.Sleep(time.Millisecond)
			}
		})
	}
	runs.Wait()
	s.wantFile(path, agentTalk()+compactionLine)
}

// FirstKeptSeq is a bound, not a name: what stays are the messages from
// it on, also where no message has that seq.
func TestAgentFirstKeptIsABound(t *testing.T) {
	compacted := func(seq, kept int) string {
		return fmt.Sprintf(`{"recordType":"compaction","schemaVersion":1,"seq":%d,"firstKeptSeq":%d,"summary":"s","timestamp":"2026-03-01T10:00:05Z"}`+"\n", seq, kept)
	}
	for name, c := range map[string]struct{ log, want string }{
		"a message":      {agentTalk() + compacted(5, 3), "3"},
		"a gap":          {message(1, "user", "a") + message(2, "assistant", "b") + message(7, "user", "c") + compacted(8, 4), "7"},
		"a compaction":   {message(1, "user", "a") + compacted(2, 2) + message(3, "assistant", "b") + compacted(4, 2), "3"},
		"none":           {agentTalk() + compacted(5, 5), ""},
		"everything":     {agentTalk() + compacted(5, 0), "1"},
		"not a number":   {agentTalk() + strings.Replace(compacted(5, 3), `"firstKeptSeq":3`, `"firstKeptSeq":"3"`, 1), ""},
		"not there":      {agentTalk() + strings.Replace(compacted(5, 3), `"firstKeptSeq":3,`, ``, 1), ""},
		"only later one": {compacted(1, 2) + message(2, "user", "a"), ""},
	} {
		kept := "no compaction"
		_, err := newAgentStore(t).Scan(t.Context(), strings.NewReader(c.log), session.ScanOptions{}, func(m *session.Message) error {
			if m.Compaction {
				kept = string(m.FirstKept)
			}
			return nil
		})
		if err != nil || kept != c.want {
			t.Errorf("%s: kept from %q on, %v; want %q", name, kept, err, c.want)
		}
	}
}

// Content is an array of blocks, in what is written too; a bare string
// of another writer is read all the same.
func TestAgentContentBlocks(t *testing.T) {
	log := `{"recordType":"message","schemaVersion":1,"seq":1,"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"timestamp":"2026-03-01T10:00:01Z"}` + "\n" +
		`{"recordType":"message","schemaVersion":1,"seq":2,"role":"assistant","content":[{"type":"toolCall","id":"t","name":"bash","arguments":{"command":"ls"}}],"timestamp":"2026-03-01T10:00:02Z"}` + "\n" +
		`{"recordType":"message","schemaVersion":1,"seq":3,"role":"toolResult","content":[{"type":"text","text":"c"}],"toolCallId":"t","isError":true,"timestamp":"2026-03-01T10:00:03Z"}` + "\n" +
		`{"recordType":"message","schemaVersion":1,"seq":4,"role":"user","content":"bare","timestamp":"2026-03-01T10:00:04Z"}` + "\n"
	var got []string
	s := newAgentStore(t)
	scan, err := s.Scan(t.Context(), strings.NewReader(log), session.ScanOptions{}, func(m *session.Message) error {
		got = append(got, fmt.Sprintf("%s %s %v %s", m.Role, m.CallID, m.IsError, m.AppendText(nil)))
		return nil
	})
	want := []string{"user  false a\nb", `assistant  false [tool call] bash {"command":"ls"}`, "tool_result t true c", "user  false bare"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" || len(scan.Unknown) > 0 {
		t.Fatalf("%v, unknown %v (-want +got):\n%s", err, scan.Unknown, diff)
	}
	path := s.write(first, "session.jsonl", agentTalk())
	var record map[string]json.RawMessage
	if err := json.Unmarshal([]byte(s.compaction(path).Record), &record); err != nil || record["content"] != nil {
		t.Fatalf("a compaction record has content %s, %v", record["content"], err)
	}
}

// The lists of files of a compaction are read, for the next one.
func TestAgentFileListsAreRead(t *testing.T) {
	log := agentTalk() + strings.Replace(compactionLine, `"modifiedFiles":[]`, `"modifiedFiles":["b.go",7,"c.go"]`, 1)
	var read, modified []string
	_, err := newAgentStore(t).Scan(t.Context(), strings.NewReader(log), session.ScanOptions{}, func(m *session.Message) error {
		read, modified = append(read, m.ReadFiles...), append(modified, m.ModifiedFiles...)
		return nil
	})
	if err != nil || !slices.Equal(read, []string{"a.go"}) || !slices.Equal(modified, []string{"b.go", "c.go"}) {
		t.Fatalf("read %v, modified %v, %v", read, modified, err)
	}
}

// The defaults (docs/dev/decisions.md D17).
func TestAgentDefaults(t *testing.T) {
	can := agent.Open(t.TempDir(), agent.Options{}).Capabilities()
	if can.Keep != (session.Keep{Tokens: 20_000}) || agent.DefaultReserve != 16_384 || can.Strategies[0] != session.StrategyOverlay {
		t.Errorf("keeps %+v, reserves %d, by %s", can.Keep, agent.DefaultReserve, can.Strategies)
	}
}
