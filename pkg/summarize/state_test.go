package summarize_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/summarize/state"
)

// dialogue makes the messages of a session, a line each.
type dialogue struct {
	messages []*session.Message
	document bool // all of them stand in one line
}

func (t *dialogue) add(m *session.Message) {
	m.Ordinal = len(t.messages)
	m.Line = 1
	if !t.document {
		m.Line = len(t.messages) + 1
	}
	t.messages = append(t.messages, m)
}

func (t *dialogue) say(role session.Role, text string) {
	m := &session.Message{Role: role}
	m.AddText([]byte(text))
	t.add(m)
}

func (t *dialogue) person(text string) { t.say(session.RoleUser, text) }
func (t *dialogue) agent(text string)  { t.say(session.RoleAssistant, text) }

// call makes a call; its id is the number of the message.
func (t *dialogue) call(tool, arguments string) string {
	id := fmt.Sprint("call-", len(t.messages))
	t.add(&session.Message{Role: session.RoleAssistant, Parts: []session.Part{{Kind: session.PartToolCall, Name: []byte(tool), CallID: []byte(id), Text: []byte(arguments)}}})
	return id
}

func (t *dialogue) result(id, text string, exit int) {
	m := &session.Message{Role: session.RoleToolResult, CallID: []byte(id), IsError: exit != 0, HasExit: true, ExitCode: exit}
	m.AddText([]byte(text))
	t.add(m)
}

func (t *dialogue) ran(tool, arguments, output string, exit int) {
	t.result(t.call(tool, arguments), output, exit)
}

func (t *dialogue) state() state.State {
	var r state.Reader
	for _, m := range t.messages {
		r.Add(m)
	}
	return r.State()
}

// TestPlanTools reads the plan tools of the runtimes: the last list counts.
func TestPlanTools(t *testing.T) {
	const want = "completed read it|in_progress move it|pending test it"
	for tool, calls := range map[string][]string{
		"TodoWrite":        {`{"todos":[{"content":"old","status":"pending"}]}`, `{"todos":[{"content":"read it","status":"completed","activeForm":"Reading"},{"content":"move it","status":"in_progress"},{"content":"test it","status":"pending"}]}`},
		"todowrite":        {`{"todos":[{"content":"read it","status":"completed","priority":"high"},{"content":"move it","status":"in_progress"},{"content":"test it","status":"pending"}]}`},
		"update_plan":      {`{"explanation":"why","plan":[{"status":"completed","step":"read it"},{"status":"in_progress","step":"move it"},{"status":"pending","step":"test it"}]}`},
		"write_todos":      {`{"todos":[{"description":"read it","status":"completed"},{"description":"move it","status":"in_progress"},{"description":"test it","status":"pending"}]}`},
		"todo":             {`{"todos":[{"id":"1","content":"read it","status":"in_progress"},{"id":"2","content":"move it","status":"pending"}]}`, `{"merge":true,"todos":[{"id":"1","content":"read it","status":"completed"},{"id":"2","content":"move it","status":"in_progress"},{"id":"3","content":"test it","status":"pending"}]}`},
		"todo_write":       {`{"ops":[{"op":"replace","phases":[{"name":"one","tasks":[{"content":"read it","status":"completed"},{"content":"move it","status":"in_progress"}]},{"name":"two","tasks":[{"content":"test it","status":"pending"}]}]}]}`},
		"manage_todo_list": {`{"todoList":[{"id":1,"title":"read it","description":"all","status":"completed"},{"id":2,"title":"move it","status":"in-progress"},{"id":3,"title":"test it","status":"not-started"}]}`},
		"update_todo_list": {`{"todos":"- [x] read it\n- [-] move it\n- [ ] test it"}`},
		"TaskCreate":       nil,
		"read_file":        {`{"path":"a.go","task_progress":"- [x] read it\n- [~] move it\n- [ ] test it"}`},
	} {
		t.Run(tool, func(t *testing.T) {
			s := &dialogue{}
			for _, arguments := range calls {
				s.call(tool, arguments)
			}
			if calls == nil {
				for _, subject := range []string{"read it", "move it", "test it"} {
					s.call("TaskCreate", `{"subject":"`+subject+`","description":"d"}`)
				}
				s.call("TaskUpdate", `{"taskId":"1","status":"completed"}`)
				s.call("TaskUpdate", `{"taskId":"2","status":"in_progress"}`)
			}
			plan := s.state().Plan
			if plan == nil || plan.Line != len(s.messages) {
				t.Fatalf("plan %v, want one of line %d", plan, len(s.messages))
			}
			var got []string
			for _, item := range plan.Items {
				got = append(got, string(item.Status)+" "+item.Text)
			}
			if strings.Join(got, "|") != want {
				t.Errorf("got %s\nwant %s", strings.Join(got, "|"), want)
			}
		})
	}
}

