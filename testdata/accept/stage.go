package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/klauspost/compress/zstd"
)

// stage is where one scenario plays: a home directory, a runtime, programs
// that were started.
type stage struct {
	*bench
	report  *report
	name    string
	runtime installed
	home    string
	started []*exec.Cmd
}

// environment is all that the programs see: nothing of the caller's but what
// is needed to run, so that no key and no session of a real user is in reach.
func (s *stage) environment() []string {
	path := strings.Join([]string{s.runtime.bin, s.runtime.node, filepath.Dir(s.sessctl), os.Getenv("PATH")}, string(os.PathListSeparator))
	return []string{
		"PATH=" + path, "HOME=" + s.home, "TMPDIR=" + filepath.Join(s.home, "tmp"),
		"LANG=C.UTF-8", "NO_COLOR=1", "OPENCLAW_NO_AUTO_UPDATE=1", "PI_OFFLINE=1", "PI_SKIP_VERSION_CHECK=1",
	}
}

// command makes a command that runs in dir with the scenario's environment.
func (s *stage) command(ctx context.Context, dir, program string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, program, args...)
	c.Dir, c.Env = dir, s.environment()
	c.WaitDelay = 5 * time.Second
	return c
}

// output runs a program and returns what it printed on stdout.
func (s *stage) output(ctx context.Context, dir, program string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	c := s.command(ctx, dir, program, args...)
	var out, complaints bytes.Buffer
	c.Stdout, c.Stderr = &out, &complaints
	if err := c.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("%s %s: %w: %s", filepath.Base(program), strings.Join(args, " "), err, lastLines(complaints.String()))
	}
	return out.Bytes(), nil
}

func lastLines(text string) string {
	const enough = 500
	text = strings.TrimSpace(text)
	return text[max(0, len(text)-enough):]
}

// outcome is the part of `sessctl compact --json` that is looked at.
type outcome struct {
	exit     int
	Sessions []struct {
		Outcome string `json:"outcome"`
		Reason  string `json:"reason"`
		Path    string `json:"path"`
		Via     string `json:"via"`
		Receipt string `json:"receipt"`
		// NextStart is said where the runtime's next start finds no session any more.
		NextStart string `json:"next_start"`
		Archive   struct {
			Path string `json:"path"`
		} `json:"archive"`
	} `json:"sessions"`
}

// archive is the archive of the only session, "" if there is none.
func (o outcome) archive() string {
	if len(o.Sessions) != 1 {
		return ""
	}
	return o.Sessions[0].Archive.Path
}

// receipt is the path of the receipt of the only session.
func (o outcome) receipt() string {
	if len(o.Sessions) != 1 {
		return ""
	}
	return o.Sessions[0].Receipt
}

// became checks the outcome of the only session.
func (s *stage) became(what string, o outcome, want string) {
	switch {
	case len(o.Sessions) != 1:
		s.fail(what, fmt.Sprintf("%d sessions", len(o.Sessions)))
	case o.Sessions[0].Outcome != want:
		s.fail(what, fmt.Sprintf("it is %s (%s), want %s", o.Sessions[0].Outcome, o.Sessions[0].Reason, want))
	default:
		s.pass(what)
	}
}

// compact runs sessctl compact on what is in the home.
func (s *stage) compact(ctx context.Context, args ...string) outcome {
	args = append([]string{"compact", "--force", "--json"}, args...)
	c := s.command(ctx, s.home, s.sessctl, args...)
	var complaints bytes.Buffer
	c.Stderr = &complaints
	out, err := c.Output()
	var o outcome
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		o.exit, err = exit.ExitCode(), nil
	}
	s.must("run sessctl", err)
	if err := json.Unmarshal(out, &o); err != nil {
		s.must("read what sessctl printed", fmt.Errorf("%w: %s%s", err, out, complaints.String()))
	}
	return o
}

// start starts a program that runs until the end of the scenario.
func (s *stage) start(c *exec.Cmd) {
	s.must("start "+filepath.Base(c.Path), c.Start())
	s.started = append(s.started, c)
}

func (s *stage) stopAll() {
	for _, c := range s.started {
		s.stop(c)
	}
	s.started = nil
}

// stop ends a program that this scenario started.
func (s *stage) stop(c *exec.Cmd) {
	if c.ProcessState != nil {
		return
	}
	_ = c.Process.Signal(syscall.SIGTERM) // it may have ended by itself
	timer := time.AfterFunc(20*time.Second, func() { _ = c.Process.Kill() })
	defer timer.Stop()
	_ = c.Wait()
}

// contains reports whether the file, which may be compressed, holds every line
// of lines.
func contains(file string, lines []byte) bool {
	data, err := os.ReadFile(file)
	if err == nil && strings.HasSuffix(file, ".zst") {
		var decoder *zstd.Decoder
		if decoder, err = zstd.NewReader(nil); err == nil {
			defer decoder.Close()
			data, err = decoder.DecodeAll(data, nil)
		}
	}
	if err != nil {
		return false
	}
	for line := range bytes.Lines(lines) {
		if !bytes.Contains(data, bytes.TrimRight(line, "\n")) {
			return false
		}
	}
	return true
}
