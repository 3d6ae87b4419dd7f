package smallpackages_test

import "strings"

// copilotContext is what a session goes on with: the summary of the last
// compaction that was applied, what people had typed until it began, and what was
// said since. What other agents said does not count.
func copilotContext(log []byte) (all []heard) {
	var typed []heard
	began := map[string][2]int{}
	for _, e := range things(log) {
		data := obj(e["data"])
		if str(e["agentId"]) != "" || data == nil {
			continue
		}
		switch attempt := str(data["compactionAttemptId"]); e["type"] {
		case "user.message":
			said := copilotUser(data)
			all, typed = append(all, said...), append(typed, heard{Role: "user", Text: strings.TrimSpace(str(data["content"]))})
		case "assistant.message":
			h := heard{Role: "assistant", Text: strings.TrimSpace(str(data["content"]))}
			for _, c := range replayList(data["toolRequests"]) {
				h.Calls = append(h.Calls, str(obj(c)["name"])+"/"+str(obj(c)["toolCallId"]))
			}
			if h.says() {
				all = append(all, h)
			}
		case "tool.execution_complete":
			text := str(obj(data["result"])["content"]) + str(obj(data["error"])["message"])
			all = append(all, heard{Role: "tool", Text: strings.TrimSpace(text), Answers: str(data["toolCallId"])})
		case "session.compaction_start":
			began[attempt] = [2]int{len(all), len(typed)}
		case "session.compaction_complete":
			at, ok := began[attempt]
			if !ok {
				at = [2]int{len(all), len(typed)}
			}
			if is(data["success"]) {
				since := append([]heard{}, all[at[0]:]...)
				all = append([]heard{{Role: "summary", Text: strings.TrimSpace(str(data["summaryContent"]))}}, typed[:at[1]]...)
				all = append(all, since...)
				for k := range began {
					delete(began, k)
				}
			}
		}
	}
	return all
}

// copilotUser is what was typed, between what the runtime put around it.
func copilotUser(data replayThing) (all []heard) {
	content := str(data["content"])
	before, after, _ := strings.Cut(str(data["transformedContent"]), content)
	h := heard{Role: "user", Text: strings.TrimSpace(content)}
	for _, a := range replayList(data["attachments"]) {
		if str(obj(a)["assetId"]) != "" {
			h.Text = strings.TrimSpace(h.Text + "\n[image left out]")
		}
	}
	for _, x := range []heard{{Role: "user", Text: strings.TrimSpace(before)}, h, {Role: "user", Text: strings.TrimSpace(after)}} {
		if x.says() {
			all = append(all, x)
		}
	}
	return all
}
