package smallpackages_test

import "fmt"

// piContext is the context of a log of pi or OpenClaw: the path from the last
// entry to the root; the last compaction on it, from the entry that it names.
func piContext(log []byte) []heard {
	var entries []replayThing
	header := ""
	for _, e := range things(log) {
		if str(e["type"]) == "session" {
			header = str(e["id"])
			continue
		}
		entries = append(entries, e)
	}
	path := piPath(entries, header)
	for i := len(path) - 1; i >= 0; i-- {
		if str(path[i]["type"]) == "reset" {
			path = path[i+1:]
			break
		}
	}
	at := -1
	for i, e := range path {
		if str(e["type"]) == "compaction" {
			at = i
		}
	}
	if at < 0 {
		return piHeard(path)
	}
	first := at
	for i, e := range path[:at] {
		named := str(path[at]["firstKeptEntryId"])
		if index, ok := path[at]["firstKeptEntryIndex"]; ok && named == "" {
			if i == max(int(num(index))-1, 0) { // the header is entry 0
				first = i
			}
		} else if named != "" && str(e["id"]) == named {
			first = i
			break
		}
	}
	all := []heard{{Role: "summary", Text: str(path[at]["summary"])}}
	return append(all, append(piHeard(path[first:at]), piHeard(path[at+1:])...)...)
}

// piPath is the active branch. Entries of version 1 have no ids and are one line.
func piPath(entries []replayThing, header string) (path []replayThing) {
	active := forest(entries, "id", "parentId", header)
	for _, e := range entries {
		if str(e["id"]) == "" || active[str(e["id"])] {
			path = append(path, e)
		}
	}
	return path
}

func piHeard(entries []replayThing) (all []heard) {
	for _, e := range entries {
		h, failed := heard{Role: "user"}, false
		switch str(e["type"]) {
		case "message":
			h, failed = piMessage(obj(e["message"]))
		case "custom_message":
			h.Text = written(e["content"], nil)
		case "branch_summary":
			h.Text = str(e["summary"])
		}
		if h.says() || failed {
			all = append(all, h)
		}
	}
	return all
}

// piMessage is a message; failed if the model's call did not end by itself.
func piMessage(m replayThing) (h heard, failed bool) {
	h.Role = "user"
	switch str(m["role"]) {
	case "assistant":
		h.Role = "assistant"
		stop := str(m["stopReason"])
		failed = stop == "error" || stop == "aborted"
	case "toolResult":
		h.Role, h.Answers = "tool", name(m["toolCallId"])
	case "bashExecution":
		if is(m["excludeFromContext"]) {
			return heard{}, false
		}
		h.Text = "$ " + str(m["command"]) + "\n" + str(m["output"])
		if code, ok := m["exitCode"].(float64); ok {
			h.Text += fmt.Sprintf("\n[exit code %.0f]", code)
		}
		return h, false
	case "system":
		h.Role = "system"
	}
	h.Text = written(m["content"], func(b replayThing) {
		if str(b["type"]) == "toolCall" {
			h.Calls = append(h.Calls, str(b["name"])+"/"+name(b["id"]))
		}
	})
	return h, failed
}
