package summarize

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"sync"
)

// Bounds of what is remembered of what was said.
const (
	keptRemarks = 320
	remarkBytes = 1200 // of a message whose words are looked at
	remarkText  = 700  // bytes of it that are kept, so that they can be quoted
	remarkWords = 96
)

// remark is a message of a person, or the agent's last word of a turn, as what was
// said earlier is looked up in it.
type remark struct {
	line   int
	person bool
	task   bool // it sets one
	worked bool // the agent says it after it has called a tool
	denied bool // the person who heard it says that it is not so
	people int  // messages of people until then
	text   string
	words  []wordKey // sorted
	// figures are those of text, once they were asked for.
	figures []figure
	counted bool
}

// numbers are the figures of a remark.
func (t *remark) numbers() []figure {
	if !t.counted {
		t.figures, t.counted = figuresOf(t.text), true
	}
	return t.figures
}

// wordKey is the beginning of a word's stem: forms of one word have the same.
type wordKey uint64

// wordKeyBytes is how many bytes of a stem count; of a number all that fit.
const wordKeyBytes = 5

func keyOf(stem string) (key wordKey) {
	if len(stem) > 3 {
		stem = strings.TrimSuffix(stem, "e")
	}
	n := wordKeyBytes
	if isNumber(stem) {
		n = 8
	}
	for i := 0; i < min(len(stem), n); i++ {
		key = key<<8 | wordKey(stem[i])
	}
	return key
}

// number tells whether a key is that of a number.
func (k wordKey) number() bool {
	for k > 0xff {
		k >>= 8
	}
	return k >= '0' && k <= '9'
}

// month tells whether a key is that of a month.
func (k wordKey) month() bool { return months()[k] }

// keysOf are the distinct keys of a text in lower case, sorted.
func keysOf(lower string, keys []wordKey) []wordKey {
	eachStem(lower, func(stem string) {
		if len(keys) < remarkWords && !vague(stem) {
			keys = append(keys, keyOf(stem))
		}
	})
	slices.Sort(keys)
	return slices.Compact(keys)
}

// vague tells whether a stem is of a word that says how, whether or when, and of nothing
// what it is: two messages that share only such words are not on the same.
func vague(stem string) bool {
	switch stem {
	case "above", "add", "again", "already", "alway", "anyth", "back", "becaus", "been", "below", "between", "both", "came", "chang", "com", "day", "did",
		"doe", "doesn't", "don", "don't", "done", "dont", "down", "either", "enough", "even", "everyth", "few", "gave", "giv", "goe", "good", "her", "him",
		"his", "hold", "i'd", "i'll", "i'm", "i've", "instead", "isn't", "it'", "know", "later", "least", "less", "let'", "like", "little", "lot", "many",
		"may", "might", "most", "much", "must", "never", "nobody", "nothing", "off", "okay", "out", "over", "own", "per", "put", "quit", "rather", "read",
		"really", "right", "said", "same", "say", "shall", "she", "show", "somebody", "someon", "someth", "soon", "such", "sure", "tak", "tell", "thank",
		"that'", "their", "there'", "thes", "thing", "think", "those", "though", "through", "time", "today", "told", "tomorrow", "took", "under", "until",
		"very", "want", "way", "week", "well", "whether", "whil", "why", "without", "writ", "yes":
		return true
	}
	return false
}

// remarks are the messages in which later words on something are looked for.
type remarks struct {
	all []remark
	in  map[wordKey][]int32 // where a word stands in all; made by index
}

// add takes in a message, but for what it only shows: nobody has said that.
func (m *remarks) add(said remark, text []byte) {
	text = withoutShown(text)
	if len(m.all) == keptRemarks { // what is old has no later words
		m.all = append(m.all[:0], m.all[keptRemarks/4:]...)
	}
	words := keysOf(strings.ToLower(string(cut(text, remarkBytes))), make([]wordKey, 0, 48))
	said.text, said.words = string(cut(text, remarkText)), words
	m.all = append(m.all, said)
}

// deny marks the last message, if it is that of a line.
func (m *remarks) deny(line int) {
	if n := len(m.all); n > 0 && m.all[n-1].line == line {
		m.all[n-1].denied = true
	}
}

// index finds out where each word stands.
func (m *remarks) index() {
	m.in = map[wordKey][]int32{}
	for i := range m.all {
		for _, w := range m.all[i].words {
			m.in[w] = append(m.in[w], int32(i))
		}
	}
}

// weight is how much a word says: 1 if no other message has it, 0 if all have.
// Numbers say nothing by themselves, they change.
func (m *remarks) weight(w wordKey) float64 {
	if w.number() {
		return 0
	}
	all := float64(len(m.all) + 1)
	return math.Log(all/float64(max(len(m.in[w]), 1))) / math.Log(all)
}

