package printable

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Line makes text safe to show on one line: control characters, escape
// sequences, bidirectional overrides, invisible runes and bytes that are no
// UTF-8 become visible escapes (fault 31 of docs/dev/reliability.md).
func Line(s string) string { return escape(s, false) }

// Text is [Line] for text of several lines: line feeds and tabs stay.
func Text(s string) string { return escape(s, true) }

func escape(s string, lines bool) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + len(s)/16)
	shown := 0 // before this everything is written
	for i := 0; i < len(s); {
		r, n := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(s[i:])
		}
		broken := r == utf8.RuneError && n == 1
		if broken || Hidden(r) && !(lines && (r == '\n' || r == '\t')) {
			b.WriteString(s[shown:i])
			if shown = i + n; broken {
				fmt.Fprintf(&b, `\x%02x`, s[i])
			} else {
				b.WriteString(escaped(r))
			}
		}
		i += n
	}
	b.WriteString(s[shown:])
	return b.String()
}

// plain reports text of visible ASCII alone, which nearly all text is.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// Hidden reports a rune that does something to a terminal instead of being
// seen there.
func Hidden(r rune) bool {
	if r >= ' ' && r <= '~' {
		return false
	}
	if r == 0x200d || r == 0xfe0f { // parts of emoji
		return false
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == 0x2028 || r == 0x2029 || (r != ' ' && unicode.IsSpace(r) && r != 0xa0 && r != 0x3000)
}

func escaped(r rune) string {
	switch r {
	case '\n':
		return `\n`
	case '\t':
		return `\t`
	case '\r':
		return `\r`
	}
	if r < 0x80 {
		return fmt.Sprintf(`\x%02x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// JSON escapes what [Line] makes visible, in a document of JSON: the encoder
// escapes only what is below the space. Outside of strings a document has
// nothing else than ASCII, so every such rune stands in one.
func JSON(document []byte) []byte {
	clean := !bytes.ContainsRune(document, 0x7f)
	for i := 0; clean && i < len(document); i++ {
		clean = document[i] < utf8.RuneSelf
	}
	if clean {
		return document
	}
	out := make([]byte, 0, len(document)+len(document)/16)
	for len(document) > 0 {
		r, n := utf8.DecodeRune(document)
		switch {
		case r < ' ' || !Hidden(r) && (r != utf8.RuneError || n > 1):
			out = append(out, document[:n]...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		document = document[n:]
	}
	return out
}
