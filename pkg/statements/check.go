package statements

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Statement is one sentence, or one item of a list, that a model wrote.
type Statement struct {
	Text string
	// Open is true of what is still to be done: "run the tests" is no contradiction
	// there of "I have not run the tests".
	Open bool
	// Strict is true of one that has its source named: that must have all its numbers,
	// and most of its words.
	Strict bool
}

// Check says why a statement does not hold, or "". What it says has no word of the
// statement: it is kept longer than what somebody forgets on purpose.
func (s *Source) Check(of Statement) string {
	tests := []func(Statement) string{s.ordered, s.valued, s.turned, s.contradicted, s.exchanged, s.supported}
	for _, test := range tests {
		if why := test(of); why != "" {
			return why
		}
	}
	return ""
}

// ordered refuses orders against somebody that nobody gave, and the order to ignore all
// others whoever gave it.
func (s *Source) ordered(of Statement) string {
	for _, order := range orders(of.Text) {
		begins := strings.HasPrefix(strings.TrimLeft(of.Text, "*`\"'“ "), order)
		if begins && ignoring().MatchString(order) || !s.saidTogether(order) {
			return "it is an instruction to go against somebody"
		}
	}
	return ""
}

// ignoring begins an order to ignore the others.
var ignoring = expression(`(?i)^(?:ignor|disregard|override|missacht|vergiss|oublie|olvida|desobedece|dimentica|esqueça|negeer|vergeet|игнорир|забудь|忽略|无视|無視|忘)|無視|忘れ`)

// token is a word, a number or an address of the scripts that have capital letters.
var token = expression(`https?://[^\s)>\]"'\x60]+|[\p{Latin}\p{Cyrillic}\p{Greek}\p{N}_./@#+~\\-]*[\p{Latin}\p{Cyrillic}\p{Greek}\p{N}]`)

// valued refuses values and names that the conversation does not have.
func (s *Source) valued(of Statement) string {
	all, text := s.all.String(), of.Text
	foreign := !Latin(text) || s.language == russian
	for _, at := range token().FindAllStringIndex(text, -1) {
		word := text[at[0]:at[1]]
		lower := strings.Trim(strings.ToLower(word), `.-/\#+~`)
		switch {
		case lower == "" || strings.Contains(all, lower):
		case strings.Contains(lower, "://") && addressIn(all, lower):
		case strings.Contains(lower, "@") || strings.Contains(lower, "://"):
			return "it has an address that the conversation does not have"
		case strings.Contains(lower, "/"):
			if !pathIn(all, lower) {
				return "it has a path that the conversation does not have"
			}
		case strings.ContainsAny(lower, "0123456789"):
			if !numbersIn(all, lower, of.Strict) {
				return "it has a number that the conversation does not have"
			}
		case s.isName(text, at[0], word, foreign) && !nameIn(all, lower):
			return "it has a name that the conversation does not have"
		}
	}
	return ""
}

// isName tells whether a word of a text is a name: one with a capital letter where none
// need be, or Latin letters between those of another script.
func (s *Source) isName(text string, at int, word string, foreign bool) bool {
	first, _ := utf8.DecodeRuneInString(word)
	switch {
	case foreign && unicode.Is(unicode.Latin, first):
		return utf8.RuneCountInString(word) > 2
	case identifier().MatchString(word):
		return true
	case !unicode.IsUpper(first) || s.language == german || generic().MatchString(word):
		return false
	}
	before := strings.TrimRight(text[:at], " \t")
	last, _ := utf8.DecodeLastRuneInString(before)
	return before != "" && (unicode.IsLetter(last) || unicode.IsDigit(last) || last == ',')
}

