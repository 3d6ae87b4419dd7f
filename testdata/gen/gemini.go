package main

import (
	"bytes"
	"fmt"
	"time"
)

// chat is a chat of the Gemini CLI that is being written.
type chat struct {
	out     bytes.Buffer
	now     time.Time
	count   int
	history []object
	err     error
}

func (c *chat) write(o object) {
	line, err := encode(o)
	if err != nil && c.err == nil {
		c.err = err
	}
	c.out.Write(append(line, '\n'))
	c.now = c.now.Add(2300 * time.Millisecond)
}

func (c *chat) stamp() string { return c.now.Format("2006-01-02T15:04:05.000Z") }

func (c *chat) id() string {
	c.count++
	return fmt.Sprintf("6d1f%04d-2b3c-4d5e-8f60-718293a4b5c6", c.count)
}

const gardenChat = "4e5f6a7b-8c9d-4e0f-9a1b-2c3d4e5f6a7b"

func (c *chat) metadata() {
	c.write(newObject("sessionId", gardenChat, "projectHash", "b1946ac92492d2347c6235b4d2611184", "startTime", c.stamp(), "lastUpdated", c.stamp(), "kind", "main"))
}

// message appends a message and the change of the metadata that follows each.
func (c *chat) message(kind string, content any, more ...any) object {
	o := append(newObject("id", c.id(), "timestamp", c.stamp(), "type", kind, "content", content), newObject(more...)...)
	c.history = append(c.history, o)
	c.again(o)
	return o
}

func (c *chat) again(o object) {
	c.write(o)
	c.write(newObject("$set", newObject("lastUpdated", c.stamp())))
}

func (c *chat) user(text string) object {
	return c.message("user", []object{newObject("text", text)})
}

func (c *chat) model(text string, input, output int) object {
	return c.message("gemini", text, "thoughts", []object{}, "tokens", geminiTokens(input, output), "model", "gemini-3-flash")
}

func geminiTokens(input, output int) object {
	return newObject("input", input, "output", output, "cached", input/2, "thoughts", 0, "tool", 0, "total", input+output)
}

// command is an answer that is written when the tool is called, and again when
// it has run; the result is repeated in the user's name.
func (c *chat) command(text, command, output string, input int) {
	call := fmt.Sprintf("run_shell_command_%d", c.count)
	result := []object{newObject("functionResponse", newObject("id", call, "name", "run_shell_command", "response", newObject("output", output)))}
	running := newObject("id", call, "name", "run_shell_command", "args", newObject("command", command), "status", "executing")
	ran := newObject("id", call, "name", "run_shell_command", "args", newObject("command", command), "status", "success", "result", result)
	o := c.message("gemini", text, "thoughts", []object{newObject("subject", "Plan", "description", "Look before answering.")},
		"tokens", geminiTokens(input, 20), "model", "gemini-3-flash", "toolCalls", []object{running})
	o[len(o)-1].value = []object{ran}
	c.again(o)
	c.message("user", result)
}

func (c *chat) set(messages []object) {
	c.write(newObject("$set", newObject("messages", messages, "lastUpdated", c.stamp())))
}

// geminiHome writes a chat that was resumed, rewound and compressed, and one of
// the older form, a single document.
func geminiHome(files map[string][]byte) error {
	c := &chat{now: time.Date(2026, 6, 2, 8, 0, 0, 0, time.UTC)}
	c.metadata()
	context := newObject("id", "d04923d38bb0f6017037e74183378ef4", "timestamp", c.stamp(), "type", "user", "content", []object{newObject("text", "<session_context>\nA garden plan.\n</session_context>")})
	c.history = []object{context}
	c.set(c.history)
	c.user("Which beds are free in July?")
	c.command("I look at the plan.", "cat beds.csv", "north,beans,2026-06-30\nsouth,leek,2026-10-15\n", 12_000)
	c.model("Only the north bed: the beans end on 30 June.", 12_400, 20)
	c.metadata() // resumed
	c.set(c.history)
	wrong := c.user("Plant maize there.")
	c.model("Maize needs more than one row to be pollinated; the bed has one.", 13_000, 30)
	c.write(newObject("$rewindTo", wrong[0].value))
	c.history = c.history[:len(c.history)-2]
	c.user("Plant chard there, 12 plants.")
	c.model("Noted in beds.csv: north, chard, 12 plants, from 1 July.", 158_000, 40)
	snapshot := newObject("id", c.id(), "timestamp", c.stamp(), "type", "user", "content", []object{newObject("text", "<state_snapshot>\nThe north bed gets 12 chard plants on 1 July.\n</state_snapshot>")})
	c.set([]object{snapshot, newObject("id", c.id(), "timestamp", c.stamp(), "type", "gemini", "content", []object{newObject("text", "Understood, chard it is.")})})
	c.user("When do I sow it?")
	c.model("Sow the chard on 5 June, so that it can be set out on 1 July.", 151_000, 30)
	files["sessions/gemini/tmp/garden/chats/session-2026-06-02T08-00-4e5f6a7b.jsonl"] = c.out.Bytes()
	document, err := geminiDocument()
	files["sessions/gemini/tmp/garden/chats/session-2025-10-04T07-30-9c8b7a6d.json"] = document
	if err != nil {
		return err
	}
	return c.err
}

func geminiDocument() ([]byte, error) {
	return encode(newObject("sessionId", "9c8b7a6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d", "projectHash", "b1946ac92492d2347c6235b4d2611184",
		"startTime", "2025-10-04T07:30:00.000Z", "lastUpdated", "2025-10-04T07:31:00.000Z", "messages", []object{
			newObject("id", "m1", "timestamp", "2025-10-04T07:30:05.000Z", "type", "user", "content", "Is the greenhouse frost-proof?"),
			newObject("id", "m2", "timestamp", "2025-10-04T07:30:09.000Z", "type", "gemini", "content", "Down to minus 4 degrees; the vent motor is the weak point.", "tokens", geminiTokens(900, 30)),
		}))
}
