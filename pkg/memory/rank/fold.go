package rank

import (
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/sessctl/sessctl/pkg/embed"
)

// foldAll drops what says again what others of a list say, and orders what comes
// behind the first places.
func (r *ranking) foldAll(list []*Candidate) []*Candidate {
	list = r.foldCarried(fold(list, nearlyEqual))
	if r.Closely && r.Limit > firstPlaces {
		list = r.foldRepeats(list, firstPlaces)
		r.favourAlike(list)
	}
	return r.foldRepeats(list, max(r.Limit, PinnedPlaces))
}

// foldRepeats drops what says again what another record says, as far as the first
// places of a list go: nobody sees the rest.
func (r *ranking) foldRepeats(list []*Candidate, places int) []*Candidate {
	if r.Closely {
		list = r.foldCopies(list, places)
	}
	if r.byWords() {
		list = r.foldSummaries(list, places)
	}
	return list
}

// fold drops records that say the same as one before them, and counts them as
// its duplicates. The order stays.
func fold(list []*Candidate, same func(x, y *Candidate) bool) []*Candidate {
	var kept []*Candidate
	dropped := map[*Candidate]bool{}
	for by := range 3 {
		for _, x := range list {
			if x.repeats() != by {
				continue
			}
			at := slices.IndexFunc(kept, func(k *Candidate) bool { return same(k, x) })
			if at < 0 {
				kept = append(kept, x)
				continue
			}
			dropped[x] = true
			kept[at].Duplicates += 1 + x.Duplicates
			kept[at].Holds |= x.Holds
		}
	}
	return slices.DeleteFunc(slices.Clone(list), func(x *Candidate) bool { return dropped[x] })
}

// repeats is how far a record is from where its text was said: there (0), in a session
// that was carried on (1), or in an agent's own words, for which no quotation is dropped
// (2).
func (c *Candidate) repeats() int {
	switch {
	case c.OwnWords:
		return 2
	case c.Carried:
		return 1
	}
	return 0
}

// nearlyEqual says whether two records are neighbours in one session (or the
// same place of it, cut twice as the session grew) with nearly the same words.
func nearlyEqual(x, y *Candidate) bool {
	if x.OwnWords || y.OwnWords {
		return false // one may correct the other
	}
	if !x.sameSession(y) || x.Category != y.Category {
		return false
	}
	if d := x.Position - y.Position; d < -1 || d > 1 {
		return false
	}
	return wordShare(x.Text, y.Text) >= nearShare
}

// sameSession says whether two records are of one session.
func (c *Candidate) sameSession(x *Candidate) bool {
	return c.owner() == x.owner()
}

// owner is the session that a record is of.
func (c *Candidate) owner() [4]string { return [4]string{c.Host, c.Runtime, c.Agent, c.Session} }

// wordShare is the share of the longer text's words that the other has too.
func wordShare(x, y string) float64 {
	words, others := strings.Fields(x), strings.Fields(y)
	if len(words) < len(others) {
		words, others = others, words
	}
	if float64(len(others)) < nearShare*float64(len(words)) {
		return 0
	}
	count := map[string]int{}
	for _, w := range words {
		count[w]++
	}
	common := 0
	for _, w := range others {
		if count[w] > 0 {
			count[w]--
			common++
		}
	}
	return float64(common) / float64(max(len(words), 1))
}

// foldCopies drops what a tool printed nearly alike before, wherever that stands:
// tests that ran again, a file that was read again. The newest of such copies
// takes the place of the best and counts the others as its duplicates: it is how
// things were in the end. One that holds an identifier of the query, or a word of
// it, that the other does not have is no copy.
func (r *ranking) foldCopies(list []*Candidate, places int) []*Candidate {
	asked := termSet(r.Words)
	kept := make([]*Candidate, 0, len(list))
	words := map[*Candidate]map[string]bool{}
	for i, x := range list {
		if len(kept) >= places {
			return append(kept, list[i:]...)
		}
		if !x.isDump() {
			kept = append(kept, x)
			continue
		}
		words[x] = termSet(x.Text)
		at := slices.IndexFunc(kept, func(k *Candidate) bool { return isCopy(k, x, words) && sameAsked(asked, words[k], words[x]) })
		switch {
		case at < 0:
			kept = append(kept, x)
		case x.CreatedAt > kept[at].CreatedAt:
			k := kept[at]
			x.Relevance, x.Score, x.Duplicates = k.Relevance, k.Score, x.Duplicates+1+k.Duplicates
			kept[at] = x
		default:
			kept[at].Duplicates += 1 + x.Duplicates
		}
	}
	return kept
}

