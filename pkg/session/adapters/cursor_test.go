package adapters_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/cursor"
)

var cursorHome = filepath.Join("..", "..", "..", "testdata", "cursor", ".cursor")

func cursorMust(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func cursorScanned(log []byte) (all []string, scan session.Scan, err error) {
	scan, err = cursor.Open("").Scan(context.Background(), bytes.NewReader(log), session.ScanOptions{}, func(m *session.Message) error {
		text := string(m.ErrorText)
		for _, p := range m.Parts {
			if p.Kind == session.PartToolCall {
				text += "[" + string(p.Name) + string(p.Text) + "]"
			} else {
				text += string(p.Text)
			}
		}
		all = append(all, strings.TrimSpace(fmt.Sprint(m.Role, " ", string(m.CallID), " ", text)))
		return nil
	})
	return all, scan, err
}

// An independent reader: encoding/json and regexp say the same of the transcripts.
func TestCursorLikeAnIndependentReader(t *testing.T) {
	listing, err := cursor.Open(cursorHome).List(t.Context())
	cursorMust(t, err)
	var listed []string
	for _, ref := range listing.Refs {
		listed = append(listed, strings.TrimSpace(fmt.Sprint(ref.Agent, " ", ref.ID, " ", ref.Kind, " ", ref.Parent)))
		log, err := os.ReadFile(ref.Path)
		cursorMust(t, err)
		got, scan, err := cursorScanned(log)
		cursorMust(t, err)
		if diff := cmp.Diff(cursorSaid(t, log), got); diff != "" || len(scan.Unknown) > 0 || scan.Counts.Bad > 0 {
			t.Errorf("%s: %v (-encoding/json +scan):\n%s", ref.ID, scan.Unknown, diff)
		}
		if f := session.Detect(ref.Path, log); f != session.FormatCursor {
			t.Errorf("%s is taken for %s", ref.ID, f)
		}
	}
	want := []string{
		"home-lea-smithy 4b1f6f0a-93c7-4f0e-8f55-0c7a4d1e2b33 live",
		"home-lea-smithy 9d2c77e1-0b4d-4d7a-a1a5-6e5f3c2b1a00 subagent 4b1f6f0a-93c7-4f0e-8f55-0c7a4d1e2b33",
	}
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("(-want +listed):\n%s", diff)
	}
}

func cursorSaid(t *testing.T, log []byte) (all []string) {
	stamp := regexp.MustCompile(`<timestamp>[^<]*</timestamp>\n`)
	query := regexp.MustCompile(`(?s)^(?:(.*?)\n)?<user_query>\n?(.*?)\n?</user_query>$`)
	for line := range bytes.Lines(log) {
		var x struct {
			Role, Status, Error string
			Message             struct {
				Content []struct {
					Type, Text, Name string
					Input            json.RawMessage
				}
			}
		}
		cursorMust(t, json.Unmarshal(line, &x))
		if x.Status == "error" {
			all = append(all, "assistant  "+x.Error)
		}
		text := ""
		for _, b := range x.Message.Content {
			switch b.Type {
			case "text":
				b.Text = stamp.ReplaceAllString(strings.TrimSuffix(b.Text, "\n\n[REDACTED]"), "")
				if parts := query.FindStringSubmatch(b.Text); parts != nil {
					if b.Text = parts[2]; parts[1] != "" {
						all = append(all, "injected  "+parts[1])
					}
				}
				text += b.Text
			case "tool_use":
				text += "[" + b.Name + string(b.Input) + "]"
			}
		}
		if text != "" {
			all = append(all, x.Role+"  "+text)
		}
	}
	return all
}

