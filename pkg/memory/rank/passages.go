package rank

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/embed"
)

// worthwhile is how many records of a list are looked at again.
func (r *ranking) worthwhile(list []*Candidate) int {
	least, size := max(PoolSize, r.Limit), 0
	for i, x := range list {
		if size += len(x.Text); i >= max(refined, least) || i >= least && size > refinedBytes {
			return i
		}
	}
	return len(list)
}

// refine rates a list again by the passages of its records, and orders it.
func (r *ranking) refine(ctx context.Context, list []*Candidate) error {
	for _, x := range list {
		x.passages = passages(x.Text)
	}
	listen(list)
	r.readWords(list)
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
func (r *ranking) readWords(list []*Candidate) {
	w := newWordScore(r.weigh())
	w.answer = answerWords(r.Text)
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
}

// Meanings compares texts by meaning alone, apart from their words.
// embed.Builtin does; the vectors of language models cannot be taken apart.
type Meanings interface {
	EmbedMeaning(ctx context.Context, text string) ([]float32, error)
	EmbedInto(ctx context.Context, text string, vector []float32) error
}

// readMeanings compares meanings, if the embedder can tell them from words.
func (r *ranking) readMeanings(ctx context.Context, list []*Candidate) error {
	e := r.Meanings
	if e == nil {
		return nil
	}
	query, err := e.EmbedMeaning(ctx, r.Text)
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
func (r *ranking) nearness(ctx context.Context, e Meanings, query []float32, text string) (float64, error) {
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

// dot is the cosine of two vectors of unit length.
func dot(x, y []float32) float64 {
	sum := 0.0
	for i := range x {
		sum += float64(x[i]) * float64(y[i])
	}
	return sum
}

// rate mixes what was seen. The share of what is not known goes to the words.
func rate(list []*Candidate) {
	var texts, words, cosines, meanings, details span
	answers := 0.0
	for _, c := range list {
		texts.add(c.BM25)
		words.add(c.word)
		answers = max(answers, c.answer)
		if c.HasVector {
			cosines.add(c.Cosine)
		}
		meanings.add(c.meaning)
		details.add(c.detail)
	}
	for _, c := range list {
		c.Relevance = wholeTextShare*texts.share(c.BM25) + passageShare*words.share(c.word)
		switch {
		case c.hasSense:
			c.Relevance += (meaningShare-detailShare)*meanings.share(c.meaning) + detailShare*details.share(c.detail)
		case c.HasVector:
			c.Relevance += meaningShare * cosines.share(c.Cosine)
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

// weigh returns the terms of the question that stand anywhere in memory.
func (r *ranking) weigh() (terms []term) {
	for _, w := range r.Frequencies.Words {
		if w.Records > 0 {
			terms = append(terms, term{w.Text, inverseFrequency(r.Frequencies.All, w.Records)})
		}
	}
	return terms
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
