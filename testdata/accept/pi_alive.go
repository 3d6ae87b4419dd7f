package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// piProcess is a pi that stays: it has its session in its memory, and is talked
// to over its standard input.
type piProcess struct {
	*pi
	program *exec.Cmd
	input   io.WriteCloser
	output  *bufio.Scanner
}

// stay starts a pi that works in dir and stays.
func (p *pi) stay(ctx context.Context, dir string, args ...string) *piProcess {
	c := p.command(ctx, dir, filepath.Join(p.runtime.bin, "pi"), append([]string{"--provider", "mock", "--model", modelName, "--mode", "rpc"}, args...)...)
	input, err := c.StdinPipe()
	p.must("talk to pi", err)
	output, err := c.StdoutPipe()
	p.must("listen to pi", err)
	p.start(c)
	lines := bufio.NewScanner(output)
	lines.Buffer(nil, 8<<20)
	return &piProcess{p, c, input, lines}
}

// event is what pi says of a request or of a turn.
type event struct {
	Type    string          `json:"type"`
	ID      string          `json:"id"`
	Success bool            `json:"success"`
	Error   string          `json:"error"`
	Data    json.RawMessage `json:"data"`
}

// request asks pi and waits for its answer; for a prompt, for the end of the turn.
func (p *piProcess) request(what object) event {
	what["id"] = "accept"
	text, err := json.Marshal(what)
	p.must("ask pi", err)
	_, err = fmt.Fprintln(p.input, string(text))
	p.must("ask pi", err)
	for p.output.Scan() {
		var e event
		if json.Unmarshal(p.output.Bytes(), &e) != nil {
			continue
		}
		answered := e.Type == "response" && e.ID == "accept"
		if answered && !e.Success {
			p.must("ask pi", fmt.Errorf("%s: %s", what["type"], e.Error))
		}
		if what["type"] == "prompt" && e.Type == "agent_end" || what["type"] != "prompt" && answered {
			return e
		}
	}
	p.must("listen to pi", errors.Join(errors.New("it has ended"), p.output.Err()))
	return event{}
}

// say lets pi take one turn.
func (p *piProcess) say(text string) { p.request(object{"type": "prompt", "message": text}) }

// end lets pi end as a person does.
func (p *piProcess) end() {
	_ = p.input.Close()
	_ = p.program.Wait()
}

// long makes a message long enough to be worth a summary.
func long(text string) string {
	return text + ". " + strings.Repeat("The mill sends spelt on Monday and rye on Thursday. ", 40)
}

func playPiAliveRotate(ctx context.Context, s *stage) { playPiAlive(ctx, s, "rotate") }
func playPiAliveOverlay(ctx context.Context, s *stage) {
	playPiAlive(ctx, s, "overlay", "--keep-recent-tokens", "60")
}

// playPiAlive compacts a session that a pi has in its memory, and is idle: first
// one that can be seen, then one that cannot, because it works in another
// directory than its session.
func playPiAlive(ctx context.Context, s *stage, strategy string, args ...string) {
	p := newPi(s)
	args = append([]string{"--all", "--strategy", strategy, "--quiet-period", shortQuiet.String()}, args...)
	seen := p.stay(ctx, p.dir)
	for n := range 3 {
		seen.say(long(fmt.Sprintf("MSG-0000%d", n)))
	}
	time.Sleep(shortQuiet)
	log := p.logs()[0]
	before, err := os.ReadFile(log)
	s.must("read the log", err)
	if runtime.GOOS == "linux" {
		busy := s.compact(ctx, args...)
		same(s, "a session that a running pi has is busy: exit 75", busy.exit, 75)
		same(s, "which names it", strings.Contains(busy.reason(), fmt.Sprintf("process %d", seen.program.Process.Pid)), true)
		now, err := os.ReadFile(log)
		same(s, "and is not touched", err == nil && bytes.Equal(now, before), true)
	}
	seen.end()

	elsewhere := filepath.Join(s.home, "elsewhere")
	s.must("make another directory", os.MkdirAll(elsewhere, 0o700))
	unseen := p.stay(ctx, elsewhere, "--session", log)
	unseen.say(long("MSG-00003"))
	same(s, "a pi elsewhere goes on with it", p.users(), 4)
	time.Sleep(shortQuiet)
	s.became("which nobody can see", s.compact(ctx, args...), "compacted")
	unseen.say("MSG-00004 said in the same pi")
	unseen.say("MSG-00005 and once more")
	same(s, "it still has all in its memory", p.users(), 6)
	unseen.end()
	time.Sleep(shortQuiet)
	p.afterAll(ctx, strategy, args)
}

// afterAll is what comes after a pi that went on beside a compaction has ended.
func (p *pi) afterAll(ctx context.Context, strategy string, args []string) {
	s := p.stage
	for _, log := range p.logs() {
		text, err := os.ReadFile(log)
		same(s, "every log has a header", err == nil && bytes.HasPrefix(text, []byte(`{"type":"session"`)), true)
	}
	again := s.compact(ctx, args...)
	s.became("the next run compacts what it said", again, "compacted")
	if strategy == "overlay" {
		same(s, "and says that the summary was gone around", strings.Contains(again.reason(), "went on beside"), true)
	}
	p.turn(ctx, "MSG-00006 in a new pi", "-c")
	same(s, "a new pi has the small session", p.users() < 6, true)
	time.Sleep(shortQuiet)
	_, err := s.output(ctx, s.home, s.sessctl, "archive", "--all")
	s.must("archive", err)
	memory, err := s.output(ctx, s.home, s.sessctl, "memory", "export")
	s.must("export the memory", err)
	for n := range 6 {
		same(s, fmt.Sprintf("MSG-0000%d is in memory", n), bytes.Contains(memory, []byte(fmt.Sprintf("MSG-0000%d", n))), true)
	}
}

// reason is why the only session became what it is.
func (o outcome) reason() string {
	if len(o.Sessions) != 1 {
		return ""
	}
	return o.Sessions[0].Reason
}
