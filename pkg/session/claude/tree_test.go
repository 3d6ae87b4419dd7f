package claude

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sessctl/sessctl/pkg/session"
)

// logOf writes records as lines.
func logOf(records ...string) []byte { return []byte(strings.Join(records, "\n") + "\n") }

// rec is a record of a test: kind, id, parent ("" is null), and what the
// message says.
func rec(kind, id, parent, message string, more ...string) string {
	named := "null"
	if parent != "" {
		named = fmt.Sprintf("%q", parent)
	}
	return fmt.Sprintf(`{"type":%q,"uuid":%q,"parentUuid":%s,"sessionId":"s","timestamp":"2026-01-10T09:00:01.000Z"%s%s}`,
		kind, id, named, message, strings.Join(more, ""))
}

func text(reply, words string) string {
	return fmt.Sprintf(`,"message":{"id":%q,"content":[{"type":"text","text":%q}]}`, reply, words)
}

func call(reply, id string) string {
	return fmt.Sprintf(`,"message":{"id":%q,"content":[{"type":"tool_use","id":%q,"name":"Read","input":{}}]}`, reply, id)
}

func answer(id string) string {
	return fmt.Sprintf(`,"message":{"content":[{"type":"tool_result","tool_use_id":%q,"content":"result of %s"}]}`, id, id)
}

const inSidechain = `,"isSidechain":true`

// abandoned scans twice, as the program does, and returns the ids that are on
// another branch.
func abandoned(t testing.TB, log []byte) string {
	t.Helper()
	first := scanLog(t, log, nil)
	if !first.Tree.Forked() {
		return ""
	}
	var ids []string
	second := scanLog(t, log, first.Tree)
	for _, m := range second.said {
		if second.branches[m.ID] == session.Abandoned {
			ids = append(ids, m.ID)
		}
	}
	return strings.Join(ids, " ")
}

func TestBranches(t *testing.T) {
	boundary := func(id, logical string) string {
		return fmt.Sprintf(`{"type":"system","subtype":"compact_boundary","uuid":%q,"parentUuid":null,"logicalParentUuid":%q,"sessionId":"s"}`, id, logical)
	}
	talk := []string{rec("user", "u1", "", text("", "one")), rec("assistant", "a1", "u1", text("m1", "first"))}
	for name, c := range map[string]struct {
		log  []string
		want string
	}{
		"a plain talk":     {talk, ""},
		"gone back":        {append(talk, rec("user", "u2", "a1", text("", "two")), rec("assistant", "a2", "u2", text("m2", "second")), rec("user", "u3", "a1", text("", "three"))), "u2 a2"},
		"begun again":      {append(talk, rec("user", "u2", "", text("", "two"))), "u1 a1"},
		"a lost line":      {append(talk, rec("user", "u2", "gone", text("", "two"))), ""},
		"compacted":        {append(talk, boundary("b", "a1"), rec("user", "s", "b", text("", "summary"), `,"isCompactSummary":true`)), ""},
		"compacted, later": {append(talk, boundary("b", "elsewhere"), rec("user", "s", "b", text("", "summary"), `,"isCompactSummary":true`)), ""},
		"parallel results": {append(talk[:1:1],
			rec("assistant", "c1", "u1", call("m1", "t1")), rec("assistant", "c2", "c1", call("m1", "t2")), rec("assistant", "c3", "c2", call("m1", "t3")),
			rec("user", "r2", "c2", answer("t2")), rec("user", "r1", "c1", answer("t1")), rec("user", "r3", "c3", answer("t3")),
			rec("assistant", "a1", "r2", text("m2", "done"))), ""},
		"results while it streams": {append(talk[:1:1],
			rec("assistant", "c1", "u1", call("m1", "t1")), rec("user", "r1", "c1", answer("t1")),
			rec("assistant", "c2", "c1", call("m1", "t2")), rec("user", "r2", "c2", answer("t2")),
			rec("assistant", "a1", "r2", text("m2", "done"))), ""},
		"answered twice": {append(talk[:1:1],
			rec("assistant", "c1", "u1", call("m1", "t1")), rec("user", "r1", "c1", answer("t1")),
			rec("assistant", "a1", "r1", text("m2", "one answer")), rec("assistant", "a2", "r1", text("m3", "another"))), "a1"},
		"a late note": {append(talk, rec("user", "u2", "a1", text("", "two")), rec("assistant", "a2", "u2", text("m2", "second")),
			rec("attachment", "n1", "u1", `,"attachment":{"type":"hook_success"}`), rec("progress", "n2", "a1", "")), ""},
		"over notes": {append(talk, rec("progress", "n1", "a1", ""), rec("attachment", "n2", "n1", ""), rec("user", "u2", "n2", text("", "two")), rec("system", "n3", "u2", ""),
			rec("assistant", "a2", "n3", text("m2", "second"))), ""},
		"a sub-agent in between": {append(talk, rec("user", "s1", "", text("", "task"), inSidechain), rec("assistant", "s2", "s1", text("m9", "done"), inSidechain),
			rec("user", "s3", "", text("", "another task"), inSidechain), rec("user", "u2", "a1", text("", "two"))), ""},
		"written twice":    {append(talk, talk...), ""},
		"no parents":       {[]string{`{"type":"user","uuid":"u1","sessionId":"s","message":{"content":"a"}}`, `{"type":"assistant","uuid":"a1","sessionId":"s","message":{"content":"b"}}`}, ""},
		"a cycle":          {[]string{rec("user", "u1", "a1", text("", "one")), rec("assistant", "a1", "u1", text("m1", "first"))}, ""},
		"links in a cycle": {[]string{rec("progress", "n1", "n2", ""), rec("progress", "n2", "n1", ""), rec("user", "u1", "n1", text("", "one"))}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := abandoned(t, logOf(c.log...)); got != c.want {
				t.Errorf("abandoned are %q, want %q", got, c.want)
			}
		})
	}
}

