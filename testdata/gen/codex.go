package main

import (
	"bytes"
	"fmt"
	"time"
)

// thread is a rollout of Codex that is being written.
type thread struct {
	out     bytes.Buffer
	now     time.Time
	ordinal int
	bare    bool // as before September 2025: no envelope
	err     error
}

func (t *thread) write(o object) {
	line, err := encode(o)
	if err != nil && t.err == nil {
		t.err = err
	}
	t.out.Write(append(line, '\n'))
	t.now = t.now.Add(1700 * time.Millisecond)
	t.ordinal++
}

// record writes a line of 0.169.
func (t *thread) record(kind string, payload object) {
	t.write(newObject("timestamp", t.now.Format("2006-01-02T15:04:05.000Z"), "ordinal", t.ordinal, "type", kind, "payload", payload))
}

// item writes an item of the context.
func (t *thread) item(pairs ...any) {
	if t.bare {
		t.write(newObject(pairs...))
		return
	}
	t.record("response_item", newObject(pairs...))
}

func (t *thread) event(kind string, pairs ...any) {
	t.record("event_msg", append(newObject("type", kind), newObject(pairs...)...))
}

func (t *thread) said(role, block, text string) {
	t.item("type", "message", "role", role, "content", []object{newObject("type", block, "text", text)})
}

// user writes what a person typed, as the item and as the event that repeats it.
func (t *thread) user(text string) {
	if !t.bare {
		t.event("task_started")
	}
	t.said("user", "input_text", text)
	t.completed("UserMessage", text)
}

func (t *thread) agent(text string) {
	t.completed("AgentMessage", text)
	t.said("assistant", "output_text", text)
}

func (t *thread) completed(kind, text string) {
	if !t.bare {
		t.event("item_completed", "item", newObject("type", kind, "content", []object{newObject("type", "text", "text", text)}))
	}
}

func (t *thread) shell(id, command string, exit int, output string) {
	arguments, err := encode(newObject("cmd", command))
	if err != nil && t.err == nil {
		t.err = err
	}
	t.item("type", "function_call", "name", "exec_command", "arguments", string(arguments), "call_id", id)
	t.item("type", "function_call_output", "call_id", id, "output", fmt.Sprintf("Wall time: 0.1 seconds\nProcess exited with code %d\nOutput:\n%s", exit, output))
}

func (t *thread) counted(input, output, sum int) {
	usage := func(input, output int) object {
		return newObject("input_tokens", input, "cached_input_tokens", input/2, "output_tokens", output, "reasoning_output_tokens", 0, "total_tokens", input+output)
	}
	t.event("token_count", "info", newObject("total_token_usage", usage(sum, output), "last_token_usage", usage(input, output), "model_context_window", 272_000))
}

const (
	beehiveThread = "019e1a2b-3c4d-7e5f-8a6b-0c1d2e3f4a5b"
	mowerThread   = "01993b4c-5d6e-7f80-9a1b-2c3d4e5f6a7b"
)

// codexHome writes a Codex home: a thread of 0.169 with a compaction and a turn
// that was rolled back, and an archived thread of the bare form.
func codexHome(files map[string][]byte) error {
	hive := beehive()
	mower := &thread{now: time.Date(2025, 9, 3, 7, 0, 0, 0, time.UTC), bare: true}
	mower.write(newObject("id", mowerThread, "timestamp", "2025-09-03T07:00:00.000Z", "instructions", nil, "git", newObject("branch", "main")))
	mower.write(newObject("record_type", "state"))
	mower.user("Why does the mower stop at the pond?")
	mower.shell("call_1", "cat zones.csv", 0, "pond,0.8\nlawn,0\n")
	mower.agent("zones.csv gives the pond a margin of 0.8 m, so it turns back early.")
	files["sessions/codex/sessions/2026/05/12/rollout-2026-05-12T08-00-00-"+beehiveThread+".jsonl"] = hive.out.Bytes()
	files["sessions/codex/archived_sessions/rollout-2025-09-03T09-00-00-"+mowerThread+".jsonl"] = mower.out.Bytes()
	if hive.err != nil {
		return hive.err
	}
	return mower.err
}

func beehive() *thread {
	t := &thread{now: time.Date(2026, 5, 12, 6, 0, 0, 0, time.UTC)}
	t.record("session_meta", newObject("id", beehiveThread, "timestamp", "2026-05-12T06:00:00.000Z", "cwd", "/home/lea/hives", "originator", "codex_exec", "cli_version", "0.169.0"))
	t.said("developer", "input_text", "Rules of the house: no wildcards.")
	t.said("user", "input_text", "<environment_context>\n  <cwd>/home/lea/hives</cwd>\n</environment_context>")
	t.record("turn_context", newObject("cwd", "/home/lea/hives", "model", "gpt-5.5"))
	t.user("Which hive lost weight last week?")
	t.agent("I look at the scales.")
	t.shell("call_1", "tail -n 4 scales.csv", 0, "north,31.2\nsouth,28.9\nelder,26.4\nlinden,33.0\n")
	t.counted(9_800, 40, 9_800)
	t.agent("The elder hive: 26.4 kg, 1.9 kg less than a week ago. The linden hive gained most.")
	t.counted(161_900, 100, 171_700)
	t.event("task_complete")
	t.user("Then feed all hives.")
	t.agent("I would open the feeders of all four hives now.")
	t.event("turn_aborted", "reason", "interrupted")
	t.event("thread_rolled_back", "num_turns", 1)
	t.user("Feed the elder hive only, with 2 litres of syrup.")
	t.shell("call_2", "./feeder elder 2.0", 1, "feeder: valve of elder is stuck\n")
	t.agent("The valve of the elder feeder is stuck; I noted it in repairs.md and fed nothing.")
	t.counted(163_100, 60, 334_800)
	t.event("task_complete")
	summary := "The elder hive lost 1.9 kg; its feeder valve is stuck and stands in repairs.md."
	t.write(newObject("timestamp", t.now.Format("2006-01-02T15:04:05.000Z"), "ordinal", t.ordinal, "type", "response_item",
		"payload", newObject("type", "message", "role", "assistant", "content", []object{newObject("type", "output_text", "text", summary)}),
		"metadata", newObject("compaction_output", true)))
	t.record("compacted", newObject("message", summary, "replacement_history", []object{
		newObject("type", "message", "role", "user", "content", []object{newObject("type", "input_text", "text", "Which hive lost weight last week?")}),
		newObject("type", "message", "role", "user", "content", []object{newObject("type", "input_text", "text", summary)}),
	}))
	t.user("Is the valve in the list of repairs?")
	t.agent("Yes, in line 12 of repairs.md: elder, feeder valve, stuck.")
	t.counted(151_200, 30, 486_000)
	t.event("task_complete")
	return t
}
