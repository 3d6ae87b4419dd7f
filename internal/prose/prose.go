package prose

import (
	"bytes"
	"iter"
	"math"
	"math/rand/v2"
)

// WordCount is how many words a vocabulary has.
const WordCount = 1800

// drawCount is how many entries the table has that words are drawn from.
const drawCount = 1 << 14

// Vocabulary is a set of words of which the n-th is drawn in proportion to 1/n
// (Zipf).
type Vocabulary struct {
	words []string
	draw  [drawCount]uint16
}

// New is a vocabulary of made-up words.
func New(r *rand.Rand) *Vocabulary {
	return Of(func(n int) string { return makeWord(r, n) })
}

// Of is a vocabulary of the words that word gives, most frequent first. It asks
// until it has enough different ones.
func Of(word func(n int) string) *Vocabulary {
	v := &Vocabulary{words: make([]string, 0, WordCount)}
	seen := map[string]bool{}
	for len(v.words) < WordCount {
		if w := word(len(v.words)); !seen[w] {
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

// Word draws a word.
func (v *Vocabulary) Word(r *rand.Rand) string {
	return v.words[v.draw[r.Uint32()%drawCount]]
}

// Identifier draws a name of two words, as source code has them.
func (v *Vocabulary) Identifier(r *rand.Rand) string {
	second := []byte(v.Word(r))
	if c := second[0]; c >= 'a' && c <= 'z' {
		second[0] -= 'a' - 'A'
	}
	return v.Word(r) + string(second)
}

// Sentence appends a sentence, now and then with an identifier or a word in
// quotes.
func (v *Vocabulary) Sentence(dst []byte, r *rand.Rand) []byte {
	words := 4 + r.IntN(12)
	for i := range words {
		if i > 0 {
			dst = append(dst, ' ')
		}
		switch r.IntN(24) {
		case 0:
			dst = append(append(append(dst, '`'), v.Identifier(r)...), '`')
		case 1:
			dst = append(append(append(dst, '"'), v.Word(r)...), '"')
		default:
			dst = append(dst, v.Word(r)...)
		}
	}
	return append(dst, '.')
}

// Append appends about n bytes of sentences and paragraphs, as a person or a
// model writes them.
func (v *Vocabulary) Append(dst []byte, r *rand.Rand, n int) []byte {
	start := len(dst)
	for len(dst)-start < n {
		dst = v.Sentence(dst, r)
		if r.IntN(5) == 0 {
			dst = append(dst, "\n\n"...)
		} else {
			dst = append(dst, ' ')
		}
	}
	return bytes.TrimRight(dst, " \n")
}

// Stretch is how many bytes of text share a vocabulary: other texts, and other
// parts of one, do not compress against each other.
const Stretch = 1_700_000

// Texts are n pieces of prose of about so many bytes, as they stand in memory:
// what a log says, one after another. They are the same for the same seed.
func Texts(seed uint64, n, bytes int) iter.Seq[string] {
	return func(yield func(string) bool) {
		r := rand.New(rand.NewPCG(seed, 2))
		var v *Vocabulary
		for i, written := 0, Stretch; i < n; i++ {
			if written >= Stretch {
				v, written = New(r), 0
			}
			text := v.Append(nil, r, bytes)
			if written += len(text); !yield(string(text)) {
				return
			}
		}
	}
}
