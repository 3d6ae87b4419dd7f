package smallpackages_test

import (
	"encoding/json"
	"slices"
	"strings"
)

// geminiContext is the history that a chat ends with: messages by id, a history
// that was set anew, and what was taken back.
func geminiContext(log []byte) (all []heard) {
	var messages []replayThing
	for _, line := range geminiLines(log) {
		switch set := obj(line["$set"]); {
		case line["$rewindTo"] != nil:
			messages = rewound(messages, str(line["$rewindTo"]))
		case set["messages"] != nil:
			messages = nil
			for _, m := range replayList(set["messages"]) {
				messages = put(messages, obj(m))
			}
		case set == nil && str(line["id"]) != "":
			messages = put(messages, line)
		}
	}
	answered := map[string]bool{}
	for _, m := range messages {
		for _, h := range geminiMessage(m) {
			if h.Role == "tool" && h.Answers != "" && answered[h.Answers] {
				continue // it stands there several times
			}
			answered[h.Answers] = h.Role == "tool"
			all = append(all, h)
		}
	}
	for i, h := range all { // a compression's summary takes the place of all before it
		if h.Role == "user" && strings.HasPrefix(h.Text, "<state_snapshot>") {
			all[i].Role = "summary"
			return all[i:]
		}
	}
	return all
}

// geminiLines are the lines of a chat, or the messages of one that is an object.
func geminiLines(log []byte) (lines []replayThing) {
	var chat replayThing
	if json.Unmarshal(log, &chat) == nil && chat["messages"] != nil {
		for _, m := range replayList(chat["messages"]) {
			lines = append(lines, obj(m))
		}
		return lines
	}
	return things(log)
}

func put(messages []replayThing, m replayThing) []replayThing {
	for i := range messages {
		if messages[i]["id"] == m["id"] && m["id"] != nil {
			messages[i] = m
			return messages
		}
	}
	return append(messages, m)
}

func rewound(messages []replayThing, id string) []replayThing {
	for i := range messages {
		if str(messages[i]["id"]) == id {
			return messages[:i]
		}
	}
	return nil
}

func geminiMessage(m replayThing) (all []heard) {
	h := heard{Role: "user"}
	switch str(m["type"]) {
	case "info", "warning", "error":
		return nil
	case "gemini", "model":
		h.Role = "assistant"
	}
	content := m["content"]
	if content == nil {
		content = m["parts"]
	}
	if parts := replayList(content); parts != nil {
		content = slices.DeleteFunc(parts, func(p any) bool { return is(obj(p)["thought"]) })
	}
	var results []heard
	h.Text = written(content, func(part replayThing) {
		if call := obj(part["functionCall"]); call != nil {
			h.Calls = append(h.Calls, str(call["name"])+"/"+str(call["id"]))
		}
		if answer := obj(part["functionResponse"]); answer != nil {
			results = append(results, heard{Role: "tool", Text: geminiOutput(answer), Answers: str(answer["id"])})
		}
	})
	for _, c := range replayList(m["toolCalls"]) {
		call := obj(c)
		if made := str(call["name"]) + "/" + str(call["id"]); !slices.Contains(h.Calls, made) {
			h.Calls = append(h.Calls, made)
		}
		for _, part := range replayList(call["result"]) {
			if answer := obj(obj(part)["functionResponse"]); answer != nil {
				results = append(results, heard{Role: "tool", Text: geminiOutput(answer), Answers: str(call["id"])})
			}
		}
	}
	if h.says() {
		all = append(all, h)
	}
	return append(all, results...)
}

func geminiOutput(answer replayThing) string {
	response := obj(answer["response"])
	for _, key := range []string{"output", "error"} {
		if text := str(response[key]); text != "" {
			return text
		}
	}
	return ""
}
