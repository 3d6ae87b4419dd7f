package summarize

import (
	"bytes"
	"slices"

	"github.com/sessctl/sessctl/pkg/secrets"
	"github.com/sessctl/sessctl/pkg/session"
)

// Lengths of what is kept, in code points.
const (
	sentenceRunes = 280
	goalRunes     = 240
	exchangeRunes = 700
	summaryRunes  = 4000
)

// How many of the last things that were said, and of earlier summaries, are kept.
const (
	keptExchanges = 6
	keptSummaries = 3
)

func (e *Extractive) user(m *session.Message) {
	text := e.words(m)
	if len(text) == 0 || bytes.Contains(text, []byte("HEARTBEAT_OK")) {
		return
	}
	e.ids.text(m.Line, string(beginning(text, flatTextRunes)))
	e.answered(m.Line, text)
	e.question, e.lastPerson = candidate{}, m.Line
	e.goal(m.Line, text)
	e.sentences(m.Line, text, voice{person: true})
	e.exchange(m.Line, "User", text)
	e.working = false
	if last := lastSentence(text); bytes.HasSuffix(last, []byte("?")) || bytes.HasSuffix(last, []byte("？")) {
		e.question = candidate{text: "Not answered: " + oneLine(string(last), sentenceRunes), line: m.Line}
	}
}

func (e *Extractive) assistant(m *session.Message) {
	e.callsOf(m)
	if len(m.ErrorText) > 0 && string(m.StopReason) != "aborted" { // by a person, who knows
		e.commands.failed(failure{what: "model call", line: m.Line, text: []byte(redact(string(cut(m.ErrorText, 600))))})
	}
	text := e.words(m)
	if len(text) == 0 || !m.Embeddable() {
		return
	}
	e.ids.text(m.Line, string(beginning(text, flatTextRunes)))
	e.question = candidate{}
	working := slices.ContainsFunc(m.Parts, func(p session.Part) bool { return p.Kind == session.PartToolCall })
	e.sentences(m.Line, text, voice{working: working})
	e.exchange(m.Line, "Agent", text)
	e.working = working
	if last := lastSentence(text); bytes.HasSuffix(last, []byte("?")) || bytes.HasSuffix(last, []byte("？")) {
		e.question = candidate{text: "Asked last: " + oneLine(string(last), sentenceRunes), line: m.Line}
	}
}

// summary keeps what an earlier compaction, or the end of a branch, has
// summed up.
func (e *Extractive) summary(m *session.Message) {
	text := e.words(m)
	if len(text) == 0 {
		return
	}
	e.ids.text(m.Line, string(beginning(text, flatTextRunes)))
	kept := string(cutRunes(text, summaryRunes))
	if len(kept) < len(text) {
		kept += "\n…"
	}
	e.earlier = append(e.earlier, candidate{text: kept, line: m.Line})
	if len(e.earlier) > keptSummaries {
		e.earlier = slices.Delete(e.earlier, 0, 1)
	}
}

// words returns the text parts of a message without envelopes, secrets and what
// a memory put there: that was said in another session. It is valid until the
// next call.
func (e *Extractive) words(m *session.Message) []byte {
	e.text = e.text[:0]
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == session.PartText && len(p.Text) > 0 {
			if len(e.text) > 0 {
				e.text = append(e.text, '\n')
			}
			e.text = append(e.text, p.Text...)
		}
	}
	e.text, _ = session.CutRecalled(e.text)
	text := bytes.TrimSpace(e.text)
	if m.Role == session.RoleUser {
		text = unwrap(text)
	}
	e.lower = appendLower(e.lower[:0], text)
	if clean, n := secrets.RedactBytes(text); n > 0 {
		text = clean
	}
	return text
}

// goal puts a person's message on the shelf of goals if it sets a task.
func (e *Extractive) goal(line int, text []byte) {
	score := 0
	eachSentence(text, func(s sentence) {
		e.lower = appendLower(e.lower[:0], s.text)
		weight := e.cues.weigh(e.lower)[goal]
		if s.text[len(s.text)-1] == '?' {
			weight--
		}
		score = max(score, weight)
	})
	if len(e.goals.items) == 0 {
		score += enough
	}
	if score < enough || len(bytes.Fields(cut(text, 200))) < 4 {
		return
	}
	score += min(len(text)/100, 3)
	e.goals.add(e.candidate(line, text, goalRunes, score))
}

// candidate makes a candidate of a text, raised by the words of the focus.
func (e *Extractive) candidate(line int, text []byte, runes, score int) candidate {
	c := candidate{text: oneLine(string(cut(text, 4*runes+64)), runes), line: line, score: score}
	c.score += 4 * e.inFocus(text)
	return c
}

// inFocus counts the words of the focus that a text contains.
func (e *Extractive) inFocus(text []byte) (found int) {
	if len(e.focus) == 0 {
		return 0
	}
	lower := bytes.ToLower(text)
	for _, word := range e.focus {
		if bytes.Contains(lower, []byte(word)) {
			found++
		}
	}
	return found
}

// answered lowers the question that the agent had just called open: what a
// person says next usually is the answer, and is told with it.
func (e *Extractive) answered(line int, text []byte) {
	shelf := &e.said[open]
	if len(e.exchanges) == 0 || len(shelf.items) == 0 || len(text) > 300 || bytes.HasSuffix(text, []byte("?")) {
		return
	}
	last := &shelf.items[len(shelf.items)-1]
	if last.line == e.exchanges[len(e.exchanges)-1].line && last.score > 0 {
		last.text += " → " + oneLine(string(text), 100)
		last.score = -1
	}
}

// exchange remembers the last things that were said. What the agent says
// before a call ("Let me look.") gives way to what comes after it.
func (e *Extractive) exchange(line int, who string, text []byte) {
	if e.working && who == "Agent" {
		e.exchanges = e.exchanges[:len(e.exchanges)-1]
	}
	e.exchanges = append(e.exchanges, candidate{text: "**" + who + "**: " + string(cut(text, 4*exchangeRunes+64)), line: line})
	if len(e.exchanges) > keptExchanges {
		e.exchanges = slices.Delete(e.exchanges, 0, 1)
	}
}

func lastSentence(text []byte) (last []byte) {
	tail := text[max(0, len(text)-600):]
	eachSentence(tail, func(s sentence) { last = s.text })
	return last
}

// cut returns at most n bytes of a text; a code point may be lost at the end.
func cut(text []byte, n int) []byte {
	if len(text) <= n {
		return text
	}
	return bytes.ToValidUTF8(text[:n], nil)
}

// cutRunes returns at most n code points of a text.
func cutRunes(text []byte, n int) []byte {
	count := 0
	for i := range string(text) {
		if count == n {
			return text[:i]
		}
		count++
	}
	return text
}
