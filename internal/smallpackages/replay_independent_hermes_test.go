package smallpackages_test

import "strings"

// hermesContext is what a session goes on with: its prompt, and the messages that
// are active.
func hermesContext(log []byte) (all []heard) {
	for _, line := range things(log) {
		row := obj(line["row"])
		prompt := str(row["system_prompt"]) + str(row["prompt"])
		switch {
		case line["type"] != "message" && prompt != "":
			all = append(all, heard{Role: "system", Text: prompt})
		case line["type"] != "message" || row["active"] == 0.0:
		default:
			all = append(all, hermesMessage(row))
		}
	}
	return all
}

func hermesMessage(row replayThing) heard {
	h := heard{Role: str(row["role"]), Answers: str(row["tool_call_id"])}
	var texts []any
	content := str(row["content"])
	if list, structured := strings.CutPrefix(content, "\x00json:"); structured {
		for _, p := range parsed(`{"list":` + list + `}`).(replayThing)["list"].([]any) {
			if part := obj(p); part["type"] == "text" {
				texts = append(texts, str(part["text"]))
			} else {
				texts = append(texts, replayThing{"type": "image"})
			}
		}
	} else {
		texts = append(texts, content)
	}
	h.Text = written(texts, nil)
	if calls := str(row["tool_calls"]); calls != "" {
		for _, c := range parsed(`{"list":` + calls + `}`).(replayThing)["list"].([]any) {
			h.Calls = append(h.Calls, str(obj(obj(c)["function"])["name"])+"/"+str(obj(c)["id"]))
		}
	}
	return h
}
