package claude

import (
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/session"
)

// What a tool printed stands in toolUseResult, and a part of it in the message.
func TestOutputThatWasNotSent(t *testing.T) {
	for _, c := range []struct {
		name, sent, result, want string
		leftOut                  bool
	}{
		{"all was sent", `"one\ntwo"`, `{"stdout":"one\ntwo","stderr":"","interrupted":false}`, "one\ntwo", false},
		{"a preview was sent", `"Preview:\none\n..."`, `{"stdout":"one\ntwo\nthree","stderr":"warned","persistedOutputPath":"/tmp/x"}`, "Preview:\none\n...\ntwo\nthree\nwarned", false},
		{"the rest is in a file", `"Preview:\none\n..."`, `{"stdout":"one\ntwo","persistedOutputPath":"/tmp/x","persistedOutputSize":31787}`, "Preview:\none\n...\ntwo", true},
		{"an error", `"no such file"`, `"Error: no such file"`, "no such file\nError: no such file", false},
		{"a file that was read", `"1→one\n2→two"`, `{"type":"text","file":{"filePath":"/a","content":"one\ntwo","numLines":2}}`, "1→one\n2→two", false},
		{"a file that was written stands in the call", `"written"`, `{"type":"create","filePath":"/a","content":"what was written to the file, at some length","structuredPatch":[]}`, "written", true},
		{"a file that was changed", `"updated"`, `{"filePath":"/a","oldString":"a","newString":"b","originalFile":"the whole file as it was before, at some length"}`, "updated", true},
		{"an agent's answer", `[{"type":"text","text":"short"}]`, `{"content":[{"type":"text","text":"short and the rest of it"}],"prompt":"do it","totalTokens":9,"usage":{"service_tier":"standard"}}`, "short\nshort and the rest of it", false},
		{"a field of a tool that is not known", `"done"`, `{"transcript":"a long text that the screen shows and the model does not see","state":"ok"}`, "done\na long text that the screen shows and the model does not see", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := `{"type":"user","uuid":"u1","sessionId":"s","toolUseResult":` + c.result + `,"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":` + c.sent + `}]}}` + "\n"
			var got string
			scan, err := new(Store).Scan(t.Context(), strings.NewReader(log), session.ScanOptions{}, func(m *session.Message) error {
				got = string(m.AppendText(nil))
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if got != c.want {
				t.Errorf("memory gets %q, want %q", got, c.want)
			}
			if (scan.LeftOut > 0) != c.leftOut {
				t.Errorf("%d bytes counted as left out", scan.LeftOut)
			}
		})
	}
}
