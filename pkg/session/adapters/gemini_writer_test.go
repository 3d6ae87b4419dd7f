package adapters_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// geminiWriter writes chats as Gemini does and knows what was said, so that a scan
// can be held to it.
type geminiWriter struct {
	log     strings.Builder
	line    int
	count   int
	history []*uttered // what the model sees
	fixed   int        // of it, what no rewind goes behind: it was kept by a compression
	said    []*uttered // all, in the order of the file
}

// uttered is one message that a reader must find once.
type uttered struct {
	geminiLine
	args string // of a call in the same message
}

func (w *geminiWriter) write(v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	w.log.Write(raw)
	w.log.WriteByte('\n')
	w.line++
}

type geminiObject = map[string]any

func (w *geminiWriter) id() string {
	w.count++
	return fmt.Sprintf("%08d-0000-4000-8000-000000000000", w.count)
}

func (w *geminiWriter) set() {
	w.write(geminiObject{"$set": geminiObject{"lastUpdated": "2026-11-21T03:53:15.144Z"}})
}

func (w *geminiWriter) metadata() {
	w.write(geminiObject{"sessionId": "s", "projectHash": "h", "startTime": "2026-11-21T03:53:15.134Z", "lastUpdated": "2026-11-21T03:53:15.134Z", "kind": "main"})
}

func geminiEntry(id, kind string, content any) geminiObject {
	return geminiObject{"id": id, "timestamp": "2026-11-21T03:53:15.144Z", "type": kind, "content": content}
}

func (w *geminiWriter) say(u *uttered) *uttered {
	u.Line, u.Branch = w.line+1, "active"
	w.said = append(w.said, u)
	w.history = append(w.history, u)
	return u
}

func (w *geminiWriter) user(text string) {
	id := w.id()
	w.say(&uttered{geminiLine: geminiLine{ID: id, Role: "user", Text: text}})
	w.write(geminiEntry(id, "user", []geminiObject{{"text": text}}))
	w.set()
}

func (w *geminiWriter) model(text string) {
	id := w.id()
	w.say(&uttered{geminiLine: geminiLine{ID: id, Role: "assistant", Text: text}})
	w.write(geminiEntry(id, "gemini", text))
	w.set()
}

// tool is an answer that grows: its text, then a call that runs, then the
// result, which the user's next record repeats.
func (w *geminiWriter) tool(text, output string, failed bool) {
	id, call := w.id(), fmt.Sprintf("call-%d", w.count)
	status, key := "success", "output"
	if failed {
		status, key = "error", "error"
	}
	w.write(geminiEntry(id, "gemini", text))
	w.set()
	r := geminiEntry(id, "gemini", text)
	r["toolCalls"] = []geminiObject{{"id": call, "name": "read_file", "args": geminiObject{"path": "a"}, "status": "executing"}}
	w.write(r)
	response := geminiObject{"functionResponse": geminiObject{"id": call, "name": "read_file", "response": geminiObject{key: output}}}
	w.say(&uttered{geminiLine: geminiLine{ID: id, Role: "assistant", Text: strings.TrimSpace(text + "\n" + `[tool call] read_file {"path":"a"}`)}, args: call})
	w.say(&uttered{geminiLine: geminiLine{ID: id, Role: "tool_result", Text: output, CallID: call, Error: failed}})
	r = geminiEntry(id, "gemini", text)
	r["toolCalls"] = []geminiObject{{"id": call, "name": "read_file", "args": geminiObject{"path": "a"}, "status": status, "result": []geminiObject{response}}}
	w.write(r)
	w.write(geminiEntry(w.id(), "user", []geminiObject{response}))
	w.set()
}

// parts is a message as a history holds it: other ids for results, calls as
// parts.
func (u *uttered) parts() geminiObject {
	switch {
	case u.Role == "tool_result":
		key := "output"
		if u.Error {
			key = "error"
		}
		return geminiEntry(u.ID+"_response", "user", []geminiObject{{"functionResponse": geminiObject{"id": u.CallID, "name": "read_file", "response": geminiObject{key: u.Text}}}})
	case u.args != "":
		text, _, _ := strings.Cut(u.Text, "[tool call]")
		parts := []geminiObject{{"functionCall": geminiObject{"id": u.args, "name": "read_file", "args": geminiObject{"path": "a"}}}}
		if text = strings.TrimSpace(text); text != "" {
			parts = slices.Insert(parts, 0, geminiObject{"text": text})
		}
		return geminiEntry(u.ID, "gemini", parts)
	case u.Role == "assistant":
		return geminiEntry(u.ID, "gemini", []geminiObject{{"text": u.Text}})
	}
	return geminiEntry(u.ID, "user", []geminiObject{{"text": u.Text}})
}

func (w *geminiWriter) setHistory() {
	all := []geminiObject{}
	for _, u := range w.history {
		all = append(all, u.parts())
	}
	w.write(geminiObject{"$set": geminiObject{"messages": all, "lastUpdated": "2026-11-21T03:53:15.144Z"}})
}

