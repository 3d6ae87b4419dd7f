package speaker

import (
	"bytes"
	"iter"
)

// Source is whose words a span is.
type Source uint8

// The sources.
const (
	Said     Source = iota // in words, by the one in whose name the message stands
	Shown                  // pasted, quoted, code: not their own words
	Document               // prose below headings: theirs or another's, but not said here
	Program                // put there by the program that runs the agent
)

// Span is a part of a text, between two of its bytes.
type Span struct {
	From, To int
	Source   Source
	By       *Envelope // what a program put there
}

// Person cuts a text in a person's name. The spans are the whole text, in its order.
func Person(text []byte) []Span {
	var all []Span
	at := 0
	for e := range envelopesIn(text) {
		all = appendShapes(all, text, at, e.From, asPerson)
		all = add(all, e)
		at = e.To
	}
	return appendShapes(all, text, at, len(text), asPerson)
}

// Agent cuts what an agent says: prose, and what stands in it of code and output.
func Agent(text []byte) []Span { return appendShapes(nil, text, 0, len(text), asAgent) }

// Words is what is left of a text in a person's name of what they say themselves: it is
// empty if that is nothing. The text itself is not changed.
func Words(text []byte) []byte { return only(text, Person(text), Said, Said) }

// Prose is the same with the documents that they show.
func Prose(text []byte) []byte { return only(text, Person(text), Said, Document) }

// AgentWords is what is left of an agent's text of what it says in words.
func AgentWords(text []byte) []byte { return only(text, Agent(text), Said, Said) }

// Whole is the first envelope of a text in which there is nothing else; nil if a person
// says or shows something in it.
func Whole(text []byte) *Envelope {
	spans := envelopesOf(text)
	if len(spans) == 0 || len(Message(text)) > 0 {
		return nil
	}
	for _, s := range spans {
		if s.By != nil {
			return s.By
		}
	}
	return nil
}

// Message is a text in a person's name without what a program put into it.
func Message(text []byte) []byte {
	return only(text, envelopesOf(text), Said, Shown)
}

// envelopesOf are the spans of a text by a program, and between them those that are not.
func envelopesOf(text []byte) (all []Span) {
	at := 0
	for e := range envelopesIn(text) {
		all = add(add(all, Span{From: at, To: e.From}), e)
		at = e.To
	}
	return add(all, Span{From: at, To: len(text)})
}

// only are the spans of two sources, without white space at their ends. A line break
// stands where something was between two of them.
func only(text []byte, spans []Span, one, other Source) []byte {
	var kept [][]byte
	for _, s := range spans {
		if s.Source != one && s.Source != other {
			continue
		}
		if part := bytes.TrimSpace(text[s.From:s.To]); len(part) > 0 {
			kept = append(kept, part)
		}
	}
	if len(kept) == 1 {
		return kept[0]
	}
	return bytes.Join(kept, []byte("\n"))
}

// add adds a span, to the one before it if both are of one source.
func add(all []Span, s Span) []Span {
	if s.From >= s.To {
		return all
	}
	if last := len(all) - 1; last >= 0 && all[last].Source == s.Source {
		all[last].To = s.To
		return all
	}
	return append(all, s)
}

// linesOf are the lines of a part of a text: where each begins and ends, with its end
// of line.
func linesOf(text []byte, from, to int) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for from < to {
			end := to
			if n := bytes.IndexByte(text[from:to], '\n'); n >= 0 {
				end = from + n + 1
			}
			if !yield(from, end) {
				return
			}
			from = end
		}
	}
}
