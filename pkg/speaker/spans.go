package speaker

import (
	"bytes"
	"iter"
)

// Source is whose words a span is.
type Source uint8

// The sources.
const (
	Said    Source = iota // in words, by the one in whose name the message stands
	Shown                 // pasted, quoted, code: not their own words
	Program               // put there by the program that runs the agent
)

// Span is a part of a text, between two of its bytes.
type Span struct {
	From, To int
	Source   Source
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
func Words(text []byte) []byte { return only(text, Person(text), Said) }

// Message is a text in a person's name without what a program put into it.
func Message(text []byte) []byte {
	spans := envelopesOf(text)
	if len(spans) == 1 && spans[0].Source != Program {
		return bytes.TrimSpace(text)
	}
	for i := range spans {
		if spans[i].Source == Shown {
			spans[i].Source = Said
		}
	}
	return only(text, spans, Said)
}

// envelopesOf are the spans of a text by a program, and between them those that are not.
func envelopesOf(text []byte) (all []Span) {
	at := 0
	for e := range envelopesIn(text) {
		all = add(add(all, Span{at, e.From, Said}), e)
		at = e.To
	}
	return add(all, Span{at, len(text), Said})
}

// only are the spans of one source, without white space at their ends. A line break
// stands where something was between two of them.
func only(text []byte, spans []Span, source Source) []byte {
	var kept [][]byte
	for _, s := range spans {
		if s.Source != source {
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
