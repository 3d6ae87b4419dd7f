//go:build linux && amd64

package faults

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/crashloop"
)

// Session is the id of the session in every home.
const Session = "5f0c1c2e-6d0a-4f57-9d2b-0c8e1f1a2b3c"

// Home is a home directory with one session, as a command finds it.
type Home struct {
	Dir     string // absolute, without links; HOME and the data directory are below it
	Program string // the built sessctl
	Command Command
	Lines   []string // of the session, in order
}

// Log is the path of the session's log.
func (h *Home) Log() string {
	if h.Command.Runtime == "pi" {
		return filepath.Join(h.Sessions(), "2026-03-01T10-00-00-000Z_"+Session+".jsonl")
	}
	return filepath.Join(h.Sessions(), Session+".jsonl")
}

// Sessions is the directory of the log.
func (h *Home) Sessions() string {
	if h.Command.Runtime == "pi" {
		return filepath.Join(h.Dir, "home/.pi/agent/sessions/--work-a--")
	}
	return filepath.Join(h.Dir, "home/.openclaw/agents/a/sessions")
}

// Data is the program's own directory.
func (h *Home) Data() string { return filepath.Join(h.Dir, "data/sessctl") }

// build writes the files of the runtime and lets the command prepare the rest.
func (h *Home) build() error {
	h.Lines = sessionLines(h.Command.Runtime)
	if h.Command.Runtime == "openclaw" {
		if err := writeAged(filepath.Join(h.Sessions(), "sessions.json"), sessionIndex); err != nil {
			return err
		}
	}
	if err := writeAged(h.Log(), strings.Join(h.Lines, "\n")+"\n"); err != nil {
		return err
	}
	if h.Command.Prepare == nil {
		return nil
	}
	return h.Command.Prepare(h)
}

func writeAged(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return err
	}
	return age(path)
}

// age makes a file look as if nobody had touched it for two hours, so that no
// quiet period protects it.
func age(path string) error {
	old := time.Now().Add(-2 * time.Hour)
	return os.Chtimes(path, old, old)
}

func (h *Home) env() []string {
	env := []string{
		"HOME=" + filepath.Join(h.Dir, "home"), "XDG_DATA_HOME=" + filepath.Join(h.Dir, "data"),
		"PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(),
	}
	for _, v := range h.Command.Env {
		env = append(env, strings.ReplaceAll(v, "$DIR", h.Dir))
	}
	return env
}

// Run runs the program undisturbed and returns its exit code and what it said.
func (h *Home) Run(args ...string) (int, string, error) {
	cmd := exec.Command(h.Program, args...)
	cmd.Env, cmd.Dir = h.env(), h.Dir
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), string(out), nil
	}
	return 0, string(out), err
}

// must runs the program and returns an error unless it exits with one of codes.
func (h *Home) must(codes []int, args ...string) error {
	code, out, err := h.Run(args...)
	if err != nil {
		return err
	}
	for _, ok := range codes {
		if code == ok {
			return nil
		}
	}
	return fmt.Errorf("%s: exit %d: %s", strings.Join(args, " "), code, strings.TrimSpace(out))
}

// trace runs the command under the harness.
func (h *Home) trace(reads bool, decide func(crashloop.Call) crashloop.Fault) (crashloop.Outcome, error) {
	return crashloop.Run(crashloop.Options{
		Args: append([]string{h.Program}, h.Command.Args...), Env: h.env(), Dir: h.Dir, Under: h.Dir, Reads: reads, Decide: decide,
	})
}

// ageLogs makes every log of the home look untouched.
func (h *Home) ageLogs() error {
	return h.eachFile(func(path string) error {
		if strings.Contains(filepath.Base(path), ".jsonl") {
			return age(path)
		}
		return nil
	})
}

// eachFile calls fn with every regular file of the home.
func (h *Home) eachFile(fn func(path string) error) error {
	return filepath.WalkDir(h.Dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		return fn(path)
	})
}
