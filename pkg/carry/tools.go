package carry

import (
	"encoding/json"
	"strings"

	"github.com/sessctl/sessctl/pkg/session"
)

// objectOf is the arguments of a call as an object.
func objectOf(raw string) json.RawMessage {
	trimmed := strings.TrimSpace(raw)
	if strings.HasPrefix(trimmed, "{") && json.Valid([]byte(trimmed)) {
		return json.RawMessage(trimmed)
	}
	if !json.Valid([]byte(trimmed)) {
		text, _ := json.Marshal(raw) // a string always can be
		trimmed = string(text)
	}
	return json.RawMessage(`{"input":` + trimmed + `}`)
}

// maxName is how long the name of a tool may be, for providers.
const maxName = 64

func validName(name string) bool {
	for _, r := range name {
		if r != '_' && r != '-' && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z') {
			return false
		}
	}
	return name != "" && len(name) <= maxName
}

// trusted reports whether the name is that of a tool by which the target takes a file
// for known, though the arguments are not the ones that it is known to understand.
func trusted(n session.ToolNames, name string) bool {
	return n.Trusts && (name == n.Read || name == n.Write || name == n.Edit)
}

// exactly is a call by the target's name, if it has a tool that does the same with
// nothing more and nothing less.
func exactly(n session.ToolNames, tool string, raw json.RawMessage) (session.CarriedCall, bool) {
	var a map[string]any
	if json.Unmarshal(raw, &a) != nil {
		return session.CarriedCall{}, false
	}
	name, arguments := "", map[string]any(nil)
	switch strings.ToLower(tool) {
	case "bash", "exec", "exec_command", "shell", "run_shell_command", "shell_command":
		name, arguments = n.Run, runs(n, a)
	case "read", "read_file", "view":
		name, arguments = n.Read, reads(n, a)
	case "write", "write_file":
		name, arguments = n.Write, writes(n, a)
	case "edit", "replace":
		name, arguments = n.Edit, edits(n, a)
	}
	if name == "" || arguments == nil {
		return session.CarriedCall{}, false
	}
	text, err := json.Marshal(arguments)
	return session.CarriedCall{Name: name, Arguments: text}, err == nil
}

// pick returns the one argument of several names, and the others.
func pick(a map[string]any, names ...string) (value string, rest int) {
	rest = len(a)
	for _, name := range names {
		if text, ok := a[name].(string); ok {
			value, rest = text, rest-1
		}
	}
	return value, rest
}

func pathOf(a map[string]any) (string, int) {
	return pick(a, "path", "file_path", "filePath", "absolute_path")
}

// runs is a command line. Where it ran and how long it was waited for is left out: it
// is what the person sees that was run.
func runs(n session.ToolNames, a map[string]any) map[string]any {
	if line, ok := a["command"].([]any); ok && len(line) > 0 {
		text, _ := line[len(line)-1].(string)
		a = map[string]any{"command": text}
	}
	command, _ := pick(a, "command", "cmd")
	if command == "" {
		return nil
	}
	return map[string]any{n.Command: command}
}

// reads is a whole file: a part of one has other arguments.
func reads(n session.ToolNames, a map[string]any) map[string]any {
	path, rest := pathOf(a)
	if path == "" || rest > 0 {
		return nil
	}
	return map[string]any{n.Path: path}
}

func writes(n session.ToolNames, a map[string]any) map[string]any {
	path, rest := pathOf(a)
	content, ok := a["content"].(string)
	if path == "" || !ok || rest > 1 {
		return nil
	}
	return map[string]any{n.Path: path, "content": content}
}

// edits is one text of a file for another.
func edits(n session.ToolNames, a map[string]any) map[string]any {
	path, rest := pathOf(a)
	if list, ok := a["edits"].([]any); ok && len(list) == 1 && rest == 1 {
		a, _ = list[0].(map[string]any)
		rest = len(a)
	}
	old, hasOld := oneOf(a, "oldText", "old_string", "oldString")
	text, hasNew := oneOf(a, "newText", "new_string", "newString")
	all, hasAll := oneOf(a, "replace_all", "replaceAll")
	if hasAll && all == false {
		rest--
	}
	if path == "" || !hasOld || !hasNew || rest != 2 {
		return nil
	}
	edit := map[string]any{n.Old: old, n.New: text}
	if n.List != "" {
		return map[string]any{n.Path: path, n.List: []any{edit}}
	}
	edit[n.Path] = path
	return edit
}

func oneOf(a map[string]any, names ...string) (any, bool) {
	for _, name := range names {
		if v, ok := a[name]; ok {
			return v, true
		}
	}
	return nil, false
}
