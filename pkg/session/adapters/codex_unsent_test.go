package adapters_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/codex"
)

// Of a long output the model is sent its ends, and an event has all of it.
func TestCodexOutputThatWasNotSent(t *testing.T) {
	const item = `{"type":"function_call_output","call_id":"c1","output":"Output:\nfirst\n…2 lines…\nlast\n"}`
	const event = `{"type":"exec_command_end","call_id":"c1","aggregated_output":"first\nsecond\nthird\nlast\n"}`
	const modern = `{"type":"item_completed","item":{"type":"CommandExecution","id":"c1","aggregated_output":"first\nsecond\nthird\nlast\n"}}`
	const sent = "tool_result Output:\nfirst\n…2 lines…\nlast"
	for _, c := range []struct {
		name  string
		lines []string
		want  []string
	}{
		{"the event before its item", []string{codexEntry("event_msg", event), codexEntry("response_item", item)}, []string{"3 " + sent + "\n\nsecond\nthird"}},
		{"as a completed item", []string{codexEntry("event_msg", modern), codexEntry("response_item", item)}, []string{"3 " + sent + "\n\nsecond\nthird"}},
		{"the event after its item", []string{codexEntry("response_item", item), codexEntry("event_msg", event)}, []string{"2 " + sent, "3 out tool_result first\nsecond\nthird\nlast"}},
		{"no item", []string{codexEntry("event_msg", event), codexEntry("event_msg", `{"type":"task_complete"}`)}, []string{"2 out tool_result first\nsecond\nthird\nlast"}},
		{"no item to the end", []string{codexEntry("event_msg", event)}, []string{"2 out tool_result first\nsecond\nthird\nlast"}},
		{"all of it was sent", []string{codexEntry("event_msg", event), codexEntry("response_item", `{"type":"function_call_output","call_id":"c1","output":"first\nsecond\nthird\nlast\n"}`)}, []string{"3 tool_result first\nsecond\nthird\nlast"}},
		{"a tool of a server", []string{codexEntry("event_msg", `{"type":"mcp_tool_call_end","call_id":"c2","result":{"Ok":{"content":[{"type":"text","text":"nine rows"},{"type":"image","data":"AAAA"}]}}}`)}, []string{"2 out tool_result nine rows"}},
		{"a failed tool of a server", []string{codexEntry("event_msg", `{"type":"mcp_tool_call_end","call_id":"c2","result":{"Err":"no such table"}}`)}, []string{"2 out tool_result no such table"}},
		{"a failed turn", []string{codexEntry("event_msg", `{"type":"error","message":"quota reached"}`), codexEntry("event_msg", `{"type":"task_complete","error":{"message":"quota reached"}}`)}, []string{"2 out assistant [error] quota reached"}},
		{"a turn that did not fail", []string{codexEntry("event_msg", `{"type":"task_complete","error":null}`)}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := strings.Join(append([]string{vocabulary[0]}, c.lines...), "\n") + "\n"
			var got []string
			scan, err := new(codex.Store).Scan(t.Context(), strings.NewReader(log), session.ScanOptions{}, func(m *session.Message) error {
				out := ""
				if m.OutOfContext {
					out = "out "
				}
				got = append(got, fmt.Sprintf("%d %s%s %s", m.Line, out, m.Role, m.AppendText(nil)))
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
			records := len(slices.DeleteFunc(got, func(x string) bool { return strings.Contains(x, " out ") }))
			if scan.Records != records {
				t.Errorf("%d messages of the runtime, want %d", scan.Records, records)
			}
			tail, err := codex.Tail(t.Context(), bytes.NewReader([]byte(log)), int64(len(log)), 0, time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			if tail.Messages != records {
				t.Errorf("the end of the log tells %d messages, want %d", tail.Messages, records)
			}
		})
	}
}
