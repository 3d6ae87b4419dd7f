package rank

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/embed"
)

// Which records come behind the first five. The first five answer a question, or
// are about its matter: what uses their words, or is of their sessions, is more
// likely to hold the rest of the answer than what merely has another word of the
// question (docs/dev/ranking.md, The sixth hit and those after it).

// favourAlike puts what comes behind the first places in the order of what it
// gains. None of it gets a higher score than what stands before it.
func (r *ranking) favourAlike(list []*Candidate) {
	if len(list) <= firstPlaces {
		return
	}
	first, rest := list[:firstPlaces], list[firstPlaces:]
	likeness := likenessOf(list, r.Text)
	for i, x := range rest {
		gain := alikeShare*likeness[firstPlaces+i]*(1-x.said.of(x.said.dump)) + togetherShare*float64(x.countSession(first))
		x.Relevance, x.Score = min(1, x.Relevance+gain/relevanceShare), x.Score+gain
	}
	slices.SortFunc(rest, func(x, y *Candidate) int {
		return cmp.Or(cmp.Compare(y.Score, x.Score), strings.Compare(x.ID, y.ID))
	})
	for _, x := range rest {
		x.Score = min(x.Score, first[firstPlaces-1].Score)
	}
}

// countSession counts the records of a list that are pieces of the same session.
func (c *Candidate) countSession(list []*Candidate) (n int) {
	for _, x := range list {
		if x.Position >= 0 && c.Position >= 0 && x.sameSession(c) {
			n++
		}
	}
	return n
}

// likenessOf is how much of the words of each record are those of the first, 0 to
// 1: the mean of its cosines with them. A word is the heavier the fewer of the list
// have it, and those of the question count for nothing: all of the list has them.
func likenessOf(list []*Candidate, question string) []float64 {
	words, texts := numberedWords{numbers: map[string]int{}}, make([][]int, len(list))
	for i, x := range list {
		texts[i] = words.of(x.Text)
	}
	weights, lengths := words.weights(len(list)), make([]float64, len(list))
	for i, text := range texts {
		lengths[i] = math.Sqrt(sumOver(text, weights))
	}
	for _, word := range words.of(question) {
		if word < len(weights) {
			weights[word] = 0
		}
	}
	likeness := make([]float64, len(list))
	for k := range min(modelPlaces, len(list)) {
		common := make([]float64, len(weights))
		for _, word := range texts[k] {
			common[word] = weights[word]
		}
		for i, text := range texts {
			likeness[i] += sumOver(text, common) / max(1, lengths[i]*lengths[k]) / modelPlaces
		}
	}
	return likeness
}

// numberedWords are the words of some texts, numbered as they come: sums over them
// are the same to the last digit each time.
type numberedWords struct {
	numbers map[string]int
	texts   []int // how many texts have a word
	last    []int // the last text that has it
	read    int   // texts
	buffer  []byte
}

// of returns the different words of the next text.
func (w *numberedWords) of(text string) (list []int) {
	w.read++
	w.buffer = embed.AppendTerms(w.buffer[:0], text)
	for word := range bytes.FieldsSeq(w.buffer) {
		n, known := w.numbers[string(word)]
		if !known {
			n = len(w.numbers)
			w.numbers[string(word)] = n
			w.texts, w.last = append(w.texts, 0), append(w.last, 0)
		}
		if w.last[n] != w.read {
			w.last[n] = w.read
			w.texts[n]++
			list = append(list, n)
		}
	}
	return list
}

// weights are the squares of how much each word says of so many texts.
func (w *numberedWords) weights(all int) []float64 {
	list := make([]float64, len(w.texts))
	for i, have := range w.texts {
		weight := math.Log(1 + float64(all)/float64(have))
		list[i] = weight * weight
	}
	return list
}

// sumOver adds up what words weigh.
func sumOver(words []int, weights []float64) (sum float64) {
	for _, word := range words {
		sum += weights[word]
	}
	return sum
}
