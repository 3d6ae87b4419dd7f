package replay

import (
	"fmt"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/session"
)

// DefaultToolResults is how many of the last tool results stay whole (seed
// 000, History Truncation).
const DefaultToolResults = 2

// Truncate leaves the last keep tool results whole and puts
// "[name: truncated, was N chars]" in the place of the older ones; N counts
// code points. Below zero all stay whole. A result that is shorter than that
// note stays too.
func Truncate(messages []Message, keep int) []Message {
	if keep < 0 {
		return messages
	}
	out := make([]Message, len(messages))
	copy(out, messages)
	seen := 0
	for i := len(out) - 1; i >= 0; i-- {
		m := &out[i]
		if m.Role != Tool {
			continue
		}
		if seen++; seen <= keep {
			continue
		}
		note := fmt.Sprintf("[%s: truncated, was %d chars]", orElse(m.ToolName, "tool"), utf8.RuneCountInString(m.Text))
		if len(note) < len(m.Text) {
			m.Text, m.core = note, ""
		}
	}
	return out
}

// Tokens estimates what a message takes in a context.
func (m Message) Tokens() int64 {
	n := session.EstimateTokens([]byte(m.Text))
	for _, c := range m.ToolCalls {
		n += session.EstimateTokens([]byte(c.Name)) + session.EstimateTokens([]byte(c.Arguments))
	}
	return n
}

// Tokens estimates what a context takes.
func Tokens(messages []Message) (n int64) {
	for _, m := range messages {
		n += m.Tokens()
	}
	return n
}

// Budget leaves out the oldest turns, whole, until the context is estimated at
// no more than budget tokens. The summary and the last turn stay; a context of
// only those may be larger. A budget of 0 or less is none.
func Budget(messages []Message, budget int64) []Message {
	total := Tokens(messages)
	if budget <= 0 || total <= budget {
		return messages
	}
	starts := turns(messages)
	var out []Message
	for i, m := range messages {
		if m.Role == Summary {
			out = append(out, messages[i])
		}
	}
	from := 0
	for ; from < len(starts)-1 && total > budget; from++ {
		total -= Tokens(messages[starts[from]:starts[from+1]])
	}
	if len(starts) == 0 {
		return out
	}
	return append(out, messages[starts[from]:]...)
}
