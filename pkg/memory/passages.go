package memory

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/embed"
)

// worthwhile is how many records of a list are looked at again.
func (r *recall) worthwhile(list []*candidate) int {
	least, size := max(poolSize, r.query.Limit), 0
	for i, x := range list {
		if size += len(x.Text); i >= max(refined, least) || i >= least && size > refinedBytes {
			return i
		}
	}
	return len(list)
}

// refine rates a list again by the passages of its records, and orders it.
func (r *recall) refine(ctx context.Context, list []*candidate) error {
	for _, x := range list {
		x.passages = passages(x.Text)
	}
	listen(list)
	if err := r.readWords(ctx, list); err != nil {
		return err
	}
	if err := r.readMeanings(ctx, list); err != nil {
		return err
	}
	rate(list)
	r.favourDated(list)
	boostNeighbours(list)
	favourSaid(list) // last: what is told beside a dump is not worth less
	sortByRelevance(list)
	return nil
}

// readWords scores the words of passages.
func (r *recall) readWords(ctx context.Context, list []*candidate) error {
	terms, err := r.weigh(ctx)
	if err != nil {
		return err
	}
	w := newWordScore(terms)
	w.answer = answerWords(r.query.Text)
	for _, c := range list {
		for _, p := range c.passages {
			w.read(p.text)
		}
	}
	passage := 0
	for _, c := range list {
		c.unsaid = w.unsaid(passage, c.passages)
		best := 0.0
		for _, p := range c.passages {
			score := w.score(passage)
			c.word = max(c.word, score*(1-(1-dumpShare)*p.said.of(p.said.dump)))
			if score > best {
				best, c.byPerson = score, 2*p.said.person >= p.said.all && p.said.all > 0
			}
			if w.answers[passage] {
				c.answer = max(c.answer, score)
			}
			passage++
		}
	}
	return nil
}

// A meaningEmbedder compares texts by meaning alone, apart from their words.
// embed.Builtin does; the vectors of language models cannot be taken apart.
type meaningEmbedder interface {
	EmbedMeaning(ctx context.Context, text string) ([]float32, error)
	EmbedInto(ctx context.Context, text string, vector []float32) error
}

// readMeanings compares meanings, if the embedder can tell them from words.
func (r *recall) readMeanings(ctx context.Context, list []*candidate) error {
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
	for _, c := range list {
		if c.meaning, err = r.nearness(ctx, e, query, c.Text); err != nil {
			return err
		}
		c.hasSense = true
		for _, p := range c.passages {
			cosine, err := r.nearness(ctx, e, query, p.text)
			if err != nil {
				return err
			}
			c.detail = max(c.detail, cosine)
		}
	}
	return nil
}

// nearness is the cosine of a text with a query; 0 if it has no words. A recall
// compares hundreds of texts, whose vectors all go through the same room.
func (r *recall) nearness(ctx context.Context, e meaningEmbedder, query []float32, text string) (float64, error) {
	if len(r.passing) != len(query) {
		r.passing = make([]float32, len(query))
	}
	err := e.EmbedInto(ctx, text, r.passing)
	if errors.Is(err, embed.ErrNoVector) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return max(0, dot(query, r.passing)), nil
}

// rate mixes what was seen. The share of what is not known goes to the words.
func rate(list []*candidate) {
	var texts, words, cosines, meanings, details span
	answers := 0.0
	for _, c := range list {
		texts.add(c.text)
		words.add(c.word)
		answers = max(answers, c.answer)
		if c.hasVector {
			cosines.add(c.cosine)
		}
		meanings.add(c.meaning)
		details.add(c.detail)
	}
	for _, c := range list {
		c.Relevance = wholeTextShare*texts.share(c.text) + passageShare*words.share(c.word)
		switch {
		case c.hasSense:
			c.Relevance += (meaningShare-detailShare)*meanings.share(c.meaning) + detailShare*details.share(c.detail)
		case c.hasVector:
			c.Relevance += meaningShare * cosines.share(c.cosine)
		default:
			c.Relevance /= 1 - meaningShare
		}
		if answers > 0 {
			c.Relevance += answerShare * c.answer / answers
		}
	}
}

