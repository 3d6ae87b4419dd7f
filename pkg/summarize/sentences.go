package summarize

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// shortSentence is how many bytes a sentence has at least: "Constraints." or
// "OK." says nothing without what follows.
const shortSentence = 24

// sentence is one sentence of a text. Its slice is that of the text.
type sentence struct {
	text []byte
	item bool // the line is an item of a list
	head bool // the line is a heading, or ends in a colon: it speaks for the list below
}

// eachSentence hands out the sentences of a text without the marks of lists
// and headings. Fenced code is not prose and is left out.
func eachSentence(text []byte, yield func(sentence)) {
	fenced := false
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if bytes.HasPrefix(line, []byte("```")) {
			fenced = !fenced
			continue
		}
		if !fenced && len(line) > 0 {
			eachInLine(line, yield)
		}
	}
}

func eachInLine(line []byte, yield func(sentence)) {
	bare, item := trimMarks(line)
	for len(bare) > 0 {
		n := sentenceEnd(bare)
		if s := bytes.TrimSpace(bare[:n]); len(s) > 0 {
			last := s[len(s)-1]
			head := line[0] == '#' || last == ':' || bytes.HasSuffix(s, []byte(":**"))
			yield(sentence{text: s, item: item, head: head})
		}
		bare = bare[n:]
	}
}

// sentenceEnd returns where the first sentence of a line ends: behind a mark
// that a space follows, or behind a mark of Chinese or Japanese. A short
// sentence goes with its neighbour.
func sentenceEnd(line []byte) int {
	for i := 0; i+shortSentence < len(line); {
		r, size := utf8.DecodeRune(line[i:])
		i += size
		switch r {
		case '。', '！', '？':
			return i
		case '.', '!', '?':
			if i < len(line) && line[i] == ' ' && i >= shortSentence {
				return i
			}
		}
	}
	return len(line)
}

// trimMarks removes "## ", "> ", "- ", "1. " and "[x] " from a line's start,
// and tells whether it is an item of a list.
func trimMarks(line []byte) (bare []byte, item bool) {
	line = bytes.TrimLeft(line, "#> \t")
	bare = line
	for _, mark := range []string{"- ", "* ", "+ ", "• ", "– "} {
		bare = bytes.TrimPrefix(bare, []byte(mark))
	}
	digits := 0
	for digits < len(bare) && bare[digits] >= '0' && bare[digits] <= '9' {
		digits++
	}
	if digits > 0 && digits < 3 && digits+1 < len(bare) && (bare[digits] == '.' || bare[digits] == ')') && bare[digits+1] == ' ' {
		bare = bare[digits+2:]
	}
	for _, box := range []string{"[x] ", "[ ] "} {
		bare = bytes.TrimPrefix(bare, []byte(box))
	}
	return bare, len(bare) < len(line)
}

// appendLower appends s with ASCII letters in lower case. Other letters keep
// their case: cues with such letters do not begin sentences.
func appendLower(dst, s []byte) []byte {
	for _, c := range s {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		dst = append(dst, c)
	}
	return dst
}

// oneLine joins the lines of a text, and cuts it after n code points.
func oneLine(text string, n int) string {
	var out strings.Builder
	runes, space := 0, false
	for _, r := range text {
		if unicode.IsSpace(r) {
			space = out.Len() > 0
			continue
		}
		if runes+2 > n {
			return out.String() + "…"
		}
		if space {
			out.WriteByte(' ')
			runes++
		}
		out.WriteRune(r)
		runes++
		space = false
	}
	return out.String()
}

// code quotes a text as Markdown code, with a fence that it does not contain.
func code(text string) string {
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		return fence + " " + text + " " + fence
	}
	return fence + text + fence
}

// unwrap removes what chat gateways put around a person's words
// (research/formats.md section 4.3): the envelope of the channel, blocks of
// metadata, and marks for replies.
func unwrap(text []byte) []byte {
	for {
		head, rest, found := bytes.Cut(text, []byte("(untrusted metadata):\n```"))
		if !found || bytes.IndexByte(head, '\n') >= 0 {
			break
		}
		_, after, closed := bytes.Cut(rest, []byte("\n```"))
		if !closed {
			break
		}
		text = bytes.TrimSpace(after)
	}
	for _, prefix := range []string{"[Telegram ", "[WhatsApp ", "[Discord ", "[Slack ", "[Signal ", "[iMessage ", "[message_id:", "[[reply_to"} {
		if end := bytes.IndexByte(text, ']'); end > 0 && bytes.HasPrefix(text, []byte(prefix)) {
			text = bytes.TrimLeft(text[end:], "] ")
		}
	}
	return text
}

// Unwrap removes what chat gateways put around a person's words: the envelope
// of the channel, blocks of metadata, and marks for replies. What it returns is
// a part of text.
func Unwrap(text []byte) []byte { return unwrap(text) }
