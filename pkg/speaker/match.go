package speaker

import (
	"bytes"
	"iter"
	"strings"
	"unicode/utf8"
)

// mostHead is how long the brackets before a message are at most.
const mostHead = 400

// Of is the envelope of a program that a text begins with, nil if there is none.
func Of(program string, text []byte) *Envelope {
	text = bytes.TrimLeft(text, " \t\r\n")
	for _, e := range envelopes {
		if e.Program == program && fits(text, e.Begins) >= 0 && (e.form != head || headEnd(text, e.Ends) > 0) {
			return e
		}
	}
	return nil
}

// Named is the first envelope of a program with a name, nil if there is none.
func Named(program, name string) *Envelope {
	for _, e := range envelopes {
		if e.Program == program && e.Name == name {
			return e
		}
	}
	return nil
}

// Cut cuts a text around what stands in the envelope, wherever that is. whole is false,
// and before is all of the text, if it does not begin or does not end in it.
func (e *Envelope) Cut(text []byte) (before, inside, after []byte, whole bool) {
	before, rest, begins := bytes.Cut(text, []byte(e.Begins))
	if begins && !strings.HasSuffix(e.Begins, ">") { // a tag with attributes
		_, rest, begins = bytes.Cut(rest, []byte(">"))
	}
	inside, after, whole = bytes.Cut(rest, []byte(e.Ends))
	if !begins || !whole {
		return text, nil, nil, false
	}
	return before, inside, after, true
}

// Typed is what stands in a tag that a program puts around what was typed, if that is
// all of a text.
func (e *Envelope) Typed(text []byte) (typed []byte, ok bool) {
	if e == nil || e.form != around || !bytes.HasSuffix(text, []byte(e.Ends)) {
		return nil, false
	}
	_, inside, begins := bytes.Cut(text, []byte(">"))
	return bytes.TrimSuffix(inside, []byte(e.Ends)), begins && len(inside) >= len(e.Ends)
}

// Silent tells whether a text is one of the marks by which an agent says nothing.
func Silent(text []byte) bool {
	switch string(text) {
	case "NO_REPLY", "HEARTBEAT_OK", "":
		return true
	}
	return false
}

// byFirst are the rows of the table by the first byte of what they begin with.
var byFirst = func() (rows [256][]*Envelope) {
	for _, e := range envelopes {
		rows[e.Begins[0]] = append(rows[e.Begins[0]], e)
	}
	return rows
}()

// fits is how many bytes of a text a pattern takes, -1 if it does not begin with it.
func fits(text []byte, pattern string) int {
	at := 0
	for _, want := range pattern {
		if at >= len(text) {
			return -1
		}
		c := text[at]
		switch want {
		case '·':
			if c < '0' || c > '9' {
				return -1
			}
		case '¤':
			if !letter(c) {
				return -1
			}
		default:
			if r, n := utf8.DecodeRune(text[at:]); r == want {
				at += n
				continue
			}
			return -1
		}
		at++
	}
	return at
}

// anywhere is the envelope by a mark that stands anywhere in a message.
func anywhere(text []byte) *Envelope {
	if bytes.Contains(text, []byte(heartbeat.Begins)) {
		return heartbeat
	}
	return nil
}

func (e *Envelope) source() Source {
	if e.form == attached || e.form == prompt {
		return Shown
	}
	return Program
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// find is where a pattern stands in a text, -1 if nowhere.
func find(text []byte, pattern string) int {
	if !strings.Contains(pattern, "·") {
		return bytes.Index(text, []byte(pattern))
	}
	for i := range text {
		if fits(text[i:], pattern) >= 0 {
			return i
		}
	}
	return -1
}

// matcher goes through a text from line to line.
type matcher struct {
	text   []byte
	said   bool      // words or a paste came before
	around *Envelope // whose tag is open
}

// envelopesIn are the spans of a text that a program wrote.
func envelopesIn(text []byte) iter.Seq[Span] {
	return func(yield func(Span) bool) {
		m := matcher{text: text}
		if e := anywhere(text); e != nil {
			yield(Span{0, len(text), Program, e})
			return
		}
		for at := 0; at < len(text); {
			if end, by := m.at(at); end > at {
				if !yield(Span{at, end, by.source(), by}) {
					return
				}
				at = end
				continue
			}
			at = m.pass(at)
		}
	}
}

// pass goes on to the next place where an envelope may begin: a line, or a tag that
// closes.
func (m *matcher) pass(at int) int {
	end := len(m.text)
	if n := bytes.IndexByte(m.text[at:], '\n'); n >= 0 {
		end = at + n + 1
	}
	if m.around != nil {
		if n := bytes.Index(m.text[at:end], []byte(m.around.Ends)); n > 0 {
			return at + n
		}
	}
	m.said = m.said || len(bytes.TrimSpace(m.text[at:end])) > 0
	return end
}

// at is where the envelope ends that begins at a place, which is that of a line or
// behind another envelope, and whose it is. If there is none it ends where it begins.
func (m *matcher) at(at int) (int, *Envelope) {
	from := at
	for from < len(m.text) && (m.text[from] == ' ' || m.text[from] == '\t') {
		from++
	}
	rest := m.text[from:]
	if len(rest) == 0 {
		return at, nil
	}
	if m.around != nil && bytes.HasPrefix(rest, []byte(m.around.Ends)) {
		by := m.around
		m.around = nil
		return from + len(by.Ends), by
	}
	for _, e := range byFirst[rest[0]] {
		if n := fits(rest, e.Begins); n >= 0 {
			if end := m.length(e, rest, n); end > 0 {
				return from + end, e
			}
		}
	}
	return at, nil
}

// length is how much of a text an envelope is that begins it, with n bytes; 0 if it is
// none.
func (m *matcher) length(e *Envelope, text []byte, n int) int {
	switch e.form {
	case block, attached:
		return blockEnd(text, e.Ends, n)
	case around:
		m.around = e
		return n - 1 + bytes.IndexByte(text[n-1:], '>') + 1
	case line:
		return lineEnd(text)
	case fenced:
		return fenceEnd(text)
	}
	if m.said {
		return 0
	}
	if e.form == head {
		return headEnd(text, e.Ends)
	}
	if at := bytes.LastIndex(text, []byte(e.Ends)); e.Ends != "" && at >= 0 {
		return at + len(e.Ends)
	}
	return len(text)
}

// blockEnd is the end of a block; one that is not closed goes on to the end.
func blockEnd(text []byte, ends string, n int) int {
	if at := bytes.Index(text[n:], []byte(ends)); at >= 0 {
		return n + at + len(ends)
	}
	return len(text)
}

func lineEnd(text []byte) int {
	if n := bytes.IndexByte(text, '\n'); n >= 0 {
		return n
	}
	return len(text)
}

// headEnd is the end of brackets on one line; with a pattern it must stand in them.
func headEnd(text []byte, inside string) int {
	text = text[:min(lineEnd(text), mostHead)]
	if inside == "]]" {
		return bytes.Index(text, []byte(inside)) + len(inside)
	}
	end := bytes.IndexByte(text, ']')
	if end < 0 || inside != "" && find(text[:end], inside) < 0 {
		return 0
	}
	return end + 1
}

// fenceEnd is the end of the fence below a line, 0 if there is none.
func fenceEnd(text []byte) int {
	first, rest, found := bytes.Cut(text, []byte("\n```"))
	if !found || bytes.IndexByte(first, '\n') >= 0 {
		return 0
	}
	at := bytes.Index(rest, []byte("\n```"))
	if at < 0 {
		return 0
	}
	return len(first) + len("\n```") + at + len("\n```")
}