// Lines of any shape cost themselves, and what is not known is counted.
func TestCursorMalformed(t *testing.T) {
	for name, c := range map[string]struct {
		line         string
		bad, unknown int
		want         []string
	}{
		"no object":         {`"text"`, 1, 0, nil},
		"broken":            {`{"role":"user" "message":{}}`, 1, 0, nil},
		"cut off":           {`{"role":"user","message":{"content":[{"ty`, 1, 0, nil},
		"an unknown type":   {`{"type":"weather"}`, 0, 1, nil},
		"the end of a turn": {`{"type":"turn_ended","status":"success"}`, 0, 0, nil},
		"an abort":          {`{"type":"turn_ended","status":"aborted"}`, 0, 0, []string{"assistant"}},
		"an overview":       {`{"type":"metadata","metadata":{"overview":"about anvils"}}`, 0, 0, nil},
		"content is text":   {`{"role":"assistant","message":{"content":"plain"}}`, 0, 0, []string{"assistant  plain"}},
		"content is odd":    {`{"role":"assistant","message":{"content":[7,null,{"type":7}]}}`, 0, 0, []string{"assistant"}},
		"a message is odd":  {`{"role":"assistant","message":[]}`, 0, 0, []string{"assistant"}},
		"no content":        {`{"role":"assistant"}`, 0, 0, []string{"assistant"}},
		"a tool speaks":     {`{"role":"tool","message":{"content":[{"type":"text","text":"out"}]}}`, 0, 0, []string{"tool_result  out"}},
		"an unknown role":   {`{"role":"smith","message":{"content":[{"type":"text","text":"x"}]}}`, 0, 1, []string{"injected  x"}},
		"an unknown block":  {`{"role":"assistant","message":{"content":[{"type":"hologram","text":"x"}]}}`, 0, 1, []string{"assistant  x"}},
		"an odd result":     {`{"role":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c","content":{"n":1}}]}}`, 0, 0, []string{`tool_result c {"n":1}`}},
		"half a query":      {`{"role":"user","message":{"content":[{"type":"text","text":"<user_query>x"}]}}`, 0, 0, []string{"user  <user_query>x"}},
		"two queries":       {`{"role":"user","message":{"content":[{"type":"text","text":"a<user_query>x</user_query>b<user_query>y</user_query>c"}]}}`, 0, 0, []string{"injected  a\n\nb\n\nc", "user  x\n\ny"}},
		"a query of a time": {`{"role":"user","message":{"content":[{"type":"text","text":"<user_query><timestamp>Monday, Jun 29, 2026, 1:39 PM (UTC-7)</timestamp></user_query>"}]}}`, 0, 0, []string{"user  <timestamp>Monday, Jun 29, 2026, 1:39 PM (UTC-7)</timestamp>"}},
		"no time":           {`{"role":"user","message":{"content":[{"type":"text","text":"<timestamp>yesterday</timestamp> x"}]}}`, 0, 0, []string{"user  <timestamp>yesterday</timestamp> x"}},
	} {
		got, scan, err := cursorScanned([]byte(`{"role":"user","message":{"content":[{"type":"text","text":"here"}]}}` + "\n" + c.line + "\n"))
		if diff := cmp.Diff(append([]string{"user  here"}, c.want...), got); diff != "" || err != nil || scan.Counts.Bad != c.bad || len(scan.Unknown) != c.unknown {
			t.Errorf("%s: %v, bad %d, unknown %v (-want +got):\n%s", name, err, scan.Counts.Bad, scan.Unknown, diff)
		}
	}
}

