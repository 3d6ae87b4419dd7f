package replay_test

// qwenContext is what a session of Qwen Code goes on with: the path from the last
// record to the root, and of it what the last compression has and what follows.
func qwenContext(log []byte) (all []heard) {
	byID := map[string]thing{}
	var last thing
	for _, e := range things(log) {
		byID[str(e["uuid"])], last = e, e
	}
	var path []thing
	for at := last; at != nil && len(path) < 1<<20; at = byID[str(at["parentUuid"])] {
		path = append([]thing{at}, path...)
	}
	for _, e := range path {
		payload := obj(e["systemPayload"])
		switch {
		case e["type"] != "system":
			all = append(all, qwenHeard(obj(e["message"]))...)
		case e["subtype"] == "chat_compression":
			all = nil
			for i, entry := range list(payload["compressedHistory"]) {
				said := qwenHeard(obj(entry))
				if i == 0 {
					said[0].Role = "summary"
				}
				all = append(all, said...)
			}
		case str(obj(payload["uiEvent"])["event.name"]) == "qwen-code.api_error":
			all = append(all, heard{Role: "assistant"})
		}
	}
	return all
}

func qwenHeard(m thing) (all []heard) {
	h := heard{Role: map[string]string{"user": "user", "model": "assistant"}[str(m["role"])]}
	var texts []any
	for _, p := range list(m["parts"]) {
		part := obj(p)
		call, response := obj(part["functionCall"]), obj(part["functionResponse"])
		switch {
		case len(call) > 0:
			h.Calls = append(h.Calls, str(call["name"])+"/"+str(call["id"]))
		case len(response) > 0:
			said := obj(response["response"])
			all = append(all, heard{Role: "tool", Text: str(said["output"]) + str(said["error"]), Answers: str(response["id"])})
		case part["thought"] != true:
			texts = append(texts, str(part["text"]))
		}
	}
	if h.Text = written(texts, nil); h.says() {
		all = append(all, h)
	}
	return all
}
