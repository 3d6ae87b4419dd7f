package memory

import (
	"strings"
	"unicode/utf8"
)

// passageBytes is how long a passage of one message may be; shortPassage is
// how short two neighbours must be together to be one. A chunk of 3,500
// characters says many things, and what answers a question is a few lines of
// it (docs/recall.md, Passages).
const (
	passageBytes = 800
	shortPassage = 200
)

// passages cuts a record's text into what it says bit by bit: its messages,
// long ones at a line end, else at a space, and very short ones joined.
func passages(text string) []string {
	var list []string
	for part := range strings.SplitSeq(text, "\n\n") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		if last := len(list) - 1; last >= 0 && len(list[last])+len(part) < shortPassage {
			list[last] += "\n\n" + part
			continue
		}
		for len(part) > passageBytes {
			at := cutAt(part)
			list, part = append(list, part[:at]), part[at:]
		}
		list = append(list, part)
	}
	return list
}

// cutAt is where a passage of a longer text ends: more than half of
// passageBytes, and never within a rune.
func cutAt(text string) int {
	for _, end := range []byte{'\n', ' '} {
		if at := strings.LastIndexByte(text[:passageBytes], end); at >= passageBytes/2 {
			return at
		}
	}
	at := passageBytes
	for at > passageBytes/2 && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}
