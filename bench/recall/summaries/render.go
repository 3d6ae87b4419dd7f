package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// object is a JSON object; its keys come out sorted.
type object = map[string]any

// log is the session in the format of its runtime. It fills in on which lines
// its events stand.
func (s *script) log() ([]byte, error) {
	w := &writer{script: s, at: s.start}
	var err error
	switch s.runtime {
	case "claude":
		err = w.each(w.claude)
	case "codex":
		w.record(object{"type": "session_meta", "timestamp": w.stamp(), "payload": object{"id": s.name + "-0001", "timestamp": w.stamp(), "cwd": s.directory, "originator": "codex_cli_rs", "cli_version": "0.169.0"}})
		err = w.each(w.codex)
	case "pi", "openclaw":
		w.record(object{"type": "session", "version": 3, "id": s.name + "-0001", "timestamp": w.stamp(), "cwd": s.directory})
		err = w.each(w.pi)
	case "gemini":
		w.record(object{"sessionId": s.name + "-0001", "projectHash": strings.Repeat("ab", 32), "startTime": w.stamp(), "lastUpdated": w.stamp(), "kind": "main"})
		err = w.each(w.gemini)
	default:
		err = fmt.Errorf("no runtime %q", s.runtime)
	}
	return w.out.Bytes(), err
}

type writer struct {
	*script
	out   bytes.Buffer
	lines int
	at    time.Time
}

func (w *writer) stamp() string { return w.at.Format("2006-01-02T15:04:05.000Z") }

// record writes one line and returns its number.
func (w *writer) record(o object) int {
	raw, err := json.Marshal(o)
	if err != nil {
		panic(err) // strings and numbers only
	}
	w.out.Write(append(raw, '\n'))
	w.lines++
	return w.lines
}

// each hands out events, the words of the agent together with the call that
// stands in the same message.
func (w *writer) each(write func(words, call *event)) error {
	for i := 0; i < len(w.events); i++ {
		w.at = w.at.Add(40 * time.Second)
		e := &w.events[i]
		switch next := i + 1; {
		case e.kind == called:
			write(nil, e)
		case e.kind == replied && next < len(w.events) && w.events[next].joined:
			write(e, &w.events[next])
			i++
		default:
			write(e, nil)
		}
	}
	return nil
}

// printed is what a call printed, as the runtime shows it to the model.
func (e *event) printed(exit string) string {
	text := strings.Join(e.output, "\n")
	if e.tool == '$' && e.exit != 0 && exit != "" {
		text = strings.TrimSpace(fmt.Sprintf(exit, e.exit, text))
	}
	return text
}

// arguments are those of the call, under the names that the runtime has for
// the tool and them: tool, path, command, and the text of a new file.
func (e *event) arguments(tools [5]string, path, command, content string) (tool string, arguments object) {
	i := strings.IndexByte("$RWEG", e.tool)
	arguments = object{path: e.target}
	switch e.tool {
	case '$':
		arguments = object{command: e.target}
	case 'W':
		arguments[content] = strings.Join(e.output, "\n")
	case 'E':
		arguments["old_string"], arguments["new_string"] = "before", "after"
	}
	return tools[i], arguments
}

func (e *event) outcome() string {
	switch e.tool {
	case 'W':
		return "Wrote " + e.target
	case 'E':
		return "Edited " + e.target
	}
	return e.printed("")
}

