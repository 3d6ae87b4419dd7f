package statements

import (
	"slices"
	"strings"
)

// Source is the conversation that statements are checked against. It is for one
// goroutine. Call [NewSource].
type Source struct {
	all      strings.Builder // everything, in lower case
	said     []string        // messages of people and the agent, as [Spaced]
	clauses  []clause        // of what was said, questions not among them
	exact    map[string]bool // all clauses of what was said, as [Spaced]
	stems    map[string]bool // of everything
	chosen   map[[2]string]bool
	loose    map[string]bool // numbers that stand alone, or that a tool printed
	counts   [languages]int
	language language
}

// NewSource returns a conversation in which nothing was said.
func NewSource() *Source {
	return &Source{exact: map[string]bool{}, stems: map[string]bool{}, chosen: map[[2]string]bool{}, loose: map[string]bool{}}
}

// Said adds what a person or the agent said.
func (s *Source) Said(text string, agent bool) {
	s.hold(text)
	for l, n := range languagesOf(text) {
		s.counts[l] += n
	}
	s.language, _ = strongest(s.counts)
	s.said = append(s.said, Spaced(text))
	for _, pair := range preferences(text) {
		s.chosen[pair] = true
	}
	for _, part := range clausesOf(text) {
		s.exact[Spaced(part.text)] = true
		c := s.clauseOf(part.text)
		if len(c.frame) < leastCommon {
			s.loosen(c.numbers)
		}
		if !part.question && len(c.words) >= leastCommon {
			c.agent = agent
			s.clauses = append(s.clauses, c)
		}
	}
}

// Printed adds what a tool printed: it bears out values and names, and nothing that is
// to be done.
func (s *Source) Printed(text string) {
	s.hold(text)
	s.loosen(figure().FindAllString(text, -1))
}

// loosen takes numbers for such as may be said of anything.
func (s *Source) loosen(numbers []string) {
	for _, n := range numbers {
		s.loose[n] = true
	}
}

// hold keeps the words, names and values of a text.
func (s *Source) hold(text string) {
	s.all.WriteString(strings.ToLower(strings.ReplaceAll(text, "’", "'")))
	s.all.WriteByte('\n')
	for _, w := range Content(text) {
		s.stems[w] = true
	}
}

// saidTogether tells whether one message has all words of a text.
func (s *Source) saidTogether(text string) bool {
	words := fields(text)
	return slices.ContainsFunc(s.said, func(message string) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(message, " "+w+" ") })
	})
}

// Foreign is the language of a text if nobody in the conversation used it, or "".
func (s *Source) Foreign(text string) string {
	const leastOfText, leastOfSource = 4, 8 // words that tell a language
	used, most := strongest(s.counts)
	l, n := strongest(languagesOf(text))
	if n < leastOfText || most < leastOfSource || s.counts[l]*4 >= most || languagesOf(text)[used]*3 >= n*2 {
		return ""
	}
	return l.String()
}

// clause is a part of a sentence that says one thing.
type clause struct {
	words     []string // that say something
	core      []string // of them those before "without"
	condition []string // those behind it
	frame     []string // those without a digit
	numbers   []string // of two digits or more
	negative  bool
	reports   bool // it says how something is, and orders nothing
	forbids   bool // it orders that something is not to be
	agent     bool // the agent says it
}

// clauseOf reads a clause in the language of the conversation.
func (s *Source) clauseOf(text string) clause {
	c := clause{words: Content(text), negative: negates(text, s.language), reports: reports(text, s.language)}
	c.frame = slices.DeleteFunc(slices.Clone(c.words), Value)
	c.numbers = slices.DeleteFunc(figure().FindAllString(text, -1), func(n string) bool { return len(n) < 2 })
	c.forbids = c.negative && !c.reports && negates(withoutWeak(text, s.language), s.language)
	before, behind := atWithout(text, s.language)
	c.core, c.condition = Content(before), Content(behind)
	return c
}

// withoutWeak is a text without the negations that forbid nothing: "no errors".
func withoutWeak(text string, l language) string {
	return strings.Join(slices.DeleteFunc(fields(text), func(w string) bool { return weak()[w]&(1<<l) != 0 }), " ")
}

// atWithout cuts a clause at the word behind which its condition stands.
func atWithout(text string, l language) (before, behind string) {
	words := strings.Fields(text)
	i := slices.IndexFunc(words, func(w string) bool {
		return without()[strings.ToLower(strings.Trim(w, ".,;:!?*`\"'"))]&spokenIn(l) != 0
	})
	if i < 0 {
		return text, ""
	}
	return strings.Join(words[:i], " "), strings.Join(words[i+1:], " ")
}

// reporting are words of clauses that say how something is or was.
var reporting = lexiconOf(
	`have haven't has hasn't had hadn't did didn't is isn't are aren't was wasn't were weren't does doesn't can't cannot couldn't yet still been i'm it's that's`,
	`habe hat haben hatte ist sind war waren wurde wurden noch kann konnte bisher`,
	`ai a ont était est sont encore peut avons`,
	`he ha han hemos está están es son fue era todavía aún puede`,
	`ho ha hanno abbiamo è sono era ancora può`,
	`foi está estão é são era ainda pode temos`,
	`heb heeft hebben is zijn was nog kan kon`,
	`ещё еще пока был была было были есть может`,
)

// states are the signs of the same in Chinese and Japanese.
var states = expression(`还|還|没|未|不是|不会|ていない|なかった|ません|まだ`)

func reports(text string, l language) bool {
	return slices.ContainsFunc(fields(text), func(w string) bool { return reporting()[w]&spokenIn(l) != 0 }) || states().MatchString(text)
}

// part is one clause as it is written.
type part struct {
	text     string
	question bool
}

// linking words begin another clause.
var linking = expression(`(?i)\s(?:and|but|so|because|und|aber|weil|et|mais|car|y|pero|porque|ma|e|mas|en|maar|и|но|а)\s|[;；:：—–()（）\n。！？，、]|\s-\s|[,.!?]+(?:[)"'”’*\x60]*)(?:\s|$)`)

// clausesOf cuts a text at marks, line ends and conjunctions.
func clausesOf(text string) (all []part) {
	for len(text) > 0 {
		at := linking().FindStringIndex(text)
		if at == nil {
			return append(all, part{text: text})
		}
		if strings.TrimSpace(text[:at[0]]) != "" {
			all = append(all, part{text[:at[0]], strings.ContainsAny(text[at[0]:at[1]], "?？")})
		}
		text = text[at[1]:]
	}
	return all
}

// preferences are the pairs of words that a text puts one before the other.
func preferences(text string) (pairs [][2]string) {
	for _, at := range preferring().FindAllStringIndex(text, -1) {
		x, y := lastWord(text[:at[0]]), firstWord(text[at[1]:])
		if x != "" && y != "" {
			pairs = append(pairs, [2]string{x, y})
		}
	}
	return pairs
}

// scripted is a run of letters and digits of one script.
var scripted = expression(`[\p{Latin}\p{N}_.+#-]*[\p{Latin}\p{N}]|[\p{Cyrillic}]+|[\p{Han}]+|[\p{Katakana}ー]+|[\p{Hangul}]+`)

func lastWord(text string) string {
	all := scripted().FindAllString(strings.ToLower(text), -1)
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

func firstWord(text string) string {
	for _, w := range scripted().FindAllString(strings.ToLower(text), 4) {
		if empty()[w] == 0 && common()[w] == 0 {
			return w
		}
	}
	return ""
}
