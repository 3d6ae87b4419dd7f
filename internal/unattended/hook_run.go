package unattended

import (
	"io"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/durable"
)

// Bounds of what a hook reads, in bytes, and of how long it waits.
const (
	MostEvent     = 4 << 20
	mostFailed    = 256 << 10 // of the file of failures
	HookPatience  = 45 * time.Second
	HookLockWait  = 30 * time.Second
	EventPatience = 10 * time.Second // for the event on stdin
	MostCause     = 500              // characters of why a hook failed
)

// HookAnswer is what Claude Code reads from a hook.
type HookAnswer struct {
	Output HookContext `json:"hookSpecificOutput"`
}

// HookContext is what a runtime is told when a session starts.
type HookContext struct {
	Event   string `json:"hookEventName"`
	Context string `json:"additionalContext"`
}

// BoundFailures keeps the file of failures short.
func BoundFailures(a *workspace.Run) error {
	text, err := readHookFailures(HookFailuresFile(&a.Settings))
	if err != nil || len(text) < mostFailed {
		return nil // a new one is begun
	}
	lines := strings.SplitAfter(text, "\n")
	return a.Pins.ReplaceFile(HookFailuresFile(&a.Settings), 0o600, func(w io.Writer) error {
		_, err := io.WriteString(w, strings.Join(lines[len(lines)/2:], ""))
		return err
	})
}

func readHookFailures(path string) (string, error) {
	text, err := durable.ReadSmall(path, 4*mostFailed)
	return string(text), err
}