func (w *writer) claude(words, call *event) {
	base := func(kind string, message object) object {
		return object{"type": kind, "message": message, "timestamp": w.stamp(), "sessionId": w.name + "-0001", "uuid": fmt.Sprintf("%s-%04d", w.name, w.lines+1), "parentUuid": w.parent(), "cwd": w.directory, "version": "2.1.330", "isSidechain": false, "userType": "external"}
	}
	if words != nil && words.kind == said {
		words.line = w.record(base("user", object{"role": "user", "content": words.text()}))
		return
	}
	id := fmt.Sprintf("toolu_%04d", w.lines+1)
	var content []object
	if words != nil {
		content = append(content, object{"type": "text", "text": words.text()})
	}
	stop := "end_turn"
	if call != nil {
		tool, arguments := call.arguments([5]string{"Bash", "Read", "Write", "Edit", "Grep"}, "file_path", "command", "content")
		content, stop = append(content, object{"type": "tool_use", "id": id, "name": tool, "input": arguments}), "tool_use"
	}
	line := w.record(base("assistant", object{"id": "msg_" + id, "type": "message", "role": "assistant", "model": "claude", "content": content, "stop_reason": stop, "usage": object{"input_tokens": 1000, "output_tokens": 40}}))
	if words != nil {
		words.line = line
	}
	if call == nil {
		return
	}
	text := call.outcome()
	if call.tool == '$' {
		text = call.printed("Exit code %d\n%s")
	}
	call.line = line
	call.result = w.record(base("user", object{"role": "user", "content": []object{{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": call.exit != 0}}}))
}

// parent is the id of the line before.
func (w *writer) parent() any {
	if w.lines == 0 {
		return nil
	}
	return fmt.Sprintf("%s-%04d", w.name, w.lines)
}

func (w *writer) codex(words, call *event) {
	item := func(payload object) int {
		return w.record(object{"type": "response_item", "timestamp": w.stamp(), "payload": payload})
	}
	if words != nil {
		role, kind := "assistant", "output_text"
		if words.kind == said {
			role, kind = "user", "input_text"
		}
		words.line = item(object{"type": "message", "role": role, "content": []object{{"type": kind, "text": words.text()}}})
	}
	if call == nil {
		return
	}
	id := fmt.Sprintf("call_%04d", w.lines+1)
	switch call.tool {
	case 'E', 'W':
		patch := "*** Begin Patch\n*** Update File: " + call.target + "\n@@\n-before\n+after\n*** End Patch\n"
		if call.tool == 'W' {
			patch = "*** Begin Patch\n*** Add File: " + call.target + "\n+" + strings.Join(call.output, "\n+") + "\n*** End Patch\n"
		}
		call.line = item(object{"type": "custom_tool_call", "status": "completed", "call_id": id, "name": "apply_patch", "input": patch})
		call.result = item(object{"type": "custom_tool_call_output", "call_id": id, "output": "{\"output\":\"Success. Updated the following files:\\nM " + call.target + "\\n\",\"metadata\":{\"exit_code\":0,\"duration_seconds\":0.0}}"})
		return
	}
	command := call.target
	if call.tool == 'R' {
		command = "sed -n 1,200p " + call.target
	}
	arguments, err := json.Marshal(object{"cmd": command, "workdir": w.directory})
	if err != nil {
		panic(err)
	}
	call.line = item(object{"type": "function_call", "name": "exec_command", "arguments": string(arguments), "call_id": id})
	call.result = item(object{"type": "function_call_output", "call_id": id, "output": fmt.Sprintf("Chunk ID: %s\nWall time: 0.2 seconds\nProcess exited with code %d\nOutput:\n%s", id[5:], call.exit, call.printed(""))})
}

// pi writes the format that pi and OpenClaw share.
func (w *writer) pi(words, call *event) {
	message := func(m object) int {
		m["timestamp"] = w.at.UnixMilli()
		o := object{"type": "message", "id": fmt.Sprintf("%08d", w.lines+1), "parentId": nil, "timestamp": w.stamp(), "message": m}
		if w.lines > 1 {
			o["parentId"] = fmt.Sprintf("%08d", w.lines)
		}
		return w.record(o)
	}
	if words != nil && words.kind == said {
		words.line = message(object{"role": "user", "content": []object{{"type": "text", "text": words.text()}}})
		return
	}
	id := fmt.Sprintf("tc%04d", w.lines+1)
	var content []object
	if words != nil {
		content = append(content, object{"type": "text", "text": words.text()})
	}
	stop := "stop"
	if call != nil {
		tool, arguments := call.arguments(w.piTools(), "path", "command", "content")
		content, stop = append(content, object{"type": "toolCall", "id": id, "name": tool, "arguments": arguments}), "toolUse"
	}
	line := message(object{"role": "assistant", "content": content, "provider": "mock", "model": "mock", "stopReason": stop, "usage": object{"input": 900, "output": 40, "totalTokens": 940}})
	if words != nil {
		words.line = line
	}
	if call == nil {
		return
	}
	tool, _ := call.arguments(w.piTools(), "path", "command", "content")
	text := call.outcome()
	if call.tool == '$' {
		text = call.printed("%[2]s\n\nCommand exited with code %[1]d")
	}
	call.line = line
	call.result = message(object{"role": "toolResult", "toolCallId": id, "toolName": tool, "content": []object{{"type": "text", "text": text}}, "isError": call.exit != 0})
}

func (w *writer) piTools() [5]string {
	if w.runtime == "openclaw" {
		return [5]string{"exec", "read", "write", "edit", "grep"}
	}
	return [5]string{"bash", "read", "write", "edit", "grep"}
}

func (w *writer) gemini(words, call *event) {
	entry := object{"id": fmt.Sprintf("g-%04d", w.lines+1), "timestamp": w.stamp(), "type": "gemini", "content": ""}
	if words != nil {
		entry["content"] = words.text()
	}
	if words != nil && words.kind == said {
		entry["type"], entry["content"] = "user", []object{{"text": words.text()}}
	}
	if call != nil {
		id := fmt.Sprintf("run_%04d", w.lines+1)
		tool, arguments := call.arguments([5]string{"run_shell_command", "read_file", "write_file", "replace", "search_file_content"}, "file_path", "command", "content")
		text := call.outcome()
		if call.tool == '$' {
			text = fmt.Sprintf("Command: %s\nOutput: %s\nExit Code: %d", call.target, strings.Join(call.output, "\n"), call.exit)
		}
		entry["toolCalls"] = []object{{"id": id, "name": tool, "args": arguments, "status": "success", "timestamp": w.stamp(),
			"result": []object{{"functionResponse": object{"id": id, "name": tool, "response": object{"output": text}}}}}}
	}
	line := w.record(entry)
	if words != nil {
		words.line = line
	}
	if call != nil {
		call.line, call.result = line, line
	}
}
