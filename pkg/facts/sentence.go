package facts

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/speaker"
)

// sentence is one sentence of what somebody said, on one line.
type sentence struct {
	text     string
	question bool
}

// maxSentence is the length of the longest sentence, in code points; anything
// longer is none.
const maxSentence = 320

// sentences cuts a text at line ends and at marks that a space follows. What is not
// said in words is left out: code, quotations, tables, lines of programs.
func sentences(text string) []sentence {
	var all []sentence
	for line := range strings.Lines(string(speaker.AgentWords([]byte(text)))) {
		line = strings.TrimSpace(line)
		bare := strings.ReplaceAll(itemMark().ReplaceAllString(line, ""), "**", "")
		for len(bare) > 0 {
			n := sentenceEnd(bare)
			s := strings.TrimSpace(bare[:n])
			bare = bare[n:]
			if s != "" && utf8.RuneCountInString(s) <= maxSentence {
				all = append(all, sentence{text: s, question: strings.HasSuffix(s, "?") || strings.HasSuffix(s, "？")})
			}
		}
	}
	return all
}

// itemMark is the mark of a list item or heading.
var itemMark = expression(`^[# ]*(?:[-*+•–] |\d{1,2}[.)] )?`)

// sentenceEnd returns where the first sentence of a line ends. A dot after an
// abbreviation or a single letter is none.
func sentenceEnd(line string) int {
	for i, r := range line {
		switch r {
		case '。', '！', '？':
			return i + utf8.RuneLen(r)
		case '.', '!', '?':
			rest := line[i+1:]
			if rest == "" || rest[0] != ' ' || r == '.' && abbreviated(line[:i]) {
				continue
			}
			return i + 1
		}
	}
	return len(line)
}

func abbreviated(before string) bool {
	last := before[strings.LastIndexAny(before, " (")+1:]
	switch strings.ToLower(last) {
	case "e.g", "i.e", "etc", "vs", "dr", "mr", "mrs", "ms", "prof", "adv", "arch", "ing", "mag", "dipl", "hr", "fr", "sig", "dott", "st", "no", "approx", "ca", "z.b", "inc", "ltd", "co", "jr", "sr", "tel":
		return true
	}
	return utf8.RuneCountInString(last) == 1 && strings.IndexFunc(last, unicode.IsUpper) == 0 && last != "I"
}