// isDump says whether most of a record was said by nobody.
func (c *Candidate) isDump() bool { return 2*c.said.dump > c.said.all }

// isCopy says whether one of two dumps of an agent has nearly the words of the
// other.
func isCopy(k, x *Candidate, words map[*Candidate]map[string]bool) bool {
	if !k.isDump() || k.Host != x.Host || k.Agent != x.Agent || k.Runtime != x.Runtime || k.Category != x.Category || k.Holds != x.Holds {
		return false
	}
	few, many := words[k], words[x]
	if len(few) > len(many) {
		few, many = many, few
	}
	if float64(len(few)) < nearShare*float64(len(many)) {
		return false
	}
	common := 0
	for word := range few {
		if many[word] {
			common++
		}
	}
	return float64(common) >= nearShare*float64(len(many))
}

// sameAsked says whether two texts have the same of the words that are asked for.
func sameAsked(asked, x, y map[string]bool) bool {
	for word := range asked {
		if x[word] != y[word] {
			return false
		}
	}
	return true
}

// foldSummaries drops each summary that has no more of the query's words than a
// piece of the same session in the list, and whose line with most of them is
// quoted from that piece, and counts it as its duplicate: the piece says it in
// full, with its lines. If the summary stands before it, the piece takes its
// place, with its relevance and importance. In the technical domain of
// bench/recall half of the hits were such summaries.
func (r *ranking) foldSummaries(list []*Candidate, places int) []*Candidate {
	asked := termSet(r.Words)
	kept := make([]*Candidate, 0, len(list))
	for _, x := range list {
		if !x.Summary || x.OwnWords || len(kept) >= places {
			if !slices.Contains(kept, x) {
				kept = append(kept, x)
			}
			continue
		}
		piece := r.fullerPiece(list, x, asked)
		if piece == nil {
			kept = append(kept, x)
			continue
		}
		piece.Duplicates += 1 + x.Duplicates
		if !slices.Contains(kept, piece) {
			kept = append(kept, piece)
			piece.Relevance, piece.Importance, piece.Score = x.Relevance, x.Importance, x.Score
		}
	}
	return kept
}

// fullerPiece is the first piece in the list that, as far as the query goes, a
// summary only repeats, or nil.
func (r *ranking) fullerPiece(list []*Candidate, summary *Candidate, asked map[string]bool) *Candidate {
	terms, quotes := askedTerms(asked, summary.Text), bestLines(asked, summary.Text)
	for _, x := range list {
		if x.Position < 0 || !x.sameSession(summary) && !r.begunWith[[2][4]string{summary.owner(), x.owner()}] || summary.Holds&^x.Holds != 0 {
			continue
		}
		have := termSet(x.Text)
		if containsAll(have, terms) && slices.ContainsFunc(quotes, func(line map[string]bool) bool { return isQuoted(line, have) }) {
			return x
		}
	}
	return nil
}

// bestLines are the terms of each statement of a summary that has the most of the
// terms that are asked for.
func bestLines(asked map[string]bool, text string) (lines []map[string]bool) {
	most := 0
	for statement := range statements(text) {
		have := len(askedTerms(asked, statement))
		if have > most {
			lines, most = nil, have
		}
		if have == most && strings.TrimSpace(statement) != "" {
			lines = append(lines, termSet(statement))
		}
	}
	return lines
}

// statements are what a summary quotes: the statement of each line, and what it
// says of later lines ("→ line 12: ..."), each by itself, without where it stands
// in the log.
func statements(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range strings.SplitSeq(text, "\n") {
			line = unplaced(line)
			for part := range strings.SplitSeq(line, " → line ") {
				if _, later, is := strings.Cut(part, ": "); is && part != line && part[0] >= '0' && part[0] <= '9' {
					part = later
				}
				if !yield(part) {
					return
				}
			}
		}
	}
}

// place is how a line of a summary tells where it stands in the log and who said it.
var place = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[A-Z][A-Za-z' ]* )?\[(?:message )?\d+\]:? (?:(?:User|Agent): )?| \[(?:message )?\d+\]$`)
})

// unplaced is a line without its place: "[12] User: ", "Asked last [12]: ", " [12]", or
// " (line 12)", as older summaries have it.
func unplaced(line string) string {
	line, _, _ = strings.Cut(line, " (line ")
	if strings.IndexByte(line, '[') < 0 {
		return line
	}
	return place().ReplaceAllString(line, "")
}

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

// askedTerms are those of the given terms that a text has.
func askedTerms(asked map[string]bool, text string) map[string]bool {
	have := map[string]bool{}
	for _, term := range strings.Fields(string(embed.AppendTerms(nil, text))) {
		if asked[term] {
			have[term] = true
		}
	}
	return have
}
