//go:build linux && amd64

package faults

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// deadTurns are compactions of a session that died in a turn, weeks ago: a question
// without an answer, and behind it the beginning of a record. What an agent writes
// behind that is no line of its own, so one that writes meets a session without it,
// which is in use again then.
func deadTurns() []Command {
	dead := func(name, runtime, agent, rest string) Command {
		return Command{
			Name: "compact, dead turn, " + name + runtime, Runtime: runtime, Slow: true,
			Args:    strings.Fields("compact --runtime " + runtime + " --force --agent " + agent + " --strategy rotate"),
			Prepare: func(h *Home) error { return h.dies(rest) }, Settled: questionIsRemembered, Sessions: rest == "",
			Done:     func(h *Home) error { return errors.Join(rotated(h), h.isArchivedWith(rest)) },
			Refusals: []string{"its last turn is not answered yet"},
		}
	}
	return []Command{dead("", "openclaw", "a", ""), dead("", "pi", "work-a", ""), dead("torn, ", "openclaw", "a", torn), dead("torn, ", "pi", "work-a", torn)}
}

// torn is the beginning of a record, as it is left by a program that died.
const torn = `{"type":"message","id":"dead","message":{"role":"assistant","content":[{"type":"text","text":"The importer mov`

// dies lets the session end with a question, and with the rest that was being written
// when its program died.
func (h *Home) dies(rest string) error {
	h.Lines = h.Lines[:len(h.Lines)-1] // the last answer
	return errors.Join(os.WriteFile(h.Log(), []byte(h.source()+rest), 0o600), weeksAgo(h.Log()))
}

// isArchivedWith checks that an archive ends as the log did, if need be in the middle
// of a line.
func (h *Home) isArchivedWith(rest string) error {
	want := h.source() + rest
	found := false
	err := h.eachFile(func(path string) error {
		if !h.inArchive(path) || !isLog(filepath.Base(path)) || strings.HasPrefix(filepath.Base(path), ".") {
			return nil
		}
		data, err := readLog(path)
		found = found || err == nil && string(data) == want
		return nil // a damaged archive holds no line
	})
	if err == nil && !found {
		err = fmt.Errorf("no archive has the log as it was, of %d lines and a rest", len(h.Lines))
	}
	return err
}

// questionIsRemembered checks that memory has what was said, the question without an
// answer with what stands before it.
func questionIsRemembered(h *Home) error {
	code, out, err := h.Run("memory", "export")
	const question = "message 22 about"
	found := 0
	for line := range strings.Lines(out) {
		if strings.Contains(line, `"session_history"`) && strings.Contains(line, question) {
			found++
		}
	}
	if err != nil || code != 0 || found != 1 {
		return fmt.Errorf("memory has %q %d times: exit %d, %v", question, found, code, err)
	}
	return remembers(Chunks - 1)(h)
}
