package adapters_test

import (
	"io"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/agent"
	"github.com/sessctl/sessctl/pkg/session/annabelle"
	"github.com/sessctl/sessctl/pkg/session/antigravity"
	"github.com/sessctl/sessctl/pkg/session/claude"
	"github.com/sessctl/sessctl/pkg/session/cline"
	"github.com/sessctl/sessctl/pkg/session/codex"
	"github.com/sessctl/sessctl/pkg/session/copilot"
	"github.com/sessctl/sessctl/pkg/session/cursor"
	"github.com/sessctl/sessctl/pkg/session/droid"
	"github.com/sessctl/sessctl/pkg/session/gemini"
	"github.com/sessctl/sessctl/pkg/session/goose"
	"github.com/sessctl/sessctl/pkg/session/grok"
	"github.com/sessctl/sessctl/pkg/session/hermes"
	"github.com/sessctl/sessctl/pkg/session/kimi"
	"github.com/sessctl/sessctl/pkg/session/omp"
	"github.com/sessctl/sessctl/pkg/session/openclaw"
	"github.com/sessctl/sessctl/pkg/session/opencode"
	"github.com/sessctl/sessctl/pkg/session/pi"
	"github.com/sessctl/sessctl/pkg/session/qwen"
	"github.com/sessctl/sessctl/pkg/session/yarnnn"
)

// strangers are what the logs of a runtime have of records of unknown types. Each is a
// log of which "zeta" is not known; the first line of context is asked of as line 4.
type strangers struct {
	store   session.Scanner
	alone   string   // nothing but a record that is not known; "" where the log always has a first record
	before  string   // three lines that are known
	aside   []string // what stands after them and changes nothing
	context []string // what stands after them and may
}

