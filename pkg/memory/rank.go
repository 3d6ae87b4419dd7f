package memory

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/embed"
)

// ranked turns the pool into hits, best first. These are the stages, in their order;
// weights.go has what each of them weighs.
//
//  1. relevance: the words and the vector of each record, mixed (relevant)
//  2. dates and neighbours, and a closer look at the best (lookClosely); RankHybrid only
//  3. the score: relevance and importance (score)
//  4. what is there twice is folded, and what comes behind the first places is put
//     in the order of what it has in common with them (foldAll)
//  5. identifiers of the question come to the top (pinIdentifiers)
//  6. the fit of each hit, by which some are left out (fitting)
func (r *recall) ranked(ctx context.Context) ([]Hit, error) {
	list, err := r.lookClosely(ctx, r.relevant())
	if err != nil {
		return nil, err
	}
	list = r.foldAll(r.score(list))
	return r.fitting(ctx, pinIdentifiers(list, len(r.names)))
}

// lookClosely looks at the best of a list again, by their passages (refine).
func (r *recall) lookClosely(ctx context.Context, list []*candidate) ([]*candidate, error) {
	if !r.closely {
		return list, nil
	}
	r.favourDated(list)
	boostNeighbours(list)
	sortByRelevance(list)
	list = r.keep(list, r.worthwhile(list))
	return list, r.refine(ctx, list)
}

// score gives a list its scores, best first. But for RankSeed only the pool has any.
func (r *recall) score(list []*candidate) []*candidate {
	if r.query.Rank == RankSeed {
		for _, x := range list {
			x.Score = relevanceShare*x.cosine + importanceShare*x.Importance
		}
	} else {
		list = r.keep(list, max(poolSize, r.query.Limit))
		r.blend(list)
	}
	slices.SortFunc(list, func(x, y *candidate) int {
		return cmp.Or(cmp.Compare(y.Score, x.Score), strings.Compare(x.ID, y.ID))
	})
	return list
}

// foldAll drops what says again what others of a list say, and orders what comes
// behind the first places.
func (r *recall) foldAll(list []*candidate) []*candidate {
	list = fold(list, nearlyEqual)
	if r.closely && r.query.Limit > firstPlaces {
		list = r.foldRepeats(list, firstPlaces)
		r.favourAlike(list)
	}
	return r.foldRepeats(list, max(r.query.Limit, pinnedPlaces))
}

// foldRepeats drops what says again what another record says, as far as the first
// places of a list go: nobody sees the rest.
func (r *recall) foldRepeats(list []*candidate, places int) []*candidate {
	if r.closely {
		list = r.foldCopies(list, places)
	}
	if r.byWords() {
		list = r.foldSummaries(list, places)
	}
	return list
}

// fitting turns the first of a list that fit into hits.
func (r *recall) fitting(ctx context.Context, list []*candidate) ([]Hit, error) {
	f, err := r.newFitting(ctx)
	if err != nil {
		return nil, err
	}
	if list, err = f.quotationsFirst(ctx, list); err != nil {
		return nil, err
	}
	hits := make([]Hit, 0, r.query.Limit)
	for _, x := range list {
		if len(hits) == r.query.Limit {
			break
		}
		if err := f.judge(ctx, x); err != nil {
			return nil, err
		}
		r.bestFit = max(r.bestFit, x.Fit)
		if x.Fit >= r.query.MinScore {
			hits = append(hits, x.Hit)
		}
	}
	if r.bestFit < r.query.LeastFit {
		return nil, nil
	}
	return hits, nil
}

// relevant rates the pool by relevance, best first, equal texts folded.
func (r *recall) relevant() []*candidate {
	texts, cosines := span{}, span{}
	var list []*candidate
	for _, c := range r.pool {
		if !c.loaded {
			continue // it was forgotten a moment ago
		}
		list = append(list, c)
		texts.add(c.text)
		if c.hasVector {
			cosines.add(c.cosine)
		}
	}
	for _, x := range list {
		x.Relevance = r.relevance(x, texts, cosines)
	}
	sortByRelevance(list)
	return r.fewOwnWords(fold(list, func(x, y Hit) bool { return x.Text == y.Text }))
}

