package adapters_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/session/process"
)

// A number alone is not a process: another may have it since.
func TestProcessRuns(t *testing.T) {
	if !process.Runs(os.Getpid(), time.Now()) {
		t.Error("this process does not run")
	}
	if _, err := os.Stat("/proc/self/stat"); err == nil && process.Runs(os.Getpid(), time.Now().Add(-10*365*24*time.Hour)) {
		t.Error("this process was started ten years ago")
	}
	if process.Runs(0, time.Now()) || process.Look(-1).Alive {
		t.Error("what is the number of no process runs")
	}
	child := exec.Command("true")
	if err := child.Run(); err != nil {
		t.Skip("no program to run: ", err)
	}
	if process.Runs(child.Process.Pid, time.Now()) || process.Look(child.Process.Pid).Alive {
		t.Error("a process that has ended runs")
	}
}

// Linux says when a process was started; a process that has ended and was not
// waited for does not run.
func TestProcessLook(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("the system does not tell")
	}
	if s := process.Look(os.Getpid()); !s.Alive || !s.Known || s.Start == 0 {
		t.Errorf("this process is %+v", s)
	}
	child := exec.Command("true")
	if err := child.Start(); err != nil {
		t.Skip("no program to run: ", err)
	}
	defer func() { _ = child.Wait() }()
	for range 6000 {
		if !process.Look(child.Process.Pid).Alive {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("a process that has ended and was not waited for runs")
}

// What Linux says of a process that runs is what it was started with.
func TestProcessFind(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("the system does not tell")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command("/bin/sh", "-c", "echo started; read end")
	child.Args[0], child.Dir, child.Env = "a name of its own", dir, []string{"ONE=1", "HOME=/home/lea"}
	end, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	started, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Skip("no program to run: ", err)
	}
	defer func() { end.Close(); _ = child.Wait() }()
	if _, err := started.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	found := process.Find(func(p process.Process) bool { return p.Args[0] == "a name of its own" })
	if len(found) != 1 || found[0].ID != child.Process.Pid || found[0].Args[1] != "-c" || found[0].Name == "" {
		t.Fatalf("%+v", found)
	}
	p := found[0]
	if got, ok := p.Dir(); got != dir || !ok {
		t.Errorf("it works in %s (%v)", got, ok)
	}
	home, ok := p.Getenv("HOME")
	if none, known := p.Getenv("OTHER"); home != "/home/lea" || !ok || none != "" || !known {
		t.Errorf("%q, %v, %q, %v", home, ok, none, known)
	}
	if at, ok := p.Started(); !ok || time.Since(at).Abs() > time.Minute {
		t.Errorf("it was started at %s (%v)", at, ok)
	}
	if me := process.Find(func(p process.Process) bool { return p.ID == os.Getpid() }); len(me) > 0 {
		t.Error("this process is found")
	}
}

// A lock holds for as long as its process runs. A number that another process has
// now, and a lock from before the machine was started, hold nobody.
func TestClaims(t *testing.T) {
	own := process.Look(os.Getpid())
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Skip(err)
	}
	now, before := time.Now(), time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		claim process.Claim
		want  process.Standing
	}{
		"of this process":               {process.Claim{PID: os.Getpid(), Start: own.Start, Since: now}, process.Holds},
		"without a start":               {process.Claim{PID: os.Getpid(), Since: now}, process.Holds},
		"without anything":              {process.Claim{PID: os.Getpid()}, process.Holds},
		"of one that has ended":         {process.Claim{PID: ended.Process.Pid, Since: now}, process.Unseen},
		"of no process":                 {process.Claim{Since: now}, process.Unseen},
		"a clock that was wrong":        {process.Claim{PID: os.Getpid(), Start: own.Start, Since: before}, process.Holds},
		"from before the start":         {process.Claim{PID: os.Getpid(), Since: before}, process.Over},
		"from before, by another":       {process.Claim{PID: os.Getpid(), Start: own.Start + 1, Since: before}, process.Over},
		"the number of another process": {process.Claim{PID: os.Getpid(), Start: own.Start + 1, Since: now}, process.Unseen},
	} {
		t.Run(name, func(t *testing.T) {
			if !own.Known && c.claim.Start != 0 {
				t.Skip("the system does not say when a process was started")
			}
			if got := c.claim.Standing(); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
