package e2e_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/crashloop"
	"github.com/sessctl/sessctl/internal/fakegateway"
	"github.com/sessctl/sessctl/internal/tier"
)

// newServedScenario is a home whose gateway runs: in this process, so that it
// outlives whoever asks it.
func newServedScenario(t *testing.T, program string) (*scenario, *fakegateway.Gateway) {
	t.Helper()
	s := newScenario(t, program, "openclaw")
	s.temporary = t.TempDir()
	s.extra = []string{"--quiet-period", "1ms"} // the log that the gateway makes is new
	g, err := fakegateway.Start(filepath.Join(s.dir, "home/.openclaw"), s.temporary)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Stop() }) // it may be stopped already
	return s, g
}

// resets counts how often the gateway was asked to reset.
func resets(g *fakegateway.Gateway) (n int) {
	for _, method := range g.Asked() {
		if method == "sessions.reset" {
			n++
		}
	}
	return n
}

// receipts counts the receipts of compactions.
func (s *scenario) receipts() int {
	s.t.Helper()
	names, err := filepath.Glob(filepath.Join(s.dir, "data/sessctl/receipts/*.json"))
	if err != nil {
		s.t.Fatal(err)
	}
	return len(names)
}

// A run that is killed while it goes through the gateway loses nothing; the
// next one completes it, and the session is reset once and has one receipt.
func TestCrashKilledAroundTheGateway(t *testing.T) {
	tier.SkipSmoke(t, "it kills 15 compactions")
	program := buildProgram(t)
	whole, g := newServedScenario(t, program)
	total := len(whole.trace(false, nil).Calls)
	if total < 30 || resets(g) != 1 {
		t.Fatalf("%d calls, %d resets: the harness sees too little", total, resets(g))
	}
	before, after := 0, 0
	for n := 1; n <= total; n += stride(total, 14) {
		s, g := newServedScenario(t, program)
		got := s.trace(false, at(n, crashloop.Fault{Kill: true}))
		switch resets(g) {
		case 0:
			before++
		case 1:
			after++
		}
		t.Logf("kill before call %d: %v, %d resets", n, last(got.Calls), resets(g))
		s.everyLineIsSomewhere()
		s.settles(crashChunks)
		if resets(g) != 1 || s.receipts() != 1 {
			t.Errorf("kill before call %d: %d resets, %d receipts", n, resets(g), s.receipts())
		}
	}
	if before == 0 || after == 0 {
		t.Errorf("killed %d times before the reset and %d times after it: the test sees too little", before, after)
	}
}

// A line that comes in at any moment is kept: the gateway writes it, or it
// makes the run give up.
func TestCrashLineAppendedAroundTheGateway(t *testing.T) {
	tier.SkipSmoke(t, "it compacts 16 times")
	program := buildProgram(t)
	whole, _ := newServedScenario(t, program)
	total := len(whole.trace(true, nil).Calls)
	for n := 1; n <= total; n += stride(total, 14) {
		s, _ := newServedScenario(t, program)
		hook := crashloop.Fault{Hook: func() { appendIfThere(t, s.log, fakegateway.LateLine) }}
		got := s.trace(true, at(n, hook))
		if got.Exit != 0 && got.Exit != 75 {
			t.Errorf("line appended before call %d: exit %d\n%s", n, got.Exit, got.Output)
		}
		s.everyLineIsSomewhere()
		if code, out := s.run("archives", "verify"); code != 0 {
			t.Errorf("line appended before call %d: archives verify: exit %d: %s", n, code, out)
		}
	}
}

// appendIfThere appends a line to a log that the gateway has not closed yet.
func appendIfThere(t *testing.T, path, line string) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if os.IsNotExist(err) {
		return
	}
	if err != nil {
		t.Error(err)
		return
	}
	defer f.Close()
	if _, err := f.WriteString(line + "\n"); err != nil {
		t.Error(err)
	}
}

// A reset that comes about only after its run was killed is recognised by the
// run after.
func TestResetAfterItsRunWasKilled(t *testing.T) {
	program := buildProgram(t)
	s, g := newServedScenario(t, program)
	g.Behave(fakegateway.Hangs)
	if code, out := s.kill(func() bool { return resets(g) > 0 }, s.args()...); code == 0 {
		t.Fatalf("it was not killed: %s", out)
	}
	if g.Behave(fakegateway.Well); s.journal() != 1 {
		t.Fatal("there is no intent")
	}
	if err := g.Reset("agent:a:main"); err != nil {
		t.Fatal(err)
	}
	s.settles(crashChunks)
	if s.receipts() != 1 {
		t.Errorf("%d receipts", s.receipts())
	}
}

// kill runs the program and kills it, not what it started, as soon as something
// is so.
func (s *scenario) kill(when func() bool, args ...string) (int, string) {
	s.t.Helper()
	var out bytes.Buffer
	c := exec.Command(s.program, args...)
	c.Env, c.Stdout, c.Stderr, c.WaitDelay = s.env(), &out, &out, time.Second
	if err := c.Start(); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	for !when() {
		select {
		case err := <-ended:
			s.t.Fatalf("it ended before it could be killed: %v\n%s", err, out.String())
		case <-time.After(5 * time.Millisecond):
		}
	}
	if err := c.Process.Kill(); err != nil {
		s.t.Fatal(err)
	}
	if err := <-ended; err == nil {
		return 0, out.String()
	}
	return 1, out.String()
}

// journal counts the entries of the journal.
func (s *scenario) journal() int {
	s.t.Helper()
	names, err := filepath.Glob(filepath.Join(s.dir, "data/sessctl/journal/*.json"))
	if err != nil {
		s.t.Fatal(err)
	}
	return len(names)
}

// A dry run asks a running gateway nothing.
func TestDryRunAsksNoGateway(t *testing.T) {
	program := buildProgram(t)
	s, g := newServedScenario(t, program)
	got, err := crashloop.Run(crashloop.Options{
		Args: append([]string{program}, append(s.args(), "--dry-run")...), Env: s.env(), Dir: s.dir, Under: s.dir,
	})
	if err != nil {
		t.Fatal(err)
	}
	if got.Exit != 0 || len(got.Calls) > 0 || len(g.Asked()) > 0 || !strings.Contains(got.Output, "running gateway") {
		t.Fatalf("exit %d, calls %v, asked %v\n%s", got.Exit, got.Calls, g.Asked(), got.Output)
	}
}
