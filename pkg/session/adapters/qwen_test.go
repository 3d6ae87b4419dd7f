package adapters_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/internal/samples"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/qwen"
)

func qwenMust(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// qwenLogs are our own log, and those of the real program where they are beside
// the module.
func qwenLogs(t testing.TB) []string {
	t.Helper()
	up := filepath.Join("..", "..", "..")
	ours, err := filepath.Glob(filepath.Join(up, "testdata", "qwen", ".qwen", "projects", "*", "chats", "*.jsonl"))
	qwenMust(t, err)
	return append(ours, samples.Matching(t, "samples-newer/qwen-*/.qwen/projects/*/chats/*.jsonl")...)
}

// qwenEntry is a record, or an entry of a history, as encoding/json has it.
type qwenEntry struct {
	UUID, ParentUUID, Type, Subtype string
	Message                         content
	SystemPayload                   struct {
		CompressedHistory []content
		UIEvent           map[string]any
	}
}

type content struct {
	Role  string
	Parts []struct {
		Text             string
		Thought          bool
		FunctionCall     *struct{ Name string }
		FunctionResponse *struct{ Response map[string]any }
	}
}

func (c content) text() (text string) {
	for _, p := range c.Parts {
		switch {
		case p.FunctionCall != nil:
			text += "[" + p.FunctionCall.Name + "]"
		case p.FunctionResponse != nil:
			for _, key := range []string{"output", "error"} {
				said, _ := p.FunctionResponse.Response[key].(string)
				text += said
			}
		case !p.Thought:
			text += p.Text
		}
	}
	return text
}

// An independent reader: what each record of a sample says, by encoding/json.
func TestQwenSamplesLikeAnIndependentReader(t *testing.T) {
	for _, path := range qwenLogs(t) {
		log, err := os.ReadFile(path)
		qwenMust(t, err)
		var want, got []string
		for line := range bytes.Lines(log) {
			var e qwenEntry
			qwenMust(t, json.Unmarshal(line, &e))
			switch {
			case e.Type != "system":
				want = append(want, e.UUID+" "+e.Type+" "+e.Message.text())
			case e.Subtype == "chat_compression":
				want = append(want, e.UUID+" summary "+e.SystemPayload.CompressedHistory[0].text())
			case e.SystemPayload.UIEvent["event.name"] == "qwen-code.api_error":
				want = append(want, e.UUID+" assistant ")
			}
		}
		scan, err := qwen.Open(t.TempDir()).Scan(t.Context(), bytes.NewReader(log), session.ScanOptions{}, func(m *session.Message) error {
			text := ""
			for _, p := range m.Parts {
				switch p.Kind {
				case session.PartText:
					text += string(p.Text)
				case session.PartToolCall:
					text += "[" + string(p.Name) + "]"
				}
			}
			got = append(got, string(m.ID)+" "+m.Role.String()+" "+text)
			return nil
		})
		qwenMust(t, err)
		if diff := cmp.Diff(want, got); diff != "" || len(scan.Unknown) > 0 || scan.Counts.Bad > 0 {
			t.Errorf("%s: unknown %v, bad %d (-encoding/json +scan):\n%s", path, scan.Unknown, scan.Counts.Bad, diff)
		}
	}
}

// Records of any shape cost a field or a line, never the log.
func TestQwenMalformed(t *testing.T) {
	const whole = `{"uuid":"a","parentUuid":null,"sessionId":"s","type":"user","provenance":"real_user","message":{"role":"user","parts":[{"text":"here"}]}}`
	for name, c := range map[string]struct {
		line     string
		bad      int
		messages int
	}{
		"cut off":             {`{"uuid":"b","parentUuid":"a","sess`, 1, 1},
		"parts are text":      {`{"uuid":"b","parentUuid":"a","sessionId":"s","type":"assistant","message":{"parts":"plain"}}`, 0, 2},
		"parts are null":      {`{"uuid":"b","parentUuid":"a","sessionId":"s","type":"assistant","message":{"parts":null}}`, 0, 2},
		"no message":          {`{"uuid":"b","parentUuid":"a","sessionId":"s","type":"assistant"}`, 0, 2},
		"a message is a list": {`{"uuid":"b","parentUuid":"a","sessionId":"s","type":"user","message":[1]}`, 0, 2},
		"a result is odd":     {`{"uuid":"b","parentUuid":"a","sessionId":"s","type":"tool_result","toolCallResult":[],"message":{"parts":[{"functionResponse":7}]}}`, 0, 2},
		"no history":          {`{"uuid":"b","parentUuid":"a","sessionId":"s","type":"system","subtype":"chat_compression","systemPayload":{"compressedHistory":{}}}`, 0, 1},
		"an unknown type":     {`{"uuid":"b","parentUuid":"a","sessionId":"s","type":"vision","message":{"parts":[]}}`, 0, 1},
		"an unknown subtype":  {`{"uuid":"b","parentUuid":"a","sessionId":"s","type":"system","subtype":"dreamt"}`, 0, 1},
		"usage of text":       {`{"uuid":"b","parentUuid":"a","sessionId":"s","type":"assistant","usageMetadata":{"promptTokenCount":"x","totalTokenCount":-4},"message":{"parts":[{"text":"y"}]}}`, 0, 2},
	} {
		messages := 0
		scan, err := qwen.Open(t.TempDir()).Scan(t.Context(), strings.NewReader(whole+"\n"+c.line+"\n"), session.ScanOptions{}, func(*session.Message) error { messages++; return nil })
		if err != nil || messages != c.messages || scan.Counts.Bad != c.bad {
			t.Errorf("%s: %d messages, %d bad lines, %v", name, messages, scan.Counts.Bad, err)
		}
	}
}

// What lies in a home directory: sessions, those that were put away, and those of
// sub-agents.
func TestQwenList(t *testing.T) {
	root := t.TempDir()
	log, err := os.ReadFile(qwenLogs(t)[0])
	qwenMust(t, err)
	project := filepath.Join(root, "projects", "-home-lea-bakery")
	for _, name := range []string{"chats/one.jsonl", "chats/archive/two.jsonl", "subagents/one/agent-a.jsonl", "chats/one.worktree.json", "meta.json", "memory/MEMORY.md", "chats/-x.jsonl"} {
		path := filepath.Join(project, filepath.FromSlash(name))
		qwenMust(t, os.MkdirAll(filepath.Dir(path), 0o700))
		qwenMust(t, os.WriteFile(path, log, 0o600))
	}
	listing, err := qwen.Open(root).List(t.Context())
	qwenMust(t, err)
	var got []string
	for _, ref := range listing.Refs {
		got = append(got, strings.TrimSpace(ref.Agent+" "+ref.ID+" "+string(ref.Kind)+" "+ref.Parent))
	}
	slices.Sort(got)
	want := []string{"home-lea-bakery one live", "home-lea-bakery one.agent-a subagent one", "home-lea-bakery two archived"}
	if diff := cmp.Diff(want, got); diff != "" || !slices.Equal(listing.Agents, []string{"home-lea-bakery"}) {
		t.Errorf("%v (-want +got):\n%s", listing.Agents, diff)
	}
}
