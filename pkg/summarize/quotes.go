package summarize

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/summarize/state"
	"github.com/sessctl/sessctl/pkg/work"
)

// quote is a sentence, or a line, of one event.
type quote struct {
	text  string
	event int
	terms []*use
}

// Bounds of quotes.
const (
	quotedTerms = 600 // whose places are looked at
	saidRunes   = 240 // of a sentence that somebody said
	lineRunes   = 150 // of a line of a call or a result
	leastQuote  = 12  // bytes
)

// quotes chooses whole sentences that together tell most of what is probably needed,
// of at most so many code points with their marks.
func (e *Extractive) quotes(u *uses, runes int, told string) []quote {
	q := &quoteHeap{}
	for _, c := range e.candidates(u, told) {
		heap.Push(q, scored{c, c.gain()})
	}
	var chosen []quote
	for q.Len() > 0 && runes > 2*leastQuote {
		best := heap.Pop(q).(scored)
		now := best.quote.gain()
		if now <= 0 { // others tell all of it
			continue
		}
		if now < best.gain-1e-12 { // others tell some of it now
			heap.Push(q, scored{best.quote, now})
			continue
		}
		cost := utf8.RuneCountInString(best.quote.text) + len("[1234] Agent:")
		if cost > runes {
			continue
		}
		chosen = append(chosen, best.quote)
		runes -= cost
		for _, t := range best.quote.terms {
			t.worth = 0
		}
	}
	slices.SortStableFunc(chosen, func(a, b quote) int { return cmp.Compare(a.event, b.event) })
	return chosen
}

// gain is how much a quote tells for its length.
func (q quote) gain() (sum float64) {
	for _, t := range q.terms {
		sum += t.worth
	}
	return sum / float64(20+len(q.text))
}

type scored struct {
	quote quote
	gain  float64
}

// quoteHeap has the quote with the highest gain on top.
type quoteHeap []scored

