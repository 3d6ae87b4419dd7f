package work

import (
	"bytes"

	"github.com/sessctl/sessctl/pkg/session"
)

// goesOn returns the name under which a command goes on in the background after
// its result, empty if it has ended.
func goesOn(c *call, m *session.Message, t *told) string {
	if c.verb != runs || len(c.actions) == 0 {
		return ""
	}
	if t.running && t.task != "" {
		return t.task
	}
	if m.HasExit || m.IsError {
		return ""
	}
	head, _, _ := bytes.Cut(printed(m, session.PartText), []byte("Output:"))
	for _, mark := range []string{"Command running in background with ID: ", "Command still running (session ", "Process running with session ID "} {
		if _, rest, found := bytes.Cut(head, []byte(mark)); found {
			name := rest[:len(rest)-len(bytes.TrimLeftFunc(rest, partOfName))]
			return clean(name, maxTool).text
		}
	}
	return ""
}

// partOfName reports whether a character may be in the name of a command in the
// background.
func partOfName(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-' || r == '_'
}

// leaveBehind keeps a command whose end a later call may tell.
func (r *Reader) leaveBehind(c call) error {
	for len(r.behind) >= maxBehind {
		if err := r.endBehind(0); err != nil {
			return err
		}
	}
	r.behind = append(r.behind, c)
	return nil
}

// endBehind hands out a command in the background as what is known of it.
func (r *Reader) endBehind(i int) error {
	c := r.behind[i]
	r.behind = append(r.behind[:i], r.behind[i+1:]...)
	return r.tell(c.actions)
}

// follow takes in what a call tells of a command in the background. It counts
// if the command has ended.
func (r *Reader) follow(asked *call, m *session.Message, t *told) error {
	for i := len(r.behind) - 1; i >= 0; i-- {
		c := &r.behind[i]
		if asked.task == "" || c.task != asked.task || !hasEnded(m, t) {
			continue
		}
		r.conclude(c, m, t)
		return r.endBehind(i)
	}
	return nil
}

// hasEnded reports whether a result tells that a command in the background has
// ended.
func hasEnded(m *session.Message, t *told) bool {
	if m.HasExit || t.ended {
		return true
	}
	text := printed(m, session.PartText)
	if _, exited := writtenExit(text, true); exited {
		return true
	}
	switch string(between(text, "<status>", "</status>")) {
	case "completed", "failed", "killed":
		return true
	}
	return false
}
