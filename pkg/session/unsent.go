package session

import "bytes"

// Unsent returns what of whole, everything that a tool printed, is missing from
// shown, which the model was sent: the lines from the first that shown lacks to
// the last. It is empty if shown has all of them, also with the line numbers that
// a runtime puts before the lines of a file. What it returns is part of whole.
func Unsent(shown, whole []byte) []byte {
	whole = bytes.TrimSpace(whole)
	if len(whole) == 0 || bytes.Contains(shown, whole) || sentNumbered(shown, whole) {
		return nil
	}
	known := map[string]struct{}{}
	for line := range bytes.Lines(shown) {
		line = bytes.TrimSpace(line)
		known[string(line)] = struct{}{}
		known[string(withoutNumber(line))] = struct{}{}
	}
	from, to := -1, 0
	at := 0
	for line := range bytes.Lines(whole) {
		if _, sent := known[string(bytes.TrimSpace(line))]; !sent {
			if from < 0 {
				from = at
			}
			to = at + len(line)
		}
		at += len(line)
	}
	if from < 0 {
		return nil
	}
	return bytes.Trim(whole[from:to], "\r\n")
}

// sentNumbered reports whether shown begins with the lines of whole, each behind
// its number: a file that was read, the usual case that [Unsent] would compare
// line by line.
func sentNumbered(shown, whole []byte) bool {
	for len(whole) > 0 {
		var sent, line []byte
		sent, shown, _ = bytes.Cut(shown, []byte("\n"))
		line, whole, _ = bytes.Cut(whole, []byte("\n"))
		if !bytes.Equal(withoutNumber(bytes.TrimSpace(sent)), bytes.TrimSpace(line)) {
			return false
		}
	}
	return true
}

// withoutNumber removes the number before a line of a file: "12→" or "12" and a
// tab.
func withoutNumber(line []byte) []byte {
	digits := 0
	for digits < len(line) && line[digits] >= '0' && line[digits] <= '9' {
		digits++
	}
	if digits == 0 {
		return line
	}
	for _, mark := range []string{"→", "\t"} {
		if text, ok := bytes.CutPrefix(line[digits:], []byte(mark)); ok {
			return bytes.TrimSpace(text)
		}
	}
	return line
}

// AddUnsent adds to a tool's result what the tool printed beyond what the model
// was sent. The message keeps whole as it is: it must stay as long as the
// message does.
func (m *Message) AddUnsent(whole []byte) {
	if rest := Unsent(m.sent(), whole); len(rest) > 0 {
		m.Parts = append(m.Parts, Part{Kind: PartUnsent, Text: rest})
	}
}

// sent is what the tool's result says to the model, and what was added already.
func (m *Message) sent() []byte {
	var only []byte
	texts := 0
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == PartText || p.Kind == PartUnsent {
			only = p.Text
			texts++
		}
	}
	if texts <= 1 {
		return only
	}
	var all []byte
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == PartText || p.Kind == PartUnsent {
			all = append(append(all, p.Text...), '\n')
		}
	}
	return all
}
