package summarize

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// cut returns at most n bytes of a text; a code point may be lost at the end.
func cut(text []byte, n int) []byte {
	if len(text) <= n {
		return text
	}
	return []byte(strings.ToValidUTF8(string(text[:n]), ""))
}

// cutRunes returns at most n code points of a text.
func cutRunes(text []byte, n int) []byte {
	at := 0
	for range n {
		if at == len(text) {
			return text
		}
		_, size := utf8.DecodeRune(text[at:])
		at += size
	}
	return text[:at]
}

// wordRune tells whether a rune stands within words.
func wordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return wordByte(byte(r))
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '’'
}

func wordByte(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '\'' || c == '_'
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// splitSentences cuts a text behind its full stops, exclamation and question
// marks. One that a small letter or a digit follows ends no sentence ("e.g. a
// file", "No. 5"), but for the marks of Chinese and Japanese.
func splitSentences(text string) []string {
	var all []string
	add := func(s string) {
		if s = strings.TrimSpace(s); s != "" {
			all = append(all, s)
		}
	}
	start := 0
	for _, at := range sentenceEnds().FindAllStringIndex(text, -1) {
		next, _ := utf8.DecodeRuneInString(strings.TrimSpace(text[at[1]:]))
		wide := strings.ContainsAny(text[at[0]:at[1]], "。！？")
		if at[0] < start || !wide && (unicode.IsLower(next) || unicode.IsDigit(next)) {
			continue
		}
		add(text[start:at[1]])
		start = at[1]
	}
	add(text[start:])
	return all
}
