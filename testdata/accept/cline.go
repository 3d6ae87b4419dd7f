package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// playCline has Cline delete a session and sessctl remove what that leaves, while the
// hub is stopped; restored, the program lists the session and goes on with the same
// request. Sessions are only continued in a terminal, which tmux plays.
func playCline(ctx context.Context, s *stage) {
	c := newCline(ctx, s)
	defer func() {
		_ = c.called(ctx, "hub", "stop").Run() // it outlives its callers
	}()
	c.once(ctx, "Plan the bakery week") // starts the hub, which tells of the next ones
	first := c.sessions()
	c.once(ctx, "List it, finch-lane-99.\nCALL run_commands {\"commands\":[\"echo otter-weir\"]}")
	id := c.newest(first)
	c.resume(ctx, id, "/compact", "And who opens on Saturday, wren-copse?")
	_, last := s.model.requests()
	same(s, "its size is what the model counted", c.tokens(ctx, id), 100*last.Users+12)
	_, err := os.Stat(c.file(id, ".compaction.json"))
	same(s, "the program has compacted it", err, nil)
	replayed, err := s.output(ctx, s.home, s.sessctl, "replay-context", "--session", id, "--format", "text")
	s.must("replay it", err)
	c.hub(ctx, "stop")
	want := c.asked(ctx, id)
	same(s, "what it sends is replayed", missingIn(want, string(replayed)), "")
	same(s, "a resume sends what followed the compaction", strings.Contains(fmt.Sprint(want), "wren-copse"), true)

	_, err = s.output(ctx, s.home, s.sessctl, "archive", "--all", "--remember")
	s.must("archive it", err)
	c.run(ctx, "history", "delete", "--session-id", id)
	same(s, "the program does not list it", c.lists(ctx, id), false)
	c.once(ctx, "Count the sacks") // the hub runs now
	c.shrink(ctx)
	c.restore(ctx, id)
	same(s, "the program lists it again", c.lists(ctx, id), true)
	c.hub(ctx, "stop")
	same(s, "the restored session is asked about with the same request", fmt.Sprint(c.asked(ctx, id)), fmt.Sprint(want))
	_, err = s.output(ctx, s.home, s.sessctl, "archives", "verify")
	same(s, "nothing is damaged", err, nil)
	c.discard(ctx, id)
}

// discard changes a message that the compaction stands for: the program discards the
// compaction then, and so does sessctl.
func (c *cline) discard(ctx context.Context, id string) {
	path := c.file(id, ".messages.json")
	raw, err := os.ReadFile(path)
	c.must("read the messages", err)
	changed := strings.Replace(string(raw), "finch-lane-99", "finch-lane-98", 1)
	same(c.stage, "a message of before the compaction is changed", changed != string(raw), true)
	c.must("change a message", os.WriteFile(path, []byte(changed), 0o600))
	replayed, err := c.output(ctx, c.home, c.sessctl, "replay-context", "--session", id, "--format", "text")
	c.must("replay it", err)
	want := c.asked(ctx, id)
	same(c.stage, "a resume sends all messages again", strings.Contains(fmt.Sprint(want), "finch-lane-98"), true)
	same(c.stage, "and what it sends is replayed", missingIn(want, string(replayed)), "")
}

// cline is a home with the real Cline CLI.
type cline struct {
	*stage
	dir, data string
	port      int // of its hub: another one may run on the usual port
}

func newCline(ctx context.Context, s *stage) *cline {
	if _, err := exec.LookPath("tmux"); err != nil {
		s.skip("there is no tmux: Cline goes on with a session only in a terminal")
	}
	c := &cline{stage: s, dir: filepath.Join(s.home, "work"), data: filepath.Join(s.home, ".cline", "data")}
	s.must("make a working directory", os.MkdirAll(c.dir, 0o700))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	s.must("find a port", err)
	c.port = listener.Addr().(*net.TCPAddr).Port
	s.must("find a port", listener.Close())
	c.run(ctx, "auth", "-p", "openai", "-k", "none", "-m", modelName, "-b", s.model.url())
	return c
}

// called is the program with arguments.
func (c *cline) called(ctx context.Context, args ...string) *exec.Cmd {
	return c.inTerminal(c.command(ctx, c.dir, filepath.Join(c.runtime.bin, "cline"), args...))
}

