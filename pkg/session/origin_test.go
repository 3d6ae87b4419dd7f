package session_test

import (
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
)

func TestOriginOf(t *testing.T) {
	o := session.Origin{Runtime: "pi", Session: "s1", At: 1_790_000_000_123}
	got, ok := session.OriginOf([]byte(" " + o.Note() + "\n\nmore"))
	if !ok || got != o {
		t.Errorf("%v %v, not %v", got, ok, o)
	}
	for _, text := range []string{
		"", "said: " + o.Note(), "[Carried over by sessctl from pi, session s1, on Monday.]",
		"[Carried over by sessctl from pi", "[Carried over by sessctl from pi, session s1, on 2026-09-21T14:13:20.123Z",
	} {
		if got, ok := session.OriginOf([]byte(text)); ok {
			t.Errorf("%q is a note of origin: %v", text, got)
		}
	}
}

// What was carried ends with the first message that is later than the carrying; a note
// that somebody quotes carries nothing.
func TestCarriage(t *testing.T) {
	note := session.Origin{Runtime: "pi", Session: "s1", At: 1000}.Note()
	said := func(role session.Role, at int64, text string) session.Message {
		return session.Message{Role: role, Time: at, Parts: []session.Part{{Kind: session.PartText, Text: []byte(text)}}, Length: 1}
	}
	for name, test := range map[string]struct {
		log  []session.Message
		want []bool
	}{
		"gone on": {
			[]session.Message{said(session.RoleInjected, 1000, note), said(session.RoleUser, 1, "a"), said(session.RoleAssistant, 1000, "b"), said(session.RoleUser, 1001, "c"), said(session.RoleUser, 5, "d")},
			[]bool{false, true, true, false, false},
		},
		"behind a summary": {
			[]session.Message{said(session.RoleSummary, 1000, "sum"), said(session.RoleInjected, 1000, note), said(session.RoleUser, 1, "a")},
			[]bool{false, false, true},
		},
		"quoted later": {
			[]session.Message{said(session.RoleUser, 1, "a"), said(session.RoleInjected, 1000, note), said(session.RoleUser, 2, "b")},
			[]bool{false, false, false},
		},
	} {
		var scan session.Scan
		n := 0
		for i := range test.log {
			m := &test.log[i]
			m.Carried = true // of the message before
			if scan.Count(m); m.Carried != test.want[i] {
				t.Errorf("%s: message %d carried: %v", name, i, m.Carried)
			}
			if m.Carried {
				n++
			}
		}
		if scan.Carriage.Messages != n {
			t.Errorf("%s: %d carried, not %d", name, scan.Carriage.Messages, n)
		}
	}
}

// Records of carried messages have their times: none earlier than the one before, none
// later than the carrying.
func TestTimesOfCarriedMessages(t *testing.T) {
	now := time.UnixMilli(1000)
	for name, test := range map[string]struct{ said, want []int64 }{
		"as they were":         {[]int64{1, 5, 5, 9}, []int64{1, 5, 5, 9}},
		"none earlier":         {[]int64{7, 3, 8}, []int64{7, 7, 8}},
		"unknown":              {[]int64{0, 0}, []int64{1000, 1000}},
		"unknown between":      {[]int64{4, 0, 6}, []int64{4, 4, 6}},
		"a clock that is fast": {[]int64{4, 2000, 6}, []int64{4, 1000, 1000}},
	} {
		var times session.Times
		for i, at := range test.said {
			if got := times.At(session.CarriedMessage{Time: at}, now); got != test.want[i] {
				t.Errorf("%s: message %d at %d, not %d", name, i, got, test.want[i])
			}
		}
	}
}

func TestLines(t *testing.T) {
	var lines session.Lines
	lines.Add(map[string]string{"a": "<b>\n\u2028"})
	lines.Add([]int{1})
	if got, want := string(lines.Bytes()), "{\"a\":\"<b>\\n\\u2028\"}\n[1]\n"; got != want || lines.Err != nil {
		t.Errorf("%q, %v", got, lines.Err)
	}
	lines.Add(func() {})
	if lines.Add(2); lines.Err == nil {
		t.Error("what cannot be written is no error")
	}
}
