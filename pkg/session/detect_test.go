package session

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sessctl/sessctl/internal/samples"
	"github.com/sessctl/sessctl/pkg/jsonl"
)

func TestDetect(t *testing.T) {
	const header = `{"type":"session","version":3,"id":"a","cwd":"/x"}`
	pi := `{"type":"message","id":"f0000001","parentId":"f0000000","message":{"role":"user","content":"hi"}}`
	for name, c := range map[string]struct {
		path, head string
		want       Format
	}{
		"pi":                    {"x.jsonl", header + "\n" + pi, FormatPi},
		"pi after bad lines":    {"x.jsonl", "oops\n\n\x00\x00" + header + "\n", FormatPi},
		"pi after a BOM":        {"x.jsonl", "\xEF\xBB\xBF" + header, FormatPi},
		"pi without version":    {"x.jsonl", `{"type":"session","id":"a"}`, FormatPi},
		"header without id":     {"x.jsonl", `{"type":"session","id":7}`, FormatUnknown},
		"openclaw by path":      {"/h/.openclaw/agents/main/sessions/x.jsonl", header, FormatOpenClaw},
		"openclaw on Windows":   {`C:\h\agents\main\sessions\x.jsonl`, header, FormatOpenClaw},
		"openclaw by record":    {"x.jsonl", header + "\n" + `{"type":"custom","customType":"model-snapshot"}`, FormatOpenClaw},
		"openclaw by message":   {"x.jsonl", header + "\n" + `{"type":"custom_message","customType":"openclaw.runtime-context"}`, FormatOpenClaw},
		"extension of pi":       {"x.jsonl", header + "\n" + `{"type":"custom","customType":"todo"}`, FormatPi},
		"openclaw by workspace": {"x.jsonl", `{"type":"session","id":"a","cwd":"C:\\u\\.openclaw\\workspace"}`, FormatOpenClaw},
		"fragment":              {"x.jsonl", pi, FormatFragment},
		"annabelle":             {"x", `{"type":"header","chatId":"1"}`, FormatAnnabelle},
		"agent":                 {"x", `{"recordType":"m","schemaVersion":1,"seq":0}`, FormatAgent},
		"codex":                 {"x", `{"timestamp":"t","type":"session_meta","payload":{}}`, FormatCodex},
		"codex bare":            {"x", `{"id":"a","timestamp":"t","instructions":null}` + "\n" + `{"record_type":"state"}`, FormatCodexBare},
		"codex JSON":            {"x.json", `{"session":{"id":"a"},"items":[]}`, FormatCodexJSON},
		"gemini":                {"x", `{"sessionId":"a","projectHash":"b"}`, FormatGemini},
		"gemini JSON":           {"x.json", "{\n \"sessionId\": \"a\",\n \"projectHash\": \"b\",\n \"messages\": []\n}", FormatGeminiJSON},
		"trajectory":            {"x.trajectory.jsonl", `{"traceSchema":1}`, FormatTrajectory},
		"reset of mac-stats":    {"x", `{"kind":"before_reset_meta"}`, FormatMacStatsReset},
		"mac-stats":             {"x", "\n## User\n\nhi\n", FormatMacStats},
		"mac-stats by name":     {"session-memory-1.md", "# odd", FormatMacStats},
		"another Markdown file": {"README.md", "# odd", FormatUnknown},
		"hermes transcript":     {"x.json", "{\n \"session_id\": \"a\",\n \"messages\": []\n}", FormatHermes},
		"yarnnn":                {"x", `{"session_id":"a","role":"user","sequence_number":1,"content":"x"}`, FormatYarnnn},
		"claude":                {"x", `{"type":"mode"}` + "\n" + `{"type":"user","sessionId":"a","uuid":"b","message":{"role":"user"}}`, FormatClaude},
		"claude title":          {"x", `{"type":"summary","leafUuid":"b"}`, FormatClaude},
		"generic":               {"x", `{"role":"user","content":"a"}` + "\n" + `{"role":"assistant","content":"b"}`, FormatGenericChat},
		"half a chat":           {"x", `{"role":"user","content":"a"}`, FormatUnknown},
		"index":                 {"copy.json", `{"agent:a:main":{"sessionId":"x"},"b":{"sessionId":"y"},"odd":1}`, FormatOpenClawIndex},
		"index by name":         {"sessions.json.bak.1", `{"agent:a:main":{}}`, FormatOpenClawIndex},
		"lock":                  {"x.jsonl.lock", `{"pid":1,"createdAt":"t"}`, FormatOpenClawLock},
		"lock of the index":     {"sessions.json.lock", `{"pid":1,"createdAt":"t"}`, FormatOpenClawLock},
		"object":                {"x.json", `{"a":1}`, FormatUnknown},
		"array":                 {"x.json", "[" + header + "]", FormatUnknown},
		"pretty-printed":        {"x.jsonl", "{\n  \"type\": \"session\",\n  \"id\": \"a\"\n}\n{\n}\n", FormatUnknown},
		"sqlite":                {"x", "SQLite format 3\x00rest", FormatSQLite},
		"UTF-16":                {"x", "\xFF\xFE{\x00", FormatUTF16},
		"empty":                 {"x", "", FormatEmpty},
		"blank":                 {"x", "\xEF\xBB\xBF\r\n\x00\x00 \t\n", FormatEmpty},
		"text":                  {"x", "hello\nworld\n", FormatUnknown},
		"droid":                 {"x", `{"type":"session_start","id":"a","owner":"x","version":2,"cwd":"/x"}` + "\n" + pi, FormatDroid},
		"a trace":               {"x", `{"type":"session","harness":"millbot","id":"a"}`, FormatTrace},
		"kimi":                  {"x", `{"type":"metadata","protocol_version":"1.1"}`, FormatKimi},
		"kimi before":           {"x", `{"role":"_system_prompt","content":"x"}`, FormatKimi},
		"antigravity":           {"x", `{"step_index":0,"source":"USER","type":"X","status":"DONE"}`, FormatAntigravity},
		"grok":                  {"x", `{"method":"session/update","params":{}}`, FormatGrok},
		"ATIF":                  {"x.json", `{"schema_version":"ATIF-v1.2","session_id":"a"}`, FormatATIF},
		"OpenAI":                {"x.jsonl", `{"messages":[{"role":"user","content":"a"}]}` + "\n", FormatChat},
		"OpenAI, many":          {"x.jsonl", `{"messages":[{"role":"user","content":"a"}]}` + "\n" + `{"messages":[{"role":"user","content":"b"}]}`, FormatChat},
		"OpenAI, responses":     {"x.jsonl", `{"input":[{"role":"user","content":"a"}]}`, FormatResponses},
		"ShareGPT":              {"x.jsonl", `{"conversations":[{"from":"human","value":"a"}]}`, FormatShareGPT},
		"ShareGPT, an array":    {"x.json", `[{"id":"a","conversations":[{"from":"human","value":"a"}]}]`, FormatShareGPT},
		"a replay":              {"x.json", `{"schema":1,"messages":[{"role":"user","text":"a"}]}`, FormatUnknown},
		"messages with ids":     {"x.json", `{"messages":[{"id":"1","role":"user","content":"a"}]}`, FormatUnknown},
		"continue":              {"x.json", "{\n\"sessionId\":\"a\",\"history\":[],\"workspaceDirectory\":\"/x\"}", FormatContinue},
		"bait in a text": {
			"x", header + "\n" + `{"type":"message","message":{"role":"user","content":"{\"type\":\"session_meta\",\"payload\":{}}"}}`, FormatPi,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Detect(c.path, []byte(c.head)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// What is cut off at the end of a full head still counts.
func TestDetectFullHead(t *testing.T) {
	filler := strings.Repeat("x", HeadSize)
	for name, c := range map[string]struct {
		head string
		want Format
	}{
		"first record is longer":    {`{"type":"session_meta","payload":{"instructions":"` + filler, FormatCodex},
		"index is longer":           {"{\n\"agent:a:main\": {\"sessionId\": \"a\", \"report\": \"\"},\n\"agent:a:b\": {\"sessionId\":\"b\"},\n \"c\": {\"report\": \"" + filler, FormatOpenClawIndex},
		"gemini JSON is longer":     {"{\n\"sessionId\": \"a\",\n\"projectHash\": \"b\",\n\"messages\": [\"" + filler, FormatGeminiJSON},
		"second record is longer":   {`{"type":"session","id":"a"}` + "\n" + `{"type":"custom","customType":"openclaw.x","data":"` + filler, FormatOpenClaw},
		"records, not a document":   {`{"sessionId":"a","messages":1,"session":1,"items":1}` + "\n" + `{"type":"x","y":"` + filler, FormatUnknown},
		"one object that never was": {`{"` + filler, FormatUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Detect("x", []byte(c.head)[:HeadSize]); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestDetectSamples(t *testing.T) {
	root := samples.Beside(t, "samples")
	table, err := os.ReadFile("testdata/detect.txt")
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for line := range strings.Lines(string(table)) {
		want, name, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || want == "#" {
			continue
		}
		name = strings.TrimSpace(name)
		files++
		head, err := readHead(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			t.Error(err)
			continue
		}
		if got := Detect(name, head); got != Format(want) {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if files < 150 {
		t.Errorf("the table names only %d files", files)
	}
	others(t, root, string(table))
}

// others checks that no file that the table does not name is taken for a log:
// notes, manifests, what runtimes keep beside their logs.
func others(t *testing.T, root, table string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator)))
		if strings.Contains(table, " "+name+"\n") {
			return nil
		}
		head, err := readHead(path)
		if got := Detect(name, head); err == nil && got != FormatUnknown {
			t.Errorf("%s is not in the table and taken for %s", name, got)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func readHead(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	plain, _, err := jsonl.Decompress(f, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer plain.Close()
	head, err := io.ReadAll(io.LimitReader(plain, HeadSize))
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return head, err
}

// A log is told by what stands in it, not by what is lost: blank lines, bad
// lines, another line end and a torn last line change nothing.
func TestDetectDespiteDamage(t *testing.T) {
	logs := map[Format][]string{
		FormatPi:       {`{"type":"session","id":"a","version":3}`, `{"type":"message","id":"b","parentId":null,"message":{"role":"user","content":"x"}}`},
		FormatFragment: {`{"type":"message","id":"b","parentId":"a","message":{"role":"user","content":"x"}}`},
		FormatClaude:   {`{"type":"user","sessionId":"a","uuid":"b"}`, `{"type":"assistant","sessionId":"a","uuid":"c"}`},
		FormatAgent:    {`{"recordType":"message","schemaVersion":1,"seq":1}`, `{"recordType":"message","schemaVersion":1,"seq":2}`},
		FormatGemini:   {`{"sessionId":"a","projectHash":"b"}`, `{"id":"x","type":"user","content":"x"}`},
	}
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SampledFrom([]Format{FormatPi, FormatFragment, FormatClaude, FormatAgent, FormatGemini}).Draw(t, "format")
		end := rapid.SampledFrom([]string{"\n", "\r\n", "\n\n"}).Draw(t, "end")
		var b bytes.Buffer
		for range rapid.IntRange(0, 5).Draw(t, "bad lines") {
			b.WriteString(rapid.SampledFrom([]string{"", "oops", "{\"a\":", "\x00\x00", "42", "[1]", "null"}).Draw(t, "bad") + end)
		}
		b.WriteString(strings.Join(logs[want], end) + end)
		torn := rapid.IntRange(0, len(logs[want][0])-1).Draw(t, "torn")
		b.WriteString(logs[want][0][:torn])
		if got := Detect("x.jsonl", b.Bytes()); got != want {
			t.Fatalf("%q is %s, want %s", b.Bytes(), got, want)
		}
	})
}
