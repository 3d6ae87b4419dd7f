package smallpackages_test

import (
	"encoding/json"
	"regexp"
)

var clineTag = regexp.MustCompile(`(?s)^<user_input[^>]*>(.*)</user_input>$`)

// clineContext is what a document of Cline says: all of its messages.
func clineContext(log []byte) (all []heard) {
	var document struct{ Messages []replayThing }
	if json.Unmarshal(log, &document) != nil {
		return nil
	}
	for _, m := range document.Messages {
		h := heard{Role: str(m["role"])}
		if obj(m["metadata"])["kind"] == "compaction_summary" {
			h.Role, all = "summary", nil
		}
		var texts []any
		for _, b := range replayList(m["content"]) {
			block := obj(b)
			switch str(block["type"]) {
			case "text":
				said := str(block["text"])
				if inside := clineTag.FindStringSubmatch(said); inside != nil && h.Role == "user" {
					said = inside[1]
				}
				texts = append(texts, said)
			case "tool_use":
				h.Calls = append(h.Calls, str(block["name"])+"/"+str(block["id"]))
			case "tool_result":
				given := []any{str(block["content"])}
				for _, q := range replayList(block["content"]) {
					given = append(given, str(obj(q)["result"]))
				}
				all = append(all, heard{Role: "tool", Text: written(given, nil), Answers: str(block["tool_use_id"])})
			}
		}
		if h.Text = written(texts, nil); h.says() {
			all = append(all, h)
		}
	}
	return all
}

var (
	taskTag    = regexp.MustCompile(`(?s)^<(?:task|feedback|user_message)>\n(.*)\n</`)
	taskResult = regexp.MustCompile(`^\[[a-z_]+.*\] Result:$`)
)

// taskContext is what an array of messages of an editor's task says.
func taskContext(log []byte) (all []heard) {
	var messages []replayThing
	if json.Unmarshal(log, &messages) != nil {
		return nil
	}
	for _, m := range messages {
		if m["type"] == "reasoning" {
			continue
		}
		said, given, around := heard{Role: str(m["role"])}, []any{}, []any{}
		if m["isSummary"] == true {
			said.Role, all = "summary", nil
		}
		texts, results := []any{str(m["content"])}, false
		for _, b := range replayList(m["content"]) {
			block := obj(b)
			text := str(block["text"])
			inside := taskTag.FindStringSubmatch(text)
			switch {
			case block["type"] == "tool_use":
				said.Calls = append(said.Calls, str(block["name"])+"/"+str(block["id"]))
			case block["type"] == "tool_result":
				all = append(all, heard{Role: "tool", Text: written([]any{str(block["content"])}, nil), Answers: str(block["tool_use_id"])})
			case len(text) > 20 && text[:21] == "<environment_details>":
				around = append(around, text)
			case taskResult.MatchString(text):
				results = true
			case inside != nil && said.Role == "user":
				texts = append(texts, inside[1])
			case results:
				given = append(given, text)
			default:
				texts = append(texts, text)
			}
		}
		said.Text = written(texts, nil)
		for _, h := range []heard{{Role: "user", Text: written(given, nil)}, said, {Role: "user", Text: written(around, nil)}} {
			if h.says() {
				all = append(all, h)
			}
		}
	}
	return all
}
