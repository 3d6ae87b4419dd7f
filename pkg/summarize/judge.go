package summarize

import "bytes"

// voice says whose words a sentence is from.
type voice struct {
	person  bool
	working bool // the agent, who calls a tool with the same message: it thinks aloud
}

// Words that a finding has at least: "There's the problem!" says nothing.
const findingWords = 6

// sentences puts each sentence on the shelf that its cues speak for. A line
// like "Still open:" speaks for the items of the list below it; one like
// "Fixed:" does not, what is below it is seldom a sentence.
func (e *Extractive) sentences(line int, text []byte, by voice) {
	listed := kinds
	eachSentence(text, func(s sentence) {
		if e.inFocus(s.text) > 0 {
			e.about.add(e.candidate(line, s.text, sentenceRunes, len(s.text)/100))
		}
		if !s.item {
			listed = kinds
		}
		k, weight := e.judge(s.text, by)
		if s.head {
			if weight >= enough && k != finding {
				listed = k
			}
			return
		}
		if s.item && listed != kinds && weight <= enough {
			k, weight = listed, enough+1
		}
		if weight >= enough && len(s.text) >= 8 {
			e.said[k].add(e.candidate(line, s.text, sentenceRunes, weight))
		}
	})
}

// judge returns what a sentence most probably is, and how much speaks for it.
func (e *Extractive) judge(s []byte, by voice) (kind, int) {
	e.lower = appendLower(e.lower[:0], s)
	weights := e.cues.weigh(e.lower)
	if !by.person {
		weights[constraint] = 0
	}
	if s[len(s)-1] == '?' {
		weights[constraint], weights[decision], weights[finding], weights[next] = 0, 0, 0, 0
	}
	for _, word := range []string{"that ", "this ", "it "} { // says nothing without what came before
		if bytes.HasPrefix(e.lower, []byte(word)) {
			weights[constraint] -= 2
			weights[decision] -= 2
			weights[finding] -= 2
		}
	}
	if containsAny(e.lower, denials()) { // a report, and no rule
		weights[constraint] -= 3
	}
	if containsAny(e.lower, guesses()) || bytes.HasPrefix(e.lower, []byte("if ")) {
		weights[decision], weights[finding] = 0, 0
	}
	if by.working || len(bytes.Fields(s)) < findingWords {
		weights[finding] = 0
	}
	k := heaviest(weights)
	return k, weights[k]
}

// heaviest returns the kind of a sentence. Goals are of whole messages.
func heaviest(weights [kinds]int) kind {
	best := constraint
	for _, k := range [...]kind{decision, finding, open, next} {
		if weights[k] > weights[best] {
			best = k
		}
	}
	return best
}