// masses are how much the words that a statement shares with each message say
// together, and how much all of its words say.
func (m *remarks) masses(words []wordKey) (each []float64, all float64) {
	each = make([]float64, len(m.all))
	for _, w := range words {
		weight := m.weight(w)
		all += weight
		for _, i := range m.in[w] {
			each[i] += weight
		}
	}
	return each, all
}

// shared are the words that two have both.
func shared(a, b []wordKey) (both []wordKey) {
	for _, w := range a {
		if _, has := slices.BinarySearch(b, w); has {
			both = append(both, w)
		}
	}
	return both
}

// takenUp is a later word on something.
type takenUp struct {
	*remark
	at    int     // where the sentence begins that takes it up
	share float64 // of what it says, as far as the later one takes it up
	mass  float64
	// numbers is true if the earlier one has any, and same if the later one has all
	// of them, and no other.
	numbers, same bool
	changed       bool // it has another number with the same word
}

// The least that two messages on the same thing have in common: some words that few
// others have, which are a good part of what the earlier one says. Of a short one
// less is enough, and of one whose number the later one has otherwise.
const (
	laterMass, laterShare     = 1.0, 0.25
	shortMass, shortShare     = 0.5, 0.4
	changedMass, changedShare = 0.35, 0.12
	rareWeight, rareMass      = 0.7, 1.4
	rareWords                 = 2
)

// on tells whether what two have in common is enough for both to be on the same.
func (m *remarks) on(both []wordKey, mass, share float64) bool {
	if mass >= laterMass && share >= laterShare || mass >= shortMass && share >= shortShare {
		return true
	}
	return mass >= rareMass && m.rare(both) >= rareWords
}

// rare is how many of some words few messages have.
func (m *remarks) rare(words []wordKey) (rare int) {
	for _, w := range words {
		if m.weight(w) >= rareWeight {
			rare++
		}
	}
	return rare
}

// bestShare is how much of the most that any later word takes up the last one has to
// take up.
const bestShare = 0.7

// lastOn returns the last message that takes up what a statement says, of those that
// take up most of it, if wanted lets it.
func (m *remarks) lastOn(line int, text string, wanted func(*remark) bool) (found takenUp) {
	said, masses := m.subject(text)
	return m.lastOf(line, &said, masses, wanted)
}

// laterOn returns what the next turns made of a statement, the last word on it, and the
// messages that most likely tell what became of it.
func (m *remarks) laterOn(line int, text string, wanted func(*remark) bool) (next, last takenUp, likely []laterLine) {
	said, masses := m.subject(text)
	return m.nextOf(line, &said, masses, wanted), m.lastOf(line, &said, masses, wanted), m.likeliest(line, &said, masses, wanted)
}

// subject is what a statement is about, and how much of it each message takes up.
func (m *remarks) subject(text string) (said subject, masses []float64) {
	said = subject{words: keysOf(strings.ToLower(text), nil), figures: figuresOf(text)}
	masses, said.mass = m.masses(said.words)
	return said, masses
}

// nextOf is the agent's last word of the turn behind a statement, or what its person
// said, if either takes up a word of it that few others have.
func (m *remarks) nextOf(line int, said *subject, masses []float64, wanted func(*remark) bool) takenUp {
	at := slices.IndexFunc(m.all, func(t remark) bool { return t.person && t.line > line })
	for turn := 0; turn < nextTurns && at >= 0 && at < len(m.all) && !m.all[at].task; turn++ {
		end := at
		for end+1 < len(m.all) && !m.all[end+1].person {
			end++
		}
		for _, i := range [...]int{end, at} {
			t := &m.all[i]
			if masses[i] < nextMass || !wanted(t) || !m.sharesMore(t, said) {
				continue
			}
			if at := t.best(said.words); len(said.figures) == 0 && t.person || !asksOnly(t.text[at:]) {
				return takenUp{remark: t, at: at, mass: masses[i], share: masses[i] / said.mass,
					numbers: slices.ContainsFunc(said.words, wordKey.number), same: sameNumbers(said.words, t.words)}
			}
		}
		at = end + 1
	}
	return takenUp{}
}

// sharesMore tells whether a later message shares more than a month with a statement.
func (m *remarks) sharesMore(t *remark, said *subject) bool {
	mass := 0.0
	for _, w := range shared(said.words, t.words) {
		if !w.month() {
			mass += m.weight(w)
		}
	}
	return mass >= nextMass
}

// nextTurns is how many turns behind a statement are looked at.
const nextTurns = 2

// nextMass is how much the words say at least that the next turn takes up, or a line that
// is named.
const nextMass = 0.35

// lastOf returns the last message that takes up what a statement says.
func (m *remarks) lastOf(line int, said *subject, masses []float64, wanted func(*remark) bool) (found takenUp) {
	for i := range slices.Backward(m.all) {
		t, mass := &m.all[i], masses[i]
		if t.line <= line {
			break
		}
		if mass < changedMass || mass*bestShare <= found.mass || !wanted(t) {
			continue
		}
		if now := m.takesUp(t, said, mass); now.remark != nil {
			found = now
		}
	}
	return found
}

