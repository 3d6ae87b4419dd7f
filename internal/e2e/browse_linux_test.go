package e2e_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/sessctl/sessctl/internal/tier"
)

// terminal is a program on a pseudo-terminal.
type terminal struct {
	t    *testing.T
	file *os.File // our end
	own  *os.File // the program's end, held open to look at its settings
	cmd  *exec.Cmd
	done chan struct{} // all of the output was read

	before unix.Termios // its settings before the program began

	mu     sync.Mutex
	output bytes.Buffer
}

// onTerminal starts sessctl in a home on a terminal of 80 columns and 24 lines.
func onTerminal(t *testing.T, home string, args ...string) *terminal {
	t.Helper()
	path, err := sessctl.Path()
	if err != nil {
		t.Fatal(err)
	}
	x := &terminal{t: t, done: make(chan struct{}), cmd: exec.Command(path, append([]string{"--allow-root"}, args...)...)}
	if x.file, x.own, err = pty.Open(); err != nil {
		t.Skip("no pseudo-terminal:", err)
	}
	x.size(80, 24)
	x.before = x.settings()
	x.cmd.Env = []string{"HOME=" + home, "TERM=xterm-256color", "LANG=C.UTF-8", "PATH=" + os.Getenv("PATH"), "SSH_TTY=/dev/pts/0", "TERM_PROGRAM=test"} // nobody answers questions
	x.cmd.Stdin, x.cmd.Stdout, x.cmd.Stderr = x.own, x.own, x.own
	x.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := x.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = x.cmd.Process.Kill()
		_ = x.own.Close()
		_ = x.file.Close()
		<-x.done
	})
	go func() {
		defer close(x.done)
		_, _ = io.Copy(x, x.file) // until the terminal is closed
	}()
	return x
}

// Write takes output.
func (x *terminal) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.output.Write(p)
}

func (x *terminal) text() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.output.String()
}

func (x *terminal) size(columns, lines int) {
	_ = pty.Setsize(x.file, &pty.Winsize{Rows: uint16(lines), Cols: uint16(columns)}) //nolint:gosec // of this test
}

func (x *terminal) press(keys string) {
	x.t.Helper()
	if _, err := io.WriteString(x.file, keys); err != nil {
		x.t.Fatal(err)
	}
}

// waitFor waits until the screen has a text. A terminal of another size is drawn
// whole, so what is there then was not drawn before.
func (x *terminal) waitFor(texts ...string) {
	x.t.Helper()
	for i := 0; ; i++ {
		x.mu.Lock()
		x.output.Reset()
		x.mu.Unlock()
		x.size(100+i%2, 30)
		time.Sleep(60 * time.Millisecond)
		got, missing := ansi.Strip(x.text()), ""
		for _, text := range texts {
			if !strings.Contains(got, text) {
				missing = text
			}
		}
		if missing == "" {
			return
		}
		if i > 1000 { // a minute: nothing takes so long
			x.t.Fatalf("the screen lacks %q:\n%s", missing, got)
		}
	}
}

func (x *terminal) settings() unix.Termios {
	x.t.Helper()
	s, err := unix.IoctlGetTermios(int(x.own.Fd()), unix.TCGETS)
	if err != nil {
		x.t.Fatal(err)
	}
	return *s
}

// ends waits for the end of the program, and fails if it leaves the terminal
// other than it was.
func (x *terminal) ends(code int) {
	x.t.Helper()
	err := x.cmd.Wait()
	if got := x.cmd.ProcessState.ExitCode(); got != code {
		x.t.Errorf("exit code %d (%v), want %d", got, err, code)
	}
	if after := x.settings(); after != x.before {
		x.t.Errorf("the terminal was %+v and is %+v", x.before, after)
	}
	for i := 0; !strings.Contains(x.text(), "\x1b[?1049l") || !strings.Contains(x.text(), "\x1b[?25h"); i++ {
		if time.Sleep(5 * time.Millisecond); i > 2000 { // what was written last is still on its way
			x.t.Fatalf("the screen is not left, or there is no cursor: %q", x.text())
		}
	}
}

