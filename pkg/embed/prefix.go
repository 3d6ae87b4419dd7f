package embed

import "strings"

// taskPrefix is what a model wants before the texts, by what they are for.
type taskPrefix struct {
	document string
	query    string
}

// identity is one string for Model.Prefix.
func (p taskPrefix) identity() string {
	if p == (taskPrefix{}) {
		return ""
	}
	return p.document + "\x00" + p.query
}

// prefixesOf returns the prefixes that a model was trained with, by a part of
// its name; they are in the models' own descriptions. Without its prefixes
// nomic-embed-text finds less (research/recall.md section 5).
func prefixesOf(model string) taskPrefix {
	model = strings.ToLower(model)
	switch {
	case strings.Contains(model, "nomic-embed-text"):
		return taskPrefix{document: "search_document: ", query: "search_query: "}
	case strings.Contains(model, "mxbai-embed-large"), strings.Contains(model, "snowflake-arctic-embed-"):
		return taskPrefix{query: "Represent this sentence for searching relevant passages: "}
	case strings.Contains(model, "embeddinggemma"):
		return taskPrefix{document: "title: none | text: ", query: "task: search result | query: "}
	}
	return taskPrefix{}
}

// knownDim is the dimension of some models, which saves asking; 0 for others.
func knownDim(model string) int {
	switch {
	case strings.Contains(model, "nomic-embed-text"):
		return 768
	case model == "text-embedding-3-small", model == "text-embedding-ada-002":
		return 1536
	case model == "text-embedding-3-large":
		return 3072
	}
	return 0
}
