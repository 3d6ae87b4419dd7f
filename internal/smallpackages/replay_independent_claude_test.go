package smallpackages_test

import (
	"regexp"
	"slices"
	"strings"
)

// claudeContext is the context of a log of Claude Code: what leads from the last
// message back to the first. Notes of the runtime are links; the records of one
// answer, and the results of its calls, go together.
func claudeContext(log []byte) (all []heard) {
	records := things(log)
	side := claudeSide(records)
	active := claudeActive(records, side)
	var path []replayThing
	seen := map[string]bool{}
	for _, r := range records {
		if id := str(r["uuid"]); claudeSays(r) && is(r["isSidechain"]) == side && (active[id] || id == "") && !seen[id] {
			path = append(path, r)
			seen[id] = id != ""
		}
	}
	at, head := -1, ""
	for i, r := range path {
		if is(r["isCompactSummary"]) {
			at = i
		}
	}
	if at >= 0 {
		head = preservedHead(records, str(path[at]["uuid"]))
		all = append(all, heard{Role: "summary", Text: written(obj(path[at]["message"])["content"], nil)})
		all = append(all, claudeHeard(keptFrom(records, path[:at], head))...)
	}
	return append(all, claudeHeard(path[at+1:])...)
}

// claudeSide is true for the log of a sub-agent: its messages are all of a
// sidechain.
func claudeSide(records []replayThing) bool {
	for _, r := range records {
		if claudeSays(r) {
			return is(r["isSidechain"])
		}
	}
	return false
}

func claudeSays(r replayThing) bool {
	kind := str(r["type"])
	return (kind == "user" || kind == "assistant") && obj(r["message"]) != nil ||
		kind == "attachment" && str(obj(r["attachment"])["type"]) == "queued_command"
}

// claudeActive are the ids of what leads back from the last message, and from the
// last of each tree whose beginning is not there.
func claudeActive(records []replayThing, side bool) map[string]bool {
	answers, results := map[string][]replayThing{}, map[string][]replayThing{}
	var nodes []replayThing
	for _, r := range records {
		if str(r["uuid"]) == "" || is(r["isSidechain"]) != side && claudeSays(r) {
			continue
		}
		if r["parentUuid"] == nil && r["logicalParentUuid"] != nil {
			r["parentUuid"] = r["logicalParentUuid"]
		}
		if reply := str(obj(r["message"])["id"]); reply != "" && str(r["type"]) == "assistant" {
			answers[reply] = append(answers[reply], r)
		}
		if _, result := callOf(r); result {
			results[str(r["parentUuid"])] = append(results[str(r["parentUuid"])], r)
		}
		nodes = append(nodes, r)
	}
	for len(nodes) > 0 && !claudeSays(nodes[len(nodes)-1]) { // a late note is no end
		nodes = nodes[:len(nodes)-1]
	}
	active := forest(nodes, "uuid", "parentUuid", "")
	for _, r := range nodes {
		if !active[str(r["uuid"])] {
			continue
		}
		for _, together := range answers[str(obj(r["message"])["id"])] {
			active[str(together["uuid"])] = true
			for _, result := range results[str(together["uuid"])] {
				active[str(result["uuid"])] = true
			}
		}
	}
	return active
}

// callOf is the call that a record has the result of; false if it has none.
func callOf(r replayThing) (id string, result bool) {
	for _, b := range replayList(obj(r["message"])["content"]) {
		if o := obj(b); str(o["type"]) == "tool_result" {
			return str(o["tool_use_id"]), true
		}
	}
	return "", false
}

// preservedHead is the first message that the compaction of a summary has kept:
// the boundary stands before the summary.
func preservedHead(records []replayThing, summary string) (head string) {
	for _, r := range records {
		if str(r["subtype"]) == "compact_boundary" {
			head = str(obj(obj(r["compactMetadata"])["preservedSegment"])["headUuid"])
		}
		if str(r["uuid"]) == summary {
			return head
		}
	}
	return head
}

// keptFrom are the messages from a record of the log on, whatever it is.
func keptFrom(records, path []replayThing, head string) []replayThing {
	from := slices.IndexFunc(records, func(r replayThing) bool { return head != "" && str(r["uuid"]) == head })
	if from < 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(path), func(x replayThing) bool {
		return slices.IndexFunc(records, func(r replayThing) bool { return str(r["uuid"]) == str(x["uuid"]) }) < from
	})
}

var (
	reminders   = regexp.MustCompile(`(?ms)^<system-reminder>.*?</system-reminder>$`)
	commandName = regexp.MustCompile(`(?s)<command-name>\s*(.*?)\s*</command-name>`)
	commandArgs = regexp.MustCompile(`(?s)<command-args>\s*(.*?)\s*</command-args>`)
	shellInput  = regexp.MustCompile(`(?s)<bash-input>\s*(.*?)\s*</bash-input>`)
	shellOutput = regexp.MustCompile(`(?s)<bash-std(?:out|err)>\s*(.*?)\s*</bash-std(?:out|err)>`)
)

func claudeHeard(path []replayThing) (all []heard) {
	for _, r := range path {
		h, failed := heard{Role: "user"}, false
		content := obj(r["message"])["content"]
		if str(r["type"]) == "attachment" {
			content = obj(r["attachment"])["prompt"]
		}
		h.Text = written(content, func(b replayThing) {
			switch kind := str(b["type"]); {
			case kind == "tool_use", kind == "server_tool_use":
				h.Calls = append(h.Calls, str(b["name"])+"/"+str(b["id"]))
			case kind == "document":
				h.Text += "[image left out]"
			}
		})
		call, result := callOf(r)
		switch {
		case str(r["type"]) == "assistant":
			h.Role = "assistant"
			if failed = is(r["isApiErrorMessage"]); failed {
				h.Text = ""
			}
		case result:
			h.Role, h.Answers, h.Text = "tool", call, reminders.ReplaceAllString(claudeResult(content), "")
		case !is(r["isMeta"]) && !is(r["isSidechain"]) && str(obj(r["origin"])["kind"]) != "task-notification":
			h.Text = claudeTyped(h.Text)
		}
		if h.says() || failed {
			all = append(all, h)
		}
	}
	return all
}

func claudeResult(content any) string {
	var texts []string
	for _, b := range replayList(content) {
		if o := obj(b); str(o["type"]) == "tool_result" {
			texts = append(texts, written(o["content"], nil))
		} else {
			texts = append(texts, written(b, nil))
		}
	}
	return strings.TrimSpace(strings.Join(texts, "\n"))
}

// claudeTyped is what a person typed, of what stands in the record for it.
func claudeTyped(text string) string {
	switch {
	case strings.HasPrefix(text, "<command-name>"), strings.HasPrefix(text, "<command-message>"):
		typed := "/" + strings.TrimPrefix(commandName.FindStringSubmatch(text)[1], "/")
		if args := commandArgs.FindStringSubmatch(text); args != nil {
			typed = strings.TrimSpace(typed + " " + args[1])
		}
		return typed
	case strings.HasPrefix(text, "<bash-input>"):
		return "$ " + shellInput.FindStringSubmatch(text)[1]
	case strings.HasPrefix(text, "<bash-stdout>"), strings.HasPrefix(text, "<bash-stderr>"):
		var printed []string
		for _, m := range shellOutput.FindAllStringSubmatch(text, -1) {
			printed = append(printed, m[1])
		}
		return strings.TrimSpace(strings.Join(printed, "\n"))
	case strings.HasPrefix(text, "<local-command"), strings.HasPrefix(text, "<task-notification>"):
		return text
	}
	return strings.TrimSpace(reminders.ReplaceAllString(text, ""))
}
