package memory

import (
	"strings"

	"github.com/sessctl/sessctl/pkg/embed"
)

// answerShare is what a record gains whose passage has the words of a question
// and what its answer must have: a time for "when", a number for "how many"
// (docs/recall.md, Passages).
const answerShare = 0.1

// answerWords say what the answer of a question has among its words, or are
// nil: only English questions are known.
func answerWords(question string) func(term []byte) bool {
	words := strings.Fields(strings.ToLower(question))
	if len(words) == 0 {
		return nil
	}
	second := ""
	if len(words) > 1 {
		second = words[1]
	}
	switch words[0] + " " + second {
	case "how long", "what time", "what date", "what day", "what month", "what year", "which day", "which month", "which year":
		return isTime()
	case "how many", "how much", "how often", "how old":
		return isNumber()
	}
	if words[0] == "when" {
		return isTime()
	}
	return nil
}

// isTime says whether a term is part of a time.
func isTime() func(term []byte) bool {
	times := termSet(`yesterday today tonight tomorrow last next ago recently since week weekend month year day morning evening
		monday tuesday wednesday thursday friday saturday sunday mon tues wed thurs fri sat sun
		january february march april june july august september october november december`)
	return func(term []byte) bool { return times[string(term)] || yearNumber(string(term)) != 0 }
}

// isNumber says whether a term counts something.
func isNumber() func(term []byte) bool {
	numbers := termSet(`one two three four five six seven eight nine ten dozen couple few several once twice hundred thousand
		first second third fourth fifth half daily weekly every`)
	return func(term []byte) bool { return numbers[string(term)] || term[0] >= '0' && term[0] <= '9' }
}

// termSet are the words of a text as the index has them.
func termSet(text string) map[string]bool {
	set := map[string]bool{}
	for _, term := range strings.Fields(string(embed.AppendTerms(nil, text))) {
		set[term] = true
	}
	return set
}
