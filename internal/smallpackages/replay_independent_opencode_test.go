package smallpackages_test

// openCodeContext is what a session goes on with: its messages with their parts,
// without what was taken back, and since the last summary.
func openCodeContext(log []byte) (all []heard) {
	var session replayThing
	var messages []replayThing
	parts := map[string][]replayThing{}
	for _, line := range things(log) {
		row := obj(line["row"])
		switch data := obj(line["payload"]); line["type"] {
		case "opencode.session":
			session = row
		case "message":
			data["id"] = row["id"]
			messages = append(messages, data)
		case "part":
			parts[str(row["message_id"])] = append(parts[str(row["message_id"])], data)
		}
	}
	back := obj(parsed(str(session["revert"])))
	start, tails := map[string]int{}, map[string]string{}
	for _, m := range messages {
		id := str(m["id"])
		if id == str(back["messageID"]) && id != "" {
			break
		}
		start[id] = len(all)
		for _, p := range parts[id] {
			if p["type"] == "compaction" {
				tails[id] = str(p["tail_start_id"])
			}
		}
		said := openCodeMessage(m, parts[id])
		if tail, asked := tails[str(m["parentID"])]; asked && is(m["summary"]) && m["error"] == nil {
			kept := []heard{}
			if from, ok := start[tail]; ok {
				kept = all[from:]
			}
			said[0].Role = "summary"
			all, said = append(said[:1:1], kept...), nil
		}
		all = append(all, said...)
	}
	return all
}

func openCodeMessage(m replayThing, parts []replayThing) (all []heard) {
	h := heard{Role: str(m["role"])}
	var texts []any
	var results []heard
	for _, p := range parts {
		switch p["type"] {
		case "text":
			texts = append(texts, str(p["text"]))
		case "file":
			texts = append(texts, replayThing{"type": "image"})
		case "tool":
			h.Calls = append(h.Calls, str(p["tool"])+"/"+str(p["callID"]))
			state := obj(p["state"])
			results = append(results, heard{Role: "tool", Text: str(state["output"]) + str(state["error"]), Answers: str(p["callID"])})
		}
	}
	failed := str(obj(m["error"])["name"]) == "APIError" // Repair leaves it out
	if h.Text = written(texts, nil); h.says() || failed {
		all = append(all, h)
	}
	return append(all, results...)
}
