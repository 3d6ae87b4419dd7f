package rank

import (
	"context"
	"errors"
	"math"
	"strings"

	"github.com/sessctl/sessctl/pkg/embed"
)

// A score says which hit is best. Whether the best one has to do with the
// question at all, it does not say: one of them always has a relevance of 1.
// Fit says that, in figures that mean the same for every question
// (docs/dev/ranking.md, Fit):
//
//	fit = (words - absent / 2 + meaning) / 2
//
// words is how much of the question's words a record has, each as heavy as it
// is rare: as a share of the question, or as how unlikely it is that so many
// rare words stand together by chance, whichever is more. absent is the share
// of those that stand nowhere in memory: what it knows nothing of it cannot
// answer. meaning is how near record and question are by meaning.

// fitting judges how well records fit a question.
type fitting struct {
	ranking *ranking
	terms   []term
	total   float64 // of the weights
	absent  float64 // share of words that stand nowhere
	rarity  float64 // the weight of a word so rare that one record would have it

	embedder Meanings  // nil if it cannot tell meaning from words
	query    []float32 // its meaning
	known    float64   // share of the question's words whose meaning is known
	least    float64   // cosine of what was proposed, of a served model
}

// newFitting prepares what is the same for all records.
func (r *ranking) newFitting(ctx context.Context) (*fitting, error) {
	f := &fitting{ranking: r}
	f.weigh()
	switch {
	case !r.Vectors:
		return f, nil
	case r.Meanings != nil:
		return f, f.readQuery(ctx, r.Meanings)
	}
	f.least = r.Farthest
	return f, nil
}

// weigh finds out how much each word of the question says.
func (f *fitting) weigh() {
	counted := f.ranking.Frequencies
	all, absent := counted.All+otherRecords, 0.0
	f.rarity = math.Log(all)
	for _, w := range counted.Words {
		t := term{w.Text, inverseFrequency(all, w.Records)}
		f.terms, f.total = append(f.terms, t), f.total+t.weight
		if w.Records == 0 {
			absent += t.weight
		}
	}
	if len(f.ranking.Periods) > 0 {
		f.total += f.timeWeight()
	}
	if f.total > 0 {
		f.absent = absent / f.total
	}
}

// readQuery finds the meaning of the question, and how many of its words have
// one that is known.
func (f *fitting) readQuery(ctx context.Context, e Meanings) error {
	query, err := e.EmbedMeaning(ctx, f.ranking.Text)
	if errors.Is(err, embed.ErrNoVector) {
		return nil
	}
	if err != nil {
		return err
	}
	f.embedder, f.query = e, query
	words, known := 0.0, 0.0
	for _, word := range strings.Fields(f.ranking.Words) {
		if len(embed.AppendTerms(nil, word)) == 0 {
			continue
		}
		words++
		switch _, err := e.EmbedMeaning(ctx, word); {
		case err == nil:
			known++
		case !errors.Is(err, embed.ErrNoVector):
			return err
		}
	}
	f.known = known / max(words, 1)
	return nil
}

// judge judges a record once.
func (f *fitting) judge(ctx context.Context, c *Candidate) (err error) {
	if !c.judged {
		c.Fit, err = f.fit(ctx, c)
		c.judged = err == nil
	}
	return err
}

// fit judges a record.
func (f *fitting) fit(ctx context.Context, c *Candidate) (float64, error) {
	meaning, err := f.meaning(ctx, c)
	return max(0, min(1, (f.words(c)-absentShare*f.absent+meaning)/2)), err
}

// words is how much of the question's words a record has. Where the question has
// none, or it holds an identifier of the question, it has all.
func (f *fitting) words(c *Candidate) float64 {
	if f.total == 0 || c.Holds != 0 {
		return 1
	}
	then := 0.0
	if f.ranking.timeShare(c) > 0 {
		then = f.timeWeight()
	}
	together := 0.0
	for _, p := range passages(c.Text) {
		together = max(together, f.weightIn(p.text))
	}
	return min(1, max((f.weightIn(c.Text)+then)/f.total, (together+then)/(2*f.rarity)))
}

// timeWeight is the weight of a time that the question names: that of a word
// which is neither rare nor common.
func (f *fitting) timeWeight() float64 { return f.rarity / 2 }

// weightIn is the weight of the question's words that a text has.
func (f *fitting) weightIn(text string) (sum float64) {
	have := termSet(text)
	for _, t := range f.terms {
		if have[t.text] {
			sum += t.weight
		}
	}
	return sum
}

// meaning is how near a record is by meaning. A served model can only speak for
// a record: how near its vectors are to each other differs from model to model.
// It finds nothing only where memory does not have the question's words.
func (f *fitting) meaning(ctx context.Context, c *Candidate) (float64, error) {
	switch {
	case f.embedder != nil:
		nearest, err := f.nearest(ctx, c)
		return f.known*builtinMeaning*nearest + (1-f.known)*unknownMeaning, err
	case f.ranking.Vectors && c.HasVector && f.least < 1:
		return max(servedFloor, servedMeaning*(c.Cosine-f.least)/(1-f.least)), nil
	}
	return unknownMeaning, nil
}

// nearest is the cosine of the question with a record, or with the nearest
// passage of it.
func (f *fitting) nearest(ctx context.Context, c *Candidate) (float64, error) {
	if c.hasSense {
		return max(c.meaning, c.detail), nil
	}
	best := 0.0
	for _, p := range append(passages(c.Text), passage{text: c.Text}) {
		cosine, err := f.ranking.nearness(ctx, f.embedder, f.query, p.text)
		if err != nil {
			return 0, err
		}
		best = max(best, cosine)
	}
	return best, nil
}

// inverseFrequency is how much a word says that so many of all records have.
func inverseFrequency(all, have float64) float64 {
	return math.Log(1 + (max(all, have)-have+0.5)/(have+0.5))
}
