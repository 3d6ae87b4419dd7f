package secrets

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// masks are the first bytes of what a word can be disguised with: letters of
// full width, and characters that are not seen.
var masks = [][]byte{[]byte("\uff01")[:2], []byte("\uff41")[:2], []byte("\u200b")[:2], []byte("\u2060")[:2], []byte("\ufeff"), []byte("\u00ad")}

// escapedMask is such a character as JSON may write it.
var escapedMask = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\\u(?:200[b-f]|206[0-4]|feff|00ad|ff[0-5][0-9a-f])`)
})

// unmasked is a text in plain letters: those of full width are those of ASCII,
// and what is not seen is left out. disguised is false for one that is so.
func unmasked(text []byte) (plain []byte, disguised bool) {
	escaped := bytes.Contains(text, []byte(`\u`)) && escapedMask().Match(text)
	if escaped {
		text = escapedMask().ReplaceAllFunc(text, func(e []byte) []byte {
			code, _ := strconv.ParseUint(string(e[2:]), 16, 16) // the expression lets only such digits through
			return utf8.AppendRune(nil, rune(code))
		})
	}
	if !escaped && !hasMask(text) {
		return text, false
	}
	plain = []byte(strings.Map(bare, string(text)))
	return plain, !bytes.Equal(plain, text)
}

func hasMask(text []byte) bool {
	if isASCII(text) {
		return false
	}
	for _, m := range masks {
		if bytes.Contains(text, m) {
			return true
		}
	}
	return false
}

// bare is a character without its disguise, -1 for one that is not seen.
func bare(r rune) rune {
	switch {
	case r >= '\uff01' && r <= '\uff5e':
		return r - '\uff01' + '!'
	case r >= '\u200b' && r <= '\u200f', r >= '\u2060' && r <= '\u2064', r == '\ufeff', r == '\u00ad':
		return -1
	}
	return r
}