func strangersOf() map[string]strangers {
	piFamily := func(store session.Scanner) strangers {
		return strangers{
			store: store,
			alone: `{"type":"zeta","id":"a","parentId":null,"x":1}`,
			before: `{"type":"session","version":3,"id":"s","timestamp":"2026-05-12T08:00:00.000Z","cwd":"/w"}
{"type":"message","id":"a","parentId":null,"timestamp":"2026-05-12T08:00:00.000Z","message":{"role":"user","content":"Hello."}}
{"type":"message","id":"b","parentId":"a","timestamp":"2026-05-12T08:00:01.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Hi."}],"stopReason":"stop"}}`,
			aside: []string{
				`{"type":"zeta","x":1}`,
				`{"type":"zeta","id":"z","parentId":"b"}` + "\n" + `{"type":"message","id":"c","parentId":"a","timestamp":"2026-05-12T08:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Well."}],"stopReason":"stop"}}`,
				`{"type":"zeta","id":"z","parentId":"b"}` + "\n" + `{"type":"message","id":"c","parentId":"z","timestamp":"2026-05-12T08:00:02.000Z","message":{"role":"user","content":"Go."}}` + "\n" +
					`{"type":"compaction","id":"d","parentId":"c","timestamp":"2026-05-12T08:00:03.000Z","summary":"They met.","firstKeptEntryId":"c","tokensBefore":9}`,
			},
			context: []string{
				`{"type":"zeta","id":"z","parentId":"b"}`,
				`{"type":"zeta","id":"z","parentId":"b"}` + "\n" + `{"type":"compaction","id":"d","parentId":"z","timestamp":"2026-05-12T08:00:03.000Z","summary":"They met.","firstKeptEntryId":"b","tokensBefore":9}`,
				`{"type":"message","id":"z","parentId":"b","timestamp":"2026-05-12T08:00:02.000Z","message":{"role":"zeta","content":"x"}}`,
			},
		}
	}
	openCode := func(store session.Scanner) strangers {
		row := func(revert, rest string) string {
			return `{"type":"opencode.session","format":1,"row":{"id":"ses_1","revert":` + revert + `}}
{"type":"message","row":{"id":"msg_1","session_id":"ses_1","time_created":1767342300000},"payload":{"role":"user"}}
{"type":"part","row":{"id":"prt_1","message_id":"msg_1"},"payload":{"type":"text","text":"Hello."}}
` + rest
		}
		said := `{"type":"message","row":{"id":"msg_2","session_id":"ses_1","time_created":1767342300001},"payload":{"role":"assistant"}}
{"type":"part","row":{"id":"prt_2","message_id":"msg_2"},"payload":{"type":"zeta"}}`
		return strangers{
			store: store,
			aside: []string{
				row("null", `{"type":"row","table":"zeta","row":{"x":1}}`),
				row(`"{\"messageID\":\"msg_2\"}"`, said),
			},
			context: []string{row("null", said), row("null", `{"type":"message","row":{"id":"msg_2","session_id":"ses_1"},"payload":{"role":"zeta"}}`)},
		}
	}
	return map[string]strangers{
		"pi": piFamily(pi.Open("")), "omp": piFamily(omp.Open("")), "openclaw": piFamily(openclaw.Open("", openclaw.Options{})),
		"agent": {
			store: agent.Open("", agent.Options{}),
			before: `{"recordType":"message","schemaVersion":1,"seq":1,"role":"user","content":"Hello.","timestamp":"2026-05-12T08:00:00Z"}
{"recordType":"message","schemaVersion":1,"seq":2,"role":"assistant","content":"Hi.","timestamp":"2026-05-12T08:00:01Z"}
{"recordType":"message","schemaVersion":1,"seq":3,"role":"user","content":"Go.","timestamp":"2026-05-12T08:00:02Z"}`,
			context: []string{`{"recordType":"zeta","schemaVersion":1,"seq":4}`, `{"recordType":"message","schemaVersion":1,"seq":4,"role":"zeta","content":"x"}`},
		},
		"annabelle": {
			store: annabelle.Open("", annabelle.Options{}),
			alone: `{"type":"zeta","x":1}`,
			before: `{"type":"header","version":1,"chatId":"1","agentId":"a"}
{"type":"turn","user":"Hello.","assistant":"Hi.","timestamp":"2026-05-12T08:00:01Z"}
{"type":"turn","user":"Go.","assistant":"Gone.","timestamp":"2026-05-12T08:00:02Z"}`,
			context: []string{`{"type":"zeta","x":1}`},
		},
		"claude": {
			store: claude.Open(""),
			alone: `{"type":"zeta","x":1}`,
			before: `{"type":"mode","mode":"normal","sessionId":"s"}
{"type":"user","uuid":"a","parentUuid":null,"sessionId":"s","timestamp":"2026-05-12T08:00:00Z","message":{"role":"user","content":"Hello."}}
{"type":"assistant","uuid":"b","parentUuid":"a","sessionId":"s","timestamp":"2026-05-12T08:00:01Z","message":{"id":"m","role":"assistant","content":[{"type":"text","text":"Hi."}]}}`,
			aside: []string{
				`{"type":"zeta","sessionId":"s","x":1}`,
				`{"type":"zeta","uuid":"z","parentUuid":"a","sessionId":"s"}` + "\n" + `{"type":"user","uuid":"c","parentUuid":"b","sessionId":"s","timestamp":"2026-05-12T08:00:02Z","message":{"role":"user","content":"Go."}}`,
				`{"type":"zeta","uuid":"z","parentUuid":"b","sessionId":"s"}
{"type":"user","uuid":"c","parentUuid":"z","sessionId":"s","timestamp":"2026-05-12T08:00:02Z","message":{"role":"user","content":"Go."}}
{"type":"user","uuid":"d","parentUuid":"b","sessionId":"s","timestamp":"2026-05-12T08:00:03Z","message":{"role":"user","content":"No."}}`,
			},
			context: []string{
				`{"type":"zeta","uuid":"z","parentUuid":"b","sessionId":"s"}`,
				`{"type":"zeta","uuid":"z","parentUuid":"b","sessionId":"s"}
{"type":"attachment","uuid":"y","parentUuid":"z","sessionId":"s","attachment":{"type":"date"}}
{"type":"user","uuid":"c","parentUuid":"y","sessionId":"s","timestamp":"2026-05-12T08:00:02Z","message":{"role":"user","content":"Go."}}`,
				`{"type":"content-replacement","sessionId":"s","replacements":[]}`,
			},
		},
		"codex": {
			store: codex.Open(""),
			alone: `{"type":"zeta","payload":{"x":1}}`,
			before: `{"type":"session_meta","timestamp":"2026-05-12T08:00:00Z","payload":{"id":"s","cwd":"/w"}}
{"type":"response_item","timestamp":"2026-05-12T08:00:00Z","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Hello."}]}}
{"type":"response_item","timestamp":"2026-05-12T08:00:01Z","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hi."}]}}`,
			aside: []string{
				`{"type":"zeta","payload":{"x":1}}`, `{"type":"event_msg","payload":{"type":"zeta","message":{"role":"user"}}}`,
				`{"type":"response_item","payload":{"type":"zeta"}}` + "\n" + `{"type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":1}}`,
			},
			context: []string{
				`{"type":"response_item","payload":{"type":"zeta"}}`, `{"type":"zeta","payload":{"history":[{"role":"user","content":[]}]}}`,
				`{"type":"response_item","payload":{"type":"message","role":"zeta","content":[{"type":"input_text","text":"x"}]}}`,
			},
		},
		"gemini": {
			store: gemini.Open(""),
			alone: `{"type":"zeta","x":1}`,
			before: `{"sessionId":"s","projectHash":"p","startTime":"2026-05-12T08:00:00Z","lastUpdated":"2026-05-12T08:00:00Z"}
{"id":"a","timestamp":"2026-05-12T08:00:00Z","type":"user","content":"Hello."}
{"id":"b","timestamp":"2026-05-12T08:00:01Z","type":"gemini","content":"Hi."}`,
			aside:   []string{`{"type":"zeta","x":1}`, `{"$pop":1}` + "\n" + `{"$rewindTo":"a"}`},
			context: []string{`{"$pop":1}`, `{"id":"z","timestamp":"2026-05-12T08:00:02Z","type":"zeta","content":"x"}`},
		},
		"qwen": {
			store: qwen.Open(""),
			alone: `{"type":"zeta","uuid":"a","parentUuid":null}`,
			before: `{"type":"system","subtype":"ui_telemetry","uuid":"o","parentUuid":null,"sessionId":"s","timestamp":"2026-05-12T08:00:00Z"}
{"type":"user","uuid":"a","parentUuid":"o","sessionId":"s","timestamp":"2026-05-12T08:00:00Z","message":{"role":"user","parts":[{"text":"Hello."}]}}
{"type":"assistant","uuid":"b","parentUuid":"a","sessionId":"s","timestamp":"2026-05-12T08:00:01Z","message":{"role":"model","parts":[{"text":"Hi."}]}}`,
			aside: []string{
				`{"type":"system","subtype":"zeta","uuid":"z","parentUuid":"b","sessionId":"s","systemPayload":{"x":[1]}}`,
				`{"type":"system","subtype":"zeta","uuid":"z","parentUuid":"b","sessionId":"s"}`,
				`{"type":"zeta","uuid":"z","parentUuid":"b","sessionId":"s"}` + "\n" + `{"type":"user","uuid":"c","parentUuid":"a","sessionId":"s","message":{"role":"user","parts":[{"text":"No."}]}}`,
			},
			context: []string{
				`{"type":"zeta","uuid":"z","parentUuid":"b","sessionId":"s"}`,
				`{"type":"system","subtype":"zeta","uuid":"z","parentUuid":"b","sessionId":"s","systemPayload":{"kept":[{"role":"user","parts":[]}]}}`,
			},
		},
		"copilot": {
			store: copilot.Open(""),
			alone: `{"type":"zeta.event","id":"a","parentId":null,"timestamp":"2026-05-12T08:00:00Z","data":{"x":1}}`,
			before: `{"type":"session.start","id":"o","parentId":null,"timestamp":"2026-05-12T08:00:00Z","data":{"sessionId":"s","version":1}}
{"type":"user.message","id":"a","parentId":"o","timestamp":"2026-05-12T08:00:00Z","data":{"content":"Hello."}}
{"type":"assistant.message","id":"b","parentId":"a","timestamp":"2026-05-12T08:00:01Z","data":{"content":"Hi."}}`,
			aside: []string{
				`{"type":"session.zeta","id":"z","parentId":"b","data":{"message":"x","content":"y"}}`,
				`{"type":"session.snapshot_rewind","id":"z","parentId":"b","agentId":"g","data":{"upToEventId":"a"}}`,
			},
			context: []string{
				`{"type":"session.snapshot_rewind","id":"z","parentId":"b","data":{"upToEventId":"a","eventsRemoved":1}}`,
				`{"type":"zeta.said","id":"z","parentId":"b","data":{"role":"user","content":"x"}}`,
			},
		},
		"cursor": {
			store: cursor.Open(""),
			alone: `{"type":"zeta","x":1}`,
			before: `{"role":"user","message":{"content":[{"type":"text","text":"Hello."}]}}
{"role":"assistant","message":{"content":[{"type":"text","text":"Hi."}]}}
{"type":"turn_ended","status":"success"}`,
			aside:   []string{`{"type":"zeta","x":1,"message":"done"}`},
			context: []string{`{"type":"zeta","message":{"content":[]}}`, `{"role":"zeta","message":{"content":[{"type":"text","text":"x"}]}}`},
		},
		"droid": {
			store: droid.Open(""),
			before: `{"type":"session_start","id":"s","version":2,"owner":"lea"}
{"type":"message","id":"a","timestamp":"2026-05-12T08:00:00.000Z","message":{"role":"user","content":"Hello."}}
{"type":"message","id":"b","parentId":"a","timestamp":"2026-05-12T08:00:01.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Hi."}]}}`,
			aside:   []string{`{"type":"zeta","x":1}`},
			context: []string{`{"type":"zeta","message":{"content":[]}}`, `{"type":"message","message":{"role":"zeta","content":"x"}}`},
		},
		"kimi": {
			store: kimi.Open(""),
			before: `{"type":"metadata","protocol_version":"1.5"}
{"type":"context.append_message","message":{"role":"user","content":"Hello.","origin":{"kind":"user"}}}
{"type":"context.append_loop_event","event":{"type":"content.part","part":{"type":"text","text":"Hi."}}}`,
			aside:   []string{`{"type":"zeta","x":1}`},
			context: []string{`{"type":"context.zeta"}`, `{"type":"context.undo","count":1}` + "\n" + `{"type":"zeta"}`, `{"type":"context.append_message","message":{"role":"zeta","content":"x"}}`},
		},
		"grok": {
			store: grok.Open(""),
			before: `{"method":"session/update","params":{"update":{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"Hello."}}}}
{"method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Hi."}}}}
{"method":"_x.ai/session/update","params":{"update":{"sessionUpdate":"turn_completed","stop_reason":"end_turn"}}}`,
			aside:   []string{`{"method":"session/update","params":{"update":{"sessionUpdate":"zeta"}}}`},
			context: []string{`{"method":"session/update","params":{"update":{"sessionUpdate":"zeta_message_chunk"}}}`, `{"method":"session/update","params":{"update":{"sessionUpdate":"rewind_marker"}}}` + "\n" + `{"method":"zeta"}`},
		},
		"antigravity": {
			store: antigravity.Open(""),
			before: `{"step_index":0,"source":"USER_EXPLICIT","type":"USER_INPUT","status":"DONE","content":"Hello."}
{"step_index":1,"source":"MODEL","type":"PLANNER_RESPONSE","status":"DONE","content":"Hi."}
{"step_index":2,"source":"SYSTEM","type":"SYSTEM_MESSAGE","status":"DONE","content":"x"}`,
			aside:   []string{`{"step_index":3,"source":"ZETA","type":"X"}`},
			context: []string{`{"step_index":3,"source":"ZETA","type":"X","content":"x"}`},
		},
		"cline": {
			store:   cline.Open(""),
			alone:   `{"version":1,"messages":[{"type":"zeta","x":1}]}`,
			aside:   []string{"{\"messages\":[\n\n{\"role\":\"user\",\"content\":\"Hello.\"},\n{\"type\":\"zeta\",\"x\":1}]}"},
			context: []string{"{\"messages\":[\n\n{\"role\":\"user\",\"content\":\"Hello.\"},\n{\"type\":\"zeta\",\"parts\":[]}]}", "{\"messages\":[\n\n{\"role\":\"user\",\"content\":\"Hello.\"},\n{\"role\":\"zeta\",\"content\":\"x\"}]}"},
		},
		"goose": {
			store: goose.Open(""),
			before: `{"type":"goose.session","format":1,"row":{"id":"s"}}
{"type":"message","row":{"id":1,"role":"user","created_timestamp":1,"content_json":"[]"}}
{"type":"message","row":{"id":2,"role":"assistant","created_timestamp":2,"content_json":"[]"}}`,
			aside: []string{
				`{"type":"row","table":"zeta","row":{"x":1}}`,
				`{"type":"message","row":{"id":3,"role":"zeta","created_timestamp":2,"content_json":"[]","metadata_json":"{\"agentVisible\":false}"}}`,
			},
			context: []string{`{"type":"message","row":{"id":3,"role":"zeta","created_timestamp":2,"content_json":"[]"}}`},
		},
		"hermes": {
			store: hermes.Open(""),
			before: `{"type":"hermes.session","format":1,"row":{"id":"s","started_at":1.7e9}}
{"type":"message","row":{"id":1,"role":"user","content":"Hello.","active":1,"compacted":0}}
{"type":"message","row":{"id":2,"role":"assistant","content":"Hi.","active":1,"compacted":0}}`,
			aside: []string{
				`{"type":"row","table":"zeta","row":{"x":1}}`, `{"type":"message","row":{"id":3,"role":"zeta","content":"x","active":0,"compacted":0}}`,
				`{"type":"message","row":{"id":3,"role":"zeta","content":"x","active":0,"compacted":1}}`,
			},
			context: []string{`{"type":"message","row":{"id":3,"role":"zeta","content":"x","active":1,"compacted":0}}`},
		},
		"opencode": openCode(opencode.Open(session.RuntimeOpenCode, "")), "kilo": openCode(opencode.Open(session.RuntimeKilo, "")),
		"yarnnn": {
			store: yarnnn.Open("", yarnnn.Options{}),
			before: `{"id":"s","session_type":"chat"}
{"id":"a","session_id":"s","role":"user","content":"Hello.","sequence_number":1}
{"id":"b","session_id":"s","role":"assistant","content":"Hi.","sequence_number":2}`,
			context: []string{`{"id":"z","session_id":"s","role":"zeta","content":"x","sequence_number":3}`},
		},
	}
}

