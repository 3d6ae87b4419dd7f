package process_test

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/session/process"
)

// A number alone is not a process: another may have it since.
func TestRuns(t *testing.T) {
	if !process.Runs(os.Getpid(), time.Now()) {
		t.Error("this process does not run")
	}
	if _, err := os.Stat("/proc/self/stat"); err == nil && process.Runs(os.Getpid(), time.Now().Add(-10*365*24*time.Hour)) {
		t.Error("this process was started ten years ago")
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
func TestLook(t *testing.T) {
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
