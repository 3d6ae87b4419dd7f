package hooks

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Event is what a runtime tells a hook.
type Event struct {
	Runtime string
	Name    string // as the runtime names it: PreCompact, session_shutdown
	Session string // id, or ""
	Agent   string // or ""
	Path    string // of the log, or ""
	Cause   string // why a session starts or ends: resume, compact, quit
}

// Action is what sessctl does about an event.
type Action int

// The actions. Keep archives and remembers the session before the runtime
// changes it or leaves it; Point tells the agent that its memory has something.
const (
	Nothing Action = iota
	Keep
	Point
)

// told is what the runtimes send; each sends some of it (docs/dev/formats.md,
// "Hooks").
type told struct {
	// Claude Code, Codex, Gemini CLI
	SessionID  string `json:"session_id"`
	Transcript string `json:"transcript_path"`
	HookEvent  string `json:"hook_event_name"`
	Source     string `json:"source"`
	Reason     string `json:"reason"`
	// OpenClaw, by our handler
	Type       string `json:"type"`
	Action     string `json:"action"`
	SessionKey string `json:"sessionKey"`
	OpenClawID string `json:"sessionId"`
	// pi, by our extension
	Event       string `json:"event"`
	SessionFile string `json:"sessionFile"`
}

// ReadEvent reads what a runtime sent.
func ReadEvent(runtime string, text []byte) (Event, error) {
	var t told
	if err := json.Unmarshal(text, &t); err != nil {
		return Event{Runtime: runtime, Name: "unknown event"}, fmt.Errorf("read the event of %s: %w", runtime, err)
	}
	e := Event{Runtime: runtime, Name: t.HookEvent, Session: t.SessionID, Path: t.Transcript, Cause: t.Source + t.Reason}
	switch runtime {
	case "openclaw":
		e.Name, e.Session = t.Type+":"+t.Action, t.OpenClawID
		if parts := strings.Split(t.SessionKey, ":"); len(parts) > 1 && parts[0] == "agent" {
			e.Agent = parts[1]
		}
	case "pi":
		e.Name, e.Path = t.Event, t.SessionFile
	}
	if e.Name == "" || e.Name == ":" {
		return e, fmt.Errorf("read the event of %s: it has no name", runtime)
	}
	return e, nil
}

// Fresh reports whether the session takes the place of another and has just
// begun, so that its log may not be there yet.
func (e Event) Fresh() bool { return e.Cause == "clear" || e.Cause == "new" }

// Compacts reports whether the runtime is about to compact the session: something was
// said in it.
func (e Event) Compacts() bool {
	return e.Name == "PreCompact" || e.Name == "session:compact:before" || e.Name == "session_before_compact"
}

// Action says what is to be done. Events that fire in every turn are nothing:
// each would copy the whole log again. Gemini CLI's PreCompress is one of them.
func (e Event) Action() Action {
	if e.Compacts() {
		return Keep
	}
	switch e.Name {
	case "SessionEnd", "command:new", "command:reset", "session_before_switch", "session_shutdown":
		return Keep
	case "SessionStart":
		if e.Cause == "resume" || e.Cause == "compact" || e.Cause == "clear" {
			return Point
		}
	case "session_start": // of pi, which says startup when it goes on with a session too
		if e.Cause == "resume" || e.Cause == "new" || e.Cause == "startup" {
			return Point
		}
	case "session_compact", "agent:bootstrap":
		return Point
	}
	return Nothing
}
