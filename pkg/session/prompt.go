package session

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/sessctl/sessctl/pkg/jsonl"
)

// Prompt finds out from the beginning of a log how many tokens its runtime sends beside
// the messages, its prompt and tools: what the first call of the model counted, less an
// estimate of what was said before it. The zero value is ready.
type Prompt struct {
	Tokens int64 // 0 if that cannot be told, or is not known yet
	said   int64
	known  bool
}

// Add takes in the next message of the log, and reports whether no other one matters.
func (p *Prompt) Add(m *Message) (known bool) {
	switch {
	case p.known:
	case m.Compaction:
		p.known = true // a log that begins with what another one left
	case m.Counted():
		p.known, p.Tokens = true, max(0, m.Usage.Context()-m.Usage.Output-p.said)
	default:
		p.said += m.EstimateTokens()
	}
	return p.known
}

// firstCalls is how far into a log its first call is looked for, in bytes.
const firstCalls = 1 << 20

var errFirstCall = errors.New("the first call")

// PromptSize reads a log up to its first call and returns [Prompt.Tokens]. say reads a
// record, and returns nil for one that says nothing.
func PromptSize(ctx context.Context, log io.ReaderAt, size int64, say func(raw []byte) *Message) (tokens int64, err error) {
	var p Prompt
	_, err = jsonl.Scan(ctx, io.NewSectionReader(log, 0, min(size, firstCalls)), jsonl.Options{}, func(r *jsonl.Record) error {
		if m := say(r.Raw); m != nil && p.Add(m) {
			return errFirstCall
		}
		return nil
	})
	if err != nil && !errors.Is(err, errFirstCall) && !errors.Is(err, jsonl.ErrUTF16) {
		return 0, fmt.Errorf("read the first call: %w", err)
	}
	return p.Tokens, nil
}
