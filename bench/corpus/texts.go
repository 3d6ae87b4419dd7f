package corpus

import (
	"iter"
	"math/rand/v2"
)

// Texts are n pieces of prose of about so many bytes, as they stand in memory:
// what a stretch of a log says, one after another. They are the same for the
// same seed.
func Texts(seed uint64, n, bytes int) iter.Seq[string] {
	return func(yield func(string) bool) {
		a := author{r: rand.New(rand.NewPCG(seed, 2))}
		for i, written := 0, stretchBytes; i < n; i++ {
			if written >= stretchBytes {
				a.v, written = newVocabulary(a.r), 0
			}
			text := a.prose(nil, bytes)
			if written += len(text); !yield(string(text)) {
				return
			}
		}
	}
}
