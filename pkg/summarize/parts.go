package summarize

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/summarize/state"
	"github.com/sessctl/sessctl/pkg/work"
)

func (e *Extractive) item(event int, text string) Item {
	return Item{text, e.events[event].place.Line, placeName(e.placeOf(event))}
}

// said are sayings with what was said later on the same, as many as fit.
func (e *Extractive) said(u *uses, all []sentence, runes int) (items []Item) {
	r := room{runes}
	for _, s := range all {
		text := redact(state.Cut(s.text, mostSaying+answerRunes))
		if slices.ContainsFunc(items, func(x Item) bool { return strings.HasPrefix(x.Text, text) }) {
			continue
		}
		if x := e.item(s.event, text+e.later(u, s)); r.take(x) {
			items = append(items, x)
		}
	}
	slices.Reverse(items)
	return items
}

// Lengths of messages, in code points: of the last ones, and of those before.
const (
	lastRunes   = 900
	beforeRunes = 420
)

// messages are the last messages of both sides, of each its beginning and end.
func (e *Extractive) messages(runes int, told string) (items []Item) {
	r := room{runes}
	for i, x := range slices.Backward(e.events) {
		if x.by > agent || x.stays || strings.Contains(told, "["+e.at(i)+"]: ") || brief(e.events, i) {
			continue
		}
		most := beforeRunes
		if len(items) < 2 {
			most = lastRunes
		}
		who := map[party]string{person: "User: ", agent: "Agent: "}[x.by]
		m := e.item(i, who+state.Both(x.safe(), min(most, runes-20)))
		if !r.take(m) {
			if r.left < leastMessage*2 {
				break
			}
			m.Text = who + state.Both(x.safe(), r.left-20)
			if !r.take(m) {
				break
			}
		}
		items = append(items, m)
	}
	slices.Reverse(items)
	return items
}

// brief tells whether a message says little by itself: what the agent says before it
// calls a tool, and an answer of a few words.
func brief(events []event, at int) bool {
	x := &events[at]
	if x.by == agent {
		return at+1 < len(events) && events[at+1].by == call && utf8.RuneCountInString(x.text) < narrationRunes
	}
	return len(strings.Fields(x.text)) <= passingWords && utf8.RuneCountInString(x.text) < passingRunes
}

const (
	passingWords   = 6
	passingRunes   = 40
	narrationRunes = 140
)

// Lengths of steps, in code points.
const (
	stepRunes  = 170
	errorRunes = 110
)

// steps are the last calls with how they ended, oldest first.
func (w *writer) steps(runes int) (items []Item) {
	r := room{runes}
	for i, x := range slices.Backward(w.e.events) {
		if x.stays || x.by != call || x.kind == work.KindCommand && w.listed[commandKey(&x)] {
			continue
		}
		m := w.e.item(i, titleOf(&x, stepRunes)+outcome(w.e.events, i))
		if !r.take(m) {
			break
		}
		w.listed[commandKey(&x)] = true
		items = append(items, m)
	}
	slices.Reverse(items)
	return items
}

// commandKey is what two commands have in common that are the same but for their ends.
func commandKey(x *event) string { return string(cutRunes([]byte(commandIn(x.text)), 60)) }

// titleOf is a call in one line.
func titleOf(x *event, runes int) string {
	if x.kind == work.KindCommand {
		return state.Cut(x.safe(), runes)
	}
	return x.tool + " " + state.Cut(x.safe(), runes)
}

// filesIn are the files in hand that are not told yet.
func filesIn(s *state.State, runes int, told string) (items []Item) {
	r := room{runes}
	for _, f := range s.Files {
		if strings.Contains(told, f.Path) {
			continue
		}
		text := f.Path
		switch {
		case f.Removed:
			text += " removed"
		case f.Edits > 1:
			text += fmt.Sprintf(" edited ×%d", f.Edits)
		case f.Edits == 1:
			text += " edited"
		}
		x := Item{Text: text, Line: f.Line, Place: placeName(f.Place)}
		if !r.take(x) {
			break
		}
		items = append(items, x)
	}
	return items
}

// commands are the different commands before the last steps, newest first, each with
// how it ended.
func (w *writer) commands(runes int) (items []Item) {
	r := room{runes}
	for i, x := range slices.Backward(w.e.events) {
		if x.by != call || x.kind != work.KindCommand || x.stays || w.listed[commandKey(&x)] {
			continue
		}
		m := w.e.item(i, titleOf(&x, stepRunes)+outcome(w.e.events, i))
		if !r.take(m) {
			break
		}
		w.listed[commandKey(&x)] = true
		items = append(items, m)
	}
	return items
}

// outcome tells what a call printed that failed: its result is among the next events.
// It is empty for a call that worked.
func outcome(events []event, at int) string {
	for _, x := range events[at+1 : min(len(events), at+resultsAhead)] {
		if x.by == result && x.id == events[at].id {
			switch {
			case x.failed && x.errors != "":
				return " → failed: " + x.errors
			case x.failed:
				return " → failed"
			}
			return ""
		}
	}
	return ""
}

// resultsAhead is how many events lie between a call and its result at most.
const resultsAhead = 40

// quoted are quotes as items.
func (e *Extractive) quoted(quotes []quote, by ...party) (items []Item) {
	for _, q := range quotes {
		x := &e.events[q.event]
		if !slices.Contains(by, x.by) {
			continue
		}
		text := q.text
		switch x.by {
		case agent:
			text = "Agent: " + text
		case person:
			text = "User: " + text
		}
		items = append(items, e.item(q.event, text))
	}
	return items
}

// before are the lines of the summaries of compactions before this one, the newest
// first: what they say stands nowhere else in the context. Of one that was made here, what was only of its
// moment is left out.
func (e *Extractive) before(runes int) (items []Item) {
	r := room{runes}
	for i, x := range slices.Backward(e.events) {
		if x.by != earlier || x.stays {
			continue
		}
		passing := false
		for line := range strings.Lines(x.safe()) {
			if strings.HasPrefix(line, "#") {
				passing = slices.Contains(ofTheMoment(), strings.TrimSpace(strings.TrimLeft(line, "#")))
				continue
			}
			text := unmarked(strings.TrimSpace(line))
			if passing || text == "" || text == "(none)" || strings.Contains(text, notWritten) {
				continue
			}
			m := Item{state.Cut(text, lastRunes), x.place.Line, placeName(e.placeOf(i))}
			if !r.take(m) {
				return items
			}
			items = append(items, m)
		}
	}
	return items
}

// ofTheMoment are the sections of an earlier summary that are of no use any more.
func ofTheMoment() []string {
	return []string{standTitle, messagesTitle, stepsTitle, filesTitle, commandsTitle, "Progress", "Done", "In Progress", indexName}
}
