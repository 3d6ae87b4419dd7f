package steps

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/pkg/printable"
	"github.com/sessctl/sessctl/pkg/session"
)

// PlainText is text for a model: without the escape sequences and the runes
// that VisibleText shows, and without the marks between which it is quoted.
func PlainText(s string) string {
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

// WordEnd is the last end of a word at or before a place of a text, or the place
// where the word is long.
func WordEnd(text string, at int) int {
	if at >= len(text) {
		return len(text)
	}
	if space := strings.LastIndexFunc(text[:at], unicode.IsSpace); space > at-recall.LeadBytes && space > 0 {
		return space
	}
	return at
}
