package heads

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/sessctl/sessctl/pkg/ledger"
)

// run runs a program and returns what it prints. What it complains of is the error.
func run(ctx context.Context, in []byte, environment []string, name string, args ...string) ([]byte, error) {
	program := exec.CommandContext(ctx, name, args...)
	var out, complaints bytes.Buffer
	program.Stdin, program.Stdout, program.Stderr = bytes.NewReader(in), &out, &complaints
	program.Env = append(os.Environ(), environment...)
	if err := program.Run(); err != nil {
		lines := strings.Split(strings.TrimSpace(complaints.String()), "\n")
		return nil, fmt.Errorf("%s: %w: %s", name, err, lines[len(lines)-1])
	}
	if out.Len() > mostHead {
		return nil, fmt.Errorf("%s: more than %d bytes", name, mostHead)
	}
	return out.Bytes(), nil
}

// exitCode is that of a program that ended with an error, 0 for other errors.
func exitCode(err error) int {
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return ended.ExitCode()
	}
	return 0
}

// Repository is a git repository with a working directory, in which each head is a
// commit. If its branch has an upstream, the commit is pushed, and the head is read from
// there.
type Repository struct {
	Dir string
	As  string // name of the ledger: the head is in As.head
}

// Name implements [Place].
func (g Repository) Name() string { return "git:" + g.Dir }

func (g Repository) file() string { return g.As + ".head" }

func (g Repository) git(ctx context.Context, args ...string) ([]byte, error) {
	own := []string{"-C", g.Dir, "-c", "user.name=sessctl", "-c", "user.email=sessctl@localhost", "-c", "commit.gpgsign=false"}
	return run(ctx, nil, []string{"GIT_TERMINAL_PROMPT=0", "LC_ALL=C"}, "git", append(own, args...)...)
}

// has reports whether a name means something in the repository.
func (g Repository) has(ctx context.Context, name string) (bool, error) {
	_, err := g.git(ctx, "rev-parse", "-q", "--verify", name)
	if exitCode(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

// tip is what the head is read from: the branch, or what it follows.
func (g Repository) tip(ctx context.Context) (string, error) {
	if _, err := g.git(ctx, "rev-parse", "--git-dir"); err != nil {
		return "", err
	}
	if _, err := g.git(ctx, "rev-parse", "-q", "--verify", "@{u}"); err != nil {
		return "HEAD", nil // it follows nothing
	}
	_, err := g.git(ctx, "fetch", "-q")
	return "@{u}", err
}

// Last implements [Place].
func (g Repository) Last(ctx context.Context) ([]byte, error) {
	tip, err := g.tip(ctx)
	if err != nil {
		return nil, err
	}
	at := tip + ":" + g.file()
	there, err := g.has(ctx, at)
	if err == nil && !there {
		err = fmt.Errorf("%s: %w", g.file(), fs.ErrNotExist)
	}
	if err != nil {
		return nil, err
	}
	return g.git(ctx, "show", at)
}

// Keep implements [Place].
func (g Repository) Keep(ctx context.Context, head ledger.Head) error {
	if err := (File{Path: filepath.Join(g.Dir, g.file())}).Keep(ctx, head); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"add", "--", g.file()},
		{"commit", "-q", "-m", fmt.Sprintf("%s: %d entries", g.As, head.N), "--", g.file()},
	} {
		if _, err := g.git(ctx, args...); err != nil {
			return err
		}
	}
	tip, err := g.tip(ctx)
	if err == nil && tip != "HEAD" {
		_, err = g.git(ctx, "push", "-q")
	}
	return err
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
	return run(ctx, in, nil, "ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "--", h.Host, command)
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
