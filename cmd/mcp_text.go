package cmd

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/sessctl/sessctl/pkg/printable"
	"github.com/sessctl/sessctl/pkg/session"
)

// plainText is text for a model: without the escape sequences and the runes
// that visibleText shows, and without the marks between which it is quoted.
func plainText(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		if r == utf8.RuneError || printable.Hidden(r) {
			return -1
		}
		return r
	}, ansi.Strip(s))
	for _, mark := range []string{session.RecallBegin, session.RecallEnd} {
		s = strings.ReplaceAll(s, mark, "("+strings.Trim(mark, "[]")+")")
	}
	return s
}

// cutMessage bounds a message, and says so if it was cut.
func cutMessage(text string) string {
	end := wordEnd(text, runesOn(text, 0, messageRunes))
	if end == len(text) {
		return text
	}
	return text[:end] + "\n[cut here: " + formatCount(int64(utf8.RuneCountInString(text[end:]))) + " more characters]"
}

// wordEnd is the last end of a word at or before a place of a text, or the place
// where the word is long.
func wordEnd(text string, at int) int {
	if at >= len(text) {
		return len(text)
	}
	if space := strings.LastIndexFunc(text[:at], unicode.IsSpace); space > at-leadBytes && space > 0 {
		return space
	}
	return at
}

// wordStart is the first start of a word at or behind a place of a text, or the
// place where the word is long.
func wordStart(text string, at int) int {
	if at <= 0 {
		return 0
	}
	if r, _ := utf8.DecodeLastRuneInString(text[:at]); unicode.IsSpace(r) {
		return at
	}
	space := strings.IndexFunc(text[at:], unicode.IsSpace)
	if space < 0 || space > leadBytes {
		return at
	}
	_, size := utf8.DecodeRuneInString(text[at+space:])
	return at + space + size
}

// within is the part of a text that has most of the query's words, quoted, in
// at most so many bytes, and messageRunes characters.
func (p *passagePrinter) within(text string, most int) string {
	text = strings.TrimSpace(text)
	words := p.find(text)
	for runes := min(most, messageRunes, utf8.RuneCountInString(text)); runes > 0; {
		from, to := window(text, words, runes)
		part := indent(cutAround(text, from, to))
		if len(part) <= most {
			return part
		}
		runes = min(runes-1, runes*most/len(part))
	}
	return indent("…")
}

// cutAround is a part of a text at whole words, with marks where it was cut.
func cutAround(text string, from, to int) string {
	if from, to = wordStart(text, from), wordEnd(text, to); from >= to {
		return "…"
	}
	part := strings.TrimSpace(text[from:to])
	if from > 0 {
		part = "… " + part
	}
	if to < len(text) {
		part += " …"
	}
	return part
}