func (w *geminiWriter) resume() {
	w.metadata()
	w.write(geminiObject{"$set": geminiObject{"sessionId": "s"}})
	w.setHistory()
}

// compress puts a summary and an answer to it in the place of all but the last
// few messages.
func (w *geminiWriter) compress(keep int) {
	kept := w.history[len(w.history)-min(keep, len(w.history)):]
	w.history = nil
	snapshot := fmt.Sprintf("<state_snapshot>summary %d</state_snapshot>", w.count)
	w.say(&uttered{geminiLine: geminiLine{ID: w.id(), Role: "summary", Text: snapshot}})
	w.say(&uttered{geminiLine: geminiLine{ID: w.id(), Role: "assistant", Text: fmt.Sprintf("Got it, %d.", w.count)}})
	w.history = append(w.history, kept...)
	w.fixed = len(w.history)
	w.setHistory()
}

// rewind takes the last messages back.
func (w *geminiWriter) rewind(n int) {
	from := max(w.fixed, len(w.history)-n)
	if from >= len(w.history) {
		return
	}
	if from > 0 && w.history[from].ID == w.history[from-1].ID {
		from-- // a result goes with its call
	}
	w.write(geminiObject{"$rewindTo": w.history[from].ID})
	for _, u := range w.history[from:] {
		u.Branch = "abandoned"
	}
	w.history = w.history[:from]
}

func (w *geminiWriter) step(t *rapid.T) {
	n := rapid.IntRange(0, 9).Draw(t, "action")
	text := rapid.SampledFrom([]string{"yes", "no", "läuft", "tell me\nmore", "9"}).Draw(t, "text")
	switch n {
	case 0, 1:
		w.user(text)
	case 2, 3:
		w.model(text)
	case 4:
		w.tool(text, "output "+text, rapid.Bool().Draw(t, "failed"))
	case 5:
		w.tool("", text, false)
	case 6:
		w.resume()
	case 7:
		w.compress(rapid.IntRange(0, 3).Draw(t, "keep"))
	default:
		w.rewind(rapid.IntRange(1, 4).Draw(t, "rewind"))
	}
}

// whatWasSaid compares a scan with what the writer knows. What the second pass
// leaves out must have been taken back, and be said by an active message too.
func (w *geminiWriter) whatWasSaid(t geminiReporter) {
	var want []geminiLine
	active := map[string]bool{}
	for _, u := range w.said {
		want = append(want, u.geminiLine)
		active[u.Role+u.Text] = active[u.Role+u.Text] || u.Branch == "active"
	}
	_, got := geminiScanned(t, []byte(w.log.String()))
	for i := range got {
		if i < len(want) && got[i].Branch == "repeated" && want[i].Branch == "abandoned" && active[got[i].Role+got[i].Text] {
			got[i].Branch = "abandoned"
		}
		if i < len(want) {
			want[i].Line = got[i].Line // the line of the form that was written last
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("messages (-said +scan):\n%s", diff)
	}
}

// A chat of any length, resumed, compressed and rewound at will: everything
// that was said is found once, with its branch.
func TestGeminiScanFindsWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var w geminiWriter
		w.metadata()
		for range rapid.IntRange(0, 25).Draw(r, "steps") {
			w.step(r)
		}
		r.Logf("log:\n%s", w.log.String())
		w.whatWasSaid(r)
	})
}

// The same as one document, indented or not.
func TestGeminiDocumentFindsWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var w geminiWriter
		w.metadata()
		for range rapid.IntRange(1, 12).Draw(r, "steps") {
			text := rapid.SampledFrom([]string{"yes", `a "quoted" \ text`, "{[", "two\nlines", "ü"}).Draw(r, "text")
			if rapid.Bool().Draw(r, "user") {
				w.user(text)
			} else {
				w.model(text)
			}
		}
		all := []geminiObject{}
		for _, u := range w.history {
			all = append(all, u.parts())
		}
		document := geminiObject{"sessionId": "s", "projectHash": "h", "startTime": "2026-11-21T03:53:15.134Z", "lastUpdated": "2026-11-21T03:53:15.134Z", "messages": all}
		raw, err := json.Marshal(document)
		if rapid.Bool().Draw(r, "indented") {
			raw, err = json.MarshalIndent(document, "", "  ")
		}
		if err != nil {
			r.Fatal(err)
		}
		w.log.Reset()
		w.log.Write(raw)
		r.Logf("document:\n%s", raw)
		w.whatWasSaid(r)
		scan, _ := geminiScanned(r, raw)
		if scan.SessionID != "s" || scan.Counts.Bytes != int64(len(raw)) || scan.Counts.Lines != strings.Count(string(raw), "\n")+1 || scan.Counts.Torn {
			r.Fatalf("id %q, counts %+v", scan.SessionID, scan.Counts)
		}
	})
}
