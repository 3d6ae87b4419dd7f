package session

import (
	"encoding/binary"
	"math/bits"
)

// imageTokens is what one image counts: 4,800 characters at four to a token
// (research/behaviours.md section 2).
const imageTokens = 1200

// EstimateTokens estimates the tokens of UTF-8 text without a tokenizer, by
// classes of runes: three ASCII characters to a token (measured against real
// usage, within 7 % in aggregate: research/performance.md section 5), two
// characters of the two-byte scripts (Cyrillic, Greek, Arabic, accents), one
// rune of the three-byte scripts (Chinese, Japanese, Korean), half a rune of
// the four-byte ones (emoji). The last three are chosen, not measured. The
// result is rounded up and never below the seeds' characters / 4.
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
// 0 for a message that the runtime never sends to the model.
func (m *Message) EstimateTokens() int64 {
	if m.OutOfContext {
		return 0
	}
	var sum int64
	for i := range m.Parts {
		p := &m.Parts[i]
		sum += EstimateTokens(p.Name) + EstimateTokens(p.Text)
		if p.Kind == PartImage {
			sum += imageTokens
		}
	}
	return sum
}
