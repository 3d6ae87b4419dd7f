package openclaw

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// Options say how a running gateway is found and asked. The zero value is
// right for the machine's own.
type Options struct {
	// Command is the runtime's program, by name or path; "" means openclaw.
	Command string
	// Environment is what the program starts with, as in os.Environ, which
	// nil means. Where the store is is added to it.
	Environment []string
	// Run runs a program and returns its standard output; nil runs it. An
	// error says how it ended.
	Run func(ctx context.Context, c Call) ([]byte, error)
	// LockDirs are where gateways put their directory of locks; nil means
	// the temporary directories.
	LockDirs []string
	// Deadline is how long one call may take; 0 means 30 seconds.
	Deadline time.Duration
	// System says what of the system is not used; the zero value uses all.
	System durable.System
}

// Call is one run of the runtime's program.
type Call struct {
	Program     string // path
	Arguments   []string
	Environment []string
}

const (
	defaultCommand  = "openclaw"
	defaultDeadline = 30 * time.Second
	maxReply        = 4 << 20 // bytes of a reply that are read
)

// program finds the runtime's program.
func (o Options) program() (string, error) {
	name := o.Command
	if name == "" {
		name = defaultCommand
	}
	return exec.LookPath(name)
}

// environment makes the program's environment: it must reach the gateway of
// this store and no other. The program's own directory comes first in PATH,
// because an interpreter that was installed with it often lies there, and cron
// does not know of it.
func (o Options) environment(root, program string, g *gateway) []string {
	from := o.Environment
	if from == nil {
		from = os.Environ()
	}
	own := map[string]string{"OPENCLAW_STATE_DIR": root, "NO_COLOR": "1"}
	if g.config != "" {
		own["OPENCLAW_CONFIG_PATH"] = g.config
	}
	if g.port != 0 {
		own["OPENCLAW_GATEWAY_PORT"] = strconv.Itoa(g.port)
	}
	own["PATH"] = filepath.Dir(program)
	var all []string
	for _, variable := range from {
		name, value, _ := strings.Cut(variable, "=")
		if name == "PATH" {
			own["PATH"] += string(os.PathListSeparator) + value
		}
		if _, ours := own[name]; !ours {
			all = append(all, variable)
		}
	}
	for name, value := range own {
		all = append(all, name+"="+value)
	}
	return all
}

// ask calls a method of the gateway and reads its reply into reply.
func (s *Store) ask(ctx context.Context, g *gateway, method string, parameters, reply any) error {
	program, err := s.options.program()
	if err != nil {
		return s.unasked(err, "set openclaw.command in the configuration to the runtime's program, or stop the gateway")
	}
	encoded, err := json.Marshal(parameters)
	if err != nil {
		return fmt.Errorf("encode the parameters of %s: %w", method, err)
	}
	run, deadline := s.options.Run, s.options.Deadline
	if run == nil {
		run = runProgram
	}
	if deadline == 0 {
		deadline = defaultDeadline
	}
	limited, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	out, err := run(limited, Call{
		Program: program, Arguments: []string{"gateway", "call", method, "--params", string(encoded), "--json"},
		Environment: s.options.environment(s.root, program, g),
	})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case limited.Err() != nil:
		return s.unasked(fmt.Errorf("%s: no answer within %s", method, deadline), "openclaw gateway status shows how the gateway is; the session was not changed by sessctl")
	}
	if problem := readReply(out, err, reply); problem != nil {
		return s.unasked(fmt.Errorf("%s: %w", method, problem), "try by hand: openclaw gateway call "+method+" --params '"+string(encoded)+"'")
	}
	return nil
}

func (s *Store) unasked(err error, hint string) error {
	return &session.GatewayError{Store: s.root, Err: err, Hint: hint}
}

// readReply takes a reply apart. Of a refusal it returns what the gateway said.
func readReply(out []byte, ended error, reply any) error {
	var refusal struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	err := json.Unmarshal(out, &refusal)
	switch {
	case err == nil && refusal.Error.Message != "":
		return errors.New(refusal.Error.Message)
	case ended != nil:
		return ended
	case err != nil:
		return fmt.Errorf("its answer is not JSON: %w", err)
	}
	return json.Unmarshal(out, reply)
}

// runProgram runs a program. Of what it complains about the end is part of
// the error.
func runProgram(ctx context.Context, c Call) ([]byte, error) {
	program := exec.CommandContext(ctx, c.Program, c.Arguments...)
	program.Env = c.Environment
	program.WaitDelay = 2 * time.Second
	out, complaints := &limitedBuffer{}, &limitedBuffer{}
	program.Stdout, program.Stderr = out, complaints
	if err := program.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("%s: %w: %s", filepath.Base(c.Program), err, lastPart(complaints.Bytes()))
	}
	return out.Bytes(), nil
}

// lastPart is the end of a text, on one line.
func lastPart(text []byte) string {
	const enough = 300
	text = bytes.TrimSpace(text)
	return strings.ToValidUTF8(strings.Join(strings.Fields(string(text[max(0, len(text)-enough):])), " "), "")
}

// limitedBuffer keeps the first bytes and drops the rest.
type limitedBuffer struct{ bytes.Buffer }

// Write implements io.Writer.
func (b *limitedBuffer) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:max(0, min(len(p), maxReply-b.Len()))])
	return len(p), nil
}
