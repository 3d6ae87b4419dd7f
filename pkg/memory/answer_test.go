package memory

import (
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/embed"
)

func TestAnswerWords(t *testing.T) {
	has := func(question, text string) bool {
		is := answerWords(question)
		if is == nil {
			return false
		}
		for _, term := range strings.Fields(string(embed.AppendTerms(nil, text))) {
			if is([]byte(term)) {
				return true
			}
		}
		return false
	}
	for _, x := range []struct {
		question, text string
		want           bool
	}{
		{"When did Maren move the server?", "I moved it two weeks ago", true},
		{"when was that", "in 2024", true},
		{"how long does it take", "it went on for three days", true},
		{"When did Maren move the server?", "I moved the server", false},
		{"How many boats are there?", "there are several of them", true},
		{"How many boats are there?", "there are 12 of them", true},
		{"How many boats are there?", "the boats are green", false},
		{"What did Maren do?", "yesterday", false},
		{"", "yesterday", false},
	} {
		if got := has(x.question, x.text); got != x.want {
			t.Errorf("%q, %q: %v", x.question, x.text, got)
		}
	}
}