// fewOwnWords drops an agent's own words but for the first of them.
func (r *recall) fewOwnWords(list []*candidate) []*candidate {
	own := 0
	return slices.DeleteFunc(list, func(x *candidate) bool {
		if x.OwnWords() {
			own++
		}
		return x.OwnWords() && own > max(ownPlaces, r.query.Limit)
	})
}

// quotationsFirst moves what an agent stored in its own words behind every
// quotation that fits the question at least as well, whatever their importance.
func (f *fitting) quotationsFirst(ctx context.Context, list []*candidate) ([]*candidate, error) {
	if !slices.ContainsFunc(list, func(x *candidate) bool { return x.OwnWords() }) {
		return list, nil
	}
	list = list[:min(len(list), max(poolSize, f.recall.query.Limit))]
	for _, x := range list {
		if err := f.judge(ctx, x); err != nil {
			return nil, err
		}
	}
	type place struct {
		x   *candidate
		at  int // in the list
		own int // 1 for own words, which come behind what stands there
	}
	places := make([]place, len(list))
	for i, x := range list {
		if places[i] = (place{x: x, at: i}); !x.OwnWords() {
			continue
		}
		places[i].own = 1
		for k := i + 1; k < len(list); k++ {
			if !list[k].OwnWords() && list[k].Fit >= x.Fit {
				places[i].at = k
			}
		}
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Or(a.at-b.at, a.own-b.own) })
	ordered := make([]*candidate, len(places))
	for i, p := range places {
		ordered[i] = p.x
	}
	return ordered, nil
}

// relevance mixes the two halves. A record without a vector goes by its words;
// RankSeed takes the raw cosine.
func (r *recall) relevance(c *candidate, texts, cosines span) float64 {
	switch {
	case r.query.Rank == RankSeed:
		return c.cosine
	case r.query.Rank == RankVector:
		return cosines.share(c.cosine)
	case r.query.Rank == RankText || !c.hasVector:
		return texts.share(c.text)
	}
	return textShare*texts.share(c.text) + vectorShare*cosines.share(c.cosine)
}

// span is the range of a score in a pool.
type span struct {
	low, high float64
	any       bool
}

func (s *span) add(x float64) {
	if !s.any {
		s.low, s.high, s.any = x, x, true
		return
	}
	s.low, s.high = min(s.low, x), max(s.high, x)
}

// share is where x lies in the span, 0 to 1; in a span without width it is 1.
func (s span) share(x float64) float64 {
	if s.high == s.low {
		return 1
	}
	return (x - s.low) / (s.high - s.low)
}

func sortByRelevance(list []*candidate) {
	slices.SortFunc(list, func(x, y *candidate) int {
		return cmp.Or(cmp.Compare(y.Relevance, x.Relevance), cmp.Compare(y.Importance, x.Importance), strings.Compare(x.ID, y.ID))
	})
}

// boostNeighbours adds to the relevance of each record a share of its neighbours'.
func boostNeighbours(list []*candidate) {
	type seat struct {
		host, runtime, agent, session string
		position                      int
	}
	relevance := map[seat]float64{}
	for _, x := range list {
		if x.Position >= 0 {
			s := seat{x.Host, x.Runtime, x.Agent, x.Session, x.Position}
			relevance[s] = max(relevance[s], x.Relevance)
		}
	}
	for _, x := range list {
		if x.Position < 0 {
			continue
		}
		share := neighbourShare
		if n := len(x.Text); n > ShortBytes {
			share *= ShortBytes * ShortBytes / float64(n*n)
		}
		before, after := seat{x.Host, x.Runtime, x.Agent, x.Session, x.Position - 1}, seat{x.Host, x.Runtime, x.Agent, x.Session, x.Position + 1}
		x.Relevance += share * (relevance[before] + relevance[after])
	}
}

// keep drops everything after the first n, save the first record with each
// identifier of the query.
func (r *recall) keep(list []*candidate, n int) []*candidate {
	if n >= len(list) {
		return list
	}
	kept := list[:n:n]
	for i := range r.names {
		holder := func(x *candidate) bool { return x.holds>>i&1 == 1 }
		if at := slices.IndexFunc(list, holder); at >= n && !slices.ContainsFunc(kept[n:], holder) {
			kept = append(kept, list[at])
		}
	}
	return kept
}

