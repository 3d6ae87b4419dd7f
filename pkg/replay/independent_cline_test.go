package replay_test

import (
	"encoding/json"
	"regexp"
)

var clineTag = regexp.MustCompile(`(?s)^<user_input[^>]*>(.*)</user_input>$`)

// clineContext is what a document of Cline says: all of its messages.
func clineContext(log []byte) (all []heard) {
	var document struct{ Messages []thing }
	if json.Unmarshal(log, &document) != nil {
		return nil
	}
	for _, m := range document.Messages {
		h := heard{Role: str(m["role"])}
		if obj(m["metadata"])["kind"] == "compaction_summary" {
			h.Role, all = "summary", nil
		}
		var texts []any
		for _, b := range list(m["content"]) {
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
				for _, q := range list(block["content"]) {
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
