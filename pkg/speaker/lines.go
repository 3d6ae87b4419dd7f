package speaker

import (
	"bytes"
	_ "embed" // the weights
	"math"
	"math/bits"
	"unicode/utf8"
)

// weights are what each mark of a line says for its being shown. They were learned by
// bench/speaker, which tells from what.
//
//go:embed lines.weights
var weights string

// MarkBits is how many bits the mark of a line has.
const MarkBits = 16

const (
	mostMarks = 120 // of a line
	mostBytes = 240 // of a line that are read
)

// Form is what a line looks like: marks of its words, of the signs between its spaces,
// how far it is set in, how long it is, and how it begins and ends.
type Form struct {
	marks [mostMarks]uint16
	n     int
	voice uint32 // an agent's lines have marks of their own

	word, wordBefore uint32 // the letters since something else, and those of the word before
	letters          int
	sign, signBefore uint32 // the signs since a space, and those before it
	head, tokens     uint32 // the signs of the first tokens
	last             byte
}

// What a mark is of.
const (
	ofWord = 0x1E3779B1 + 0x3779B1*iota
	ofPair
	ofSigns
	ofTwoSigns
	ofHead
	ofLast
	ofIndent
	ofLength
	ofEnd
	ofFirst
)

// Marks are the marks of the form, at most 120. A mark may come twice.
func (f *Form) Marks() []uint16 { return f.marks[:f.n] }

// Read takes in a line, in the name of an agent or of a person.
func (f *Form) Read(line []byte, agent bool) {
	f.n, f.voice = 0, 0
	if agent {
		f.voice = 0x5bd1e995
	}
	rest := bytes.TrimLeft(line, " \t\r\n")
	head := line[:len(line)-len(rest)]
	rest = bytes.TrimRight(rest, " \t\r\n")
	f.add(uint32(min(len(head), 9)+16*bytes.Count(head, []byte("\t"))), ofIndent)
	f.add(uint32(bits.Len(uint(len(rest)*len(rest)))), ofLength)
	f.first(rest)
	f.body(rest[:min(len(rest), mostBytes)])
}

// add adds a mark.
func (f *Form) add(hash, of uint32) {
	if f.n < mostMarks {
		hash = (hash ^ (of + f.voice)) * 0x85EBCA6B
		f.marks[f.n] = uint16((hash ^ hash>>15) * 0xC2B2AE35 >> (32 - MarkBits))
		f.n++
	}
}

// first adds the mark of the sign with which a line begins.
func (f *Form) first(line []byte) {
	_, n := utf8.DecodeRune(line)
	if n == 0 || class(line[0]) == lower || class(line[0]) == upper || class(line[0]) == digit || class(line[0]) == wide {
		return
	}
	hash := uint32(0)
	for _, c := range line[:n] {
		hash = hash*31 + uint32(c)
	}
	f.add(hash, ofFirst)
}

func (f *Form) body(line []byte) {
	f.word, f.wordBefore, f.letters, f.sign, f.signBefore, f.head, f.tokens, f.last = 0, 0, 0, 0, 0, 0, 0, 0
	for i, c := range line {
		k := class(c)
		switch {
		case k == tail:
			f.word = f.word*31 + uint32(c)
			continue
		case k == drawn && c == 0xE2 && i+1 < len(line) && line[i+1] == 0x80: // typed quotes and dashes
			k = '\''
		}
		f.step(c, k)
	}
	f.step(' ', space)
	f.add(f.signBefore, ofLast)
	f.add(uint32(f.last), ofEnd)
}

// step takes in a character.
func (f *Form) step(c, k byte) {
	switch {
	case k == lower || k == upper:
		f.word = (f.word ^ uint32(c|0x20)) * 0x01000193
		f.letters++
	case f.letters > 0 && k != '\'':
		f.add(f.word, ofWord)
		f.add(f.word*31+f.wordBefore, ofPair)
		f.wordBefore, f.word, f.letters = f.word, 0, 0
	}
	switch {
	case k == space:
		f.token()
	case k != f.last || k != lower && k != upper && k != digit && k != wide:
		f.sign = (f.sign ^ uint32(k)) * 0x01000193
	}
	f.last = k
}

// gap is what a second space is as a token.
const gap = 7

// token adds the marks of what ends at a space.
func (f *Form) token() {
	if f.last == space {
		f.sign = gap
	}
	if f.sign == 0 {
		return
	}
	f.add(f.sign, ofSigns)
	f.add(f.sign*31+f.signBefore, ofTwoSigns)
	if f.tokens < 3 {
		f.head = f.head*31 + f.sign
		f.add(f.head, ofHead+f.tokens)
	}
	f.tokens++
	f.signBefore, f.sign = f.sign, 0
}

// The classes of characters. A mark is a class of its own.
const (
	space = ' '
	upper = 'A'
	lower = 'a'
	digit = '0'
	wide  = 'w' // letters of other alphabets
	drawn = 'd' // arrows, frames, pictures
	tail  = 0   // what is behind the first byte of a character
)

// class is that of the character which begins with a byte.
func class(c byte) byte { return classes[c] }

var classes = func() (all [256]byte) {
	for i := range all {
		all[i] = classOf(byte(i))
	}
	return all
}()

func classOf(c byte) byte {
	switch {
	case bytes.IndexByte([]byte(" \t\r\n"), c) >= 0:
		return space
	case c >= 'a' && c <= 'z', c >= 0xC3 && c < 0xCC:
		return lower
	case c >= 'A' && c <= 'Z':
		return upper
	case c >= '0' && c <= '9':
		return digit
	case c == 0xE2, c == 0xF0, c == 0xC2:
		return drawn
	case c >= 0xC0:
		return wide
	case c >= 0x80:
		return tail
	}
	return c
}

