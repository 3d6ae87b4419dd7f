package session

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"time"
)

// ImageTokens is what one image counts: 4,800 characters at four to a token.
const ImageTokens = 1200

// EstimateTokens estimates the tokens of UTF-8 text without a tokenizer, by
// classes of runes: three ASCII characters to a token (measured against real
// usage, within 7 % in aggregate: docs/dev/decisions.md D4), two characters of the
// two-byte scripts (Cyrillic, Greek, Arabic, accents), one rune of the
// three-byte scripts (Chinese, Japanese, Korean), half a rune of the four-byte
// ones (emoji). The last three are chosen, not measured. The result is rounded
// up and never below characters / 4.
func EstimateTokens(text []byte) int64 {
	var n runeCounts
	n.add(text)
	return (2*n.one + 3*n.two + 6*n.three + 12*n.four + 5) / 6
}

// runeCounts counts the first bytes of runes by the length that they announce.
type runeCounts struct{ one, two, three, four int64 }

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// add counts the runes of text, eight bytes a step and 32 while it is ASCII.
func (n *runeCounts) add(text []byte) {
	for len(text) >= 32 {
		a, b := binary.LittleEndian.Uint64(text), binary.LittleEndian.Uint64(text[8:])
		c, d := binary.LittleEndian.Uint64(text[16:]), binary.LittleEndian.Uint64(text[24:])
		if (a|b|c|d)&highBits == 0 {
			n.one += 32
		} else {
			n.word(a)
			n.word(b)
			n.word(c)
			n.word(d)
		}
		text = text[32:]
	}
	for len(text) >= 8 {
		n.word(binary.LittleEndian.Uint64(text))
		text = text[8:]
	}
	for _, c := range text {
		n.byte(c)
	}
}

func (n *runeCounts) word(w uint64) {
	one := ^w >> 7 & lowBits
	two := w >> 7 & (w >> 6) & lowBits // and longer
	three := two & (w >> 5)
	four := three & (w >> 4)
	n.one += int64(bits.OnesCount64(one))
	n.two += int64(bits.OnesCount64(two &^ three))
	n.three += int64(bits.OnesCount64(three &^ four))
	n.four += int64(bits.OnesCount64(four))
}

func (n *runeCounts) byte(c byte) {
	switch {
	case c < 0x80:
		n.one++
	case c < 0xC0:
	case c < 0xE0:
		n.two++
	case c < 0xF0:
		n.three++
	default:
		n.four++
	}
}

// EstimateTokens estimates the tokens that the message takes in a context:
// its texts, thinking, commands and tool calls, and 1,200 for an image. It is
// 0 for a message, and for parts, that the runtime never sends to the model.
func (m *Message) EstimateTokens() int64 {
	if m.OutOfContext {
		return 0
	}
	var sum int64
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Kind == PartUnsent {
			continue
		}
		sum += EstimateTokens(p.Name) + EstimateTokens(p.Text)
		if p.Kind == PartImage {
			sum += ImageTokens
		}
	}
	return sum
}

// TailScan is a [Tail] by reading the whole log, for runtimes whose logs are
// short or cannot be read backwards. scan is the store's own. Memory grows by
// a few bytes a message.
//
// The context is what the last model call counted plus an estimate of what
// follows, if that call lies after the last compaction; else an estimate of
// the compaction's summary, what it kept and what follows, or of everything.
func TailScan(ctx context.Context, r io.Reader, modTime time.Time, scan func(context.Context, io.Reader, ScanOptions, func(*Message) error) (Scan, error)) (Tail, error) {
	var t tailScan
	result, err := scan(ctx, r, ScanOptions{Thinking: true}, t.add)
	if err != nil {
		return Tail{}, fmt.Errorf("read the log: %w", err)
	}
	tail := Tail{
		Tokens: t.tokens(), TokenSource: TokensFromEstimate, Messages: result.Records, MessagesExact: true,
		LastRole: t.last, Answered: result.Messages == 0 || t.answered && len(t.open) == 0, Torn: result.Counts.Torn,
	}
	if t.counted {
		tail.TokenSource = TokensFromUsage
	}
	tail.SetLast(max(result.Last, 0), modTime)
	return tail, nil
}

type tailScan struct {
	context Context[int64] // tokens of the messages
	base    int64          // tokens before them: of a summary, or as the model counted
	counted bool           // base is the model's count
	// compactedAt is when the last compaction was. A message behind it that is older was
	// kept by it, and its call counted what is gone.
	compactedAt int64
	open        []string // ids of calls of the last turn that have no result
	last        Role
	answered    bool
}

func (t *tailScan) add(m *Message) error {
	if m.Branch == Abandoned {
		return nil
	}
	if m.OutOfContext {
		t.context.Pass(m)
		return nil
	}
	if m.Compaction {
		t.compacted(m)
		return nil
	}
	t.turn(m)
	if m.HasUsage && m.Usage.Context() > 0 && (m.Time == 0 || m.Time >= t.compactedAt) {
		t.base, t.counted = m.Usage.Context(), true
		t.context.Pass(m)
		t.context.Drop(len(t.context.Entries))
		return nil
	}
	t.context.Add(m, m.EstimateTokens())
	return nil
}

// compacted keeps what the compaction kept. What a count of the model covers
// cannot be told apart any more, and is estimated away with it.
func (t *tailScan) compacted(m *Message) {
	t.context.Pass(m)
	kept, _ := t.context.Kept(m)
	t.context.Drop(kept)
	t.base, t.counted, t.compactedAt = m.EstimateTokens(), false, m.Time
	for i := range m.Kept {
		t.base += m.Kept[i].EstimateTokens()
	}
	if t.last == 0 {
		t.answered = true // nobody waits: nothing was said since
	}
}

// turn follows whether the last turn is answered.
func (t *tailScan) turn(m *Message) {
	t.last = m.Role
	switch m.Role {
	case RoleAssistant:
		t.answered, t.open = true, t.open[:0]
		for i := range m.Parts {
			if p := &m.Parts[i]; p.Kind == PartToolCall {
				t.open = append(t.open, string(p.CallID))
			}
		}
	case RoleToolResult:
		t.open = slices.DeleteFunc(t.open, func(id string) bool { return id == string(m.CallID) })
		t.answered = false
	case RoleUser:
		t.answered, t.open = false, t.open[:0]
	}
}

func (t *tailScan) tokens() int64 {
	sum := t.base
	for _, tokens := range t.context.Entries {
		sum += tokens
	}
	return sum
}
