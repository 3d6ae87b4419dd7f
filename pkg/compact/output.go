package compact

import (
	"bytes"
	"fmt"
	"math"
	"unicode/utf8"
)

// DefaultOutputLimit is how many bytes memory takes of one output of a tool
// (docs/dev/decisions.md D5).
const DefaultOutputLimit = 1 << 20

func (p Policy) outputLimit() int64 {
	if p.OutputLimit == 0 {
		return DefaultOutputLimit
	}
	return max(p.OutputLimit, 0)
}

// recordedLimit is the limit as a receipt has it.
func (p Policy) recordedLimit() *int64 {
	limit := p.outputLimit()
	return &limit
}

// Limit returns how many bytes memory took of one output of a tool, and whether
// the receipt tells. One of a version that had no limit does not: all was taken.
// A version in between wrote 0 for those too when it wrote them anew; where
// nothing was cut, a 0 says nothing.
func (c Content) Limit() (limit int64, recorded bool) {
	if c.OutputLimit == nil || *c.OutputLimit == 0 && c.CutBytes == 0 {
		return math.MaxInt64, false
	}
	return *c.OutputLimit, true
}

// policyLimit is [Policy.OutputLimit] of the run.
func (c Content) policyLimit() int64 {
	limit, _ := c.Limit()
	if limit == 0 {
		return -1
	}
	return limit
}

// cutOutput leaves out the middle of an output that is longer than the limit,
// in bytes: errors stand at the end, and what was asked for at the beginning. It
// cuts between lines where there are any near by, and within text's own memory.
// cut is how many bytes are missing.
func cutOutput(text []byte, limit int64) (short []byte, cut int64) {
	if int64(len(text)) <= limit {
		return text, 0
	}
	head := endOfLine(text, int(limit-limit/2))
	tail := startOfLine(text, len(text)-int(limit/2))
	if tail <= head {
		return text, 0
	}
	cut = int64(tail - head)
	note := fmt.Sprintf("[%d bytes left out]\n", cut)
	if head > 0 && text[head-1] != '\n' {
		note = "\n" + note
	}
	short = make([]byte, 0, head+len(note)+len(text)-tail)
	return append(append(append(short, text[:head]...), note...), text[tail:]...), cut
}

// nearby is how far a cut moves to the end of a line, in bytes.
const nearby = 4096

// endOfLine is the end of the last line before position at, or the nearest
// boundary between characters.
func endOfLine(text []byte, at int) int {
	if i := bytes.LastIndexByte(text[max(0, at-nearby):at], '\n'); i >= 0 {
		return max(0, at-nearby) + i + 1
	}
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}

// startOfLine is the start of the first line behind position at, or the nearest
// boundary between characters.
func startOfLine(text []byte, at int) int {
	if i := bytes.IndexByte(text[at:min(len(text), at+nearby)], '\n'); i >= 0 {
		return at + i + 1
	}
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return at
}
