package facts

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// sentence is one sentence of what somebody said, on one line.
type sentence struct {
	text     string
	question bool
	listed   bool // an item of a list
}

// maxSentence is how many code points a sentence has at most that is one.
const maxSentence = 320

// sentences cuts a text at line ends and at marks that a space follows. Code,
// quotations, tables and lines of programs are left out.
func sentences(text string) []sentence {
	var all []sentence
	text = withoutFences(known(), text)
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !prose(line) {
			continue
		}
		bare, listed := withoutMarks(line)
		for len(bare) > 0 {
			n := sentenceEnd(bare)
			s := strings.TrimSpace(bare[:n])
			bare = bare[n:]
			if s != "" && utf8.RuneCountInString(s) <= maxSentence {
				all = append(all, sentence{text: s, question: strings.HasSuffix(s, "?") || strings.HasSuffix(s, "？"), listed: listed})
			}
		}
	}
	return all
}

// prose tells what people write from quotations, tables and output.
func prose(line string) bool {
	switch {
	case line == "", strings.HasPrefix(line, ">"), strings.HasPrefix(line, "|"), strings.HasPrefix(line, "$ "), strings.HasPrefix(line, "//"), strings.HasPrefix(line, "--"):
		return false
	}
	odd := 0
	for _, r := range line {
		if strings.ContainsRune("{}<>|\\;=[]^~", r) {
			odd++
		}
	}
	return odd*12 <= len(line)
}

// withoutMarks removes the mark of a list item or heading, and emphasis.
func withoutMarks(line string) (bare string, listed bool) {
	bare = strings.TrimLeft(line, "# ")
	for _, mark := range []string{"- ", "* ", "+ ", "• ", "– "} {
		bare = strings.TrimPrefix(bare, mark)
	}
	digits := 0
	for digits < len(bare) && digits < 2 && bare[digits] >= '0' && bare[digits] <= '9' {
		digits++
	}
	if digits > 0 && len(bare) > digits+1 && (bare[digits] == '.' || bare[digits] == ')') && bare[digits+1] == ' ' {
		bare = bare[digits+2:]
	}
	listed = len(bare) < len(line)
	return strings.ReplaceAll(bare, "**", ""), listed
}

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
	case "e.g", "i.e", "etc", "vs", "dr", "mr", "mrs", "ms", "prof", "st", "no", "approx", "ca", "z.b", "inc", "ltd", "co", "jr", "sr":
		return true
	}
	return utf8.RuneCountInString(last) == 1 && strings.IndexFunc(last, unicode.IsUpper) == 0 && last != "I"
}

// speech are the patterns of how sentences begin and go on.
type speech struct {
	opener, remember, remembered, filler, next, aside *regexp.Regexp
}

var spoken = sync.OnceValue(func() *speech {
	return &speech{
		opener:     regexp.MustCompile(`^(?i:(?:hi|hey|hello)(?: (?:there|all|team|\p{L}+))?[,.!]\s+|(?:hi|hey|hello|ok|okay|so|and|but|also|well|yes|yep|no|nope|yeah|right|cool|great|good|perfect|thanks|thank you|btw|by the way|fyi|for the record|for your information|for context|for reference|for future reference|just so you know|to be clear|just to be clear|please note(?: that)?|note(?: that)?|actually|generally|in general|as i said|as you know|now|oh|ah|one more thing|rules?:|reminder:|context:|important:|background:|quick intro:|intro:|about me:|conventions?:|constraints?:|ps:|first|first of all|second|finally|additionally|moreover|hallo|hi|übrigens|und|also|salut|bonjour|hola|además)\b(?:[,:.!;–—-]+\s*|\s+))`),
		remember:   regexp.MustCompile(`^(?i:(?:can you |could you )?(?:please )?(?:remember|keep in mind|don't forget|do not forget|make a note|note down|take note|bitte merk dir|merk dir|bitte merken|recuerda|souviens-toi)(?: that|:|,| dass| que)?\s+)`),
		remembered: regexp.MustCompile(`(?i)[,;.–—-]*\s+(?:so )?(?:please )?(?:remember|note|keep|save|store)(?: (?:that|this|it))?(?: in mind| down)?(?: for (?:later|next time|the future))?(?:,? please)?[.!]*$`),
		// What a person adds: what is to be done now, and why. Not what would
		// change the meaning, such as "but only" or "unless".
		aside:  regexp.MustCompile(`(?i)(?:,\s+(?:so|then|you|we|they|she|he|please|keep|ask|tell|skip|use|thanks|ok|it's|that's|this is|sie|er|wir|ich|also|et|alors)\b|\s+in case\b|\s+and (?:she|he|they|it|then)\b).*$`),
		filler: regexp.MustCompile(`(?i)(?:,?\s+(?:but ok|but fine|by the way|btw|fyi|for the record|though|too|as well|anyway|please|thanks|thank you|thx|ok|okay|haha|lol|right|you know|bitte|danke|übrigens|merci|gracias|:-?\)|😀|🙂|😊))+$`),
		next:   regexp.MustCompile(`(?i)(?:,|;)?\s+(?:and|but)\s+((?:i|i'm|i've|i'd|i'll|my|we|we're|we've|we'd|we'll|our)\s)|;\s+((?:i|i'm|i've|i'd|i'll|my|we|we're|we've|we'd|we'll|our)\s)|,\s+((?:i'm|i am|i live|i work|i prefer|i like|i hate|i love|my)\s)|(?:,|;)?\s+(?:and|but)\s+((?:please|don't|do not|from now on)\s)|,?\s+(?:und|et|y)\s+((?:ich|wir|meine?|je|j'|nous|vivo|trabajo|mi|soy|prefiero)\b)`),
	}
})

// clause is a part of a sentence that says one thing.
type clause struct {
	text     string // without what it opens with, and without its last mark
	explicit bool   // "remember that": the person wants it kept
	request  bool   // and it was the whole form "remember that ..."
}

// clauses cuts a sentence where another thing begins ("and I", "; my"), and
// takes off what it opens with.
func (s sentence) clauses() []clause {
	k := spoken()
	text, c := strings.TrimSpace(strings.TrimRight(s.text, ".!? ")), clause{}
	for range 4 {
		n := len(k.opener.FindString(text))
		if m := k.remember.FindString(text); m != "" {
			n, c.explicit = len(m), true
			m = strings.ToLower(strings.TrimSpace(m))
			c.request = strings.HasSuffix(m, "that") || strings.HasSuffix(m, ":") || strings.HasSuffix(m, "dass")
		}
		if n == 0 || n == len(text) {
			break
		}
		text = text[n:]
	}
	if at := k.remembered.FindStringIndex(text); at != nil && at[0] > 8 {
		text, c.explicit = text[:at[0]], true
	}
	var all []clause
	for {
		at := k.next.FindStringSubmatchIndex(text)
		if at == nil || at[0] < 4 || c.request {
			break
		}
		next := max(at[2], at[4], at[6], at[8], at[10])
		c.text = strings.TrimRight(text[:at[0]], " ,")
		all = append(all, c)
		text = text[next:]
	}
	c.text = strings.TrimSpace(text)
	all = append(all, c)
	for i := range all {
		all[i].text = strings.TrimRight(k.filler.ReplaceAllString(all[i].text, ""), ",;.! ")
		if at := k.aside.FindStringIndex(all[i].text); at != nil && at[0] >= 12 && !c.request {
			all[i].text = all[i].text[:at[0]]
		}
	}
	return all
}
