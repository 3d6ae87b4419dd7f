package openclaw_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/openclaw"
)

// TestLocks holds the rules of locks (docs/dev/formats.md, "openclaw"). A log's lock
// is never touched; one of the index that does not count is taken away, as the
// runtime does, and so is ours.
func TestLocks(t *testing.T) {
	now := time.Now()
	at := func(age time.Duration) string { return now.Add(-age).UTC().Format(time.RFC3339Nano) }
	start, known := openclaw.StartTime(os.Getpid())
	if runtime.GOOS == "linux" && !known {
		t.Fatal("this process has no start time")
	}
	own, dead := os.Getpid(), deadProcess(t)
	for name, c := range map[string]struct {
		text string
		age  time.Duration // of the file
		busy bool
	}{
		"live":                        {fmt.Sprintf(`{"pid":%d,"createdAt":%q,"starttime":%d}`, own, at(time.Second), start), 0, true},
		"live, 7.1 with maxHoldMs":    {fmt.Sprintf(`{"pid":%d,"createdAt":%q,"maxHoldMs":300000,"starttime":%d}`, own, at(time.Minute), start), 0, true},
		"live, no start time":         {fmt.Sprintf(`{"pid":%d,"createdAt":%q}`, own, at(time.Second)), 0, true},
		"live, no date":               {fmt.Sprintf(`{"pid":%d}`, own), time.Minute, true},
		"live, no date, old file":     {fmt.Sprintf(`{"pid":%d}`, own), lockAge, false},
		"live, date as number":        {fmt.Sprintf(`{"pid":%d,"createdAt":%d}`, own, now.Add(-time.Minute).UnixMilli()), time.Hour, true},
		"live, date in the future":    {fmt.Sprintf(`{"pid":%d,"createdAt":%q}`, own, at(-time.Hour)), time.Minute, true},
		"live, future date, old file": {fmt.Sprintf(`{"pid":%d,"createdAt":%q}`, own, at(-time.Hour)), time.Hour, false},
		"live, almost old":            {fmt.Sprintf(`{"pid":%d,"createdAt":%q,"starttime":%d}`, own, at(lockAge-time.Minute), start), 0, true},
		"live, old":                   {fmt.Sprintf(`{"pid":%d,"createdAt":%q,"starttime":%d}`, own, at(lockAge), start), 0, false},
		"live, from before the start of the machine, by its number alone": {fmt.Sprintf(`{"pid":%d,"createdAt":"2001-01-01T00:00:00Z"}`, own), 0, false},
		"foreign: not the runtime's":                                      {fmt.Sprintf(`{"pid":%d,"createdAt":%q}`, os.Getppid(), at(time.Second)), 0, true},
		"dead":                                                            {fmt.Sprintf(`{"pid":%d,"createdAt":%q}`, dead, at(time.Second)), 0, false},
		"garbage, young":                                                  {"garbage", time.Minute, true},
		"garbage, old":                                                    {"garbage", lockAge, false},
		"empty, young":                                                    {"", 0, true},
		"half written":                                                    {`{"pid":`, 0, true},
		"no pid, young":                                                   {`{"createdAt":"2026-01-01T00:00:00Z"}`, 0, true},
		"pid 0":                                                           {`{"pid":0}`, 0, true},
		"pid negative, old":                                               {`{"pid":-1}`, lockAge, false},
		"pid too large":                                                   {`{"pid":99999999999}`, lockAge, false},
		"pid as text, old":                                                {`{"pid":"1"}`, lockAge, false},
		"array, old":                                                      {`[1]`, lockAge, false},
	} {
		t.Run(name, func(t *testing.T) { checkLock(t, c.text, c.age, c.busy) })
	}
	if runtime.GOOS == "linux" {
		t.Run("recycled", func(t *testing.T) {
			checkLock(t, fmt.Sprintf(`{"pid":%d,"createdAt":%q,"starttime":%d}`, own, at(time.Second), start-1), 0, false)
		})
	}
}

func checkLock(t *testing.T, text string, age time.Duration, busy bool) {
	for _, lock := range []string{mainID + ".jsonl.lock", "sessions.json.lock"} {
		s := newMain(t)
		ref := s.ref(mainID + ".jsonl")
		s.log(lock, text)
		s.age(s.path(lock), age)
		before := s.tree()
		err := s.Busy(context.Background(), session.BusyQuestion{Ref: ref, Now: time.Now(), Quiet: quiet})
		if busy {
			wantBusy(t, err, "its lock")
		} else if err != nil {
			t.Error(err)
		}
		wantTree(t, before, s.tree())
		r := s.plan(ref)
		err = s.rotate(r)
		if busy {
			wantBusy(t, err, "its lock")
			wantTree(t, before, s.tree())
		} else if err != nil {
			t.Error(err)
		}
		if !busy && lock == "sessions.json.lock" {
			if _, err := os.Lstat(s.path(lock)); !os.IsNotExist(err) {
				t.Errorf("the lock is still there: %v", err)
			}
		} else if got := s.read(lock); got != text {
			t.Errorf("the lock was changed to %q", got)
		}
	}
}

