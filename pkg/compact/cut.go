package compact

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sessctl/sessctl/pkg/session"
)

// errNothingToCut says, with the reason, that a session would not get shorter.
var errNothingToCut = errors.New("nothing to cut away")

func nothingToCut(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errNothingToCut, fmt.Sprintf(format, args...))
}

// cut decides what is summed up and what stays (seed 001, 7.5.3):
//
//   - From the end backward, messages are kept until they hold what is to be
//     kept. The cut is the nearest valid one at or after that message; if
//     there is none, the nearest before it.
//   - A cut is valid before a message that is not a tool result, where no
//     tool call before it is answered after it, and where a record begins.
//
// errNothingToCut is returned when everything is to be kept, when there is no
// valid cut, and when there is nothing but the summary of an earlier
// compaction: that one is never summed up again.
func (o *outline) cut() (session.Cut, error) {
	switch {
	case o.count == 0 && o.previous:
		return session.Cut{}, nothingToCut("nothing was said since the last compaction")
	case o.count == 0:
		return session.Cut{}, nothingToCut("the context has no messages")
	case o.count == 1 && !o.previous:
		return session.Cut{}, nothingToCut("there is one message, which may be a summary already")
	}
	at, ok := o.find()
	if !ok {
		return session.Cut{}, nothingToCut("all of it is to be kept")
	}
	return o.at(at), nil
}

// find returns the index of the first message that stays. It is false if
// nothing before it could be cut away.
func (o *outline) find() (int, bool) {
	target, ok := o.target()
	if !ok {
		return 0, false
	}
	valid := o.valid()
	for at := target; at < len(o.messages); at++ {
		if valid[at] {
			return at, o.cutsAway(at) // going on would keep less than was asked for
		}
	}
	if target == len(o.messages) {
		return target, true
	}
	for at := target - 1; at >= 0; at-- {
		if valid[at] && o.cutsAway(at) {
			return at, true
		}
	}
	return 0, false
}

// cutsAway reports whether there is a message before index at, a forgotten one
// included.
func (o *outline) cutsAway(at int) bool { return at > 0 || o.count > len(o.messages) }

// target returns the index from which on messages hold what is to be kept. It
// is false if all of them do not hold that much.
func (o *outline) target() (int, bool) {
	if o.keep == (session.Keep{}) {
		return len(o.messages), true
	}
	var tokens int64
	turns, records := 0, 0
	for at, m := range slices.Backward(o.messages) {
		tokens += m.tokens
		if m.role == session.RoleUser {
			turns++
		}
		if at == 0 || o.messages[at-1].line != m.line {
			records++ // all of it
		}
		if o.keep.Tokens > 0 && tokens >= o.keep.Tokens || o.keep.Turns > 0 && turns >= o.keep.Turns || o.keep.Records > 0 && records >= o.keep.Records {
			return at, true
		}
	}
	return 0, false
}

// valid says of each message whether a cut may stand before it.
func (o *outline) valid() []bool {
	valid := make([]bool, len(o.messages))
	opener := maxOpener // the oldest call that is answered at or after the message
	for i, m := range slices.Backward(o.messages) {
		opener = min(opener, m.opener)
		begins := i == 0 || o.messages[i-1].line != m.line
		valid[i] = begins && m.role != session.RoleToolResult && opener >= m.ordinal
	}
	return valid
}

// at describes the cut before message number at.
func (o *outline) at(at int) session.Cut {
	c := session.Cut{From: o.from, FirstKept: o.next, Previous: o.previous, PreviousOrdinal: o.previousAt, PreviousTokens: o.previousTok}
	for _, m := range o.messages[at:] {
		c.Kept++
		c.KeptTokens += m.tokens
	}
	c.Summarized, c.SummarizedTokens = o.count-c.Kept, o.tokens-c.KeptTokens
	if at < len(o.messages) {
		first := o.messages[at]
		c.FirstKept, c.KeptID, c.KeptLine, c.KeptByte = first.ordinal, first.id, first.line, first.offset
		c.SplitTurn = first.role == session.RoleAssistant
	}
	if n := len(o.messages); n > 0 {
		c.LastID = o.messages[n-1].id
	}
	return c
}
