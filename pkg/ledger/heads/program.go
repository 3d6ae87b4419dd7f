package heads

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/sessctl/sessctl/pkg/ledger"
)

// mostPrinted bounds what is taken of a program, in bytes: git lists a directory.
const mostPrinted = 4 << 20

// run runs a program and returns what it prints. What it complains of is the error. Where
// the time is over it is asked to end, and killed a second later: git leaves its lock
// files behind if it is killed.
func run(ctx context.Context, in []byte, environment []string, name string, args ...string) ([]byte, error) {
	program := exec.CommandContext(ctx, name, args...)
	program.Cancel = func() error { return program.Process.Signal(syscall.SIGTERM) }
	program.WaitDelay = time.Second
	var out, complaints bytes.Buffer
	program.Stdin, program.Stdout, program.Stderr = bytes.NewReader(in), &out, &complaints
	program.Env = environment
	if err := program.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", name, err, complaint(complaints.String()))
	}
	if out.Len() > mostPrinted {
		return nil, fmt.Errorf("%s: more than %d bytes", name, mostPrinted)
	}
	return out.Bytes(), nil
}

// complaint is the line that says what went wrong: git's first one of that kind, behind
// which there is advice, else the last.
func complaint(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	i := slices.IndexFunc(lines, func(line string) bool {
		return strings.HasPrefix(line, "fatal: ") || strings.HasPrefix(line, "error: ")
	})
	if i < 0 {
		i = len(lines) - 1
	}
	return lines[i]
}

// exitCode is that of a program that ended with an error, 0 for other errors.
func exitCode(err error) int {
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return ended.ExitCode()
	}
	return 0
}

// Host is a file in the home directory of another host, which ssh reaches without a
// question. Nothing but a shell is needed there.
type Host struct {
	Host string // as ssh takes it
	As   string // name of the ledger, of letters, digits, hyphens, dots
}

// Name implements [Place].
func (h Host) Name() string { return "ssh:" + h.Host }

func (h Host) ssh(ctx context.Context, in []byte, command string) ([]byte, error) {
	return run(ctx, in, os.Environ(), "ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "--", h.Host, command)
}

// absent is the exit code of the command that finds no head.
const absent = 44

// Last implements [Place].
func (h Host) Last(ctx context.Context) ([]byte, error) {
	file := ".sessctl-heads/" + h.As + ".head"
	text, err := h.ssh(ctx, nil, fmt.Sprintf("if test -e %s; then cat %s; else exit %d; fi", file, file, absent))
	if exitCode(err) == absent {
		return nil, fmt.Errorf("%s: %w", file, fs.ErrNotExist)
	}
	return text, err
}

// Keep implements [Place].
func (h Host) Keep(ctx context.Context, head ledger.Head) error {
	file := ".sessctl-heads/" + h.As
	_, err := h.ssh(ctx, head.Note, fmt.Sprintf("umask 077; mkdir -p .sessctl-heads && cat >%s.new && mv %s.new %s.head", file, file, file))
	return err
}
