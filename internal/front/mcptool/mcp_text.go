package mcptool

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/wording"
)

// CutMessage bounds a message, and says so if it was cut.
func CutMessage(text string) string {
	end := steps.WordEnd(text, recall.RunesOn(text, 0, recall.MessageRunes))
	if end == len(text) {
		return text
	}
	return text[:end] + "\n[cut here: " + wording.Count(int64(utf8.RuneCountInString(text[end:]))) + " more characters]"
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
	if space < 0 || space > recall.LeadBytes {
		return at
	}
	_, size := utf8.DecodeRuneInString(text[at+space:])
	return at + space + size
}

// within is the part of a text that has most of the query's words, quoted, in
// at most so many bytes, and MessageRunes characters.
func within(p *recall.PassagePrinter, text string, most int) string {
	text = strings.TrimSpace(text)
	words := p.Find(text)
	for runes := min(most, recall.MessageRunes, utf8.RuneCountInString(text)); runes > 0; {
		from, to := recall.Window(text, words, runes)
		part := recall.Indent(cutAround(text, from, to))
		if len(part) <= most {
			return part
		}
		runes = min(runes-1, runes*most/len(part))
	}
	return recall.Indent("…")
}

// cutAround is a part of a text at whole words, with marks where it was cut.
func cutAround(text string, from, to int) string {
	if from, to = wordStart(text, from), steps.WordEnd(text, to); from >= to {
		return "…"
	}
	part := recall.Opening(text, from) + strings.TrimSpace(text[from:to])
	if to < len(text) {
		part += " …"
	}
	return part
}
