package claude

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
)

// A session is busy while the process that names it runs, and no other is.
func TestBusyByProcess(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		running    int
		busy       bool
	}{
		"names it":              {"41.json", `{"pid":41,"sessionId":"` + first + `","cwd":"/home/lea/api"}`, 41, true},
		"names another":         {"41.json", `{"pid":41,"sessionId":"` + second + `","cwd":"/home/lea/api"}`, 41, false},
		"names the directory":   {"41.json", `{"pid":41,"cwd":"/home/lea/api"}`, 41, true},
		"names another one":     {"41.json", `{"pid":41,"cwd":"/home/lea/web"}`, 41, false},
		"is being written":      {"41.json", `{"pid":4`, 41, true},
		"has ended":             {"41.json", `{"pid":41,"sessionId":"` + first + `"}`, 0, false},
		"lies about its number": {"41.json", `{"pid":42,"sessionId":"` + first + `"}`, 42, false},
		"is no such file":       {"lock.json", `{"pid":41,"sessionId":"` + first + `"}`, 41, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			h.write("projects/-home-lea-api/"+first+".jsonl", logOf(rec("user", "u1", "", text("", "one")), rec("assistant", "a1", "u1", text("m", "two"))))
			h.write("projects/-home-lea-api/"+first+"/subagents/agent-a1.jsonl", logOf(rec("user", "u1", "", text("", "one"), inSidechain), rec("assistant", "a1", "u1", text("m", "two"), inSidechain)))
			h.write("sessions/"+c.file, []byte(c.text))
			s := h.store(c.running)
			for _, id := range []string{first, "agent-a1"} {
				ref := h.ref(s, id)
				err := s.Busy(context.Background(), session.BusyQuestion{Ref: ref, Now: time.Now(), Quiet: time.Minute})
				if errors.Is(err, session.ErrBusy) != c.busy || err != nil && !c.busy {
					t.Errorf("%s: %v", id, err)
				}
				if (ref.State == session.StateBusy) != c.busy {
					t.Errorf("%s is listed as %s (%s)", id, ref.State, ref.Reason)
				}
			}
		})
	}
}

func TestBusyByLog(t *testing.T) {
	question := rec("user", "u1", "", text("", "one"))
	for name, c := range map[string]struct {
		log    string
		age    time.Duration
		reason string
	}{
		"answered":               {question + "\n" + rec("assistant", "a1", "u1", text("m", "two")) + "\n", time.Hour, ""},
		"just changed":           {question + "\n" + rec("assistant", "a1", "u1", text("m", "two")) + "\n", time.Second, "changed"},
		"unanswered":             {question + "\n", time.Hour, "not answered"},
		"unanswered since a day": {question + "\n", 25 * time.Hour, ""},
		"half written":           {question + "\n" + `{"type":"assis`, time.Hour, "not finished"},
		"empty":                  {"", time.Hour, "empty"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			path := h.write("projects/-w/"+first+".jsonl", []byte(c.log))
			then := time.Now().Add(-c.age)
			if err := os.Chtimes(path, then, then); err != nil {
				t.Fatal(err)
			}
			s := h.store()
			ref := h.ref(s, first)
			err := s.Busy(context.Background(), session.BusyQuestion{Ref: ref, Now: time.Now(), Quiet: time.Minute})
			if c.reason == "" && err != nil || c.reason != "" && (!errors.Is(err, session.ErrBusy) || !strings.Contains(err.Error(), c.reason)) {
				t.Errorf("error %v, want %q", err, c.reason)
			}
		})
	}
	h := newHome(t)
	path := h.write("projects/-w/"+first+".jsonl", []byte(question+"\n"))
	s := h.store()
	ref := h.ref(s, first)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := s.Busy(context.Background(), session.BusyQuestion{Ref: ref, Now: time.Now(), Quiet: time.Minute}); !errors.Is(err, session.ErrBusy) {
		t.Errorf("a log that is gone: %v", err)
	}
}

// A project is named after its working directory, and an agent after it.
func TestNames(t *testing.T) {
	for cwd, want := range map[string]string{
		"/home/lea/api": "-home-lea-api", "/tmp/a_b.c": "-tmp-a-b-c", `C:\Users\lea`: "C--Users-lea",
	} {
		if got := session.FolderOf(cwd); got != want {
			t.Errorf("project of %s is %s, want %s", cwd, got, want)
		}
	}
	for project, want := range map[string]string{"-home-lea-api": "home-lea-api", "C--Users-lea": "C--Users-lea", "--": session.CleanID("")} {
		if got := agentOf(project); got != want || !session.SafeID(got) {
			t.Errorf("agent of %s is %s, want %s", project, got, want)
		}
	}
}