// deadProcess is the number of a process that has ended and was waited for.
func deadProcess(t *testing.T) int {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run", "^$")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}

func TestBusy(t *testing.T) {
	const name = mainID + ".jsonl"
	for what, c := range map[string]struct {
		change func(s *state)
		reason string
	}{
		"quiet and answered": {func(*state) {}, ""},
		"just changed":       {func(s *state) { s.age(s.path(name), 5*time.Second) }, "changed 5s ago"},
		"changed in future":  {func(s *state) { s.age(s.path(name), -5*time.Second) }, "in the future"},
		"question":           {func(s *state) { s.log(name, transcript(mainID)+question) }, "last turn is not answered"},
		"tool call":          {func(s *state) { s.log(name, transcript(mainID)+toolCall) }, "last turn is not answered"},
		"torn line":          {func(s *state) { s.log(name, transcript(mainID)+question[:40]) }, "last line is not finished"},
		"empty":              {func(s *state) { s.log(name, "") }, "being rewritten"},
		"shorter":            {func(s *state) { s.log(name, transcript(mainID)[:200]) }, "being rewritten"},
		"gone":               {func(s *state) { os.Remove(s.path(name)) }, "moved or removed"},
		"directory gone":     {func(s *state) { os.RemoveAll(s.root + "/agents/" + agent) }, "moved or removed"},
		"error turn":         {func(s *state) { s.log(name, transcript(mainID)+errorTurn) }, ""},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newMain(t)
			ref := s.ref(name)
			c.change(s)
			err := s.Busy(context.Background(), session.BusyQuestion{Ref: ref, Now: time.Now(), Quiet: quiet})
			if c.reason != "" {
				wantBusy(t, err, c.reason)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

const errorTurn = question + `{"type":"message","id":"a0000004","parentId":"a0000003","timestamp":"2026-03-01T10:00:04.000Z","message":{"role":"assistant","content":[],"stopReason":"error","errorMessage":"400"}}` + "\n"

// A log that is shorter than it was is being rewritten, so it is waited for.
func TestTailWaitsForARewrite(t *testing.T) {
	s := newMain(t)
	ref := s.ref(mainID + ".jsonl")
	s.log(mainID+".jsonl", "")
	waited := 0
	s.SetPause(func() {
		if waited++; waited == 2 {
			s.log(mainID+".jsonl", transcript(mainID))
		}
	})
	tail, err := s.Tail(context.Background(), ref)
	if err != nil || tail.Messages != 2 || waited != 2 {
		t.Errorf("%+v after %d waits, %v", tail, waited, err)
	}
	if n, err := s.CountMessages(context.Background(), ref); n != 2 || err != nil {
		t.Errorf("%d messages, %v", n, err)
	}
	s.log(mainID+".jsonl", question)
	waited = 10
	if tail, err := s.Tail(context.Background(), ref); err != nil || tail.Messages != 1 || waited != 14 {
		t.Errorf("a log that stays short: %+v after %d waits, %v", tail, waited-10, err)
	}
}

// What changes names works on paths, so the path must lead where the open
// directory is.
func TestInPlace(t *testing.T) {
	s := newMain(t)
	if err := s.InPlace(agent, func() {}); err != nil {
		t.Error(err)
	}
	dir := s.path("")
	err := s.InPlace(agent, func() {
		if err := os.Rename(dir, dir+".old"); err != nil {
			t.Skip("an open directory cannot be renamed:", err)
		}
		s.log("x.jsonl", "x")
	})
	wantBusy(t, err, "another directory has taken its place")
}

// Busy asks for a path of this store; anything else is an error, not a file.
func TestOutsideOfTheStore(t *testing.T) {
	s := newMain(t)
	ref := s.ref(mainID + ".jsonl")
	for _, path := range []string{"/etc/passwd", s.root + "/agents/../../x", s.root + "/agents/a/sessions/b/c.jsonl", s.root, "", s.root + "/agents/-a/sessions/x.jsonl"} {
		ref.Path = path
		if err := s.Busy(context.Background(), session.BusyQuestion{Ref: ref, Now: time.Now(), Quiet: quiet}); err == nil {
			t.Errorf("Busy of %q", path)
		}
		if _, err := s.Tail(context.Background(), ref); err == nil {
			t.Errorf("Tail of %q", path)
		}
		if _, err := s.PlanRotation(context.Background(), ref, session.Snapshot{}, time.Now()); err == nil {
			t.Errorf("PlanRotation of %q", path)
		}
		r := s.plan(s.ref(mainID + ".jsonl"))
		r.Live = path
		if err := s.rotate(r); err == nil {
			t.Errorf("Rotate of %q", path)
		}
	}
}

func wantTree(t *testing.T, want, got map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("something changed (-want +got):\n%s", diff)
	}
}
