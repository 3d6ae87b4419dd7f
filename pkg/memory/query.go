package memory

import (
	"strings"
	"time"

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
	Kind         string // of facts only: no other record has one
	Superseded   bool   // also facts that newer ones have superseded
	// Now is when it is asked: "last week" counts from it, and days begin as in
	// its zone. Zero leaves such words alone, and days begin in UTC.
	Now time.Time

	facts bool // the memory has the tables of facts
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
	switch {
	case q.facts && q.Kind != "":
		add(true, "r.rowid IN (SELECT f.record FROM facts f WHERE f.kind=?)", q.Kind)
	case q.Kind != "":
		condition += " AND 0=1"
	}
	if q.facts && !q.Superseded {
		condition += " AND r.rowid NOT IN (SELECT f.record FROM facts f WHERE NOT " + live + ")"
	}
	return condition, args
}

// maxTerms bounds a full-text query: a pasted page is not a question.
const maxTerms = 64

// matchAny turns any text into a full-text query: its terms, any of them. It
// is empty if the text has no terms. Each term is quoted, so no text can be a
// syntax error.
func matchAny(text string) string { return strings.Join(quotedTerms(text), " OR ") }

// matchName turns an identifier into a full-text query for texts that hold all
// its parts; those that hold it as one word come first.
func matchName(name string) string {
	terms := quotedTerms(name)
	if len(terms) < 2 {
		return strings.Join(terms, "")
	}
	last := len(terms) - 1 // a compound follows its parts
	return strings.Join(terms[:last], " AND ") + " AND (" + terms[0] + " OR " + terms[last] + ")"
}

// quotedTerms returns the different terms of a text as full-text strings.
func quotedTerms(text string) []string {
	var quoted []string
	seen := map[string]bool{}
	for _, term := range strings.Fields(string(embed.AppendTerms(nil, text))) {
		if !seen[term] && len(quoted) < maxTerms {
			seen[term] = true
			quoted = append(quoted, `"`+strings.ReplaceAll(term, `"`, `""`)+`"`)
		}
	}
	return quoted
}