// strangerScan scans a log, and once more with its tree if it has one.
func strangerScan(t *testing.T, store session.Scanner, log string) (scan session.Scan, said int, err error) {
	t.Helper()
	scan, err = session.ScanActive(t.Context(), store, func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(log + "\n")), nil
	}, func() func(*session.Message) error {
		said = 0
		return func(*session.Message) error { said++; return nil }
	})
	return scan, said, err
}

// TestStrange: a record of a type that is not known is bookkeeping unless it can change
// the context, in the logs of every runtime.
func TestStrange(t *testing.T) {
	for name, s := range strangersOf() {
		joined := func(rest string) string { return strings.TrimPrefix(s.before+"\n"+rest, "\n") }
		if scan, said, err := strangerScan(t, s.store, s.alone); err != nil || said > 0 {
			t.Errorf("%s: nothing that is known: %d messages, %v, %v", name, said, scan.Unknown, err)
		}
		if s.before != "" {
			if scan, said, err := strangerScan(t, s.store, s.before); err != nil || said == 0 || len(scan.Unknown) > 0 || scan.Doubt != (session.Doubt{}) {
				t.Errorf("%s: what is known: %d messages, %v, %v, %v", name, said, scan.Unknown, scan.Doubt, err)
			}
		}
		for _, rest := range s.aside {
			if scan, said, err := strangerScan(t, s.store, joined(rest)); err != nil || said == 0 || scan.Doubt != (session.Doubt{}) {
				t.Errorf("%s: %d messages, doubt %v, %v\n%s", name, said, scan.Doubt, err, rest)
			}
		}
		for _, rest := range s.context {
			scan, _, err := strangerScan(t, s.store, joined(rest))
			if err != nil || scan.Doubt == (session.Doubt{}) || scan.Doubt.Line != 4 || len(scan.Unknown) == 0 {
				t.Errorf("%s: doubt %v, unknown %v, %v\n%s", name, scan.Doubt, scan.Unknown, err, rest)
			}
		}
	}
}

// TestStrangeOfOthers: a log that another program has written, or whose records have no
// types, is none without messages.
func TestStrangeOfOthers(t *testing.T) {
	all := strangersOf()
	exported := map[string]bool{"hermes": true, "opencode": true, "kilo": true, "goose": true, "cline": true} // no lines of their own
	family := map[string]bool{"pi": true, "omp": true, "openclaw": true}
	for name, s := range all {
		if exported[name] {
			continue
		}
		logs := []string{`{"x":1}`, `{"type":"zeta"}` + "\n" + `{"x":1}`, `{"type":"zeta","message":{"role":"user","content":"x"}}`}
		for other, o := range all {
			if other != name && (!family[other] || !family[name]) && o.before != "" {
				logs = append(logs, o.before)
			}
		}
		for _, log := range logs {
			_, said, err := strangerScan(t, s.store, log)
			if err == nil && said == 0 {
				t.Errorf("%s: a log without messages:\n%s", name, log)
			}
		}
	}
}