// A question says when it was asked; what follows has its time.
func TestCursorTimes(t *testing.T) {
	for stamp, want := range map[string]string{
		"Monday, Jun 29, 2026, 1:39 PM (UTC-7)":   "2026-06-29T20:39:00Z",
		"Monday, Oct 5, 2026, 9:05 PM (UTC-5:30)": "2026-10-06T02:35:00Z",
		"Monday, Aug 24, 2026, 11:27 AM (UTC+8)":  "2026-08-24T03:27:00Z",
		"Friday, Jan 2, 2026, 12:00 AM (UTC)":     "2026-01-02T00:00:00Z",
		"Monday, Jan 1, 2024":                     "",
		"Monday, Aug 24, 2026, 11:27 AM":          "",
		"Monday, Aug 24, 2026, 11:27 AM (UTC+x)":  "",
		"Monday, Aug 24, 2026, 11:27 AM (UTC+99)": "",
	} {
		log := `{"role":"user","message":{"content":[{"type":"text","text":"<timestamp>` + stamp + `</timestamp>\nhere"}]}}` + "\n" + `{"role":"assistant","message":{"content":"there"}}`
		var got []string
		_, err := cursor.Open("").Scan(t.Context(), strings.NewReader(log), session.ScanOptions{}, func(m *session.Message) error {
			if m.Time != 0 {
				got = append(got, fmt.Sprint(time.UnixMilli(m.Time).UTC().Format(time.RFC3339), " ", m.TimeInferred))
			}
			return nil
		})
		cursorMust(t, err)
		if (want == "" && len(got) > 0) || (want != "" && !cmp.Equal(got, []string{want + " false", want + " true"})) {
			t.Errorf("%s: %q, want %s", stamp, got, want)
		}
	}
}

// What lies in a home directory: sessions of this version and of earlier ones, those
// of sub-agents, and what is not read.
func TestCursorList(t *testing.T) {
	root := t.TempDir()
	all := filepath.Join(root, "projects", "home-lea-smithy", "agent-transcripts")
	for _, name := range []string{
		"one/one.jsonl", "one/one.txt", "one/other.jsonl", "one/subagents/a.jsonl", "gone/subagents/b.jsonl", "old.jsonl", "text.txt", "both/both.txt",
		"-x/-x.jsonl", "notes.md", "../terminals/1.jsonl", "one/subagents/c/c.jsonl",
	} {
		path := filepath.Join(all, filepath.FromSlash(name))
		cursorMust(t, os.MkdirAll(filepath.Dir(path), 0o700))
		cursorMust(t, os.WriteFile(path, []byte(`{"role":"user","message":{"content":"x"}}`+"\n"), 0o600))
	}
	listing, err := cursor.Open(root).List(t.Context())
	cursorMust(t, err)
	var got []string
	for _, ref := range listing.Refs {
		got = append(got, strings.TrimSpace(fmt.Sprint(ref.ID, " ", ref.Kind, " ", ref.Primary, " ", ref.Parent)))
	}
	for _, n := range listing.Notices {
		got = append(got, filepath.Base(n.Path)+": "+n.Message)
	}
	want := []string{
		"b subagent false gone", "old live true", "one live true", "a subagent false one",
		"-x.jsonl: it is left out: its name can be no session's id", "agent-transcripts: 2 transcripts of an earlier version (.txt) are not read",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A turn that has ended is answered, whatever its last message is: a transcript has
// no results of calls.
func TestCursorEndOfATurn(t *testing.T) {
	const call = `{"role":"user","message":{"content":"x"}}` + "\n" + `{"role":"assistant","message":{"content":[{"type":"tool_use","name":"Shell","input":{}}]}}` + "\n"
	for log, answered := range map[string]bool{call: false, call + `{"type":"turn_ended","status":"success"}` + "\n": true} {
		root := t.TempDir()
		path := filepath.Join(root, "projects", "p", "agent-transcripts", "s", "s.jsonl")
		cursorMust(t, os.MkdirAll(filepath.Dir(path), 0o700))
		cursorMust(t, os.WriteFile(path, []byte(log), 0o600))
		store := cursor.Open(root)
		listing, err := store.List(t.Context())
		cursorMust(t, err)
		tail, err := store.Tail(t.Context(), listing.Refs[0])
		if err != nil || tail.Answered != answered || tail.Messages != 2 || tail.TokenSource != session.TokensFromEstimate {
			t.Errorf("%+v %v, want answered %v", tail, err, answered)
		}
	}
}
