package summarize

import (
	"slices"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/summarize/state"
)

const nothing = "- (none)\n"

// checkpointHeadings are those of a checkpoint, in their order.
func checkpointHeadings() []string {
	return []string{
		"## Goal", "## Constraints & Preferences", "## Progress", "### Done", "### In Progress", "### Blocked",
		"## Key Decisions", "## Next Steps", "## Critical Context",
	}
}

// checkpoint writes the headings that a model would be asked for, filled from the same.
// Nothing stands under a heading that claims more than the log shows: what is done are
// items of the plan that the agent closed, and calls that worked; next steps are open
// items, and questions that nobody has answered.
func (w *writer) checkpoint() {
	for _, heading := range checkpointHeadings() {
		w.left -= frameOf(heading)
	}
	e := w.e
	summed := e.before(w.earlierRunes())
	reserved := lengthOf(summed)
	w.left -= reserved
	w.under("## Goal", "Goals", "- ", w.goals(min(w.share(16), 900)))
	w.under("## Constraints & Preferences", rulesTitle, "- ", e.said(w.u, rulesOf(e.events), min(w.share(5), 700)))
	w.heading("## Progress")
	w.under("### Done", doneTitle, "- [x] ", w.done(min(w.share(15), 1300)))
	w.under("### In Progress", "In Progress", "- [ ] ", w.inProgress(min(w.share(12), 900)))
	w.under("### Blocked", "Blocked", "- ", w.failing(min(w.share(7), 600)))
	w.under("## Key Decisions", choicesTitle, "- ", e.said(w.u, choicesOf(e.events), min(w.share(5), 600)))
	w.under("## Next Steps", "Next Steps", "1. ", w.next(min(w.share(10), 900)))
	w.heading("## Critical Context")
	before := len(w.sections)
	w.left += reserved
	w.below(earlierTitle, summed)
	w.below(peopleTitle, e.people(w.u, w.peopleRunes(), w.told.String()))
	w.below(messagesTitle, e.messages(w.share(9+w.ofTalk(25)), w.told.String()))
	w.below(commandsTitle, w.commands(min(w.share(6), 900)))
	w.ranked("### ")
	if len(w.sections) == before {
		w.text.WriteString(nothing)
	}
}

// lengthOf is the room that items take below a heading of their own, in code points.
func lengthOf(items []Item) (runes int) {
	for _, x := range items {
		runes += utf8.RuneCountInString(x.written(""))
	}
	if len(items) > 0 {
		runes += len("\n### " + earlierTitle + "\n\n")
	}
	return runes
}

// frameOf is the room of a heading with nothing below it, in code points.
func frameOf(heading string) int { return len("\n" + heading + "\n" + nothing) }

// heading writes a heading that other headings or lists follow. The room for it was
// set aside.
func (w *writer) heading(heading string) {
	w.text.WriteString("\n" + heading + "\n")
	w.told.WriteString("\n")
}

func (w *writer) below(title string, items []Item) {
	w.list("\n### "+title+"\n\n", title, "", items)
}

// under writes a heading and what is below it. The room for the heading was set aside.
func (w *writer) under(heading, title, mark string, items []Item) {
	w.left += frameOf(heading)
	before := len(w.sections)
	w.list("\n"+heading+"\n", title, mark, items)
	if len(w.sections) == before {
		w.write("\n" + heading + "\n" + nothing)
	}
}

// quotesIn are quotes as items of at most so many code points each.
func quotesIn(runes int, quotes ...*state.Quote) (items []Item) {
	for _, q := range quotes {
		if q != nil && runes > 20 {
			items = append(items, Item{state.Both(q.Text, runes), q.Line, placeName(q.Place)})
		}
	}
	return items
}

// firstRequest is what a person said first, nil if nobody did.
func (e *Extractive) firstRequest() *state.Quote {
	for i := range e.events {
		if x := &e.events[i]; x.by == person && !x.stays {
			return &state.Quote{Text: x.safe(), Place: e.placeOf(i)}
		}
	}
	return nil
}

// goals are the first request and the last ones.
func (w *writer) goals(runes int) []Item {
	s, first := &w.state, w.e.firstRequest()
	for _, q := range []*state.Quote{s.Request, s.Before} {
		if first != nil && q != nil && q.Place == first.Place {
			first = nil
		}
	}
	quotes := slices.DeleteFunc([]*state.Quote{first, s.Before, s.Request}, func(q *state.Quote) bool { return q == nil })
	return quotesIn(runes/max(len(quotes), 1)-15, quotes...)
}

// planned are the items of the plan with a status.
func (w *writer) planned(status state.Status, runes int) (items []Item) {
	if w.state.Plan == nil {
		return nil
	}
	r := room{runes}
	for _, item := range w.state.Plan.Items {
		x := Item{item.Text, w.state.Plan.Line, placeName(w.state.Plan.Place)}
		if item.Status == status && r.take(x) {
			items = append(items, x)
		}
	}
	return items
}

// done are the closed items of the plan, the files that were changed, and the last
// steps that worked.
func (w *writer) done(runes int) []Item {
	items := w.planned(state.StatusCompleted, runes/3)
	s := w.state
	for len(s.Files) > 0 && s.Files[len(s.Files)-1].Edits == 0 {
		s.Files = s.Files[:len(s.Files)-1]
	}
	items = append(items, filesIn(&s, runes/3, w.told.String())...)
	r := room{runes / 3}
	for i := len(w.state.Steps) - 1; i >= 0; i-- {
		step := w.state.Steps[i]
		if x := (Item{state.Cut(step.String(), stepRunes), step.Line, placeName(step.Place)}); step.Outcome == "ok" && r.take(x) {
			items = append(items, x)
		}
	}
	return items
}

// inProgress are the items of the plan that were begun, and the agent's last word.
func (w *writer) inProgress(runes int) []Item {
	items := w.planned(state.StatusInProgress, runes/2)
	return append(items, quotesIn(runes/2-20, w.state.Word)...)
}

// failing are the calls that failed last time, and those that have no result.
func (w *writer) failing(runes int) (items []Item) {
	r := room{runes}
	for _, step := range w.state.Recent() {
		if x := (Item{state.Cut(step.String(), stepRunes+errorRunes/2), step.Line, placeName(step.Place)}); r.take(x) {
			items = append(items, x)
		}
	}
	return items
}

// next are the open items of the plan, and the question that nobody has answered.
func (w *writer) next(runes int) []Item {
	return append(w.planned(state.StatusPending, runes*2/3), w.questions(runes/3)...)
}
