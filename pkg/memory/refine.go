package memory

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/embed"
)

// What a second, closer look at the best of the pool counts: the words of the
// record, the words of its best passage, and its meaning: as a whole, and that
// of the nearest passage (docs/recall.md, Passages).
const (
	wholeTextShare = 0.4
	passageShare   = 0.3
	meaningShare   = 0.3
	detailShare    = 0.1 // of which that of the nearest passage
)

// So many records are looked at again at most, and not many more than have so
// many bytes of text together: one of 3,500 characters costs about 0.3 ms.
const (
	refined      = 100
	refinedBytes = 180_000
)

// A meaningEmbedder compares texts by meaning alone, apart from their words.
// embed.Builtin does; the vectors of language models cannot be taken apart.
type meaningEmbedder interface {
	EmbedMeaning(ctx context.Context, text string) ([]float32, error)
	EmbedDocuments(ctx context.Context, texts []string) ([][]float32, error)
}

// closer is what is seen of a record at the second look.
type closer struct {
	*rated
	passages []string
	word     float64 // BM25 of its best passage
	answer   float64 // BM25 of its best passage that has what the answer must have
	meaning  float64 // cosine of the whole text
	detail   float64 // cosine of its nearest passage
	hasSense bool    // meaning and detail are known
}

// worthwhile is how many records of a list are looked at again.
func (r *recall) worthwhile(list []*rated) int {
	least, size := max(poolSize, r.query.Limit), 0
	for i, x := range list {
		if size += len(x.Text); i >= max(refined, least) || i >= least && size > refinedBytes {
			return i
		}
	}
	return len(list)
}

// refine rates a list again by the passages of its records, and orders it.
func (r *recall) refine(ctx context.Context, list []*rated) error {
	seen := make([]closer, len(list))
	for i, x := range list {
		seen[i].rated, seen[i].passages = x, passages(x.Text)
	}
	if err := r.readWords(ctx, seen); err != nil {
		return err
	}
	if err := r.readMeanings(ctx, seen); err != nil {
		return err
	}
	rate(seen)
	r.favourDated(list)
	lean(list)
	sortByRelevance(list)
	return nil
}

// readWords scores the words of passages.
func (r *recall) readWords(ctx context.Context, seen []closer) error {
	terms, err := r.store.weigh(ctx, r.words)
	if err != nil {
		return err
	}
	w := newWordScore(terms)
	w.answer = answerWords(r.query.Text)
	for _, c := range seen {
		for _, p := range c.passages {
			w.read(p)
		}
	}
	passage := 0
	for i := range seen {
		for range seen[i].passages {
			score := w.score(passage)
			seen[i].word = max(seen[i].word, score)
			if w.answers[passage] {
				seen[i].answer = max(seen[i].answer, score)
			}
			passage++
		}
	}
	return nil
}

// readMeanings compares meanings, if the embedder can tell them from words.
func (r *recall) readMeanings(ctx context.Context, seen []closer) error {
	e, ok := r.embedder.(meaningEmbedder)
	if !ok || r.vector == nil {
		return nil
	}
	query, err := e.EmbedMeaning(ctx, r.query.Text)
	if errors.Is(err, embed.ErrNoVector) {
		return nil
	}
	if err != nil {
		return err
	}
	for i := range seen {
		c := &seen[i]
		if c.meaning, err = nearness(ctx, e, query, c.Text); err != nil {
			return err
		}
		c.hasSense = true
		for _, p := range c.passages {
			cosine, err := nearness(ctx, e, query, p)
			if err != nil {
				return err
			}
			c.detail = max(c.detail, cosine)
		}
	}
	return nil
}

// nearness is the cosine of a text with a query; 0 if it has no words.
func nearness(ctx context.Context, e meaningEmbedder, query []float32, text string) (float64, error) {
	vectors, err := e.EmbedDocuments(ctx, []string{text})
	if errors.Is(err, embed.ErrNoVector) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return max(0, dot(query, vectors[0])), nil
}

// rate mixes what was seen. What is not known of a record leaves its share to
// the words.
func rate(seen []closer) {
	var texts, words, cosines, meanings, details span
	answers := 0.0
	for _, c := range seen {
		texts.add(c.text)
		words.add(c.word)
		answers = max(answers, c.answer)
		if c.hasVector {
			cosines.add(c.cosine)
		}
		meanings.add(c.meaning)
		details.add(c.detail)
	}
	for _, c := range seen {
		c.relevance = wholeTextShare*texts.share(c.text) + passageShare*words.share(c.word)
		switch {
		case c.hasSense:
			c.relevance += (meaningShare-detailShare)*meanings.share(c.meaning) + detailShare*details.share(c.detail)
		case c.hasVector:
			c.relevance += meaningShare * cosines.share(c.cosine)
		default:
			c.relevance /= 1 - meaningShare
		}
		if answers > 0 {
			c.relevance += answerShare * c.answer / answers
		}
	}
}

// A short record is understood from those around it: what stands before or
// after a relevant one is likelier to be. leanShare is how much each of the
// two counts; it falls with the square of the length beyond leanBytes, about
// that of four short messages.
const (
	leanShare = 0.2
	leanBytes = 900
)

// lean adds to the relevance of each record a share of its neighbours'.
func lean(list []*rated) {
	type seat struct {
		runtime, agent, session string
		position                int
	}
	relevance := map[seat]float64{}
	for _, x := range list {
		if x.Position >= 0 {
			s := seat{x.Runtime, x.Agent, x.Session, x.Position}
			relevance[s] = max(relevance[s], x.relevance)
		}
	}
	for _, x := range list {
		if x.Position < 0 {
			continue
		}
		share := leanShare
		if n := len(x.Text); n > leanBytes {
			share *= leanBytes * leanBytes / float64(n*n)
		}
		before, after := seat{x.Runtime, x.Agent, x.Session, x.Position - 1}, seat{x.Runtime, x.Agent, x.Session, x.Position + 1}
		x.relevance += share * (relevance[before] + relevance[after])
	}
}

func sortByRelevance(list []*rated) {
	slices.SortFunc(list, func(x, y *rated) int {
		return cmp.Or(cmp.Compare(y.relevance, x.relevance), cmp.Compare(y.Importance, x.Importance), strings.Compare(x.ID, y.ID))
	})
}
