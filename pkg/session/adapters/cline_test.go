package adapters_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/internal/samples"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/cline"
)

func clineMust(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ours is the home directory of our own sample.
var ours = filepath.Join("..", "..", "..", "testdata", "cline", ".cline")

// documents are our own documents, and those of the real program where they are
// beside the module.
func documents(t testing.TB) (all []string) {
	t.Helper()
	for _, home := range append([]string{ours}, samples.Matching(t, "samples-newer/cline-*/.cline")...) {
		for _, what := range []string{"messages", "compaction"} {
			found, err := filepath.Glob(filepath.Join(home, "data", "sessions", "*", "*."+what+".json"))
			clineMust(t, err)
			all = append(all, found...)
		}
	}
	if len(all) == 0 {
		t.Fatal("no samples")
	}
	return all
}

// document is a document of messages as encoding/json has it.
type document struct {
	Messages []struct {
		ID, Role string
		Content  []struct {
			Type, Text, Name, Thinking string
			ToolUseID                  string `json:"tool_use_id"`
			Content                    any
		}
		Metadata struct{ Kind string }
		Metrics  struct{ InputTokens, OutputTokens int64 }
	}
}

// said is what each message says, a line each.
func (d document) said() (all []string) {
	for _, m := range d.Messages {
		role, text, called := m.Role, "", 0
		if m.Metadata.Kind == "compaction_summary" {
			role = "summary"
		}
		for _, b := range m.Content {
			switch b.Type {
			case "tool_use":
				text += "[" + b.Name + "]"
			case "tool_result":
				called++
				given, _ := b.Content.(string)
				list, _ := b.Content.([]any)
				for _, q := range list {
					given += q.(map[string]any)["result"].(string)
				}
				all = append(all, fmt.Sprint(m.ID, " tool_result ", b.ToolUseID, " 0 ", given))
			default:
				inside := strings.TrimSuffix(strings.TrimPrefix(b.Text, `<user_input mode="act">`), "</user_input>")
				text += b.Thinking + inside
			}
		}
		if text != "" || called == 0 {
			all = append(all, fmt.Sprint(m.ID, " ", role, "  ", m.Metrics.InputTokens+m.Metrics.OutputTokens, " ", text))
		}
	}
	return all
}

func clineScanned(log []byte) (all []string, scan session.Scan, err error) {
	scan, err = cline.Open("").Scan(context.Background(), bytes.NewReader(log), session.ScanOptions{Thinking: true}, func(m *session.Message) error {
		text := ""
		for _, p := range m.Parts {
			if p.Kind == session.PartToolCall {
				text += "[" + string(p.Name) + "]"
			} else {
				text += string(p.Text)
			}
		}
		all = append(all, fmt.Sprint(string(m.ID), " ", m.Role, " ", string(m.CallID), " ", m.Usage.Context(), " ", text))
		return nil
	})
	return all, scan, err
}

// An independent reader: what each message of a sample says, by encoding/json.
func TestClineSamplesLikeAnIndependentReader(t *testing.T) {
	for _, path := range documents(t) {
		log, err := os.ReadFile(path)
		clineMust(t, err)
		var d document
		clineMust(t, json.Unmarshal(log, &d))
		got, scan, err := clineScanned(log)
		clineMust(t, err)
		if diff := cmp.Diff(d.said(), got); diff != "" {
			t.Errorf("%s (-encoding/json +scan):\n%s", path, diff)
		}
		id, _, _ := strings.Cut(filepath.Base(path), ".")
		if scan.Records != len(d.Messages) || len(scan.Unknown) > 0 || scan.Counts.Bad > 0 || scan.Counts.Torn || scan.SessionID != id {
			t.Errorf("%s: %d records of %d, unknown %v, %+v, session %q", path, scan.Records, len(d.Messages), scan.Unknown, scan.Counts, scan.SessionID)
		}
		if f := session.Detect(path, log[:min(len(log), session.HeadSize)]); f != session.FormatCline {
			t.Errorf("%s is taken for %s", path, f)
		}
	}
}

// Messages of any shape cost a field or a message, never the document, and what is
// not read is counted.
func TestClineMalformed(t *testing.T) {
	const whole = `{"id":"a","role":"user","content":[{"type":"text","text":"here"}],"ts":1795314330487}`
	for name, c := range map[string]struct {
		element string
		bad     int
		unknown int
		want    []string
	}{
		"content is text":     {`{"id":"b","role":"assistant","content":"plain"}`, 0, 0, []string{"b assistant  0 plain"}},
		"content is null":     {`{"id":"b","role":"assistant","content":null}`, 0, 0, []string{"b assistant  0 "}},
		"no content":          {`{"id":"b","role":"assistant"}`, 1, 0, nil},
		"no role":             {`{"id":"b","content":"x"}`, 1, 0, nil},
		"an unknown role":     {`{"id":"b","role":"critic","content":"x"}`, 0, 1, []string{"b injected  0 x"}},
		"an unknown block":    {`{"id":"b","role":"assistant","content":[{"type":"video","text":"x"}]}`, 0, 1, []string{"b assistant  0 x"}},
		"no object":           {`"text"`, 1, 0, nil},
		"a number":            {`7`, 1, 0, nil},
		"a list":              {`[{"role":"user","content":"x"}]`, 1, 0, nil},
		"a broken object":     {`{"id":"b" "role":"user"}`, 1, 0, nil},
		"odd metrics":         {`{"id":"b","role":"assistant","content":"x","metrics":{"inputTokens":"y","outputTokens":-4}}`, 0, 0, []string{"b assistant  -4 x"}},
		"half a tag":          {`{"id":"b","role":"user","content":[{"type":"text","text":"<user_input</user_input>"}]}`, 0, 0, []string{"b user  0 <user_input</user_input>"}},
		"a result that is 7":  {`{"id":"b","role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":7}]}`, 0, 0, []string{"b tool_result c 0 7"}},
		"no result":           {`{"id":"b","role":"user","content":[{"type":"tool_result","tool_use_id":"c"}]}`, 0, 0, []string{"b tool_result c 0 "}},
		"an odd result":       {`{"id":"b","role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"rows":[1]}]}]}`, 0, 0, []string{`b tool_result c 0 {"rows":[1]}`}},
		"a result of objects": {`{"id":"b","role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"query":"q","result":{"n":1},"error":"late"}]}]}`, 0, 0, []string{`b tool_result c 0 {"n":1}late`}},
		"two with escapes": {
			`{"id":"b","role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"\"one\""},{"type":"tool_result","tool_use_id":"d","content":[{"result":"\"two\""}]}]}`,
			0, 0, []string{`b tool_result c 0 "one"`, `b tool_result d 0 "two"`},
		},
	} {
		got, scan, err := clineScanned([]byte(`{"updated_at":"x","sessionId":"s","messages":[` + whole + "," + c.element + "]}\n"))
		want := append([]string{"a user  0 here"}, c.want...)
		if diff := cmp.Diff(want, got); diff != "" || err != nil || scan.Counts.Bad != c.bad || len(scan.Unknown) != c.unknown {
			t.Errorf("%s: %v, bad %d, unknown %v (-want +got):\n%s", name, err, scan.Counts.Bad, scan.Unknown, diff)
		}
	}
}

// A document that was cut off is read as far as it goes, and is torn.
func TestClineTorn(t *testing.T) {
	log, err := os.ReadFile(documents(t)[0])
	clineMust(t, err)
	whole, _, err := clineScanned(log)
	clineMust(t, err)
	for cut := 1; cut < len(log)-1; cut += 173 {
		part, scan, _ := clineScanned(log[:cut])
		if !scan.Counts.Torn || len(part) > len(whole) || !slices.Equal(part, whole[:len(part)]) {
			t.Fatalf("cut at %d: torn %v, %d messages", cut, scan.Counts.Torn, len(part))
		}
	}
}

// What lies in a home directory, and what does not belong to a session.
func TestClineList(t *testing.T) {
	root := clineCopied(t)
	sessions := filepath.Join(root, "data", "sessions")
	for _, name := range []string{"1/1.messages.json", "1/other.messages.json", "1/1.json.tmp", "1/.1.json", "stray.json", ".hidden/a.messages.json"} {
		clineMust(t, os.MkdirAll(filepath.Dir(filepath.Join(sessions, name)), 0o700))
		clineMust(t, os.WriteFile(filepath.Join(sessions, name), []byte(`{"messages":[]}`), 0o600))
	}
	listing, err := cline.Open(root).List(t.Context())
	clineMust(t, err)
	var got []string
	for _, ref := range listing.Refs {
		got = append(got, strings.TrimSpace(fmt.Sprint(ref.Agent, " ", ref.ID, " ", ref.Kind, " ", ref.Parent)))
	}
	want := []string{
		"cline 1 live", "cline 1.other subagent 1",
		"home-lea-pottery " + id + " live", "home-lea-pottery " + id + ".compaction.json output " + id, "home-lea-pottery " + id + ".json output " + id,
	}
	if diff := cmp.Diff(want, got); diff != "" || !slices.Equal(listing.Agents, []string{"cline", "home-lea-pottery"}) {
		t.Errorf("%v (-want +got):\n%s", listing.Agents, diff)
	}
}

// id is the session of our own sample.
const id = "1772359200000_k3ln0"

func clineCopied(t *testing.T) (root string) {
	t.Helper()
	root = filepath.Join(t.TempDir(), ".cline")
	clineMust(t, os.CopyFS(root, os.DirFS(ours)))
	return root
}

// The context after a compaction is what that put in the place of the first
// messages, until a model call counts it; one of another state counts for nothing.
func TestClineContextAfterACompaction(t *testing.T) {
	root := clineCopied(t)
	store, dir := cline.Open(root), filepath.Join(root, "data", "sessions", id)
	tail := func(count int, last, status string) session.Tail {
		t.Helper()
		head := fmt.Sprintf(`{"version":1,"updated_at":"2026-03-01T10:01:30.000Z","conversation_id":%q,"source_message_count":%d,"source_last_message_key":%q,"messages":[`, id, count, last)
		clineMust(t, os.WriteFile(filepath.Join(dir, id+".compaction.json"), []byte(head+`{"role":"user","content":"Context summary","metadata":{"kind":"compaction_summary"}}]}`), 0o600))
		clineMust(t, os.WriteFile(filepath.Join(dir, id+".json"), []byte(`{"status":"`+status+`"}`), 0o600))
		got, err := store.Tail(t.Context(), session.Ref{Path: filepath.Join(dir, id+".messages.json")})
		clineMust(t, err)
		return got
	}
	for _, c := range []struct {
		count        int
		last, status string
		source       string
		most         int64
		answered     bool
	}{
		{6, "id:a3", "idle", session.TokensFromUsage, 2500, true},
		{8, "id:a4", "idle", session.TokensFromEstimate, 30, true},
		{8, "id:other", "idle", session.TokensFromUsage, 2500, true},
		{99, "id:a4", "idle", session.TokensFromUsage, 2500, true},
		{0, "", "running", session.TokensFromUsage, 2500, false},
	} {
		got := tail(c.count, c.last, c.status)
		if got.TokenSource != c.source || got.Tokens <= 0 || got.Tokens > c.most || got.Answered != c.answered || got.Messages != 9 {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

// An independent reader: what Cline sends of a session that it has compacted is its
// compaction's messages and those that it does not stand for.
func TestClineContextLikeAnIndependentReader(t *testing.T) {
	seen := 0
	for _, path := range documents(t) {
		base, isCompaction := strings.CutSuffix(path, ".compaction.json")
		if !isCompaction {
			continue
		}
		seen++
		var compaction struct {
			document
			Count int `json:"source_message_count"`
		}
		raw, err := os.ReadFile(path)
		clineMust(t, err)
		clineMust(t, json.Unmarshal(raw, &compaction))
		log, err := os.ReadFile(base + ".messages.json")
		clineMust(t, err)
		var d document
		clineMust(t, json.Unmarshal(log, &d))
		want := append(compaction.said(), document{d.Messages[compaction.Count:]}.said()...)
		var got []string
		ref := session.Ref{Path: base + ".messages.json"}
		_, err = cline.Open("").ScanContext(t.Context(), ref, bytes.NewReader(log), session.ScanOptions{Thinking: true}, func(m *session.Message) error {
			got = append(got, fmt.Sprint(string(m.ID), " ", m.Role))
			return nil
		})
		clineMust(t, err)
		for i := range want {
			fields := strings.Fields(want[i])
			want[i] = fields[0] + " " + fields[min(1, len(fields)-1)]
			if strings.HasPrefix(want[i], "summary ") { // it has no id
				want[i] = " summary"
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-encoding/json +scan):\n%s", path, diff)
		}
	}
	if seen == 0 {
		t.Error("no sample was compacted")
	}
}

// A message that is only shown is not sent, and a compaction does not count it.
func TestClineShownOnly(t *testing.T) {
	dir := t.TempDir()
	log := []byte(`{"updated_at":"x","sessionId":"s","messages":[{"id":"a","role":"user","content":"one"},{"id":"n","role":"user","content":"a notice","metadata":{"displayOnly":true}},{"id":"b","role":"assistant","content":"two"},{"id":"c","role":"user","content":"three"}]}`)
	clineMust(t, os.WriteFile(filepath.Join(dir, "s.messages.json"), log, 0o600))
	clineMust(t, os.WriteFile(filepath.Join(dir, "s.compaction.json"), []byte(`{"version":1,"updated_at":"2026-03-01T10:01:30Z","source_message_count":2,"source_last_message_key":"id:b","messages":[{"id":"z","role":"user","content":"sum","metadata":{"kind":"compaction_summary"}}]}`), 0o600))
	var got []string
	_, err := cline.Open("").ScanContext(t.Context(), session.Ref{Path: filepath.Join(dir, "s.messages.json")}, bytes.NewReader(log), session.ScanOptions{}, func(m *session.Message) error {
		got = append(got, fmt.Sprint(string(m.ID), m.OutOfContext))
		return nil
	})
	if clineMust(t, err); !slices.Equal(got, []string{"zfalse", "cfalse"}) {
		t.Error(got)
	}
}
