package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sessctl/sessctl/internal/crashloop"
)

// memoryCommand is a command on the memory, the state it starts from, and what
// must be so after it has been run again.
type memoryCommand struct {
	args    []string
	prepare func(s *scenario)
	chunks  int // in memory at the end
}

func memoryCommands() map[string]memoryCommand {
	remove := func(s *scenario) {
		if err := os.RemoveAll(filepath.Join(s.dir, "data/sessctl/memory")); err != nil {
			s.t.Fatal(err)
		}
	}
	damage := func(s *scenario) {
		path := filepath.Join(s.dir, "data/sessctl/memory/memory.db")
		if err := os.WriteFile(path, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
	return map[string]memoryCommand{
		"reindex":       {[]string{"memory", "reindex"}, func(*scenario) {}, crashChunks},
		"from archives": {[]string{"memory", "reindex", "--from-archives"}, remove, crashChunks},
		"damaged":       {[]string{"memory", "reindex", "--from-archives"}, damage, crashChunks},
		"forget":        {[]string{"memory", "forget", "--agent", "a", "--yes"}, func(*scenario) {}, 0},
	}
}

// compacted is a scenario whose session is in archive and memory.
func (c memoryCommand) compacted(t *testing.T, program string) *scenario {
	t.Helper()
	s := newScenario(t, program, "openclaw")
	if code, out := s.run(s.args()...); code != 0 {
		t.Fatalf("compact: exit %d: %s", code, out)
	}
	c.prepare(s)
	return s
}

func (c memoryCommand) trace(s *scenario, decide func(crashloop.Call) crashloop.Fault) crashloop.Outcome {
	s.t.Helper()
	got, err := crashloop.Run(crashloop.Options{
		Args: append([]string{s.program}, c.args...), Env: s.env(), Dir: s.dir, Under: s.dir, Decide: decide,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return got
}

// settles runs the command again and checks that all is as it should be.
func (c memoryCommand) settles(s *scenario) {
	s.t.Helper()
	if code, out := s.run(c.args...); code != 0 && !strings.Contains(out, "no such record") && !strings.Contains(out, "no memory yet") {
		s.t.Fatalf("the next run: exit %d: %s", code, out)
	}
	if code, out := s.run("memory", "verify"); code != 0 {
		s.t.Fatalf("memory verify: exit %d: %s", code, out)
	}
	if code, out := s.run("memory", "reindex"); code != 0 {
		s.t.Fatalf("memory reindex: exit %d: %s", code, out)
	}
	s.everyLineIsSomewhere()
	s.remembered(c.chunks)
	s.nothingTemporary()
	files, err := filepath.Glob(filepath.Join(s.dir, "data/sessctl/memory/vectors/*/*"))
	if want := min(c.chunks, 1); err != nil || len(files) != want {
		s.t.Fatalf("vector files %v, want %d, %v", files, want, err)
	}
}

// A command on the memory that is killed anywhere is completed by the next
// run: every record once, every vector sound, what was forgotten gone.
func TestCrashMemoryKilledAnywhere(t *testing.T) {
	program := buildProgram(t)
	for name, c := range memoryCommands() {
		total := len(c.trace(c.compacted(t, program), nil).Calls)
		if total < 10 {
			t.Fatalf("%s: only %d calls: the harness sees too little", name, total)
		}
		for n := 1; n <= total; n += stride(total, 3) {
			for kind, fault := range map[string]crashloop.Fault{"kill": {Kill: true}, "torn": {Torn: true}} {
				s := c.compacted(t, program)
				got := c.trace(s, at(n, fault))
				t.Logf("%s %s before call %d: %v", name, kind, n, last(got.Calls))
				c.settles(s)
			}
		}
	}
}

// A command on the memory whose calls fail says so, and loses nothing.
func TestCrashMemoryEveryCallFails(t *testing.T) {
	program := buildProgram(t)
	for name, c := range memoryCommands() {
		total := len(c.trace(c.compacted(t, program), nil).Calls)
		for _, errno := range []syscall.Errno{syscall.ENOSPC, syscall.EIO} {
			for n := 1 + int(errno)%3; n <= total; n += stride(total, 3) {
				s := c.compacted(t, program)
				got := c.trace(s, at(n, crashloop.Fault{Errno: errno}))
				hit := got.Calls[min(n, len(got.Calls))-1]
				t.Logf("%s %v at call %d %v: exit %d", name, errno, n, hit, got.Exit)
				if got.Exit == 0 && !harmless(hit) && !closing(hit, got.Calls) && !openedToRead(hit) {
					t.Errorf("%s: exit 0 although %v failed (%v):\n%s", name, hit, errno, got.Output)
				}
				c.settles(s)
			}
		}
	}
}

// openedToRead says whether a call opens the database for writing: SQLite then
// opens it for reading, which is enough to look at it, and no later write of
// it can end well.
func openedToRead(c crashloop.Call) bool {
	return strings.HasPrefix(c.Name, "open") && strings.HasSuffix(c.Path, "/memory/memory.db")
}

// closing says whether a call belongs to the closing of the database, where
// SQLite copies its log into it; if that fails the log stays.
func closing(c crashloop.Call, calls []crashloop.Call) bool {
	if !strings.Contains(c.Path, "/memory/memory.db") {
		return false
	}
	for _, later := range calls[c.N:] {
		if !strings.Contains(later.Path, "/memory/memory.db") && !strings.HasSuffix(later.Path, "/lock") {
			return false
		}
	}
	return true
}
