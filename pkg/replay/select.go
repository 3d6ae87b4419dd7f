package replay

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"unicode/utf16"

	"github.com/sessctl/sessctl/pkg/session"
)

// The defaults of a selection (docs/dev/decisions.md D20).
const (
	defaultRecent    = 6    // messages that are always there
	defaultTotal     = 20   // messages at most
	DefaultRelevance = 0.45 // cosine from which an older turn counts
)

// Selection says what Select keeps; 0 means the default.
type Selection struct {
	Query     string
	Recent    int
	Total     int
	Relevance float64
	// Similar returns the cosine of the query to each text. nil means that
	// there is no embedder: then the newest messages are taken.
	Similar func(ctx context.Context, query string, texts []string) ([]float64, error)
}

func (s Selection) withDefaults() Selection {
	if s.Recent <= 0 {
		s.Recent = defaultRecent
	}
	if s.Total <= 0 {
		s.Total = defaultTotal
	}
	if s.Relevance == 0 {
		s.Relevance = DefaultRelevance
	}
	return s
}

// Select keeps the newest messages, and of the older turns those whose
// question is about the query, the most similar first, until there are so many
// messages. Turns are taken whole, with their tool results, and stay in their
// order. The summary stays and does not count. Without an embedder the newest
// messages are kept, and so they are when it fails: the error says why, and the
// messages are good.
func Select(ctx context.Context, messages []Message, s Selection) ([]Message, error) {
	s = s.withDefaults()
	var summary []Message
	if len(messages) > 0 && messages[0].Role == Summary {
		summary, messages = messages[:1], messages[1:]
	}
	if s.Similar == nil {
		return append(slices.Clone(summary), newest(messages, s.Total)...), nil
	}
	if len(messages) <= s.Recent {
		return append(slices.Clone(summary), newest(messages, s.Recent)...), nil
	}
	picked, err := s.older(ctx, messages)
	if err != nil {
		return append(slices.Clone(summary), newest(messages, s.Total)...), fmt.Errorf("compare with the query: %w", err)
	}
	return append(append(slices.Clone(summary), picked...), newest(messages, s.Recent)...), nil
}

// recent is where the last n messages begin, and the calls of those that are
// results: a result without its call is none.
func recent(messages []Message, n int) int {
	from := max(0, len(messages)-n)
	for from > 0 && messages[from].Role == Tool {
		from--
	}
	return from
}

// newest returns the last n messages, and the calls of the first results,
// marked.
func newest(messages []Message, n int) []Message {
	out := slices.Clone(messages[recent(messages, n):])
	for i := range out {
		out[i].Reason = ReasonRecent
	}
	return out
}

// turn is one turn before the newest messages.
type turn struct {
	start, end int
	score      float64
}

// older returns the turns before the newest messages that are about the query.
func (s Selection) older(ctx context.Context, messages []Message) ([]Message, error) {
	limit := recent(messages, s.Recent)
	var candidates []turn
	var texts []string
	starts := turns(messages)
	for i, start := range starts {
		end := len(messages)
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		if end = min(end, limit); start >= end {
			continue
		}
		if q := question(messages[start:end]); q != "" {
			candidates = append(candidates, turn{start: start, end: end})
			texts = append(texts, q)
		}
	}
	if len(candidates) == 0 {
		return nil, nil
	}
	scores, err := s.Similar(ctx, s.Query, texts)
	if err != nil {
		return nil, err
	}
	if len(scores) != len(texts) {
		return nil, fmt.Errorf("%d scores for %d texts", len(scores), len(texts))
	}
	for i := range candidates {
		candidates[i].score = scores[i]
	}
	return s.fill(messages, candidates, s.Total-(len(messages)-limit)), nil
}

// question is what a turn is about: what the user has asked, not what the
// runtime put in front of it; "" if the turn does not begin with the user's.
func question(turn []Message) string {
	for _, m := range turn {
		if m.Role != User {
			break
		}
		if m.Injected == "" && m.Text != "" {
			return m.Text
		}
	}
	if turn[0].Role == User {
		return turn[0].Text
	}
	return ""
}

// fill takes turns while there is room for all of a turn, in messages.
func (s Selection) fill(messages []Message, candidates []turn, room int) []Message {
	slices.SortStableFunc(candidates, func(a, b turn) int { return cmp.Compare(b.score, a.score) })
	var taken []turn
	for _, c := range candidates {
		if c.score >= s.Relevance && c.end-c.start <= room {
			room -= c.end - c.start
			taken = append(taken, c)
		}
	}
	slices.SortFunc(taken, func(a, b turn) int { return a.start - b.start })
	var out []Message
	for _, c := range taken {
		for _, m := range messages[c.start:c.end] {
			m.Reason = fmt.Sprintf("relevant %.2f", c.score)
			out = append(out, m)
		}
	}
	return out
}

// Truncate leaves the results of the last keep messages of tools whole and puts
// "[name: truncated, was N chars]" in the place of the older ones, however short, as
// Hexa Puffs does: N counts UTF-16 units of the result as JSON. Below zero all stay
// whole.
func Truncate(messages []Message, keep int) []Message {
	if keep < 0 {
		return messages
	}
	out := make([]Message, len(messages))
	copy(out, messages)
	for i, seen := len(out)-1, 0; i >= 0; i-- {
		m := &out[i]
		if m.Role != Tool {
			continue
		}
		if i+1 == len(out) || !sameMessage(messages[i], messages[i+1]) {
			seen++
		}
		if seen > keep {
			m.Text, m.core = fmt.Sprintf("[%s: truncated, was %d chars]", orElse(m.ToolName, "tool"), utf16Len(value(m.Text))), ""
		}
	}
	return out
}

// sameMessage reports whether two results, one after the other, are of one message: of
// the same record, or put in together.
func sameMessage(a, b Message) bool {
	return b.Role == Tool && a.core == b.core && a.Line == b.Line && (a.core != "" || a.Reason == ReasonAdded)
}

// utf16Len is the length of a text as JavaScript counts it.
func utf16Len(text []byte) (n int) {
	for _, r := range string(text) {
		n += utf16.RuneLen(r)
	}
	return n
}

// tokens estimates what a message takes in a context.
func (m Message) tokens() int64 {
	n := session.EstimateTokens([]byte(m.Text)) + int64(len(m.pictures))*session.ImageTokens
	for _, c := range m.ToolCalls {
		n += session.EstimateTokens([]byte(c.Name)) + session.EstimateTokens([]byte(c.Arguments))
	}
	return n
}

// tokens estimates what a context takes.
func tokens(messages []Message) (n int64) {
	for _, m := range messages {
		n += m.tokens()
	}
	return n
}

// Budget leaves out the oldest turns, whole, until the context is estimated at
// no more than budget tokens. The summary and the last turn stay; a context of
// only those may be larger. A budget of 0 or less is none.
func Budget(messages []Message, budget int64) []Message {
	total := tokens(messages)
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
		total -= tokens(messages[starts[from]:starts[from+1]])
	}
	if len(starts) == 0 {
		return out
	}
	return append(out, messages[starts[from]:]...)
}