// blend normalises the relevance inside the pool and lets importance have its
// share. On raw scores it would decide alone (docs/dev/decisions.md D9).
func (r *recall) blend(list []*candidate) {
	pool := span{}
	for _, x := range list {
		pool.add(x.Relevance)
	}
	for _, x := range list {
		x.Relevance = pool.share(x.Relevance)
		importance := x.Importance
		if r.closely && x.Category == CategorySummary && !x.OwnWords() {
			importance = min(importance, summaryImportance)
		}
		x.Score = relevanceShare*x.Relevance + importanceShare*importance
	}
}

// fold drops records that say the same as one before them, and counts them as
// its duplicates. The order stays.
func fold(list []*candidate, same func(x, y Hit) bool) []*candidate {
	var kept []*candidate
	dropped := map[*candidate]bool{}
	for _, own := range []bool{false, true} { // a quotation is never dropped for an agent's own words
		for _, x := range list {
			if x.OwnWords() != own {
				continue
			}
			at := slices.IndexFunc(kept, func(k *candidate) bool { return same(k.Hit, x.Hit) })
			if at < 0 {
				kept = append(kept, x)
				continue
			}
			dropped[x] = true
			kept[at].Duplicates += 1 + x.Duplicates
			kept[at].holds |= x.holds
		}
	}
	return slices.DeleteFunc(slices.Clone(list), func(x *candidate) bool { return dropped[x] })
}

// nearlyEqual says whether two records are neighbours in one session (or the
// same place of it, cut twice as the session grew) with nearly the same words.
func nearlyEqual(x, y Hit) bool {
	if x.OwnWords() || y.OwnWords() {
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
func (h Hit) sameSession(x Hit) bool {
	return h.Host == x.Host && h.Runtime == x.Runtime && h.Agent == x.Agent && h.Session == x.Session
}

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
func (r *recall) foldCopies(list []*candidate, places int) []*candidate {
	asked := termSet(r.words)
	kept := make([]*candidate, 0, len(list))
	words := map[*candidate]map[string]bool{}
	for i, x := range list {
		if len(kept) >= places {
			return append(kept, list[i:]...)
		}
		if !x.isDump() {
			kept = append(kept, x)
			continue
		}
		words[x] = termSet(x.Text)
		at := slices.IndexFunc(kept, func(k *candidate) bool { return isCopy(k, x, words) && sameAsked(asked, words[k], words[x]) })
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
func (c *candidate) isDump() bool { return 2*c.said.dump > c.said.all }

// isCopy says whether one of two dumps of an agent has nearly the words of the
// other.
func isCopy(k, x *candidate, words map[*candidate]map[string]bool) bool {
	if !k.isDump() || k.Host != x.Host || k.Agent != x.Agent || k.Runtime != x.Runtime || k.Category != x.Category || k.holds != x.holds {
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
func (r *recall) foldSummaries(list []*candidate, places int) []*candidate {
	asked := termSet(r.words)
	kept := make([]*candidate, 0, len(list))
	for _, x := range list {
		if x.Category != CategorySummary || x.OwnWords() || len(kept) >= places {
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
func fullerPiece(list []*candidate, summary *candidate, asked map[string]bool) *candidate {
	terms, quotes := askedTerms(asked, summary.Text), bestLines(asked, summary.Text)
	for _, x := range list {
		if x.Position < 0 || !x.sameSession(summary.Hit) || summary.holds&^x.holds != 0 {
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
			line, _, _ = strings.Cut(line, " (line ")
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

// pinIdentifiers makes sure that each identifier of the query that occurs
// anywhere in the list occurs in the first three. Otherwise the order stays.
func pinIdentifiers(list []*candidate, names int) []*candidate {
	var first []int
	for i := range names {
		at := slices.IndexFunc(list, func(x *candidate) bool { return x.holds>>i&1 == 1 })
		if at >= 0 && len(first) < pinnedPlaces && !slices.Contains(first, at) {
			first = append(first, at)
		}
	}
	for at := 0; at < len(list) && len(first) < pinnedPlaces; at++ {
		if !slices.Contains(first, at) {
			first = append(first, at)
		}
	}
	slices.Sort(first)
	ordered := make([]*candidate, 0, len(list))
	for _, at := range first {
		ordered = append(ordered, list[at])
	}
	for at, x := range list {
		if !slices.Contains(first, at) {
			ordered = append(ordered, x)
		}
	}
	return ordered
}