// TestPlanGivenUp shows that an empty list is no plan, and no call is none.
func TestPlanGivenUp(t *testing.T) {
	s := &dialogue{}
	s.call("Task", `{"description":"look","prompt":"find it","status":"x"}`)
	if plan := s.state().Plan; plan != nil {
		t.Errorf("a sub-agent is a plan: %v", plan)
	}
	s.call("TodoWrite", `{"todos":[{"content":"read it","status":"pending"}]}`)
	s.call("TodoWrite", `{"todos":[]}`)
	if open := s.state().Plan.Open(); len(open) != 0 {
		t.Errorf("open: %v", open)
	}
}

// importer is a session in the middle of its work.
func importer(document bool) *dialogue {
	s := &dialogue{document: document}
	s.person("Please move the importer to the new queue, and keep the retries at three.")
	s.call("TodoWrite", `{"todos":[{"content":"Read the importer","status":"completed"},{"content":"Write the backfill for orders before March","status":"in_progress"},{"content":"Raise the limit of the gateway to 40","status":"pending"}]}`)
	s.ran("Bash", `{"command":"cd /w && go test ./importer"}`, "--- FAIL: TestRetry\nerror: want 3, got 5", 1)
	s.ran("Edit", `{"file_path":"/home/lea/app/importer/queue.go","old_string":"5","new_string":"3"}`, "ok", 0)
	s.ran("Edit", `{"file_path":"/home/lea/app/importer/queue.go","old_string":"a","new_string":"b"}`, "ok", 0)
	s.ran("Bash", `{"command":"go test ./importer"}`, "ok", 0)
	s.ran("Bash", `{"command":"make deploy"}`, "error: no such host staging", 2)
	s.ran("Read", `{"file_path":"/home/lea/app/importer/retry.go"}`, "package importer", 0)
	s.agent("The importer is on the new queue. Shall I write the backfill now?")
	return s
}

func TestState(t *testing.T) {
	s := importer(false)
	got := s.state()
	want := state.State{
		Messages: 15,
		Request:  &state.Quote{Text: "Please move the importer to the new queue, and keep the retries at three.", Place: state.Place{Line: 1}},
		Word:     &state.Quote{Text: "The importer is on the new queue. Shall I write the backfill now?", Place: state.Place{Line: 15}},
		Files: []state.File{
			{Path: "/home/lea/app/importer/queue.go", Edits: 2, Place: state.Place{Line: 7}},
			{Path: "/home/lea/app/importer/retry.go", Reads: 1, Place: state.Place{Line: 13}},
		},
		Unanswered: []state.Quote{{Text: "Shall I write the backfill now?", Place: state.Place{Line: 15}}},
	}
	if diff := cmp.Diff(printed(t, want), printed(t, state.State{Messages: got.Messages, Request: got.Request, Word: got.Word, Files: got.Files, Unanswered: got.Unanswered})); diff != "" {
		t.Error(diff)
	}
	if len(got.Failing) != 1 || got.Failing[0].String() != "$ make deploy → exit 2: error: no such host staging" {
		t.Errorf("failing %v, want the deployment alone: the test works", got.Failing)
	}
	s.person("yes please")
	if q := s.state(); q.Before == nil || q.Before.Line != 1 || len(q.Unanswered) != 1 || q.Unanswered[0].Line != 16 {
		t.Errorf("before %v, unanswered %v", q.Before, q.Unanswered)
	}
}

func printed(t *testing.T, s state.State) string {
	t.Helper()
	text, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestStateText holds what a text of 800 code points has, and that none is longer than
// it may be.
func TestStateText(t *testing.T) {
	for _, document := range []bool{false, true} {
		s := importer(document).state()
		text := s.Text(800)
		place := map[bool]string{false: "[15]", true: "[message 15]"}[document]
		for _, want := range []string{"[>] Write the backfill for orders before March", "[ ] Raise the limit of the gateway to 40", "1 of 3 done", "keep the retries at three", "Shall I write the backfill now?", "queue.go edited ×2", "make deploy → exit 2", place} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
		for n := range 1600 {
			if text := s.Text(n); utf8.RuneCountInString(text) > n || !utf8.ValidString(text) {
				t.Fatalf("%d code points, want at most %d:\n%s", utf8.RuneCountInString(text), n, text)
			}
		}
	}
}

// TestStateHasNoSecrets shows that what looks like a secret is nowhere in a state.
func TestStateHasNoSecrets(t *testing.T) {
	const secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
	s := &dialogue{}
	s.person("Use " + secret + " for it.")
	s.call("TodoWrite", `{"todos":[{"content":"use `+secret+`","status":"pending"}]}`)
	s.ran("Bash", `{"command":"curl -H 'Authorization: Bearer `+secret+`' https://api"}`, "error: bad token "+secret, 1)
	s.agent("I used " + secret + ", right?")
	st := s.state()
	if text := printed(t, st) + st.Text(1500); strings.Contains(text, secret) {
		t.Error(text)
	}
}
