package state

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/secrets"
)

// Safe is a text without what looks like a secret.
func Safe(text string) string {
	clean, _ := secrets.Redact(text)
	return clean
}

// Cut is a text of at most so many code points, in one line; "…" ends one that was cut,
// between words where there are any.
func Cut(text string, runes int) string {
	text = oneLine(text)
	if utf8.RuneCountInString(text) <= runes {
		return text
	}
	if runes < 2 {
		return ""
	}
	head := firstRunes(text, runes-1)
	if at := strings.LastIndexByte(head, ' '); at > len(head)*2/3 {
		head = head[:at]
	}
	return strings.TrimRight(head, " ,;:") + "…"
}

// Both is the beginning and the end of a text, in one line of at most so many code
// points.
func Both(text string, runes int) string {
	text = oneLine(text)
	n := utf8.RuneCountInString(text)
	if n <= runes || runes < 40 {
		return Cut(text, runes)
	}
	head := Cut(text, runes*6/10)
	tail := lastRunes(text, runes-utf8.RuneCountInString(head)-2)
	if at := strings.IndexByte(tail, ' '); at >= 0 && at < len(tail)/3 {
		tail = tail[at+1:]
	}
	return head + " " + tail
}

// oneLine joins the lines of a text with a space.
func oneLine(text string) string { return strings.Join(strings.FieldsFunc(text, unicode.IsSpace), " ") }

func firstRunes(text string, n int) string {
	for i := range text {
		if n--; n < 0 {
			return text[:i]
		}
	}
	return text
}

func lastRunes(text string, n int) string {
	at := len(text)
	for ; n > 0 && at > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(text[:at])
		at -= size
	}
	return text[at:]
}