// browsedHome is a home with one agent of pi that has said something hostile.
func browsedHome(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	dir := filepath.Join(home, ".pi", "agent", "sessions", "--desk--")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	const id = "5f0c1c2e-6d0a-4f57-9d2b-0c8e1f1a2b3c"
	log := `{"type":"session","version":3,"id":"` + id + `","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/repo/desk"}` + "\n"
	for i := range 30 {
		text := fmt.Sprintf(`filler %d about nothing in particular`, i)
		if i == 20 {
			text = `we decided that the importer listens on port 7117 \u001b]0;owned\u0007\u001b[2J`
		}
		log += fmt.Sprintf(`{"type":"message","id":"a%07d","parentId":"a%07d","timestamp":"2026-03-01T10:%02d:00.000Z","message":{"role":"user","content":[{"type":"text","text":"%s"}]}}`, i+1, i, i, text) + "\n"
	}
	log = strings.Replace(log, `"parentId":"a0000000"`, `"parentId":null`, 1)
	path := filepath.Join(dir, "2026-03-01T10-00-00-000Z_"+id+".jsonl")
	old := time.Now().Add(-48 * time.Hour)
	if err := os.WriteFile(path, []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	return home
}

// A person archives a session, finds what was said in it, reads it at that line,
// and leaves. No plan changes anything before it was accepted, and the terminal is
// left as it was.
func TestBrowse(t *testing.T) {
	home := browsedHome(t)
	x := onTerminal(t, home, "browse")
	x.waitFor("desk", "archives 0 B", "1 session,")
	x.press("G")
	x.press("a")
	x.waitFor("would be archived and remembered", "y: yes, n: no")
	if _, err := os.Stat(filepath.Join(home, ".local")); err == nil {
		t.Error("a plan has changed something")
	}
	x.press("n")
	x.waitFor("nothing was changed")
	if _, err := os.Stat(filepath.Join(home, ".local")); err == nil {
		t.Error("a plan that was not accepted was carried out")
	}
	x.press("a")
	x.waitFor("y: yes, n: no")
	x.press("y")
	x.waitFor("archived, read back, and remembered")
	x.press("q/")
	x.waitFor("ask memory")
	x.press("which port has the importer\r")
	x.waitFor("from memory", "7117")
	x.press("\r")
	x.waitFor("▶ Human", `port 7117 \x1b]0;owned\x07\x1b[2J`, "esc back")
	if strings.Contains(x.text(), "\x1b]0;owned") {
		t.Error("a control sequence of a session reaches the terminal")
	}
	x.press("qq") // the reader, the answers
	x.waitFor("archives ", "q quit")
	x.press("q")
	x.ends(0)
}

// Whoever kills it, or closes its terminal, finds the terminal as it was.
func TestBrowseKilled(t *testing.T) {
	home := browsedHome(t)
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		x := onTerminal(t, home, "browse")
		x.waitFor("desk", "q quit")
		if during := x.settings(); during == x.before {
			t.Fatal("the terminal is not in raw mode, this test shows nothing")
		}
		if err := x.cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		x.ends(143)
	}
}

// Commands but browse write nothing to a terminal but their output: no question
// to the terminal, and nothing for which they would wait.
func TestOnlyBrowseDrawsOnTheTerminal(t *testing.T) {
	x := onTerminal(t, t.TempDir(), "version")
	if err := x.cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	_ = x.own.Close()
	<-x.done
	if text := x.text(); !strings.HasPrefix(text, "sessctl ") || strings.ContainsRune(text, '\x1b') {
		t.Errorf("%q", text)
	}
}

// The browser shows 5,000 sessions and measures them all, also the second time,
// when their ends are in the cache. How long it takes is logged and decides
// nothing: bench compares it with `sizes` ("browse, 7820 logs").
func TestBrowseFiveThousand(t *testing.T) {
	tier.SkipUnlessLong(t, "it generates 5,000 sessions")
	home := t.TempDir()
	one := browsedHome(t)
	logs, err := filepath.Glob(filepath.Join(one, ".pi/agent/sessions/*/*.jsonl"))
	if err != nil || len(logs) != 1 {
		t.Fatal(logs, err)
	}
	text, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5000 {
		dir := filepath.Join(home, ".pi/agent/sessions", fmt.Sprintf("--desk-%02d--", i%50))
		id := fmt.Sprintf("5f0c1c2e-6d0a-4f57-9d2b-%012d", i)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		log := bytes.ReplaceAll(text, []byte("5f0c1c2e-6d0a-4f57-9d2b-0c8e1f1a2b3c"), []byte(id))
		if err := os.WriteFile(filepath.Join(dir, "2026-03-01T10-00-00-000Z_"+id+".jsonl"), log, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(3 * time.Second) // what changed a moment ago is not kept in the cache
	for _, cache := range []string{"cold", "warm"} {
		x := onTerminal(t, home, "browse")
		began := time.Now()
		first, listed := time.Duration(0), time.Duration(0)
		for listed == 0 {
			time.Sleep(time.Millisecond)
			got := ansi.Strip(x.text())
			if first == 0 && strings.Contains(got, "sessctl") {
				first = time.Since(began)
			}
			if strings.Contains(got, "desk-") {
				listed = time.Since(began)
			}
			if time.Since(began) > time.Minute {
				t.Fatalf("%q", got)
			}
		}
		x.waitFor("5,000 sessions", "archives 0 B") // all of them are measured
		x.press("q")
		if err := x.cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		used := x.cmd.ProcessState.UserTime() + x.cmd.ProcessState.SystemTime()
		t.Logf("%s: first frame after %s, the tree after %s, %s of CPU in all", cache, first, listed, used)
	}
}
