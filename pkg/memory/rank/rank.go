package rank

import (
	"cmp"
	"context"
	"slices"
	"strings"
)

// The ways to rank.
const (
	Hybrid = "hybrid" // words and meaning, then importance
	Text   = "text"   // words only
	Vector = "vector" // meaning only
	Seed   = "seed"   // 0.7 * cosine + 0.3 * importance on raw cosines, for comparison (docs/dev/decisions.md D9)
)

// Question is what the records are ranked for.
type Question struct {
	Way      string // Hybrid, Text, Vector or Seed
	Closely  bool   // Hybrid was asked for, whatever Way it became
	Text     string
	Words    string   // of Text, that full text looks for
	Names    []string // identifiers in Text; see Candidate.Holds
	Periods  []Period // times that Text names
	Limit    int      // hits
	MinScore float64  // fit of a hit; those below are left out

	Frequencies Frequencies // of Words
	Vectors     bool        // the vectors of the memory were asked
	Meanings    Meanings    // tells meaning from words; nil if the embedder cannot, or the vectors were not asked
	Farthest    float64     // the least cosine of all that were proposed, 1 if none has a vector
}

// byWords says whether full text was asked.
func (q *Question) byWords() bool { return q.Way == Hybrid || q.Way == Text }

// Frequencies say how many records there are, and how many have each word of a
// question.
type Frequencies struct {
	All   float64
	Words []Frequency
}

// Frequency is how many records have a word.
type Frequency struct {
	Text    string // as it stands in the index
	Records float64
}

// Candidate is a record that was proposed, and what is known of it so far.
type Candidate struct {
	Key                           int64 // names it to whoever asks; ranking does not look at it
	ID, Text, Category            string
	Host, Runtime, Agent, Session string
	Position                      int   // in its session; -1 of what is no piece of one
	CreatedAt                     int64 // epoch milliseconds
	Summary                       bool  // of a session
	OwnWords                      bool  // an agent stored it in its own words
	Carried                       bool  // it was said in another session, with which its own began
	Holds                         uint  // bit i: holds Names[i] word for word (Holds)

	BM25      float64 // more is better; 0 if no word matches
	Cosine    float64
	HasVector bool

	// What ranking changes. Importance is that of the record, or of the summary in
	// whose place it stands.
	Importance float64
	Score      float64
	Relevance  float64 // 0 to 1 within the pool; the raw cosine under Seed
	Fit        float64 // 0 to 1, if it is a hit
	Duplicates int     // others that say the same

	judged bool // its fit is known

	// What the second look finds (see refine).
	passages []passage
	said     shares  // by whom
	unsaid   float64 // share of the question's words it has that nobody says in words
	byPerson bool    // a person says its best passage
	word     float64 // BM25 of its best passage
	answer   float64 // BM25 of its best passage that has what the answer must have
	meaning  float64 // cosine of the whole text
	detail   float64 // cosine of its nearest passage
	hasSense bool    // meaning and detail are known
}

// ranking is one question on its way.
type ranking struct {
	Question
	bestFit float64   // of those that were judged
	passing []float32 // room for the vector of a text that is only compared
	// begunWith has the sessions that began with what was said in another one, with that.
	begunWith map[[2][4]string]bool
}

// Rank makes hits of what was proposed, best first, and returns the fit of the best
// that was judged, even if it is no hit. It changes the candidates. These are the
// stages, in their order; weights.go has what each of them weighs.
//
//  1. relevance: the words and the vector of each record, mixed (relevant)
//  2. dates and neighbours, and a closer look at the best (lookClosely); Hybrid only
//  3. the score: relevance and importance (score)
//  4. what is there twice is folded, and what comes behind the first places is put
//     in the order of what it has in common with them (foldAll)
//  5. identifiers of the question come to the top (pinIdentifiers)
//  6. the fit of each hit, by which some are left out (fitting)
func Rank(ctx context.Context, q Question, list []*Candidate) (hits []*Candidate, bestFit float64, err error) {
	r := &ranking{Question: q}
	list = r.relevant(list)
	if list, err = r.lookClosely(ctx, list); err != nil {
		return nil, 0, err
	}
	list = r.score(list)
	list = r.foldAll(list)
	list = pinIdentifiers(list, len(r.Names))
	hits, err = r.fitting(ctx, list)
	return hits, r.bestFit, err
}

// lookClosely looks at the best of a list again, by their passages (refine).
func (r *ranking) lookClosely(ctx context.Context, list []*Candidate) ([]*Candidate, error) {
	if !r.Closely {
		return list, nil
	}
	r.favourDated(list)
	boostNeighbours(list)
	sortByRelevance(list)
	list = r.keep(list, r.worthwhile(list))
	return list, r.refine(ctx, list)
}

// score gives a list its scores, best first. But for Seed only the pool has any.
func (r *ranking) score(list []*Candidate) []*Candidate {
	if r.Way == Seed {
		for _, x := range list {
			x.Score = SeedScore(x.Cosine, x.Importance)
		}
	} else {
		list = r.keep(list, max(PoolSize, r.Limit))
		r.blend(list)
	}
	slices.SortFunc(list, func(x, y *Candidate) int {
		return cmp.Or(cmp.Compare(y.Score, x.Score), strings.Compare(x.ID, y.ID))
	})
	return list
}

// SeedScore is the score of a record under Seed.
func SeedScore(cosine, importance float64) float64 {
	return relevanceShare*cosine + importanceShare*importance
}

