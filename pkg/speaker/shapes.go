package speaker

import (
	"bytes"
	"slices"
	"unicode"
	"unicode/utf8"
)

// voice is in whose name a text stands: an agent writes Markdown itself, a person
// pastes it.
type voice uint8

const (
	asPerson voice = iota
	asAgent
)

// How much it takes to go over from words to what is shown or back, in weights of
// lines: within a paragraph, below the first line of a text and above its last, and to
// begin with what is shown. Nothing at a blank line.
const (
	withinParagraph = 11
	belowFirst      = 2
	aboveLast       = 2
	atBeginning     = 5
)

// appendShapes cuts a part of a text, in which no program wrote, into words and what is
// shown. Each line is weighed by its shape; then the cut is chosen that fits all lines
// best, which a change of sides costs something.
func appendShapes(all []Span, text []byte, from, to int, by voice) []Span {
	if from >= to {
		return all
	}
	rows := weigh(text, from, to, by)
	shown := sides(rows)
	for i, r := range rows {
		source := Said
		switch {
		case shown[i] && r.document:
			source = Document
		case shown[i]:
			source = Shown
		}
		all = add(all, Span{From: r.from, To: r.to, Source: source})
	}
	return all
}

// row is a line with its weight: above 0 it looks like something shown.
type row struct {
	from, to int
	weight   int
	alike    int // what it weighs that its neighbours are like it
	blank    bool
	document bool // only headings around it tell that it is shown
}

// fenceWeight decides alone.
const fenceWeight = 100

func weigh(text []byte, from, to int, by voice) []row {
	var rows []row
	fenced := false
	var closing []byte // the tag that ends what is between tags
	names := speakersIn(text[from:to])
	for a, b := range linesOf(text, from, to) {
		line := bytes.TrimSpace(text[a:b])
		bare := line[listMark(line):]
		r := row{from: a, to: b, blank: len(bare) == 0}
		fence := bytes.HasPrefix(bare, []byte("```")) && bytes.Count(bare, []byte("```")) == 1 || bytes.HasPrefix(bare, []byte("~~~"))
		switch {
		case closing != nil:
			r.weight = fenceWeight
			if bytes.HasPrefix(bare, closing) {
				closing = nil
			}
		case fence || fenced:
			r.weight, fenced = fenceWeight, fenced != fence
		case bytes.Count(bare, []byte("```"))%2 == 1: // a fence behind words
			r.weight, fenced = weight(text[a:b], by), true
		case opens(bare, text[b:to]) != nil:
			r.weight, closing = fenceWeight, opens(bare, text[b:to])
		case r.blank:
		case names[speakerOf(bare)] > 1 && len(names) > 1:
			r.weight = 6
		default:
			r.weight = weight(text[a:b], by)
		}
		rows = append(rows, r)
	}
	alike(rows, text)
	goOn(rows, text)
	if by == asPerson {
		document(rows, text)
	}
	return rows
}

// alike adds to the weight of lines that have the form of the line before or after them.
func alike(rows []row, text []byte) {
	for i := 1; i < len(rows); i++ {
		a, b := &rows[i-1], &rows[i]
		if a.blank || b.blank || a.weight >= fenceWeight || b.weight >= fenceWeight {
			continue
		}
		if more := likeness(text[a.from:a.to], text[b.from:b.to]); more > 0 {
			if i < 2 || rows[i-2].blank || a.alike == 0 {
				a.alike = more
			}
			b.alike = more
		}
	}
	for i := range rows {
		rows[i].weight += rows[i].alike
	}
}

// goOn gives what begins in a line to the lines below it: to the end of the paragraph
// after a prompt or a role, to the end of all after the head of a letter.
func goOn(rows []row, text []byte) {
	paragraph, heads := false, 0
	for i := range rows {
		r, line := &rows[i], bytes.TrimSpace(text[rows[i].from:rows[i].to])
		switch {
		case r.blank:
			paragraph = false
		case prompts(line) || chat(line):
			paragraph = true
		case paragraph && line[len(line)-1] != '?', heads > 1:
			r.weight = max(r.weight, 1)
		}
		if mailHead(line) {
			heads++
		}
	}
}

