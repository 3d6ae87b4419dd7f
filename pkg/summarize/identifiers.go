package summarize

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/session"
)

// Bounds of the identifiers that are watched, and of the index of those that
// a summary lacks.
const (
	maxIdentifiers = 4096
	maxIndex       = 40   // items
	maxIndexRunes  = 2000 // of all
)

// identifiers are the identifiers of a log that streams by. When there are too
// many, those that were named least go: the frequent ones stay.
type identifiers struct {
	byName   map[string]*mention
	once     []*mention // every one that is named in one message, and perhaps some of others
	known    []*mention // room for those of one text
	messages int
	said     bool // what is looked at is the word of a person or the agent
}

// mention is an identifier and where it was named.
type mention struct {
	name     string
	line     int  // where it was named first
	messages int  // in which it is named
	last     int  // the last of them
	said     bool // by a person or the agent, not only in what a tool printed
	order    int  // among all, by when it was named first
}

// unescaped ends the lines of strings that stand as JSON in a call.
func unescaped(text []byte) string {
	var b strings.Builder
	b.Grow(len(text))
	for {
		at := bytes.IndexByte(text, '\\')
		if at < 0 || at+1 == len(text) {
			b.Write(text)
			return b.String()
		}
		b.Write(text[:at])
		switch c := text[at+1]; c {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		case '"':
			b.WriteByte('"')
		default:
			b.WriteByte('\\')
			at--
		}
		text = text[at+2:]
	}
}

// add takes in what a message says, as far as [Flat] would tell a model: of
// results and of calls the beginning. What somebody says goes to text, without
// envelopes and secrets.
func (d *identifiers) add(m *session.Message) {
	d.messages++
	d.said = m.Role == session.RoleUser || m.Role == session.RoleAssistant
	if m.Role == session.RoleSystem || !m.Embeddable() {
		return
	}
	worded := d.said || m.Role == session.RoleSummary
	_, limit := flatLabel(m)
	for i := range m.Parts {
		switch p := &m.Parts[i]; p.Kind {
		case session.PartText, session.PartCommand:
			if worded {
				continue
			}
			d.printed(m.Line, string(beginning(session.WithoutRecalled(p.Text), limit)))
		case session.PartToolCall:
			d.printed(m.Line, unescaped(beginning(p.Text, flatCallRunes)))
		}
	}
	d.bound()
}

// beginning is at most so many code points of a text.
func beginning(text []byte, runes int) []byte {
	return cutRunes(cut(text, 4*runes), runes)
}

func (d *identifiers) text(line int, text string) {
	for name := range identifiersOf(text) {
		d.name(line, name, 1)
	}
}

// printed takes in a text that may have secrets. They are only looked for, which
// takes longer than all the rest, if the text has a name that is not known.
func (d *identifiers) printed(line int, text string) {
	d.known = d.known[:0]
	safe := false // it has no secrets: a name that is not known may be taken
	for name := range identifiersOf(text) {
		switch known := d.byName[name]; {
		case known != nil && safe:
			d.again(known, 1)
		case known != nil:
			d.known = append(d.known, known)
		case safe:
			d.name(line, name, 1)
		default:
			if clean := redact(text); clean != text {
				d.text(line, clean)
				return
			}
			safe = true
			d.knownAgain()
			d.name(line, name, 1)
		}
	}
	d.knownAgain()
}

// knownAgain notes that a message names what was found known.
func (d *identifiers) knownAgain() {
	for _, m := range d.known {
		d.again(m, 1)
	}
	d.known = d.known[:0]
}

// name notes that a message, or several, name something.
func (d *identifiers) name(line int, name string, messages int) {
	known := d.byName[name]
	if known == nil {
		if d.byName == nil {
			d.byName = map[string]*mention{}
		}
		known = &mention{name: strings.Clone(name), line: line, order: d.messages}
		d.byName[known.name] = known
		d.once = append(d.once, known)
	}
	d.again(known, messages)
}

// again notes that a message, or several, name what is known.
func (d *identifiers) again(known *mention, messages int) {
	known.said = known.said || d.said
	if known.last < d.messages || known.messages == 0 {
		known.messages += messages
		known.last = d.messages
	}
}

