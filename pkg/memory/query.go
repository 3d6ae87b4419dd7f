package memory

import (
	"strings"
	"unicode"

	"github.com/sessctl/sessctl/pkg/embed"
)

// The ways to rank.
const (
	RankHybrid = "hybrid" // words and meaning, then importance
	RankText   = "text"   // words only
	RankVector = "vector" // meaning only
	RankSeed   = "seed"   // 0.7 * cosine + 0.3 * importance on raw cosines, seed 002 to the letter
)

// Query says what to find. Empty filters match everything.
type Query struct {
	Text         string
	Agent        string
	Runtime      string
	Session      string
	Category     string
	Since, Until int64 // epoch milliseconds, Until not included; 0 = open
	Limit        int   // hits, 5 if 0
	MinScore     float64
	Rank         string // RankHybrid if empty
}

// filter is the SQL condition of the query's filters over records r.
func (q Query) filter() (string, []any) {
	condition, args := "1=1", []any(nil)
	add := func(on bool, sql string, value any) {
		if on {
			condition += " AND " + sql
			args = append(args, value)
		}
	}
	add(q.Agent != "", "r.agent=?", q.Agent)
	add(q.Runtime != "", "r.runtime=?", q.Runtime)
	add(q.Session != "", "r.session=?", q.Session)
	add(q.Category != "", "r.category=?", q.Category)
	add(q.Since != 0, "r.created_at>=?", q.Since)
	add(q.Until != 0, "r.created_at<?", q.Until)
	return condition, args
}

// maxTerms bounds a full-text query: a pasted page is not a question.
const maxTerms = 64

// match turns any text into a full-text query: its terms, each quoted, any of
// them. It is empty if the text has no terms. A term holds no quote, so no
// text can be a syntax error.
func match(text string) string {
	var quoted []string
	seen := map[string]bool{}
	for _, term := range strings.Fields(string(embed.AppendTerms(nil, text))) {
		if !seen[term] && len(quoted) < maxTerms {
			seen[term] = true
			quoted = append(quoted, `"`+strings.ReplaceAll(term, `"`, `""`)+`"`)
		}
	}
	return strings.Join(quoted, " OR ")
}

// identifiers returns the words of a query that name exactly one thing: ids,
// paths, error codes, anything with a digit or inner punctuation.
func identifiers(text string) []string {
	var names []string
	for _, word := range strings.Fields(text) {
		word = strings.Trim(word, "\"'`.,;:!?()[]{}<>")
		if len(word) >= 4 && len(word) <= 200 && isIdentifier(word) {
			names = append(names, word)
		}
	}
	return names
}

func isIdentifier(word string) bool {
	letters, digits, inner := 0, 0, 0
	for _, r := range word {
		switch {
		case unicode.IsDigit(r):
			digits++
		case unicode.IsLetter(r):
			letters++
		case strings.ContainsRune("_/\\.:-#@", r):
			inner++
		}
	}
	return digits > 0 && letters > 0 || digits > 0 && inner > 0 || strings.ContainsAny(word, "_/\\") || digits >= 5
}