// anybody wants every message.
func anybody(*remark) bool { return true }

// people wants what people say.
func people(t *remark) bool { return t.person }

// subject is a statement whose last word is looked for.
type subject struct {
	words   []wordKey
	figures []figure
	mass    float64
}

// takesUp tells how a message takes up what a statement says; its remark is nil if it
// does not, or only says what holds anywhere.
func (m *remarks) takesUp(t *remark, said *subject, mass float64) takenUp {
	share := mass / said.mass
	changed := share >= changedShare && len(said.figures) > 0 && otherwise(said.figures, t.numbers(), share)
	if !changed && !m.on(shared(said.words, t.words), mass, share) {
		return takenUp{}
	}
	at := t.best(said.words)
	told := bytes.ToLower(cut([]byte(t.text[at:]), toldBytes))
	if general(told) || (len(said.figures) > 0 || !t.person) && asksOnly(t.text[at:]) {
		return takenUp{}
	}
	return takenUp{remark: t, at: at, mass: mass, share: share, changed: changed,
		numbers: slices.ContainsFunc(said.words, wordKey.number),
		same:    sameNumbers(said.words, t.words) && sameNumbers(keysOf(string(told), nil), said.words)}
}

// asksOnly tells whether a text begins with a question: it changes no value.
func asksOnly(text string) bool {
	end := strings.IndexAny(text, "?!\n")
	return end >= 0 && text[end] == '?' && !strings.Contains(text[:end], ". ")
}

// toldBytes is how much of a message counts as what it says of something.
const toldBytes = 120

// figure is a number with the word beside it: "318 refunds", "EUR 2,904".
type figure struct {
	word   wordKey
	number string
	day    bool // of a month
}

// figuresOf are the numbers of a text with the words beside them.
func figuresOf(text string) (figures []figure) {
	if !strings.ContainsAny(text, "0123456789") && !numerals().inString(text) {
		return nil
	}
	fields := strings.Fields(strings.ToLower(text))
	for i, field := range fields {
		number := strings.Trim(field, ".,:;()!?*`")
		if spelled := numeral(number); spelled != "" {
			number = spelled
		}
		if number == "" || strings.Trim(number, "0123456789.,:") != "" {
			continue
		}
		for _, at := range [...]int{i - 1, i + 1} {
			if at < 0 || at >= len(fields) {
				continue
			}
			if words := keysOf(fields[at], nil); len(words) == 1 && !words[0].number() {
				figures = append(figures, figure{words[0], number, month(fields[at])})
			}
		}
	}
	return figures
}

// numerals are the words of [numeral], also at the beginning of a sentence.
var numerals = phraseSet("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten", "Twelve")

// numeral is a number that is written as a word in digits, or "". "One" is mostly no
// number.
func numeral(word string) string {
	switch word {
	case "two":
		return "2"
	case "three":
		return "3"
	case "four":
		return "4"
	case "five":
		return "5"
	case "six":
		return "6"
	case "seven":
		return "7"
	case "eight":
		return "8"
	case "nine":
		return "9"
	case "ten":
		return "10"
	case "twelve":
		return "12"
	}
	return ""
}

// months are the keys of the names of months.
var months = sync.OnceValue(func() map[wordKey]bool {
	all := map[wordKey]bool{}
	for _, name := range []string{"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec"} {
		all[keyOf(stem(name))] = true
	}
	return all
})

// month tells whether a word is the name of a month.
func month(word string) bool {
	word = strings.Trim(word, ".,:;()!?*`")
	switch word {
	case "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december":
		return true
	case "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec":
		return true
	}
	return false
}

// otherwise tells whether later figures have the same word with another number, and
// not with the same.
// Another day of the same month counts only if they share much else.
func otherwise(earlier, later []figure, share float64) bool {
	other := false
	for _, c := range earlier {
		for _, l := range later {
			if c == l {
				return false
			}
			other = other || c.word == l.word && (!c.day || share >= laterShare)
		}
	}
	return other
}

// sameNumbers tells whether all numbers of one are in the other.
func sameNumbers(a, b []wordKey) bool {
	for _, w := range a {
		if _, has := slices.BinarySearch(b, w); w.number() && !has {
			return false
		}
	}
	return true
}

// best is where the sentence begins that takes up most of some words.
func (t *remark) best(words []wordKey) int {
	best, most, at := 0, 0, 0
	eachSentenceOf([]byte(t.text), shortClause, func(s sentence) {
		i := strings.Index(t.text[at:], string(s.text))
		if i < 0 {
			return
		}
		if n := len(shared(keysOf(string(bytes.ToLower(s.text)), nil), words)); n > most {
			best, most = at+i, n
		}
		at += i + len(s.text)
	})
	return best
}

// quote is the sentence of a message that takes something up, and what follows.
func (t takenUp) quote(runes int) string { return oneLine(t.text[t.at:], runes) }
