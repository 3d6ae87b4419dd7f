package cmd

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// visible makes text that is not ours safe to print on one line of a
// terminal: control characters, escape sequences, bidirectional overrides and
// invisible runes become visible escapes (fault 31 of docs/reliability.md).
func visible(s string) string { return escape(s, false) }

// visibleText is visible for text of several lines: line feeds and tabs stay.
func visibleText(s string) string { return escape(s, true) }

func escape(s string, lines bool) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case lines && (r == '\n' || r == '\t'):
			b.WriteRune(r)
		case hidden(r):
			b.WriteString(escaped(r))
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
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

// hidden reports a rune that does something to a terminal instead of being
// seen there.
func hidden(r rune) bool {
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

// firstLine shortens text to one visible line that fills at most width columns
// of a terminal.
func firstLine(s string, width int) string {
	return ansi.Truncate(visible(strings.Join(strings.Fields(s), " ")), width, "…")
}

// visibleJSON escapes what visible makes visible, in a document of JSON: the
// encoder escapes only what is below the space. Outside of strings a document
// has nothing else than ASCII, so every such rune stands in one.
func visibleJSON(document []byte) []byte {
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
		case r < ' ' || !hidden(r) && (r != utf8.RuneError || n > 1):
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