// inTerminal is a command with what Cline and tmux are told.
func (c *cline) inTerminal(run *exec.Cmd) *exec.Cmd {
	run.Env = append(run.Env, "CLINE_NO_AUTO_UPDATE=1", "CLINE_TELEMETRY_DISABLED=1", fmt.Sprint("CLINE_HUB_PORT=", c.port), "TERM=xterm-256color", "TMUX_TMPDIR="+filepath.Join(c.home, "tmp"))
	return run
}

func (c *cline) run(ctx context.Context, args ...string) string {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	out, err := c.called(ctx, args...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, lastLines(string(out)))
	}
	c.must("cline "+args[0], err)
	return string(out)
}

// hub has the hub do something, and waits until it runs or not.
func (c *cline) hub(ctx context.Context, what string) {
	c.run(ctx, "hub", what)
	running := filepath.Join(c.data, "locks", "hub", "production.json")
	if !until(ctx, 20*time.Second, func() bool { _, err := os.Stat(running); return errors.Is(err, os.ErrNotExist) }) {
		c.must("stop the hub", errors.New("it still runs"))
	}
}

// once is a session of one question; it returns when the hub runs.
func (c *cline) once(ctx context.Context, say string) {
	c.run(ctx, say)
	if !until(ctx, 30*time.Second, func() bool { return strings.Contains(c.run(ctx, "hub", "status"), `"running":true`) }) {
		c.must("wait for the hub", errors.New("it does not run"))
	}
}

// sessions are the ids of the sessions that there are.
func (c *cline) sessions() (ids []string) {
	found, err := os.ReadDir(filepath.Join(c.data, "sessions"))
	c.must("look for sessions", err)
	for _, e := range found {
		ids = append(ids, e.Name())
	}
	return ids
}

// newest is the only session that was not there before.
func (c *cline) newest(before []string) string {
	all := slices.DeleteFunc(c.sessions(), func(id string) bool { return slices.Contains(before, id) })
	if len(all) != 1 {
		c.must("look for the new session", fmt.Errorf("there are %d", len(all)))
	}
	return all[0]
}

func (c *cline) file(id, end string) string { return filepath.Join(c.data, "sessions", id, id+end) }

// terminal asks tmux for something.
func (c *cline) terminal(ctx context.Context, args ...string) string {
	run := c.inTerminal(c.command(ctx, c.dir, "tmux", append([]string{"-L", "accept", "-f", "/dev/null"}, args...)...))
	out, err := run.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, lastLines(string(out)))
	}
	c.must("tmux "+args[0], err)
	return string(out)
}

// resume says things in a session, in a terminal, and leaves it.
func (c *cline) resume(ctx context.Context, id string, says ...string) {
	c.terminal(ctx, "new-session", "-d", "-x", "140", "-y", "45", "-s", "c", "cline", "-i", "--id", id)
	shown := func(text string) bool {
		return strings.Contains(c.terminal(ctx, "capture-pane", "-p", "-t", "c"), text)
	}
	up := until(ctx, 40*time.Second, func() bool {
		if shown("to close") { // an advertisement
			c.terminal(ctx, "send-keys", "-t", "c", "Escape")
		}
		return shown("Ask anything")
	})
	if !up {
		c.must("start cline in a terminal", errors.New(lastLines(c.terminal(ctx, "capture-pane", "-p", "-t", "c"))))
	}
	for _, say := range says {
		n, _ := c.model.requests()
		sent := until(ctx, time.Minute, func() bool {
			if !shown("❯ " + say[:min(len(say), 20)]) { // of what a terminal is sent while it draws something is lost
				c.terminal(ctx, "send-keys", "-t", "c", "-l", say)
				time.Sleep(2 * time.Second)
			}
			c.terminal(ctx, "send-keys", "-t", "c", "Enter")
			return until(ctx, 5*time.Second, func() bool { now, _ := c.model.requests(); return now > n })
		})
		if !sent {
			c.must("say "+say, errors.New(c.terminal(ctx, "capture-pane", "-p", "-t", "c")))
		}
		done := func() bool {
			if say == "/compact" {
				_, err := os.Stat(c.file(id, ".compaction.json"))
				return err == nil
			}
			raw, err := os.ReadFile(c.file(id, ".messages.json"))
			_, after, found := strings.Cut(string(raw), say)
			return err == nil && found && strings.Contains(after, `"assistant"`)
		}
		if !until(ctx, 40*time.Second, done) {
			c.must("wait for the answer to "+say, errors.New(lastLines(c.terminal(ctx, "capture-pane", "-p", "-t", "c"))))
		}
	}
	time.Sleep(time.Second)
	c.terminal(ctx, "kill-server")
	time.Sleep(time.Second)
}