var (
	identifier = expression(`^\w*(?:\p{Ll}\p{Lu}|\w_\w)\w*$|^[\w-]+\.\p{Ll}{1,4}$`)
	// generic are capital letters that name nothing in particular.
	generic = expression(`^(?:API|CLI|PR|CI|CD|JSON|YAML|XML|HTML|CSS|HTTPS?|SSH|TLS|SSL|DB|SQL|UI|UX|OS|CPU|GPU|RAM|ID|URL|URI|PDF|CSV|README|TODO|OK|E2E|TDD|WIP|MVP|ASCII|UTF|UNVERIFIED|CONTEXT|LESSONS|I|I'm|User|Users?'?s?|Assistant|Agent|Done|Next|None|N)s?$`)
)

// nameIn tells whether a text in lower case has a name, in another form at least.
func nameIn(all, name string) bool {
	runes := []rune(name)
	const leastOfName = 4
	return strings.Contains(all, strings.ReplaceAll(name, "-", "")) || strings.Contains(all, strings.ReplaceAll(name, "-", " ")) ||
		strings.Contains(strings.ReplaceAll(all, "-", ""), name) || partsIn(all, name) ||
		len(runes) > leastOfName && strings.Contains(all, string(runes[:max(leastOfName, len(runes)*2/3)]))
}

// partsIn tells whether a text has all words that a name is put together from.
func partsIn(all, name string) bool {
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '.' || r == '-' })
	return len(parts) > 1 && !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(all, p) })
}

// pathIn tells whether a text has a path: what it has of it stands nowhere below
// another directory. Words and names with a stroke between them ("and/or", "g_start/g_end",
// ".yaml/.yml") are no path, and have to be there one by one.
func pathIn(all, path string) bool {
	const fewWords = 3
	parts := strings.Split(strings.Trim(path, "/~."), "/")
	known := !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(all, p) })
	switch rooted := strings.HasPrefix(path, "/") || strings.HasPrefix(path, "~"); {
	case !rooted && known && (!strings.Contains(path, ".") || strings.Contains(path, "/.")):
		return true
	case !rooted && len(parts) <= fewWords && !strings.ContainsAny(path, ".0123456789_~"):
		return true
	}
	if !strings.ContainsFunc(path, unicode.IsLetter) { // versions, days
		return known
	}
	for i := 1; i < len(parts); i++ {
		end := regexp.MustCompile(`(?:^|[^/\w.-])(?:\./)?` + regexp.QuoteMeta(strings.Join(parts[i:], "/")))
		if strings.Contains(all, strings.Join(parts[:i], "/")) && end.MatchString(all) {
			return true
		}
	}
	return false
}

// addressIn tells whether a text has the host of an address, and its numbers.
func addressIn(all, address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Hostname() != "" && strings.Contains(all, u.Hostname()) && numbersIn(all, u.Port(), true) && (u.Path == "" || u.Path == "/" || pathIn(all, u.Path))
}

// figure is a number as it is written.
var figure = expression(`\d+(?:[.,:]\d+)*`)

// numbersIn tells whether a text has the numbers of a word. Those of one digit may be
// counted by whoever writes, unless he is held to be strict, and a fraction may be
// rounded.
func numbersIn(all, word string, strict bool) bool {
	for _, number := range figure().FindAllString(word, -1) {
		plain := strings.ReplaceAll(number, ",", "")
		if (strict || len(plain) > 1) && !numberIn(all, number) && !numberIn(strings.ReplaceAll(all, ",", ""), plain) {
			return false
		}
	}
	return true
}

func numberIn(all, number string) bool {
	rounded := strings.Contains(number, ".")
	for from := 0; ; {
		i := strings.Index(all[from:], number)
		if i < 0 {
			return false
		}
		at, end := from+i, from+i+len(number)
		before := at > 0 && digit(all[at-1])
		if !before && (rounded || end == len(all) || !digit(all[end])) {
			return true
		}
		from = at + 1
	}
}

func digit(b byte) bool { return b >= '0' && b <= '9' }

