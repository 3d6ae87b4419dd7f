package summarize

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// kind is what a sentence may be.
type kind uint8

const (
	constraint kind = iota
	decision
	finding
	open
	next
	goal // of a whole message
	kinds
)

// cue is a phrase that speaks for a kind. Weights were set by reading the
// summaries of real and synthetic sessions; 3 alone makes an item.
type cue struct {
	phrase string // lower case
	weight int
	start  bool // counts only where the sentence begins
}

// enough is the weight from which a sentence is an item.
const enough = 3

// cueIndex finds the cues that begin with a word.
type cueIndex map[string][]indexedCue

type indexedCue struct {
	cue
	kind kind
}

func newCueIndex() cueIndex {
	index := cueIndex{}
	for k, table := range [kinds][]cue{constraint: constraintCues(), decision: decisionCues(), finding: findingCues(), open: openCues(), next: nextCues(), goal: goalCues()} {
		for _, c := range table {
			first := c.phrase
			if i := bytes.IndexFunc([]byte(first), func(r rune) bool { return !wordRune(r) }); i > 0 {
				first = first[:i]
			}
			index[first] = append(index[first], indexedCue{c, kind(k)})
		}
	}
	return index
}

// weigh adds up the cues of a sentence in lower case. Each cue counts once.
func (x cueIndex) weigh(sentence []byte) (weights [kinds]int) {
	start := true
	for i := 0; i < len(sentence); {
		end := i + wordLength(sentence[i:])
		if end == i {
			i += runeLength(sentence[i:])
			continue
		}
		for _, c := range x[string(sentence[i:end])] {
			if (start || !c.start) && hasPhrase(sentence[i:], c.phrase) {
				weights[c.kind] = max(weights[c.kind], c.weight) + min(weights[c.kind], c.weight)/2
			}
		}
		start = start && opens(sentence[i:end])
		i = end
	}
	return weights
}

// opens tells whether a sentence still begins after a word: "Please add" asks
// for the same as "Add".
func opens(word []byte) bool {
	switch string(word) {
	case "please", "now", "also", "then", "so", "ok", "okay", "and", "just", "first", "can", "could", "you", "let's", "bitte":
		return true
	}
	return false
}

// hasPhrase tells whether s begins with a phrase that ends where a word does.
func hasPhrase(s []byte, phrase string) bool {
	if !bytes.HasPrefix(s, []byte(phrase)) {
		return false
	}
	r, _ := utf8.DecodeRune(s[len(phrase):])
	return len(s) == len(phrase) || !wordRune(r) || phrase[len(phrase)-1] == ':'
}

func wordLength(s []byte) int {
	n := 0
	for n < len(s) {
		if s[n] < utf8.RuneSelf {
			if !wordByte(s[n]) {
				break
			}
			n++
			continue
		}
		r, size := utf8.DecodeRune(s[n:])
		if !wordRune(r) {
			break
		}
		n += size
	}
	return n
}

func wordByte(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '\'' || c == '_'
}

func wordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return wordByte(byte(r))
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '’'
}

func runeLength(s []byte) int {
	_, n := utf8.DecodeRune(s)
	return n
}