// asked is the request that a question in a session makes, with times masked. The home
// is put back as it was: nothing has been asked.
func (c *cline) asked(ctx context.Context, id string) (said []message) {
	home, kept := filepath.Dir(c.data), filepath.Dir(c.data)+".kept"
	c.must("keep the home", os.CopyFS(kept, os.DirFS(home)))
	n, _ := c.model.requests()
	c.resume(ctx, id, "What is left, newt-hollow?")
	c.hub(ctx, "stop")
	c.must("put the home back", errors.Join(os.RemoveAll(home), os.Rename(kept, home)))
	requests := slices.DeleteFunc(c.model.since(n), func(r request) bool { return !r.has("newt-hollow") })
	if len(requests) == 0 {
		c.must("ask", errors.New("no request was made"))
	}
	for _, m := range append(requests[0].said, message{"system", requests[0].told}) {
		said = append(said, message{m.role, moments.ReplaceAllString(m.text, "TIME")})
	}
	return said
}

// missingIn is the first message of a request, but for its question and what the
// system says, that a replay lacks.
func missingIn(request []message, replayed string) string {
	for _, m := range request[:len(request)-2] {
		text := strings.TrimSuffix(strings.TrimPrefix(m.text, `<user_input mode="act">`), "</user_input>")
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" && m.role != "tool" && !strings.Contains(moments.ReplaceAllString(replayed, "TIME"), line) {
				return line
			}
		}
	}
	return ""
}

func (c *cline) lists(ctx context.Context, id string) bool {
	return strings.Contains(c.run(ctx, "history", "--json"), id)
}

// tokens is the size that sessctl tells of a session.
func (c *cline) tokens(ctx context.Context, id string) int {
	out, err := c.output(ctx, c.home, c.sessctl, "sizes", "--json")
	c.must("ask for the sizes", err)
	var doc struct {
		Sessions []struct {
			Session string `json:"session"`
			Tokens  int    `json:"tokens"`
		} `json:"sessions"`
	}
	c.must("read what sessctl printed", json.Unmarshal(out, &doc))
	for _, s := range doc.Sessions {
		if s.Session == id {
			return s.Tokens
		}
	}
	return 0
}

// shrink removes what the deleted session has left: not while the hub runs.
func (c *cline) shrink(ctx context.Context) {
	shrink := func() (exit int, out string) {
		time.Sleep(shortQuiet)
		run := c.command(ctx, c.home, c.sessctl, "shrink", "deleted", "vacuum", "--runtime", "cline", "--quiet-period", shortQuiet.String())
		text, err := run.CombinedOutput()
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			return failed.ExitCode(), string(text)
		}
		c.must("run sessctl", err)
		return 0, string(text)
	}
	exit, out := shrink()
	same(c.stage, "while the hub runs it is busy", fmt.Sprint(exit, strings.Contains(out, "the hub runs as process")), "75 true")
	c.hub(ctx, "stop")
	events, err := filepath.Glob(filepath.Join(c.data, "db", "hub-events-*.db"))
	c.must("look for the events", err)
	has := func() bool {
		raw, err := os.ReadFile(events[0])
		c.must("read the events", err)
		return strings.Contains(string(raw), "finch-lane-99")
	}
	same(c.stage, "what it said is left in the events", has(), true)
	exit, out = shrink()
	same(c.stage, "with the hub stopped it is removed", fmt.Sprint(exit, strings.Contains(out, "of 1 deleted session; they are in the archive")), "0 true")
	same(c.stage, "what it said is not in the events any more", has(), false)
	same(c.stage, "memory finds it", c.recalls(ctx, "finch-lane-99"), true)
}

// restore puts all files of a session back.
func (c *cline) restore(ctx context.Context, id string) {
	for _, end := range []string{"", ".json", ".compaction.json"} {
		_, err := c.output(ctx, c.home, c.sessctl, "restore", id+end)
		c.must("restore "+id+end, err)
	}
}
