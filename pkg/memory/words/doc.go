// Package words is the full-text index of the memory: which texts have a word, and
// how often. It knows rows and words, nothing of records and of ranking.
//
// A [Lexicon] names the tables of one index; the memory has one of what was said and
// one of what was done. A [Writer] gathers the words of texts and writes them as
// segments, four of which become one (segments.go has the format). An [Index] answers
// from the segments as they are at one moment: who has a word, the best by BM25
// ([Match]), words that begin so, and words near one that was typed (spelling.go).
//
// All that is read is held to its checksum: [ErrDamaged]. The texts have all words, so
// an index that is damaged is made anew ([Lexicon.Anew]); a [Sum] tells whether it has
// the words of the texts.
package words
