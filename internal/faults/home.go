//go:build linux && amd64

package faults

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/crashloop"
)

// Home is a home directory with one session, as a command finds it.
type Home struct {
	Dir     string // absolute, without links; HOME and the data directory are below it
	Program string // the built sessctl
	Command Command
	Lines   []string // of the session, in order
	archive string   // id of the newest archive that was made before
	receipt string   // id of the newest receipt
	next    successor
}

func (h *Home) layout() layout { return layouts()[h.Command.Runtime] }

// Log is the path of the session's log.
func (h *Home) Log() string { return filepath.Join(h.Dir, "home", h.layout().log) }

// Sessions is the directory of the log.
func (h *Home) Sessions() string { return filepath.Dir(h.Log()) }

// index is the path of the runtime's index, or "".
func (h *Home) index() string {
	if h.layout().index == "" {
		return ""
	}
	return filepath.Join(h.Sessions(), h.layout().index)
}

// Data is the program's own directory.
func (h *Home) Data() string { return filepath.Join(h.Dir, "data/sessctl") }

// build writes the files of the runtime and lets the command prepare the rest.
func (h *Home) build() error {
	h.Lines = h.layout().lines()
	if h.index() != "" {
		if err := writeAged(h.index(), sessionIndex); err != nil {
			return err
		}
	}
	if err := writeAged(h.Log(), h.source()); err != nil {
		return err
	}
	if h.Command.Prepare == nil {
		return nil
	}
	if err := h.Command.Prepare(h); err != nil {
		return err
	}
	h.archive, h.receipt = newest(filepath.Join(h.Data(), "archives")), newest(filepath.Join(h.Data(), "receipts"))
	return nil
}

// newest is the name, without its ending, of the last document of a directory.
func newest(dir string) string {
	names, _ := filepath.Glob(filepath.Join(dir, "*.json")) // the pattern is ours
	if len(names) == 0 {
		return ""
	}
	return strings.TrimSuffix(filepath.Base(names[len(names)-1]), ".json")
}

// args are those of the command, for this home.
func (h *Home) args() []string {
	args := slices.Clone(h.Command.Args)
	for i := range args {
		args[i] = strings.NewReplacer("$ARCHIVE", h.archive, "$RECEIPT", h.receipt).Replace(args[i])
	}
	return args
}

// source is the log as the agent has written it.
func (h *Home) source() string { return strings.Join(h.Lines, "\n") + "\n" }

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
		"PATH=" + os.Getenv("PATH"), "TMPDIR=" + filepath.Dir(h.Dir), // where nobody runs a gateway
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
	var out []byte
	err := h.Command.Lacking.On(func() (err error) {
		out, err = cmd.CombinedOutput()
		return err
	})
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
	time.Sleep(h.Command.Rested)
	return crashloop.Run(crashloop.Options{
		Args: append([]string{h.Program}, h.args()...), Env: h.env(), Dir: h.Dir, Under: h.Dir, Reads: reads, Decide: decide, Lacking: h.Command.Lacking,
	})
}

// ageLogs makes every log of the home look untouched.
func (h *Home) ageLogs() error {
	return h.eachFile(func(path string) error {
		if isLog(filepath.Base(path)) {
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