// A record that stands in the log again, byte for byte, is said once.
// TestNotesAreNoBranch: a prompt that the log hangs on a note on a call, beside the
// call's result, follows what was said last. Who goes back to it makes a branch.
func TestNotesAreNoBranch(t *testing.T) {
	turn := []string{
		rec("user", "q1", "", text("", "one")), rec("assistant", "a1", "q1", call("m1", "c1")),
		rec("progress", "p1", "a1", ""), rec("progress", "p2", "p1", ""),
		rec("user", "r1", "a1", answer("c1")), rec("assistant", "b1", "r1", text("m2", "done")),
		rec("user", "q2", "p2", text("", "two")), rec("assistant", "b2", "q2", text("m3", "well")),
	}
	if got := abandoned(t, logOf(turn...)); got != "" {
		t.Errorf("abandoned: %s", got)
	}
	back := append(turn, rec("user", "q3", "p2", text("", "three")), rec("assistant", "b3", "q3", text("m4", "good")))
	if got := abandoned(t, logOf(back...)); got != "q2 b2" {
		t.Errorf("abandoned %q, want the turn that was taken back", got)
	}
}

// TestWarmupIsNotTheLog: the side chain with which a log begins does not make it one of
// a sub-agent.
func TestWarmupIsNotTheLog(t *testing.T) {
	warm := []string{rec("user", "w1", "", text("", "Warmup"), inSidechain), rec("assistant", "w2", "w1", text("m0", "Ready."), inSidechain)}
	main := []string{rec("user", "q1", "", text("", "one"), `,"isSidechain":false`), rec("assistant", "a1", "q1", text("m1", "done"), `,"isSidechain":false`)}
	for name, x := range map[string]struct {
		records []string
		want    string
	}{"first": {append(warm, main...), "q1 a1"}, "last": {append(main, warm...), "q1 a1"}, "alone": {warm, "w1 w2"}} {
		var in []string
		err := scanEach(logOf(x.records...), func(m *session.Message) {
			if !m.OutOfContext {
				in = append(in, string(m.ID))
			}
		})
		if got := strings.Join(in, " "); err != nil || got != x.want {
			t.Errorf("%s: in context %q, %v, want %q", name, got, err, x.want)
		}
	}
}

func scanEach(log []byte, each func(*session.Message)) error {
	_, err := new(Store).Scan(context.Background(), bytes.NewReader(log), session.ScanOptions{}, func(m *session.Message) error {
		each(m)
		return nil
	})
	return err
}