// What a line weighs: so many times its score, at most so much, and words have a little
// more than what is shown, those of agents more than those of people.
const (
	scale         = 0.15
	mostWeight    = 12
	forPeople     = 1
	forAgents     = 3
	quoteWeight   = 2
	printedWeight = 8 // of what nobody types, whatever its words are
)

// printed tells whether a line has a form that nobody types: a prompt, the name of a
// file and nothing else, a mark that programs draw, the name of an error, cells between
// tabs, or blanks up to the edge of a screen.
func printed(line, full []byte) bool {
	return prompts(full) || file(full) || screen(full) || thrown(full) || bytes.Count(full, []byte("\t")) > 1 ||
		bytes.HasSuffix(bytes.TrimRight(line, "\r\n"), []byte("    "))
}

// weight is how much a line looks shown: below 0 it looks said.
func weight(line []byte, by voice) int {
	full := bytes.TrimSpace(line)
	switch {
	case by == asPerson && full[0] == '>':
		return quoteWeight
	case chat(full), by == asPerson && printed(line, full):
		return printedWeight
	}
	var f Form
	f.Read(line, by == asAgent)
	sum, off := 0, forPeople
	if by == asAgent {
		off = forAgents
	}
	for _, mark := range f.Marks() {
		sum += int(int8(weights[mark]))
	}
	return max(-mostWeight, min(mostWeight, int(math.Round(scale*float64(sum)/math.Sqrt(float64(f.n))))-off))
}

// thrown tells whether a line begins with the name of an error, as programs give them:
// "app.ValueError: ".
func thrown(line []byte) bool {
	name, _, found := bytes.Cut(line, []byte(": "))
	if !found || bytes.IndexByte(name, ' ') >= 0 {
		return false
	}
	for _, end := range []string{"Error", "Exception"} {
		if kind, ok := bytes.CutSuffix(name, []byte(end)); ok && len(kind) > 0 {
			return true
		}
	}
	return false
}

// mostSaid is how long a line is at most that says who said what is below it.
const mostSaid = 30

// chat tells whether a line begins with a role, as those of talks with models do.
func chat(line []byte) bool {
	if len(line) < mostSaid && bytes.HasSuffix(line, []byte(" said:")) {
		return true
	}
	line = bytes.TrimPrefix(line, []byte("["))
	for _, role := range []string{"User", "Human", "Assistant", "Agent", "AI"} {
		if rest, found := bytes.CutPrefix(line, []byte(role)); found && bytes.HasPrefix(bytes.TrimPrefix(rest, []byte("]")), []byte(":")) {
			return true
		}
	}
	return false
}

// mailHead tells whether a line is one of those above a letter.
func mailHead(line []byte) bool {
	for _, name := range []string{"From: ", "To: ", "Cc: ", "Subject: ", "Date: "} {
		if bytes.HasPrefix(line, []byte(name)) {
			return true
		}
	}
	return false
}

// promptBytes is how long a prompt is at most.
const promptBytes = 80

// prompts tells whether a line is that of a shell: its prompt, with a command.
func prompts(line []byte) bool {
	for _, mark := range []string{"➜ ", "❯ ", "$ ", ">>> ", "... ", "PS C:", "# "} {
		if bytes.HasPrefix(line, []byte(mark)) && mark != "# " {
			return true
		}
	}
	at, end := bytes.IndexByte(line, '@'), bytes.IndexAny(line, "$#%")
	return at > 0 && at < end && end < promptBytes && (end+1 == len(line) || line[end+1] == ' ') && bytes.IndexByte(line[:at], ' ') < 0 // lea@ada:~/app$ make
}

func heading(line []byte) bool {
	n := len(line) - len(bytes.TrimLeft(line, "#"))
	return n > 0 && n < 7 && n < len(line) && line[n] == ' '
}

// listMark is how long the mark of a list is with which a line begins.
func listMark(line []byte) int {
	n := 0
	for n < len(line) && n < 3 && line[n] >= '0' && line[n] <= '9' {
		n++
	}
	switch {
	case n > 0 && len(line) > n+1 && (line[n] == '.' || line[n] == ')') && line[n+1] == ' ':
		return n + 2
	case n == 0 && len(line) > 2 && (line[0] == '-' || line[0] == '*') && line[1] == ' ' && line[2] != ' ':
		return 2
	case bytes.HasPrefix(line, []byte("• ")):
		return len("• ")
	}
	return 0
}

// file tells whether a line is the name of a file and nothing else: its path from the
// root on, to the end of the file's kind.
func file(line []byte) bool {
	path := bytes.Trim(line, "'\"")
	if len(path) == 0 || path[0] != '/' {
		return false
	}
	slash, dot := bytes.LastIndexByte(path, '/'), bytes.LastIndexByte(path, '.')
	kind := path[dot+1:]
	return slash > 0 && dot > slash && len(kind) > 0 && len(kind) <= 5 && bytes.IndexByte(kind, ' ') < 0
}

// screen tells whether a line begins with a mark that programs draw and nobody types:
// arrows, technical marks, frames, dingbats.
func screen(line []byte) bool {
	r, _ := utf8.DecodeRune(line)
	return r >= 0x2190 && r < 0x2600 || r >= 0x2700 && r < 0x27C0
}
