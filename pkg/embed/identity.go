package embed

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// A Model is the identity of vectors: two vectors may be compared only if
// every field of their models is equal (docs/dev/decisions.md D8).
type Model struct {
	Provider string // "builtin", "ollama", "openai"; has no slash
	Name     string // as the provider names it: "lexglove-1024", "nomic-embed-text"
	Revision string // what may change under the name: a digest, a version; or ""
	Dim      int    // components of a vector
	Prefix   string // what is put before texts (for both documents and queries), or ""
	Chunker  string // size, overlap and version of what cut the texts; set by who stores them
}

// String is the identity as one line that never changes for the same model
// and differs for different ones:
//
//	provider/name@revision;dim=N;norm=l2;qp=HASH;chunk=CHUNKER
//
// HASH is the first 16 hex digits of the SHA-256 of Prefix, or "-" without
// one; an empty revision or chunker is "-". In the other fields every byte
// that could be read as syntax (percent, semicolon, at, equals, white space,
// control; a slash in the provider; a field that is just "-") is written %XX.
func (m Model) String() string {
	return fmt.Sprintf("%s/%s@%s;dim=%d;norm=l2;qp=%s;chunk=%s",
		escapeField(m.Provider, "/"), escapeField(m.Name, ""), escapeField(m.Revision, ""),
		m.Dim, prefixHash(m.Prefix), escapeField(m.Chunker, ""))
}

// Fingerprint is the first 16 hex digits of the SHA-256 of [Model.String],
// for file and collection names.
func (m Model) Fingerprint() string { return shortHash(m.String()) }

// Recognise reads the revision, and the dimension if m has none, from an
// identity as String writes it. It reports false if the identity differs from m
// in anything else. So the vectors of a model are told from those of another
// while the server that could name its revision is away.
func (m Model) Recognise(identity string) (Model, bool) {
	_, rest, found := strings.Cut(identity, "@")
	revision, rest, _ := strings.Cut(rest, ";dim=")
	dim, _, _ := strings.Cut(rest, ";")
	n, err := strconv.Atoi(dim)
	if !found || err != nil || m.Dim != 0 && m.Dim != n {
		return Model{}, false
	}
	m.Dim, m.Revision = n, unescapeField(revision)
	return m, m.String() == identity
}

func unescapeField(s string) string {
	if s == "-" {
		return ""
	}
	plain, err := url.PathUnescape(s)
	if err != nil {
		return s
	}
	return plain
}

func prefixHash(prefix string) string {
	if prefix == "" {
		return "-"
	}
	return shortHash(prefix)
}

func shortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}

func escapeField(s, also string) string {
	switch s {
	case "":
		return "-"
	case "-":
		return "%2D"
	}
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c <= ' ' || c == 0x7f || strings.IndexByte("%;@=", c) >= 0 || strings.IndexByte(also, c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

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
// nomic-embed-text finds less (docs/dev/decisions.md D7).
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
