package hooks

// Any is the runtime of an event that one of several may have sent: those whose
// events have the shape of Claude Code's.
const Any = "any"

// claudeHooks are the hooks that Claude Code calls, by their events.
func claudeHooks(p Program, runtime string) map[string][]command {
	call := calling(p.line("hook", "run", runtime), hookSeconds)
	start := call
	start.Matcher = whenAgain
	return map[string][]command{"PreCompact": {call}, "SessionEnd": {call}, "SessionStart": {start}}
}

// whenAgain are the starts of a session of which its agent may have been before.
const whenAgain = "resume|compact|clear"
