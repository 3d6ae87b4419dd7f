package corpus

import (
	"math"
	"math/rand/v2"
)

const (
	wordCount = 1800
	drawCount = 1 << 14 // entries of the table that words are drawn from
)

// vocabulary is a set of made-up words with the frequencies of a language: the
// n-th word is drawn in proportion to 1/n (Zipf).
type vocabulary struct {
	words []string
	draw  [drawCount]uint16
}

func newVocabulary(r *rand.Rand) *vocabulary {
	v := &vocabulary{words: make([]string, 0, wordCount)}
	seen := map[string]bool{}
	for len(v.words) < wordCount {
		if w := makeWord(r, len(v.words)); !seen[w] {
			seen[w] = true
			v.words = append(v.words, w)
		}
	}
	total := 0.0
	for n := range v.words {
		total += 1 / float64(n+4)
	}
	at, sum := 0, 0.0
	for n := range v.words {
		sum += 1 / float64(n+4)
		for ; at < int(math.Round(sum/total*drawCount)); at++ {
			v.draw[at] = uint16(n)
		}
	}
	return v
}

// makeWord makes the n-th most frequent word: frequent words are short, and
// one in sixty has a letter that is not ASCII.
func makeWord(r *rand.Rand, n int) string {
	const consonants, vowels = "bcdfghklmnprstvwz", "aeiou"
	syllables := 1 + r.IntN(2)
	if n > 100 {
		syllables = 2 + r.IntN(3)
	}
	var word []byte
	for range syllables {
		word = append(word, consonants[r.IntN(len(consonants))], vowels[r.IntN(len(vowels))])
		if r.IntN(3) == 0 {
			word = append(word, consonants[r.IntN(len(consonants))])
		}
	}
	if r.IntN(60) == 0 {
		word = append(word, [...]string{"é", "ü", "ñ", "→", "語"}[r.IntN(5)]...)
	}
	return string(word)
}

// word draws a word.
func (v *vocabulary) word(r *rand.Rand) string {
	return v.words[v.draw[r.Uint32()%drawCount]]
}
