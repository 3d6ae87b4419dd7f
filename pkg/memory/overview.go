package memory

import (
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/embed"
)

// CategorySummary is the category of summaries.
const CategorySummary = "session_summary"

// foldSummaries drops each summary that has no more of the query's words than
// a piece of the same session in the list, and counts it there: the piece says
// it in full and where it stands. If the summary stands before it, the piece
// takes its place, with its relevance and importance. In the technical domain of bench/recall half of the hits were such summaries.
func (r *recall) foldSummaries(list []*rated) []*rated {
	asked := termSet(r.words)
	kept := make([]*rated, 0, len(list))
	for _, x := range list {
		if x.Category != CategorySummary {
			if !slices.Contains(kept, x) {
				kept = append(kept, x)
			}
			continue
		}
		piece := fullerPiece(list, x, askedTerms(asked, x.Text))
		if piece == nil {
			kept = append(kept, x)
			continue
		}
		piece.duplicates += 1 + x.duplicates
		if !slices.Contains(kept, piece) {
			kept = append(kept, piece)
			piece.relevance, piece.Importance, piece.score = x.relevance, x.Importance, x.score
		}
	}
	return kept
}

// fullerPiece is the first piece in the list of the session that a summary is
// of, with all of these terms, or nil.
func fullerPiece(list []*rated, summary *rated, terms map[string]bool) *rated {
	for _, x := range list {
		if x.Position < 0 || x.Session != summary.Session || x.Agent != summary.Agent || x.Runtime != summary.Runtime || summary.holds&^x.holds != 0 {
			continue
		}
		if have := askedTerms(terms, x.Text); len(have) == len(terms) {
			return x
		}
	}
	return nil
}

// askedTerms are those of some terms that a text has.
func askedTerms(asked map[string]bool, text string) map[string]bool {
	have := map[string]bool{}
	for _, term := range strings.Fields(string(embed.AppendTerms(nil, text))) {
		if asked[term] {
			have[term] = true
		}
	}
	return have
}
