package outbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	// runTimeout is how long a command may run unless the configuration says
	// otherwise.
	runTimeout = 30 * time.Second
	// maxOutput is how much of a command's output is kept, in bytes.
	maxOutput = 4 << 10
	// exitTempfail is what a command ends with that wants to be asked later
	// (EX_TEMPFAIL of sysexits.h).
	exitTempfail = 75
)

// Command runs a program for each event: its envelope is on stdin, its type and
// id are in SESSCTL_EVENT_TYPE and SESSCTL_EVENT_ID. There is no shell.
type Command struct {
	Run     []string // program and arguments
	Source  string   // of the envelope
	Env     []string // the environment, as os.Environ
	Timeout time.Duration
}

// Send implements [Sender]. Only exit code 0 is a yes.
func (c Command) Send(ctx context.Context, e Event) error {
	document, err := e.Document(c.Source)
	if err != nil {
		return &Failure{Reason: err.Error()}
	}
	timeout := c.Timeout
	if timeout <= 0 {
		timeout = runTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	began := time.Now()
	program := exec.CommandContext(ctx, c.Run[0], c.Run[1:]...)
	program.Env = append(append([]string{}, c.Env...), "SESSCTL_EVENT_TYPE="+e.Type, "SESSCTL_EVENT_ID="+e.ID)
	program.Stdin = bytes.NewReader(append(document, '\n'))
	program.WaitDelay = time.Second // for what it has started and left behind
	said := &firstBytes{}
	program.Stdout, program.Stderr = said, said
	// Exit code 0 is a yes, whoever it has left behind that still holds its output.
	if err = program.Run(); err == nil || errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	return c.failure(ctx, err, time.Since(began), said.String())
}

func (c Command) failure(ctx context.Context, err error, took time.Duration, said string) *Failure {
	name := filepath.Base(c.Run[0])
	if ctx.Err() != nil {
		return &Failure{Reason: fmt.Sprintf("%s did not end within %s", name, took.Round(100*time.Millisecond)), Unreachable: true}
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return &Failure{Reason: name + ": " + err.Error(), Unreachable: true}
	}
	f := &Failure{Reason: name + ": " + exit.String(), Unreachable: exit.ExitCode() == exitTempfail}
	if said = strings.Join(strings.Fields(strings.ToValidUTF8(said, "")), " "); said != "" {
		f.Reason += ": " + strings.ToValidUTF8(said[:min(len(said), shownComplaint)], "")
	}
	return f
}

// firstBytes keeps the first bytes that are written and drops the rest.
type firstBytes struct{ bytes.Buffer }

// Write implements io.Writer.
func (b *firstBytes) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:max(0, min(len(p), maxOutput-b.Len()))])
	return len(p), nil
}
