package memory

import (
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/embed"
)

// CategorySummary is the category of summaries.
const CategorySummary = "session_summary"

// foldSummaries drops each summary that has no more of the query's words than
// a piece of the same session in the list, and whose line with most of them is
// quoted from that piece, and counts it there: the piece says it in full and
// where it stands. If the summary stands before it, the piece
// takes its place, with its relevance and importance. In the technical domain of bench/recall half of the hits were such summaries.
func (r *recall) foldSummaries(list []*rated) []*rated {
	asked := termSet(r.words)
	kept := make([]*rated, 0, len(list))
	for _, x := range list {
		if x.Category != CategorySummary || len(kept) >= max(r.query.Limit, lifted) { // nobody sees the rest
			if !slices.Contains(kept, x) {
				kept = append(kept, x)
			}
			continue
		}
		piece := fullerPiece(list, x, asked)
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

// fullerPiece is the first piece in the list that a summary only repeats, as far
// as the query goes, or nil.
func fullerPiece(list []*rated, summary *rated, asked map[string]bool) *rated {
	terms, quotes := askedTerms(asked, summary.Text), bestLines(asked, summary.Text)
	for _, x := range list {
		if x.Position < 0 || x.Session != summary.Session || x.Agent != summary.Agent || x.Runtime != summary.Runtime || summary.holds&^x.holds != 0 {
			continue
		}
		have := termSet(x.Text)
		if containsAll(have, terms) && slices.ContainsFunc(quotes, func(line map[string]bool) bool { return isQuoted(line, have) }) {
			return x
		}
	}
	return nil
}

// bestLines are the terms of each line of a summary that has the most of the
// terms that are asked for. Where the line stands in the log is left out.
func bestLines(asked map[string]bool, text string) (lines []map[string]bool) {
	most := 0
	for line := range strings.SplitSeq(text, "\n") {
		line, _, _ = strings.Cut(line, " (line ")
		have := len(askedTerms(asked, line))
		if have > most {
			lines, most = nil, have
		}
		if have == most && strings.TrimSpace(line) != "" {
			lines = append(lines, termSet(line))
		}
	}
	return lines
}

// quotedShare of a line's words stand in what it is quoted from: a label may be
// in front, and the end may be cut.
const quotedShare = 0.8

func isQuoted(line, piece map[string]bool) bool {
	common := 0
	for term := range line {
		if piece[term] {
			common++
		}
	}
	return float64(common) >= quotedShare*float64(len(line))
}

func containsAll(have, want map[string]bool) bool {
	for term := range want {
		if !have[term] {
			return false
		}
	}
	return true
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
