package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/sessctl/sessctl/bench/product"
	"github.com/sessctl/sessctl/pkg/session"
)

// recaller asks the program's own memory, as an agent does that goes on.
type recaller struct{ program, dir string }

func newRecaller(ctx context.Context) (r recaller, err error) {
	if r.dir, err = os.MkdirTemp("", "recalled"); err != nil {
		return r, fmt.Errorf("make a directory: %w", err)
	}
	r.program, err = product.Build(ctx, r.dir)
	return r, err
}

// recalled is what recall gives an agent that asks with the next message of a person,
// when what is before the cut was remembered; "" where no person says anything more.
func (r recaller) recalled(ctx context.Context, c *cut) (string, error) {
	question := c.nextMessage()
	if question == "" || r.program == "" {
		return "", nil
	}
	home, err := os.MkdirTemp(r.dir, "home")
	if err != nil {
		return "", fmt.Errorf("make a home: %w", err)
	}
	defer func() { _ = os.RemoveAll(home) }()
	store := filepath.Join(home, "store")
	if err := os.MkdirAll(store, 0o700); err != nil {
		return "", fmt.Errorf("make a store: %w", err)
	}
	log := c.log.bytes[:c.log.turns[c.end].offset]
	if err := os.WriteFile(filepath.Join(store, filepath.Base(c.log.name)), log, 0o600); err != nil {
		return "", fmt.Errorf("write the log: %w", err)
	}
	named := c.log.store.Runtime() + "=" + store
	if out, _, err := r.run(ctx, home, "archive", "--all", "--remember", "--only-store", named); err != nil {
		return "", fmt.Errorf("remember %s: %w: %s", c.log.name, err, out)
	}
	out, exit, err := r.run(ctx, home, "recall", "--for-model", "--only-store", named, "--", question)
	if err != nil && exit != 1 { // 1: nothing fits
		return "", fmt.Errorf("recall from %s: %w: %s", c.log.name, err, out)
	}
	return out, nil
}

func (r recaller) run(ctx context.Context, home string, args ...string) (out string, exit int, err error) {
	command := exec.CommandContext(ctx, r.program, args...)
	command.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	printed, err := command.Output()
	return string(printed), command.ProcessState.ExitCode(), err
}

// nextMessage is the first message of a person after the cut.
func (c *cut) nextMessage() string {
	for _, t := range c.log.turns[c.after:] {
		if t.role == session.RoleUser {
			return t.text[:min(len(t.text), personBytes)]
		}
	}
	return ""
}