// fitting returns the first of a list that fit.
func (r *ranking) fitting(ctx context.Context, list []*Candidate) ([]*Candidate, error) {
	f, err := r.newFitting(ctx)
	if err != nil {
		return nil, err
	}
	if list, err = f.quotationsFirst(ctx, list); err != nil {
		return nil, err
	}
	hits := make([]*Candidate, 0, r.Limit)
	for _, x := range list {
		if len(hits) == r.Limit {
			break
		}
		if err := f.judge(ctx, x); err != nil {
			return nil, err
		}
		r.bestFit = max(r.bestFit, x.Fit)
		if x.Fit >= r.MinScore {
			hits = append(hits, x)
		}
	}
	return hits, nil
}

// relevant rates a pool by relevance, best first, equal texts folded.
func (r *ranking) relevant(pool []*Candidate) []*Candidate {
	texts, cosines := span{}, span{}
	for _, x := range pool {
		texts.add(x.BM25)
		if x.HasVector {
			cosines.add(x.Cosine)
		}
	}
	for _, x := range pool {
		x.Relevance = r.relevance(x, texts, cosines)
	}
	sortByRelevance(pool)
	return r.fewOwnWords(fold(pool, func(x, y *Candidate) bool { return x.Text == y.Text }))
}

// fewOwnWords drops an agent's own words but for the first of them.
func (r *ranking) fewOwnWords(list []*Candidate) []*Candidate {
	own := 0
	return slices.DeleteFunc(list, func(x *Candidate) bool {
		if x.OwnWords {
			own++
		}
		return x.OwnWords && own > max(ownPlaces, r.Limit)
	})
}

// quotationsFirst moves what an agent stored in its own words behind every
// quotation that fits the question at least as well, whatever their importance.
func (f *fitting) quotationsFirst(ctx context.Context, list []*Candidate) ([]*Candidate, error) {
	if !slices.ContainsFunc(list, func(x *Candidate) bool { return x.OwnWords }) {
		return list, nil
	}
	list = list[:min(len(list), max(PoolSize, f.ranking.Limit))]
	for _, x := range list {
		if err := f.judge(ctx, x); err != nil {
			return nil, err
		}
	}
	type place struct {
		x   *Candidate
		at  int // in the list
		own int // 1 for own words, which come behind what stands there
	}
	places := make([]place, len(list))
	for i, x := range list {
		if places[i] = (place{x: x, at: i}); !x.OwnWords {
			continue
		}
		places[i].own = 1
		for k := i + 1; k < len(list); k++ {
			if !list[k].OwnWords && list[k].Fit >= x.Fit {
				places[i].at = k
			}
		}
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Or(a.at-b.at, a.own-b.own) })
	ordered := make([]*Candidate, len(places))
	for i, p := range places {
		ordered[i] = p.x
	}
	return ordered, nil
}

// relevance mixes the two halves. A record without a vector goes by its words;
// Seed takes the raw cosine.
func (r *ranking) relevance(c *Candidate, texts, cosines span) float64 {
	switch {
	case r.Way == Seed:
		return c.Cosine
	case r.Way == Vector:
		return cosines.share(c.Cosine)
	case r.Way == Text || !c.HasVector:
		return texts.share(c.BM25)
	}
	return textShare*texts.share(c.BM25) + vectorShare*cosines.share(c.Cosine)
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

func sortByRelevance(list []*Candidate) {
	slices.SortFunc(list, func(x, y *Candidate) int {
		return cmp.Or(cmp.Compare(y.Relevance, x.Relevance), cmp.Compare(y.Importance, x.Importance), strings.Compare(x.ID, y.ID))
	})
}

// boostNeighbours adds to the relevance of each record a share of its neighbours'.
func boostNeighbours(list []*Candidate) {
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
func (r *ranking) keep(list []*Candidate, n int) []*Candidate {
	if n >= len(list) {
		return list
	}
	kept := list[:n:n]
	for i := range r.Names {
		holder := func(x *Candidate) bool { return x.Holds>>i&1 == 1 }
		if at := slices.IndexFunc(list, holder); at >= n && !slices.ContainsFunc(kept[n:], holder) {
			kept = append(kept, list[at])
		}
	}
	return kept
}

// blend normalises the relevance inside the pool and lets importance have its
// share. On raw scores it would decide alone (docs/dev/decisions.md D9).
func (r *ranking) blend(list []*Candidate) {
	pool := span{}
	for _, x := range list {
		pool.add(x.Relevance)
	}
	for _, x := range list {
		x.Relevance = pool.share(x.Relevance)
		importance := x.Importance
		if r.Closely && x.Summary && !x.OwnWords {
			importance = min(importance, summaryImportance)
		}
		x.Score = relevanceShare*x.Relevance + importanceShare*importance
	}
}

// pinIdentifiers makes sure that each identifier of the query that occurs
// anywhere in the list occurs in the first three. Otherwise the order stays.
func pinIdentifiers(list []*Candidate, names int) []*Candidate {
	var first []int
	for i := range names {
		at := slices.IndexFunc(list, func(x *Candidate) bool { return x.Holds>>i&1 == 1 })
		if at >= 0 && len(first) < PinnedPlaces && !slices.Contains(first, at) {
			first = append(first, at)
		}
	}
	for at := 0; at < len(list) && len(first) < PinnedPlaces; at++ {
		if !slices.Contains(first, at) {
			first = append(first, at)
		}
	}
	slices.Sort(first)
	ordered := make([]*Candidate, 0, len(list))
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
