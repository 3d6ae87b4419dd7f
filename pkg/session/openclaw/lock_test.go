package openclaw_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/session/openclaw"
)

// TestLocks holds the rules of research/formats.md section 4.4. Whatever they
// say, the lock file stays.
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
		"live, almost old":            {fmt.Sprintf(`{"pid":%d,"createdAt":%q}`, own, at(lockAge-time.Minute)), 0, true},
		"live, old":                   {fmt.Sprintf(`{"pid":%d,"createdAt":%q,"starttime":%d}`, own, at(lockAge), start), 0, false},
		"foreign: not the runtime's":  {fmt.Sprintf(`{"pid":%d,"createdAt":%q}`, os.Getppid(), at(time.Second)), 0, true},
		"dead":                        {fmt.Sprintf(`{"pid":%d,"createdAt":%q}`, dead, at(time.Second)), 0, false},
		"garbage, young":              {"garbage", time.Minute, true},
		"garbage, old":                {"garbage", lockAge, false},
		"empty, young":                {"", 0, true},
		"half written":                {`{"pid":`, 0, true},
		"no pid, young":               {`{"createdAt":"2026-01-01T00:00:00Z"}`, 0, true},
		"pid 0":                       {`{"pid":0}`, 0, true},
		"pid negative, old":           {`{"pid":-1}`, lockAge, false},
		"pid too large":               {`{"pid":99999999999}`, lockAge, false},
		"pid as text, old":            {`{"pid":"1"}`, lockAge, false},
		"array, old":                  {`[1]`, lockAge, false},
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
		err := s.Busy(context.Background(), ref, time.Now(), quiet)
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
		if got := s.read(lock); got != text {
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