// addCommands takes in commands that ran and did more than look.
func (d *identifiers) addCommands(c *commands) {
	for _, ran := range c.sorted() {
		if ran.score >= 0 && d.byName[ran.text] == nil {
			d.name(ran.line, ran.text, ran.runs)
		}
	}
	d.bound()
}

// bound drops those that were named least. Those that were named once are mostly
// enough, and few of all: they are known without a look at the others.
func (d *identifiers) bound() {
	if len(d.byName) <= maxIdentifiers {
		return
	}
	for _, m := range d.once {
		if m.messages == 1 {
			delete(d.byName, m.name)
		}
	}
	d.once = nil
	for least := 2; len(d.byName) > maxIdentifiers; least++ {
		maps.DeleteFunc(d.byName, func(_ string, m *mention) bool { return m.messages <= least })
	}
}

// missing returns those that a text does not contain, the most frequent first,
// of equals what was said before what was only printed, and the one that was
// named first.
func (d *identifiers) missing(text string) []*mention {
	var lost []*mention
	for name, m := range d.byName {
		if !strings.Contains(text, name) {
			lost = append(lost, m)
		}
	}
	slices.SortFunc(lost, func(a, b *mention) int {
		return cmp.Or(cmp.Compare(b.messages, a.messages), firstTrue(a.said, b.said), cmp.Compare(a.order, b.order), cmp.Compare(a.line, b.line), strings.Compare(a.name, b.name))
	})
	return lost
}

// firstTrue sorts true before false.
func firstTrue(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// bareNumber is a number that says nothing without its context.
var bareNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]{1,4}$|^[0-9]+\.[0-9]+$`) })

// indexTitle is the heading of what a summary lacks.
const (
	indexName  = "Also in the log"
	indexTitle = "## " + indexName
)

// indexed are the items of the index that names the most frequent of what a
// summary lacks, no longer than so many code points with its heading; none if
// there is no room.
func indexed(lost []*mention, runes int) []candidate {
	runes = min(runes, maxIndexRunes) - utf8.RuneCountInString("\n\n"+indexTitle+"\n\n")
	var items []candidate
	alike := map[string]int{}
	for _, m := range lost {
		if bareNumber().MatchString(m.name) {
			continue
		}
		if row := withoutDigits(m.name); row != m.name {
			if alike[row]++; alike[row] > alikeNames && strings.Trim(row, "0.:,") != "" {
				continue
			}
		}
		c := candidate{text: code(m.name), line: m.line}
		runes -= utf8.RuneCountInString(indexLine(c))
		if len(items) >= maxIndex || runes < 0 {
			break
		}
		items = append(items, c)
	}
	return items
}

// alikeNames is how many names that differ in their digits alone the index has:
// "#001", "#002" and so on say less than any other name.
const alikeNames = 4

// withoutDigits is a name with 0 in the place of each of its numbers.
func withoutDigits(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		digit := name[i] >= '0' && name[i] <= '9'
		if digit && i > 0 && name[i-1] >= '0' && name[i-1] <= '9' {
			continue
		}
		if digit {
			b.WriteByte('0')
		} else {
			b.WriteByte(name[i])
		}
	}
	return b.String()
}

func indexLine(c candidate) string { return fmt.Sprintf("- %s (line %d)\n", c.text, c.line) }

// index is the section of these items, "" for none.
func index(items []candidate) string {
	if len(items) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n\n" + indexTitle + "\n\n")
	for _, c := range items {
		b.WriteString(indexLine(c))
	}
	return strings.TrimRight(b.String(), "\n")
}

// report is what became of the identifiers of a log.
type report struct{ all, lost, named int }

// complete returns a text with the index of what it lacks, of at most so many
// code points, and the report of the loss.
func (e *Extractive) complete(text string, runes int) (whole string, items []candidate, r report) {
	e.ids.addCommands(&e.commands)
	lost := e.ids.missing(text)
	items = indexed(lost, runes-utf8.RuneCountInString(text))
	return text + index(items), items, report{all: len(e.ids.byName), lost: len(lost), named: len(items)}
}

// Lengths of a name, in code points; and of a command or a code span, in bytes.
const (
	leastNameRunes = 4
	maxNameRunes   = 160
	maxSpan        = 120
)

// identifiersOf goes over what a text has that must be repeated letter by
// letter, each as often as it stands there: code spans that name something,
// commands behind a prompt, URLs, paths, files, UUIDs, hashes, tickets, codes of
// errors, versions and numbers. What stands in a span or a command is not told
// apart. It is written out because regular expressions took three times as long
// as the rest of a summary.
func identifiersOf(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i, more := 0, true; i < len(text) && more; {
			switch c := text[i]; {
			case c == '`':
				i, more = span(text, i, yield)
			case c == '$' && strings.HasPrefix(text[i:], "$ ") && (i == 0 || text[i-1] == '\n'):
				i, more = prompted(text, i, yield)
			case between(c):
				i++
			default:
				i, more = word(text, i, yield)
			}
		}
	}
}

