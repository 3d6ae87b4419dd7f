package smallpackages_test

import (
	"bytes"
	"encoding/json"
	"strings"
)

// agentContext is the context of a session of the agent: the last compaction's
// summary, the messages from its firstKeptSeq on, and those after it.
func agentContext(log []byte) (all []heard) {
	records, at := things(log), -1
	for i, r := range records {
		if str(r["recordType"]) == "compaction" {
			at = i
		}
	}
	from := 0.0
	if at >= 0 {
		all, from = append(all, heard{Role: "summary", Text: str(records[at]["summary"])}), num(records[at]["firstKeptSeq"])
	}
	for i, r := range records {
		if str(r["recordType"]) != "message" || i < at && num(r["seq"]) < from {
			continue
		}
		h := heard{Role: str(r["role"])}
		if h.Role == "toolResult" {
			h.Role, h.Answers = "tool", str(r["toolCallId"])
		}
		h.Text = written(r["content"], func(b replayThing) { h.Calls = append(h.Calls, str(b["name"])+"/"+str(b["id"])) })
		if h.says() {
			all = append(all, h)
		}
	}
	return all
}

// annabelleContext is the last compaction's summary and the turns after it. A turn
// that used tools has its messages; they repeat what the person and the agent said.
func annabelleContext(log []byte) (all []heard) {
	for _, r := range things(log) {
		switch str(r["type"]) {
		case "compaction":
			all = []heard{{Role: "summary", Text: str(r["summary"])}}
		case "turn":
			if replayList(r["toolsUsed"]) == nil {
				continue // the program passes over it
			}
			turn := []heard{{Role: "user", Text: str(r["user"])}, {Role: "assistant", Text: str(r["assistant"])}}
			if chain := replayList(r["messages"]); len(chain) > 0 {
				turn = nil
				for _, m := range chain {
					turn = append(turn, coreMessage(obj(m))...)
				}
			}
			for _, h := range turn {
				if h.says() {
					all = append(all, h)
				}
			}
		}
	}
	return all
}

// coreMessage is a message of Vercel's AI SDK. Each result of a tool is one here.
func coreMessage(m replayThing) (all []heard) {
	h := heard{Role: str(m["role"])}
	h.Text = written(m["content"], func(b replayThing) {
		switch str(b["type"]) {
		case "tool-call":
			h.Calls = append(h.Calls, str(b["toolName"])+"/"+str(b["toolCallId"]))
		case "tool-result":
			text := str(b["result"])
			if b["result"] != nil && text == "" {
				encoded, _ := json.Marshal(b["result"])
				text = string(encoded)
			}
			all = append(all, heard{Role: "tool", Text: text, Answers: str(b["toolCallId"])})
		}
	})
	if h.Role == "tool" {
		return all
	}
	return append(all, h)
}

// macStatsContext is the blocks of a file: a heading and what stands below it.
func macStatsContext(log []byte) (all []heard) {
	for line := range strings.Lines(string(bytes.ReplaceAll(log, []byte("\r\n"), []byte("\n")))) {
		switch strings.TrimSpace(line) {
		case "## User":
			all = append(all, heard{Role: "user"})
		case "## Assistant":
			all = append(all, heard{Role: "assistant"})
		default:
			if len(all) > 0 {
				all[len(all)-1].Text += line
			}
		}
	}
	said := all[:0]
	for _, h := range all {
		if h.Text = strings.TrimSpace(h.Text); h.Text != "" {
			said = append(said, h)
		}
	}
	return said
}