// turned refuses what was preferred the other way round.
func (s *Source) turned(of Statement) string {
	for _, p := range preferences(strings.ReplaceAll(of.Text, "**", "")) {
		if !s.chosen[p] && s.chosen[[2]string{p[1], p[0]}] {
			return "what was preferred to what is turned round"
		}
	}
	return ""
}

// supported refuses what has hardly a word of the conversation.
func (s *Source) supported(of Statement) string {
	least, few, words := 0.25, 4, Content(of.Text)
	if of.Strict {
		least, few = 0.6, 1
	}
	if len(words) < few && len(words) > 0 {
		return ""
	}
	found := 0
	for _, w := range words {
		if s.stems[w] {
			found++
		}
	}
	if len(words) == 0 && of.Strict || float64(found) < least*float64(len(words)) {
		return "its words are not in the conversation"
	}
	return ""
}

// contradicted refuses a statement with a clause that says the opposite of all clauses
// of the conversation that are about the same.
func (s *Source) contradicted(of Statement) string {
	for _, part := range clausesOf(of.Text) {
		if s.exact[Spaced(part.text)] || part.question || supposing().MatchString(part.text) {
			continue
		}
		c := s.clauseOf(part.text)
		same, opposite := false, false
		for i := range s.clauses {
			switch said := &s.clauses[i]; {
			case !about(&c, said):
			case c.negative == said.negative:
				same = true
			default:
				opposite = opposite || opposes(&c, said, of.Open)
			}
		}
		if opposite && !same {
			return "it says the opposite of what was said"
		}
	}
	return ""
}

// supposing is a word of a clause that says under which condition something is so.
var supposing = expression(`(?i)(?:^|\s)(?:if|when|whenever|while|once|until|wenn|falls|sobald|si|quand|cuando|quando|если|когда)\s|如果|的时候|たら|れば`)

// exchanged refuses a clause that has a number of something else where all clauses about
// the same have others.
func (s *Source) exchanged(of Statement) string {
	for _, part := range clausesOf(of.Text) {
		c := s.clauseOf(part.text)
		if s.exact[Spaced(part.text)] || len(c.numbers) == 0 || slices.ContainsFunc(c.numbers, func(n string) bool { return s.loose[n] }) {
			continue
		}
		same, other := false, false
		for i := range s.clauses {
			said := &s.clauses[i]
			n := float64(shared(c.frame, said.frame))
			if n < leastCommon || n < commonShare*float64(len(c.frame)) || n < commonShare*float64(len(said.frame)) {
				continue
			}
			same = same || shared(c.numbers, said.numbers) > 0
			other = other || len(said.numbers) > 0
		}
		if other && !same {
			return "it has a number of something else"
		}
	}
	return ""
}

// How much of two clauses is common if they are about the same.
const (
	leastCommon    = 2
	commonShare    = 0.7 // of both
	forbiddenShare = 0.6 // of a statement that has all words of what is forbidden
)

// about tells whether a clause of a statement is about what was said: both have most of
// their words in common, or it has all of what was forbidden.
func about(c, said *clause) bool {
	n := float64(shared(c.words, said.words))
	if said.forbids {
		core := shared(c.words, said.core)
		if core >= leastCommon && core == len(said.core) && n >= forbiddenShare*float64(len(c.words)) {
			return true
		}
	}
	return n >= leastCommon && n >= commonShare*float64(len(c.words)) && n >= commonShare*float64(len(said.words))
}

// opposes tells whether one of two clauses about the same denies the other. What may be
// done on a condition may be told with the condition; what is not done yet may be next,
// and what was asked for may not have been done.
func opposes(c, said *clause, open bool) bool {
	switch {
	case said.negative && shared(c.core, said.condition) > 0:
		return false
	case said.negative && !said.forbids:
		return !open && said.agent && c.reports
	case c.negative && c.reports:
		return !open && said.agent
	}
	return true
}

func shared(x, y []string) (n int) {
	for _, w := range x {
		if slices.Contains(y, w) {
			n++
		}
	}
	return n
}