// What a byte is to a word.
const (
	separating = 1 << iota // it stands between words
	telling                // a word without one of these is no name
	joining                // it stands between the pieces of a word
)

// wordMarks are what each byte is.
var wordMarks = func() (marks [256]uint8) {
	for c := range marks {
		if c <= ' ' || c >= utf8.RuneSelf {
			marks[c] = separating
		}
	}
	for mark, bytes := range map[uint8]string{separating: `"'<>()[]{},;|` + "`" + `\*`, telling: "0123456789/.", joining: ":="} {
		for _, c := range []byte(bytes) {
			marks[c] |= mark
		}
	}
	return marks
}()

// between tells whether a byte stands between words.
func between(c byte) bool { return wordMarks[c]&separating != 0 }

// word takes the word that begins at i, and returns where it ends.
func word(text string, i int, yield func(string) bool) (end int, more bool) {
	has := uint8(0)
	for end = i; end < len(text) && !between(text[end]); end++ {
		has |= wordMarks[text[end]]
	}
	w := text[i:end]
	if has&telling == 0 || len(w) < 2 {
		return end, true
	}
	if has&joining == 0 {
		w = strings.TrimRight(w, ".!?")
		return end, !isIdentifier(w) || yieldName(w, yield)
	}
	if at := strings.Index(w, "://"); at > 0 {
		return end, yieldName(strings.TrimRight(w[schemeOf(w, at):], ".:!?"), yield)
	}
	for len(w) > 0 { // main.go:12
		piece := w[:pieceEnd(w)]
		w = w[min(len(piece)+1, len(w)):]
		if piece = strings.TrimRight(piece, ".!?"); isIdentifier(piece) && !yieldName(piece, yield) {
			return end, false
		}
	}
	return end, true
}

// pieceEnd returns where the first piece of a word ends that has several.
func pieceEnd(w string) int {
	for i := range len(w) {
		if w[i] == ':' || w[i] == '=' {
			return i
		}
	}
	return len(w)
}

// schemeOf returns where the scheme of the URL begins whose "://" is at at.
func schemeOf(w string, at int) int {
	for at > 0 && wordByte(w[at-1]) {
		at--
	}
	return at
}

// yieldName hands out a name that is neither too short nor too long.
func yieldName(name string, yield func(string) bool) bool {
	n := utf8.RuneCountInString(name)
	if n < leastNameRunes && !strings.HasPrefix(name, "#") && !allDigits(name) || n > maxNameRunes {
		return true
	}
	return yield(name)
}

func allDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// isIdentifier reports whether a word, without the marks around it, is one of
// what [identifiersOf] hands out.
func isIdentifier(w string) bool {
	x := lettersOf(w)
	switch {
	case x.strokes > 0:
		return isPath(w)
	case x.digits == len(w):
		return x.digits >= 3
	case x.dots > 0:
		return isFile(w) || isVersion(w)
	case x.marks > 0:
		return isUUID(w) || isTicket(w)
	}
	hash := x.digits+x.hex == len(w) && len(w) >= 7 && len(w) <= 64
	code := x.longest >= 3 && x.longest <= 6 && x.capitals > 0 && x.capitals <= 5 && x.capitals+x.digits == len(w) && w[0] >= 'A' // TS2305
	return x.digits > 0 && (hash || code)
}

// letters counts what the bytes of a word are.
type letters struct {
	digits, longest      int // longest is the longest row of digits
	strokes, dots, marks int // marks are # and -
	capitals, hex        int // hex are a to f
}