func TestCopiesAreFolded(t *testing.T) {
	log := logOf(rec("user", "u1", "", text("", "one")), rec("assistant", "a1", "u1", text("m1", "first")),
		rec("user", "u1", "", text("", "one")), rec("assistant", "a1", "u1", text("m1", "first")), rec("user", "u2", "a1", text("", "two")))
	first := scanLog(t, log, nil)
	second := scanLog(t, log, first.Tree)
	if second.Messages != 3 || second.Repeated != 2 || second.Records != 5 {
		t.Fatalf("%d messages, %d repeated, %d records", second.Messages, second.Repeated, second.Records)
	}
}

// writer writes a conversation as the runtime does and knows which of its
// messages are on the last branch.
type writer struct {
	*rapid.T
	log     []string
	onPath  map[string][]string // by id of a message: the ids from the root to it
	ids     int
	replies int
}

func (w *writer) next(prefix string) string { w.ids++; return fmt.Sprintf("%s%d", prefix, w.ids) }

// note writes records that say nothing and returns where the next one hangs.
func (w *writer) note(parent string) string {
	for range w.notes() {
		id := w.next("n")
		w.log = append(w.log, rec(rapid.SampledFrom([]string{"progress", "attachment", "system"}).Draw(w.T, "note"), id, parent, ""))
		if rapid.Bool().Draw(w.T, "in line") {
			parent = id
		}
	}
	return parent
}

func (w *writer) notes() int { return rapid.IntRange(0, 2).Draw(w.T, "notes") }

// turn writes a question, calls with their results in any order, and an
// answer; it returns the answer's id and all ids.
func (w *writer) turn(parent string) (string, []string) {
	question := w.next("u")
	w.log = append(w.log, rec("user", question, w.note(parent), text("", "question "+question)))
	ids, last := []string{question}, question
	for range rapid.IntRange(0, 2).Draw(w.T, "rounds") {
		var more []string
		last, more = w.round(last)
		ids = append(ids, more...)
	}
	w.replies++
	reply := w.next("a")
	w.log = append(w.log, rec("assistant", reply, w.note(last), text(fmt.Sprint("m", w.replies), "answer "+reply)))
	return reply, append(ids, reply)
}

func (w *writer) round(parent string) (string, []string) {
	w.replies++
	var calls, ids []string
	last := w.note(parent)
	for range rapid.IntRange(1, 4).Draw(w.T, "calls") {
		id := w.next("c")
		w.log = append(w.log, rec("assistant", id, last, call(fmt.Sprint("m", w.replies), "t"+id)))
		calls, ids, last = append(calls, id), append(ids, id), id
		if rapid.IntRange(0, 3).Draw(w.T, "sub-agent") == 0 {
			w.subagent()
		}
	}
	var results []string
	for _, id := range rapid.Permutation(calls).Draw(w.T, "order") {
		result := w.next("r")
		w.log = append(w.log, rec("user", result, id, answer("t"+id)))
		results = append(results, result)
	}
	return rapid.SampledFrom(results).Draw(w.T, "goes on from"), append(ids, results...)
}

func (w *writer) subagent() {
	task := w.next("s")
	w.log = append(w.log, rec("user", task, "", text("", "task "+task), inSidechain))
	w.log = append(w.log, rec("assistant", w.next("s"), task, text("x"+task, "done "+task), inSidechain))
}

// Whatever order results, notes and sub-agents are written in, abandoned is
// what the person left by going back, and nothing else.
func TestBranchesProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := &writer{T: rt, onPath: map[string][]string{"": nil}}
		ends := []string{}
		last := ""
		for range rapid.IntRange(1, 8).Draw(rt, "turns") {
			parent := last
			if len(ends) > 0 && rapid.IntRange(0, 3).Draw(rt, "goes back") == 0 {
				parent = rapid.SampledFrom(ends).Draw(rt, "to")
			}
			end, ids := w.turn(parent)
			w.onPath[end] = append(append([]string{}, w.onPath[parent]...), ids...)
			ends, last = append(ends, end), end
		}
		active := map[string]bool{}
		for _, id := range w.onPath[last] {
			active[id] = true
		}
		log := logOf(w.log...)
		first := scanLog(t, log, nil)
		second := scanLog(t, log, first.Tree)
		for id, branch := range second.branches {
			if want := active[id] || strings.HasPrefix(id, "s"); want != (branch == session.Active) {
				rt.Fatalf("%s is %v\n%s", id, branch, log)
			}
		}
	})
}