func (h quoteHeap) Len() int { return len(h) }
func (h quoteHeap) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[j].gain, h[i].gain), cmp.Compare(h[j].quote.event, h[i].quote.event), strings.Compare(h[i].quote.text, h[j].quote.text)) < 0
}
func (h quoteHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push adds a quote, as package heap wants it.
func (h *quoteHeap) Push(x any) { *h = append(*h, x.(scored)) }

// Pop takes out the last quote, as package heap wants it.
func (h *quoteHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// candidates are the sentences in which the terms that are worth most stood last.
func (e *Extractive) candidates(u *uses, told string) []quote {
	var all []quote
	seen := map[string]bool{}
	looked := 0
	for t := range u.top() {
		if looked++; looked > quotedTerms {
			break
		}
		for _, at := range t.places[:min(t.events, placesKept)] {
			x := &e.events[at]
			if x.stays || !quotedFor(x, t, int(at)) {
				continue
			}
			line := lineWith(x.safe(), t.key, x.by)
			if len(line) < leastQuote || seen[line] || strings.Contains(told, line) || !says(line, x.by) {
				continue
			}
			if x.by <= agent && u.overtaken(line, int(at)) {
				continue
			}
			seen[line] = true
			all = append(all, quote{line, int(at), u.in(line, t)})
		}
	}
	return all
}

// in are the terms of a line, t among them, each once.
func (u *uses) in(line string, t *use) []*use {
	terms := []*use{t}
	r := termReader{yield: func(key []byte, _ class) {
		if known := u.byKey[string(key)]; known != nil && known.worth > 0 && !slices.Contains(terms, known) {
			terms = append(terms, known)
		}
	}}
	r.read(line)
	return terms
}

// lineWith is the sentence of a text that has a term, or the line of what a tool was
// given or printed. A longer one is cut to what stands around the term.
func lineWith(text, key string, by party) string {
	at := indexFold(text, key)
	if at < 0 {
		return ""
	}
	from, to := lineAround(text, at)
	most := lineRunes
	if by != call && by != result {
		most = saidRunes
		from, to = sentenceAround(text, from, to, at)
	}
	line := text[from:to]
	if utf8.RuneCountInString(line) <= most {
		return strings.TrimSpace(unmarked(line))
	}
	return windowAround(line, at-from, len(key), most)
}

// windowAround is what stands around a place of a line, between words.
func windowAround(line string, at, length, runes int) string {
	half := (runes - length) / 2
	from, to := max(0, at-half), min(len(line), at+length+half)
	for from > 0 && from < at && !isSpace(line[from-1]) {
		from++
	}
	for to < len(line) && to > at+length && !isSpace(line[to]) {
		to--
	}
	text := strings.TrimSpace(strings.ToValidUTF8(line[from:to], ""))
	if from > 0 {
		text = "…" + text
	}
	if to < len(line) {
		text += "…"
	}
	return text
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }

// lineAround is where the line begins and ends that has a place.
func lineAround(text string, at int) (from, to int) {
	from = strings.LastIndexByte(text[:at], '\n') + 1
	if n := strings.IndexByte(text[at:], '\n'); n >= 0 {
		return from, at + n
	}
	return from, len(text)
}

// sentenceAround is where the sentence begins and ends that has a place in a line.
func sentenceAround(text string, from, to, at int) (begin, end int) {
	begin, end = from, to
	for i := from; i < to; {
		r, size := utf8.DecodeRuneInString(text[i:])
		next := i + size
		if endsSentence(text, r, next, to) {
			if next > at {
				return begin, next
			}
			begin = next
		}
		i = next
	}
	return begin, end
}

// endsSentence tells whether a mark ends a sentence: nothing follows in the line, or a
// space and no small letter.
func endsSentence(text string, mark rune, next, to int) bool {
	switch mark {
	case '。', '！', '？':
		return true
	case '.', '!', '?':
	default:
		return false
	}
	if next >= to {
		return true
	}
	if text[next] != ' ' {
		return false
	}
	after, _ := utf8.DecodeRuneInString(strings.TrimLeft(text[next:to], " "))
	return !unicode.IsLower(after) && !unicode.IsDigit(after)
}

// indexFold is where a key in lower case stands between boundaries, -1 for nowhere.
func indexFold(text, key string) int {
	for from := 0; ; {
		at := indexLower(text, key, from)
		if at < 0 {
			return -1
		}
		end := at + len(key)
		if (at == 0 || !wordByte(text[at-1])) && (end == len(text) || !wordByte(text[end])) || key[0] >= utf8.RuneSelf {
			return at
		}
		from = at + 1
	}
}

// indexLower finds a key in lower case, whatever the case of the ASCII letters of a
// text is. A path of Windows has strokes the other way round.
func indexLower(text, key string, from int) int {
	if strings.IndexByte(key, '/') < 0 {
		upper := key[0]
		if upper >= 'a' && upper <= 'z' {
			upper -= 0x20
		}
		for i := from; i+len(key) <= len(text); i++ {
			if (text[i] == key[0] || text[i] == upper) && lowerEqual(text[i:i+len(key)], key) {
				return i
			}
		}
		return -1
	}
	for i := from; i+len(key) <= len(text); i++ {
		if lowerEqual(text[i:i+len(key)], key) {
			return i
		}
	}
	return -1
}

func lowerEqual(text, key string) bool {
	for i := range len(key) {
		c := text[i]
		switch {
		case c >= 'A' && c <= 'Z':
			c |= 0x20
		case c == '\\':
			c = '/'
		}
		if c != key[i] {
			return false
		}
	}
	return true
}

// unmarked is a line without the marks of lists, quotations and headings before it.
func unmarked(line string) string {
	bare := strings.TrimSpace(line)
	for {
		rest := strings.TrimLeft(bare, "#>*- \t")
		if rest == bare || rest == "" {
			return bare
		}
		if bare[0] == '-' && rest != "" && bare[1] != ' ' || bare[0] == '*' && bare[1] != ' ' && bare[1] != '*' { // a flag; an emphasis
			return bare
		}
		bare = rest
	}
}

// says tells whether a line says something in words: listings, rulers and bare data are
// left to the names at the end.
func says(line string, by party) bool {
	words, letters, signs := 0, 0, 0
	for _, w := range strings.Fields(line) {
		plain := 0
		for _, r := range w {
			switch {
			case unicode.IsLetter(r):
				plain++
			case !unicode.IsDigit(r) && !strings.ContainsRune(".,:;'-/_", r):
				signs++
			}
		}
		if letters += plain; plain > 1 {
			words++
		}
		if utf8.RuneCountInString(w) > 3 && w[0] >= utf8.RuneSelf {
			words += utf8.RuneCountInString(w) / 3
		}
	}
	if by == call {
		return words >= 2 && letters > signs
	}
	return words >= 3 && letters > 2*signs
}

// quotedFor tells whether an event is quoted for a term: of what was called only the last
// that has it, and no command that only looked. What tools printed is over soon.
func quotedFor(x *event, t *use, at int) bool {
	switch x.by {
	case result:
		return false
	case call:
		return at == t.last && !(x.kind == work.KindCommand && glances(commandIn(x.text)))
	}
	return true
}

// glances tells whether a command only looks at something.
func glances(command string) bool {
	verb := state.Verb(command)
	program, _, _ := strings.Cut(verb, " ")
	return state.Looks(command) || slices.Contains([]string{"cat", "sed", "head", "tail", "df", "du", "nl", "wc"}, program) ||
		slices.Contains([]string{"git status", "git diff", "git log"}, verb)
}

// overtaken tells whether somebody said later what has two of the rare terms of a
// sentence: that is quoted rather, because it may take back what was said.
func (u *uses) overtaken(line string, at int) bool {
	shared := map[int]int{}
	for _, t := range u.rare(line) {
		for _, i := range u.heard[t] {
			if u.spoken[i].event <= at {
				continue
			}
			if shared[i]++; shared[i] == 2 {
				return true
			}
		}
	}
	return false
}