func lettersOf(w string) (x letters) {
	run := 0
	for i := range len(w) {
		c := w[i]
		if c >= '0' && c <= '9' {
			run++
			x.digits, x.longest = x.digits+1, max(x.longest, run)
			continue
		}
		run = 0
		switch {
		case c == '/':
			x.strokes++
		case c == '.':
			x.dots++
		case c == '#', c == '-':
			x.marks++
		case c >= 'A' && c <= 'Z':
			x.capitals++
		case c >= 'a' && c <= 'f':
			x.hex++
		}
	}
	return x
}

// isPath reports whether a word is a path of at least two names, and not an
// alternative like "and/or".
func isPath(w string) bool {
	inner := strings.Trim(strings.TrimPrefix(w, "~"), "/")
	if !strings.Contains(inner, "/") || strings.Contains(w, "//") || alternative(w) {
		return false
	}
	return !strings.ContainsFunc(inner, func(r rune) bool {
		return !strings.ContainsRune("/.-@+", r) && (r == '\'' || !wordRune(r))
	})
}

// alternative tells whether a name is two words with a slash, like "and/or".
func alternative(name string) bool {
	switch strings.ToLower(name) {
	case "and/or", "either/or", "yes/no", "true/false", "on/off", "his/her", "he/she", "s/he", "read/write", "input/output", "client/server",
		"tcp/ip", "if/else", "try/catch", "before/after", "if/when", "start/end", "up/down", "left/right", "user/assistant":
		return true
	}
	return false
}

// isFile reports whether a word is the name of a file, by its end.
func isFile(w string) bool {
	switch w[strings.LastIndexByte(w, '.')+1:] {
	case "go", "ts", "tsx", "js", "mjs", "jsx", "py", "rs", "c", "h", "cpp", "java", "kt", "rb", "php", "sh", "sql", "md", "json", "jsonl", "yaml", "yml", "toml", "txt", "csv", "html", "css", "log", "conf", "env", "lock":
		return !strings.ContainsFunc(w, func(r rune) bool { return r != '.' && r != '-' && (r == '\'' || !wordRune(r)) })
	}
	return false
}

// isVersion reports whether a word is numbers with dots between them, perhaps
// with a v before them.
func isVersion(w string) bool {
	for part := range strings.SplitSeq(strings.TrimPrefix(w, "v"), ".") {
		if part == "" || !allDigits(part) {
			return false
		}
	}
	return true
}

func isUUID(w string) bool {
	const shape = 36
	if len(w) != shape {
		return false
	}
	for i := range len(w) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (w[i] == '-') || !dash && strings.IndexByte("0123456789abcdefABCDEF", w[i]) < 0 {
			return false
		}
	}
	return true
}

// isTicket reports whether a word is #12 or ABC-12.
func isTicket(w string) bool {
	project, number, _ := strings.Cut(w, "-")
	if w[0] == '#' {
		project, number = "AB", w[1:]
	}
	return number != "" && allDigits(number) && len(project) >= 2 && project[0] >= 'A' && project[0] <= 'Z' &&
		strings.Trim(project, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == ""
}

// named tells the name of something from a word that is set like code: by a
// mark, a digit, or a capital within.
func named(s string) bool {
	small := false
	for _, r := range s {
		switch {
		case strings.ContainsRune("._/:(={#$-", r), r >= '0' && r <= '9', small && r >= 'A' && r <= 'Z':
			return true
		}
		small = r >= 'a' && r <= 'z'
	}
	return false
}

// span takes the code span that begins at i, if one does.
func span(text string, i int, yield func(string) bool) (end int, more bool) {
	rest := text[i+1:]
	n := strings.IndexAny(rest[:min(len(rest), maxSpan)], "`\n")
	if n < 3 || rest[n] != '`' {
		return i + 1, true
	}
	end = i + 1 + n + 1
	if name := strings.TrimSpace(rest[:n]); named(name) && !alternative(name) {
		return end, yieldName(name, yield)
	}
	return end, true
}

// prompted takes the command behind a prompt.
func prompted(text string, i int, yield func(string) bool) (end int, more bool) {
	const prompt = "$ "
	line, _, _ := strings.Cut(text[i+len(prompt):], "\n")
	if name := strings.TrimSpace(line); len(name) > 0 && len(name) <= maxSpan {
		return i + len(prompt) + len(line), yieldName(name, yield)
	}
	return i + 1, true
}