// passage is a part of a record's text, and where it begins.
type passage struct {
	text string
	from int
	said shares // by whom, as far as that was looked for
}

// passages cuts a record's text into its parts: its messages, long ones at a
// line end, else at a space, and very short ones joined.
func passages(text string) []passage {
	var list []passage
	from := 0
	for part := range strings.SplitSeq(text, "\n\n") {
		at := from
		from += len(part) + len("\n\n")
		if strings.TrimSpace(part) == "" {
			continue
		}
		if last := len(list) - 1; last >= 0 && len(list[last].text)+len(part) < shortPassage {
			list[last].text = text[list[last].from : at+len(part)]
			continue
		}
		for len(part) > passageBytes {
			n := cutAt(part)
			list = append(list, passage{text: part[:n], from: at})
			part, at = part[n:], at+n
		}
		list = append(list, passage{text: part, from: at})
	}
	return list
}

// cutAt is where a passage of a longer text ends: more than half of
// passageBytes, and never within a rune.
func cutAt(text string) int {
	for _, end := range []byte{'\n', ' '} {
		if at := strings.LastIndexByte(text[:passageBytes], end); at >= passageBytes/2 {
			return at
		}
	}
	at := passageBytes
	for at > passageBytes/2 && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}

// term is a word of a query and how much it says: the rarer in all of memory,
// the more.
type term struct {
	text   string
	weight float64
}

// weigh returns the terms of the query that stand anywhere in memory.
func (r *recall) weigh(ctx context.Context) (terms []term, err error) {
	f, err := r.frequenciesOf(ctx)
	if err != nil {
		return nil, err
	}
	for _, w := range f.words {
		if w.records > 0 {
			terms = append(terms, term{w.text, inverseFrequency(f.all, w.records)})
		}
	}
	return terms, nil
}

// wordScore scores passages by BM25. All are read first, because their mean
// length is part of each score.
type wordScore struct {
	terms   []term
	number  map[string]int         // of a term
	counts  [][]int                // by passage and term
	lengths []int                  // of passages, in terms
	total   int                    // of lengths
	answer  func(term []byte) bool // what the answer must have; nil if nothing is known of it
	answers []bool                 // passages that have it
	buffer  []byte
}

func newWordScore(terms []term) *wordScore {
	w := &wordScore{terms: terms, number: map[string]int{}}
	for n, t := range terms {
		w.number[t.text] = n
	}
	return w
}

// read takes the next passage.
func (w *wordScore) read(passage string) {
	w.buffer = embed.AppendTerms(w.buffer[:0], passage)
	counts, length, answers := make([]int, len(w.terms)), 0, false
	for word := range bytes.FieldsSeq(w.buffer) {
		length++
		answers = answers || w.answer != nil && w.answer(word)
		if n, ok := w.number[string(word)]; ok {
			counts[n]++
		}
	}
	w.counts, w.lengths, w.total = append(w.counts, counts), append(w.lengths, length), w.total+length
	w.answers = append(w.answers, answers)
}

// unsaid is how much of the terms that a record has stand only where nothing is
// said in words, by their weights. Its passages begin at a place in the order of
// reading.
func (w *wordScore) unsaid(from int, passages []passage) float64 {
	have, unsaid := 0.0, 0.0
	for n, t := range w.terms {
		stands, said := false, false
		for i, p := range passages {
			if w.counts[from+i][n] > 0 {
				stands, said = true, said || 2*p.said.dump < max(p.said.all, 1)
			}
		}
		if stands {
			have += t.weight
		}
		if stands && !said {
			unsaid += t.weight
		}
	}
	if have == 0 {
		return 0
	}
	return unsaid / have
}

// score is that of a passage, by its place in the order of reading.
func (w *wordScore) score(passage int) (score float64) {
	mean := float64(w.total) / float64(len(w.lengths))
	pivot := wordSaturation * (1 - wordLengthShare + wordLengthShare*float64(w.lengths[passage])/max(mean, 1))
	for n, count := range w.counts[passage] {
		if count > 0 {
			f := float64(count)
			score += w.terms[n].weight * f * (wordSaturation + 1) / (f + pivot)
		}
	}
	return score
}
