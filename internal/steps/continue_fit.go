package steps

import (
	"context"
	"io"

	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/replay"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/summarize"
)

// fitted leaves out the oldest turns until the rest fits into a budget of tokens, and
// sums up what was left out; "" if nothing was.
func fitted(ctx context.Context, s workspace.Found, open func() (io.ReadCloser, error), messages []replay.Message, budget int64) ([]replay.Message, string, error) {
	room := budget - summarize.DefaultMaxRunes/4 // a token is about four characters
	if budget == 0 {
		return messages, "", nil
	}
	kept := replay.Budget(messages, max(room, 1))
	if len(kept) == len(messages) {
		return messages, "", nil
	}
	first := 0
	for _, m := range kept {
		if m.Role != replay.Summary {
			first = m.Line
			break
		}
	}
	summary, err := summaryBefore(ctx, s, open, first)
	return kept, summary, err
}

// summaryBefore sums up what the log says before a line.
func summaryBefore(ctx context.Context, s workspace.Found, open func() (io.ReadCloser, error), line int) (string, error) {
	var e *summarize.Extractive
	_, err := session.ScanActive(ctx, ContextScanner(s), open, func() func(*session.Message) error {
		e = summarize.NewExtractive(summarize.Options{Checkpoint: true})
		return func(m *session.Message) error {
			if m.Line < line {
				return e.Add(m)
			}
			return e.Beside(m)
		}
	})
	if err != nil {
		return "", err
	}
	return e.Summary().Text, nil
}