// likeness is what it weighs that two lines begin alike: with the same word, or with
// the same signs between numbers and words.
func likeness(a, b []byte) int {
	a, b = bytes.TrimSpace(a), bytes.TrimSpace(b)
	n, signs, same := 0, 0, 0
	for i, j := 0, 0; i < len(a) && j < len(b) && n < 24; n++ {
		x, y := signOf(a[i]), signOf(b[j])
		if x != y {
			break
		}
		if x != 'a' && x != ' ' {
			signs++
		}
		i, j = pastSign(a, i), pastSign(b, j)
	}
	for same < len(a) && same < len(b) && a[same] == b[same] && a[same] != ' ' {
		same++
	}
	switch {
	case listMark(a) > 0 || listMark(b) > 0:
		return 0
	case signs > 5:
		return 5
	case signs > 3 || same > 3 && same < len(a) && a[same] == ' ':
		return 3
	}
	return 0
}

// signOf is what a character counts as in a form: words and numbers are one each.
func signOf(c byte) byte {
	switch {
	case letter(c) || c >= utf8.RuneSelf:
		return 'a'
	case c >= '0' && c <= '9':
		return '0'
	}
	return c
}

func pastSign(line []byte, at int) int {
	sign := signOf(line[at])
	at++
	for (sign == 'a' || sign == '0' || sign == ' ') && at < len(line) && signOf(line[at]) == sign {
		at++
	}
	return at
}

// documentWeight is that of a line between headings.
const documentWeight = 4

// document makes one of the sections of a document: headings stand in it, and more than
// one.
func document(rows []row, text []byte) {
	first, last := -1, -1
	for i, r := range rows {
		if r.weight < fenceWeight && heading(bytes.TrimSpace(text[r.from:r.to])) {
			if last = i; first < 0 {
				first = i
			}
		}
	}
	if first == last {
		return
	}
	for last++; last < len(rows) && rows[last].blank; last++ {
	}
	for ; last < len(rows) && !rows[last].blank; last++ {
	}
	for i := first; i < last; i++ {
		if rows[i].document = rows[i].weight < documentWeight; rows[i].document {
			rows[i].weight = documentWeight
		}
	}
}

// sides chooses for each line whether it is shown: the best way through all of them.
func sides(rows []row) []bool {
	type step struct{ said, shown bool } // whether the best way comes from the side of what is shown
	came := make([]step, len(rows))
	said, shown := 0, -atBeginning
	for i, r := range rows {
		if i > 0 {
			out, in := costs(rows, i)
			came[i] = step{said: shown-out > said, shown: shown >= said-in}
			said, shown = max(said, shown-out), max(shown, said-in)
		}
		shown += r.weight
	}
	side := shown > said
	all := make([]bool, len(rows))
	for i := len(rows) - 1; i >= 0; i-- {
		all[i] = side
		if side {
			side = came[i].shown
		} else {
			side = came[i].said
		}
	}
	return all
}

// costs is what it takes to go over to words before a line, and to what is shown.
func costs(rows []row, i int) (out, in int) {
	before, r := rows[i-1], rows[i]
	if before.weight >= fenceWeight || r.weight >= fenceWeight || before.blank || r.blank {
		return 0, 0
	}
	out, in = withinParagraph, withinParagraph
	if i == 1 {
		in = belowFirst
	}
	if i == len(rows)-1 {
		out = aboveLast
	}
	return out, in
}

// opens is the tag that closes the block which a line begins that is a tag and nothing
// else; nil if none does.
func opens(line, after []byte) []byte {
	if len(line) < 3 || line[0] != '<' || line[len(line)-1] != '>' || !letter(line[1]) || bytes.HasSuffix(line, []byte("/>")) {
		return nil
	}
	name := line[1 : len(line)-1]
	if n := bytes.IndexByte(name, ' '); n > 0 {
		name = name[:n]
	}
	closing := slices.Concat([]byte("</"), name, []byte(">"))
	if bytes.IndexByte(name, '<') >= 0 || !bytes.Contains(after, closing) {
		return nil
	}
	return closing
}

// speakersIn counts the names before colons with which lines begin: those of a chat
// come again. Keys of a document come once.
func speakersIn(text []byte) map[string]int {
	var names map[string]int
	for a, b := range linesOf(text, 0, len(text)) {
		if name := speakerOf(text[a:b]); name != "" {
			if names == nil {
				names = map[string]int{}
			}
			names[name]++
		}
	}
	for name, n := range names {
		if n < 2 {
			delete(names, name)
		}
	}
	return names
}

// speakerOf is the name with which a line of a chat begins: one or two words with a
// capital before a colon.
func speakerOf(line []byte) string {
	at := bytes.IndexByte(line[:min(len(line), 30)], ':')
	if at < 2 || at+2 >= len(line) || line[at+1] != ' ' || !unicode.IsUpper(rune(line[0])) {
		return ""
	}
	for _, c := range line[:at] {
		if !letter(c) && c != ' ' {
			return ""
		}
	}
	return string(line[:at])
}
