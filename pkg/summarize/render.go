package summarize

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// plan is a section before it is known how much of it fits.
type plan struct {
	title  string
	share  int         // of the space, relative to the others
	items  []candidate // most important first
	prose  bool        // items are lines of one text, whose source is in the title
	whole  bool        // no item is left out between others
	mark   int         // code points that an item's mark has more than "- "
	first  int         // code points of it that come before all other sections
	spent  int         // code points that the chosen ones cost
	chosen []candidate
}

// Summary returns the summary of what was added. It can be called again after
// more messages. Text is empty if no message was added, and otherwise never
// longer than Options.MaxRunes code points.
func (e *Extractive) Summary() Summary {
	if e.seen.messages == 0 {
		return Summary{Kind: KindExtractive}
	}
	e = e.finished()
	text, sections := e.picked()
	whole, items, loss := e.complete(strings.ToValidUTF8(strings.TrimRight(text, "\n"), "\uFFFD"), e.options.MaxRunes)
	s := Summary{Kind: KindExtractive, Sections: sections, Identifiers: loss.all, Lost: loss.lost, Indexed: loss.named}
	if len(items) > 0 {
		s.Sections = append(s.Sections, (&plan{title: indexName, chosen: items}).section())
	}
	s.Text = string(cutRunes([]byte(whole), e.options.MaxRunes))
	s.Chars = utf8.RuneCountInString(s.Text)
	return s
}

// indexShare is the part of a summary that is left for the index of what it
// lacks: one in so many code points.
const indexShare = 16

// picked writes what was picked, and leaves room for the index.
func (e *Extractive) picked() (string, []Section) {
	head, plans := e.head(), e.plans()
	var text strings.Builder
	text.WriteString(head)
	space := e.options.MaxRunes - e.options.MaxRunes/indexShare - utf8.RuneCountInString(head)
	if !e.options.Checkpoint {
		e.fit(plans, space)
		sections := writeSections(&text, plans)
		return text.String(), sections
	}
	plans = e.checkpointPlans(plans)
	for _, p := range plans {
		if !p.prose { // its lines have no mark
			p.mark = len("[x] ")
		}
	}
	e.fit(plans, space-checkpointFrame())
	sections := writeCheckpoint(&text, plans)
	return text.String(), sections
}

func writeSections(text *strings.Builder, plans []*plan) []Section {
	var sections []Section
	for _, p := range plans {
		if len(p.chosen) > 0 {
			sections = append(sections, p.write(text))
		}
	}
	return sections
}

// How an extractive summary begins.
const (
	extractiveTitle = "# Session summary (extractive)"
	extractivePick  = "Picked by rule, not written by a model"
	extractiveNote  = extractivePick + "; (line N) is where it stands, → line N where it comes up later."
)

// ofTheMoment are the sections of an earlier summary that are of no use any
// more: its files are in the lists of the compaction.
func ofTheMoment() []string {
	return []string{"Last exchanges", "Files changed", "Files read", "Commands", "Progress", "Done", "In Progress", indexName}
}

// head says what the summary is of.
func (e *Extractive) head() string {
	x := &e.seen
	return fmt.Sprintf(extractiveTitle+"\n\nLines %d to %d of the log, %s from people among %s%s. "+extractiveNote+"\n",
		x.firstLine, x.lastLine, count(x.people, "message"), count(x.messages, "message"), x.days())
}

func (x *extent) days() string {
	if x.first <= 0 || x.last <= 0 {
		return ""
	}
	from, to := day(x.first), day(x.last)
	if from == to {
		return ", " + from
	}
	return ", " + from + " to " + to
}

func day(ms int64) string { return time.UnixMilli(ms).UTC().Format("2 January 2006") }

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// plans are the sections in their order. The shares were set so that no
// section starves in a summary of the default length.
func (e *Extractive) plans() []*plan {
	e.turns = e.turning()
	turning := e.turns
	e.remarks.index()
	goals := e.overruled(e.pending(e.current(e.goals.ranked(), turning)), people)
	rules, choices, rest := e.sayings(goals, turning)
	plans := []*plan{
		{title: "About " + strings.Join(e.focus, ", "), share: 20, items: e.about.ranked()},
		{title: "Goals", share: 11, items: goals},
		{title: constraintsTitle, share: 11, items: rules},
		{title: decisionsTitle, share: 13, items: choices},
		{title: saidTitle, share: 14, items: e.reliable(rest)},
		{title: resultsTitle, share: 14, items: e.reliable(e.followed(carriedOut(lasting(renewed(e.pastHurdles(e.results.ranked())), turning), e.choices(), turning), anybody))},
		{title: findingsTitle, share: 9, items: e.reliable(e.followed(e.unresolved(lasting(e.pastHurdles(e.said[finding].ranked()), turning)), anybody))},
		{title: openTitle, share: 7, items: e.followed(e.openItems(), anybody)},
		{title: nextTitle, share: 8, items: e.followed(e.untaken(lasting(e.nextItems(), turning), stepShare), anybody)},
		{title: "Files changed", share: 8, items: e.files.candidates(true, e.inFocus)},
		{title: "Files read", share: 1, items: e.files.candidates(false, e.inFocus)},
		{title: "Commands", share: 4, items: e.commands.candidates(e.inFocus)},
		{title: "Errors", share: 8, items: e.commands.failureCandidates(e.seen, e.inFocus)},
	}
	for i, summary := range e.earlier {
		share, first := 2, 0
		if i == len(e.earlier)-1 {
			share, first = 10, e.earlierFirst()
		}
		plans = append(plans, &plan{title: fmt.Sprintf("Earlier summary (line %d)", summary.line), share: share, first: first, items: paragraphs(summary), prose: true})
	}
	return distinctPlans(append(plans, &plan{title: lastTitle, share: 12, items: e.lastItems(), whole: true}))
}

// sameRunes is how much of two items of a line is compared, in code points.
const sameRunes = 40

// distinctPlans drops what a section before it says as well.
func distinctPlans(plans []*plan) []*plan {
	type place struct {
		line int
		text string
	}
	seen := map[place]bool{}
	for _, p := range plans {
		if p.prose || p.whole || strings.HasPrefix(p.title, "About ") || p.title == "Goals" {
			continue
		}
		p.items = slices.DeleteFunc(p.items, func(c candidate) bool {
			at := place{c.line, string(cutRunes([]byte(c.text), sameRunes))}
			again := seen[at]
			seen[at] = true
			return again
		})
	}
	return plans
}

// current takes out of goals what was said in the same breath and does not hold
// any more.
func (e *Extractive) current(goals []candidate, turning []statement) []candidate {
	for i := range goals {
		for k := constraint; k <= known; k++ {
			for _, c := range e.said[k].items {
				if c.line == goals[i].line && strings.Contains(goals[i].text, c.text) && endedBy(c, turning) != nil {
					goals[i].text = strings.Replace(goals[i].text, c.text, "…", 1)
				}
			}
		}
	}
	return slices.DeleteFunc(goals, func(c candidate) bool {
		return strings.Contains(c.text, "…") && wordCount([]byte(c.text)) <= goalWords
	})
}

// choices are what people chose and asked to be kept to.
func (e *Extractive) choices() []candidate {
	return slices.Concat(e.said[decision].items, e.said[constraint].items)
}

// unresolved are findings without what the agent could not do in a turn whose
// failures were all put right later.
func (e *Extractive) unresolved(items []candidate) []candidate {
	return slices.DeleteFunc(items, func(c candidate) bool { return c.failed && e.commands.putRight(c.people) })
}

// goalWords is how many words are left at most of a goal that does not hold any
// more, and says nothing.
const goalWords = 5

// nextItems are the steps that the log has not done since, of its last third: what
// became of older ones stands elsewhere.
func (e *Extractive) nextItems() []candidate {
	people := e.seen.people
	items := slices.DeleteFunc(e.said[next].ranked(), func(c candidate) bool {
		return e.steps.doneAt(c) > 0 || people >= longTalk && c.people <= people*2/3
	})
	return e.late(items)
}

// longTalk is from how many messages of people on a step can be old.
const longTalk = 6

// earlierFirst is how much of the summary before this one comes before all else,
// in code points. What it says stands nowhere else in the context, and in a short
// summary its share of the room would not hold a line of it.
func (e *Extractive) earlierFirst() int {
	const short, most = 2000, 1000
	if e.options.MaxRunes >= short {
		return 0
	}
	return most
}

// late favours what was said late in the log: what was open or next long ago
// has often been done since.
func (e *Extractive) late(items []candidate) []candidate {
	for i := range items {
		items[i].score += 5 * items[i].line / max(e.seen.lastLine, 1)
	}
	sortByScore(items)
	return items
}

// openItems are the questions that are called open, the last one that nobody
// answered, and the last turn's calls that have no result.
func (e *Extractive) openItems() []candidate {
	items := e.late(slices.DeleteFunc(e.said[open].ranked(), func(c candidate) bool { return e.steps.doneAt(c) > 0 }))
	for _, c := range e.calls.since(e.lastPerson) {
		items = append([]candidate{{text: "No result: " + c.title(), line: c.line}}, items...)
	}
	if e.question.text != "" {
		items = append([]candidate{e.question}, items...)
	}
	return items
}

// paragraphs are the lines of an earlier summary. Headings become bold,
// because they are inside a section here. Of one that was picked by rule, what
// it says of itself and what was only of its moment is left out, so that there
// is room for what still counts.
func paragraphs(summary candidate) []candidate {
	var out []candidate
	byRule, passing := strings.HasPrefix(summary.text, extractiveTitle), false
	for line := range strings.Lines(summary.text) {
		line = strings.TrimSpace(line)
		if heading := strings.TrimLeft(line, "#"); heading != line {
			heading = strings.TrimSpace(heading)
			passing = byRule && slices.Contains(ofTheMoment(), heading)
			line = "**" + heading + "**"
		}
		if byRule && (passing || strings.Contains(line, extractivePick) || line == "**"+strings.TrimLeft(extractiveTitle, "# ")+"**") {
			continue
		}
		if line = strings.TrimPrefix(line, "> "); line != "" && line != strings.TrimSpace(nothing) {
			out = append(out, candidate{text: line, line: summary.line})
		}
	}
	return out
}

// lastItems are the last exchanges, newest first.
func (e *Extractive) lastItems() []candidate {
	var out []candidate
	for _, c := range slices.Backward(e.exchanges) {
		c.text = oneLine(c.text, exchangeRunes)
		out = append(out, c)
	}
	return out
}

// fit chooses items of each section by its share, then gives what is left over to what
// no section tells, and to the sections in turn, most important item first.
func (e *Extractive) fit(plans []*plan, space int) {
	shares := 0
	for _, p := range plans {
		if len(p.items) > 0 {
			shares += p.share
		}
	}
	left := space
	for _, p := range plans {
		left -= p.take(min(7*space/8, p.first))
	}
	for _, p := range plans {
		if len(p.items) > 0 {
			left -= p.take(min(left, space*p.share/shares-p.spent))
		}
	}
	left -= e.fillUp(plans, left)
	for _, p := range plans {
		left -= p.take(left)
	}
	for _, p := range plans {
		p.order()
	}
}

// fillUp tells, as long as there is room, what no rule takes for worth telling: rules
// know some words, and most of what people say in passing has others. It returns what
// that costs, in code points. The sections' second choice comes after it, because it
// holds fewer facts for its length (docs/dev/summaries.md).
func (e *Extractive) fillUp(plans []*plan, space int) (spent int) {
	if space < leastRoom {
		return 0
	}
	for _, c := range e.unsaid(plans) {
		if space-spent < leastRoom {
			break
		}
		if c = e.stillTrue(c); c.text != "" {
			spent += planOf(plans, c.person).add(c, space-spent)
			withoutSaid(plans, c)
		}
	}
	return spent
}

// leastRoom is how much room a sentence takes at least, in code points.
const leastRoom = 60

// planOf is the section of what people said, or of what the agent found.
func planOf(plans []*plan, person bool) *plan {
	title := findingsTitle
	if person {
		title = saidTitle
	}
	return plans[slices.IndexFunc(plans, func(p *plan) bool { return p.title == title })]
}

// add chooses one more item, if there is room, and returns what it costs.
func (p *plan) add(c candidate, space int) (spent int) {
	items := p.items
	p.items = []candidate{c}
	spent = p.take(space)
	p.items = items
	return spent
}

// withoutSaid takes out of what sections may tell yet what repeats a sentence.
func withoutSaid(plans []*plan, said candidate) {
	words := spelled(withoutLast(said.text))
	for _, p := range plans {
		if !p.prose && !p.whole {
			p.items = slices.DeleteFunc(p.items, func(c candidate) bool { return c.line == said.line && strings.Contains(spelled(c.text), words) })
		}
	}
}

// take chooses items that cost no more than space together, and returns what
// they cost, in code points.
func (p *plan) take(space int) (spent int) {
	rest := p.items[:0:0]
	for i, c := range p.items {
		cost := p.cost(c)
		if len(p.chosen) == 0 {
			cost += utf8.RuneCountInString(p.title) + len("\n## \n\n")
		}
		if spent+cost <= space {
			p.chosen = append(p.chosen, c)
			spent += cost
			continue
		}
		if p.prose || p.whole {
			rest = append(rest, p.items[i:]...)
			break
		}
		rest = append(rest, c)
	}
	p.items = rest
	p.spent += spent
	return spent
}

func (p *plan) cost(c candidate) int { return utf8.RuneCountInString(p.line(c)) + p.mark }

func (p *plan) line(c candidate) string { return p.marked(c, "- ") }

func (p *plan) marked(c candidate, mark string) string {
	if p.prose {
		return "> " + c.text + "\n"
	}
	return fmt.Sprintf("%s%s (line %d)\n", mark, c.text, c.line)
}

// order puts the chosen items into the order of the log. A heading of an earlier
// summary below which there was no more room goes.
func (p *plan) order() {
	for n := len(p.chosen); p.prose && n > 0 && strings.HasPrefix(p.chosen[n-1].text, "**") && strings.HasSuffix(p.chosen[n-1].text, "**"); n-- {
		p.chosen = p.chosen[:n-1]
	}
	slices.SortStableFunc(p.chosen, func(a, b candidate) int { return cmp.Compare(a.line, b.line) })
}

// write appends the section to the text and returns it.
func (p *plan) write(text *strings.Builder) Section {
	fmt.Fprintf(text, "\n## %s\n\n", p.title)
	for _, c := range p.chosen {
		text.WriteString(p.line(c))
	}
	return p.section()
}

func (p *plan) section() Section {
	s := Section{Title: p.title}
	for _, c := range p.chosen {
		s.Items = append(s.Items, Item{Text: c.text, Line: c.line})
	}
	return s
}

// Titles that other files look for.
const (
	constraintsTitle = "Constraints and preferences"
	decisionsTitle   = "Decisions"
	resultsTitle     = "Done"
	findingsTitle    = "Findings and results"
	saidTitle        = "Said by people"
	openTitle        = "Open questions"
	nextTitle        = "Next steps"
	lastTitle        = "Last exchanges"
	earlierTitle     = "Said before"
	fixedTitle       = "Fixed"
)

// proseRunes is how long one sentence of prose is at most, in code points.
const proseRunes = 220

// Prose returns the summary as two to five sentences in a row: what was asked
// for, what was decided, what is open and what comes next. It is "" if nothing
// of that was said.
func (s Summary) Prose() string {
	if s.Sentences != "" {
		return s.Sentences
	}
	all, spare := s.sentences()
	if len(all) == 1 {
		all = append(all, spare[:min(1, len(spare))]...)
	}
	return strings.Join(all, " ")
}

// proseParts are the sections that prose is made of, and how many items of each.
func proseParts() []prosePart {
	return []prosePart{
		{"Goals", "Asked: ", 1, false},
		{decisionsTitle, "Decided: ", 2, false},
		{findingsTitle, "Found: ", 1, false},
		{openTitle, "Open: ", 1, false},
		{nextTitle, "Next: ", 1, false},
		{constraintsTitle, "To keep in mind: ", 1, false},
		{lastTitle, "Last said: ", 1, true},
	}
}

type prosePart struct {
	title, lead string
	most        int
	last        bool // the last items, not the first
}

// sentences are at most five, one for each item; spare are those of the
// remaining items.
func (s Summary) sentences() (all, spare []string) {
	for _, part := range proseParts() {
		texts := s.texts(part)
		for i, text := range texts {
			if i < part.most && len(all) < maxSentences {
				all = append(all, part.lead+text)
				continue
			}
			spare = append(spare, part.lead+text)
		}
	}
	return all, spare
}

// The length of a summary in prose (docs/dev/decisions.md D18).
const (
	minSentences = 2
	maxSentences = 5
)

// texts returns the items of a section as one sentence each.
func (s Summary) texts(part prosePart) []string {
	var all []string
	for _, section := range s.Sections {
		if section.Title != part.title {
			continue
		}
		for _, item := range section.Items {
			if toldLater(item.Text) && !part.last { // one sentence cannot tell both
				continue
			}
			if text := oneSentence(withoutLast(item.Text)); text != "" {
				all = append(all, text)
			}
		}
	}
	if part.last {
		slices.Reverse(all)
	}
	return all
}

// oneSentence is the first sentence of a text that says something, without
// Markdown and not too long.
func oneSentence(text string) string {
	text = strings.TrimSpace(strings.NewReplacer("**", "", "`", "").Replace(text))
	all := splitSentences(text)
	if len(all) == 0 {
		return ""
	}
	at := slices.IndexFunc(all, func(s string) bool { return len(s) >= shortSentence })
	text = string(cutRunes([]byte(all[max(at, 0)]), proseRunes))
	if !strings.ContainsAny(text[len(text)-1:], ".!?") && !strings.HasSuffix(text, "…") && !strings.HasSuffix(text, "。") {
		text += "."
	}
	return text
}

// splitSentences cuts a text behind its full stops, exclamation and question
// marks. One that a small letter or a digit follows ends no sentence ("e.g. a
// file", "No. 5"), but for the marks of Chinese and Japanese.
func splitSentences(text string) []string {
	var all []string
	add := func(s string) {
		if s = strings.TrimSpace(s); s != "" {
			all = append(all, s)
		}
	}
	start := 0
	for _, at := range sentenceEnds().FindAllStringIndex(text, -1) {
		next, _ := utf8.DecodeRuneInString(strings.TrimSpace(text[at[1]:]))
		wide := strings.ContainsAny(text[at[0]:at[1]], "。！？")
		if at[0] < start || !wide && (unicode.IsLower(next) || unicode.IsDigit(next)) {
			continue
		}
		add(text[start:at[1]])
		start = at[1]
	}
	add(text[start:])
	return all
}

// checkpointPart is a heading of a checkpoint (docs/dev/decisions.md D18), and what
// the rules find for it.
type checkpointPart struct {
	heading string
	mark    string   // of its items
	titles  []string // of the plans; the start of the title for the ones with a line
}

// checkpointParts are the headings in their order. All of them always stand in
// the summary, as a model would write it.
func checkpointParts() []checkpointPart {
	return []checkpointPart{
		{"## Goal", "- ", []string{"Goals"}},
		{"## Constraints & Preferences", "- ", []string{constraintsTitle}},
		{"## Progress", "", nil},
		{"### Done", "- [x] ", []string{resultsTitle, "Files changed", "Commands"}},
		{"### In Progress", "- [ ] ", []string{lastTitle}},
		{"### Blocked", "- ", []string{"Errors", openTitle}},
		{"## Key Decisions", "- ", []string{decisionsTitle}},
		{"## Next Steps", "1. ", []string{nextTitle}},
		{"## Critical Context", "- ", []string{"About ", saidTitle, findingsTitle, "Files read", fixedTitle, "Earlier summary", earlierTitle}},
	}
}

// checkpointPlans takes apart what a checkpoint has under several headings: of
// what was said last only the last word of each side is in progress, and what
// failed and was put right blocks nobody.
func (e *Extractive) checkpointPlans(plans []*plan) []*plan {
	var all []*plan
	for _, p := range plans {
		all = append(all, p)
		switch p.title {
		case lastTitle:
			n := min(2, len(p.items))
			switch {
			case e.settled() || n > 0 && e.onlyTells(p.items[0].text):
				n = 0
			case n > 0 && strings.HasPrefix(p.items[0].text, personSaid): // what the agent said before is answered
				n = 1
			}
			all = append(all, &plan{title: earlierTitle, share: p.share / 2, items: e.followed(e.stillSaid(p.items[n:]), anybody), whole: true})
			p.items, p.share = p.items[:n], p.share/2
		case "Errors":
			fixed := &plan{title: fixedTitle, share: p.share / 2}
			p.items = slices.DeleteFunc(p.items, func(c candidate) bool {
				if over := strings.Contains(c.text, workedLater); over {
					fixed.items = append(fixed.items, c)
					return true
				}
				return false
			})
			all = append(all, fixed)
		}
	}
	return all
}

// onlyTells tells whether an exchange is a person's who asks for nothing and puts nothing
// off: what it says is to be known, and nothing of it is in progress.
func (e *Extractive) onlyTells(text string) bool {
	said, person := strings.CutPrefix(text, personSaid)
	lower := []byte(strings.ToLower(said))
	weights := e.cues.weigh(lower)
	return person && statesOf().in(lower) && !strings.Contains(said, "?") && max(weights[next], weights[open], weights[goal]) == 0 && !intends().in(lower)
}

// statesOf are verbs of sentences that say how something is.
var statesOf = phraseSet(" is ", " are ", " was ", " were ", " has ", " had ", " says ", " said ", " goes ", " went ", " wants ", " comes ", " came ", " runs ", " i'm ", " it's ", " isn't ",
	" ist ", " sind ", " war ", " hat ", " est ", " sont ", " es ", " son ", " está ", " è ", " komt ", " manda ")

// intends are words of people who ask for something or are about to do it.
var intends = phraseSet("i'll", "i will", "i shall", "we'll", "we will", "i do ", "i need", "we need", "please", "pls", "tomorrow", "tonight", "tmrw",
	"next week", "next month", "before ", "remind", "has to", "have to", "must ", "don't ", "dont ", "not yet", "not today", "send ", "bitte", "morgen", "domani", "demain", "mañana")

// settled tells whether the log ends with the agent's word that what was asked for is
// done: nothing is in progress then.
func (e *Extractive) settled() bool {
	if len(e.exchanges) == 0 || !e.turn.worked || e.working {
		return false
	}
	said, agent := strings.CutPrefix(e.exchanges[len(e.exchanges)-1].text, agentSaid)
	settled := agent
	eachSentence([]byte(said), func(s sentence) {
		e.lower = appendLower(e.lower[:0], s.text)
		_, finished := look(e.lower)
		settled = settled && finished && !e.tellsLeft()
	})
	return settled
}

// stillSaid are the earlier of the last exchanges without what people took back: under
// the heading of what matters it would be told as if it held.
func (e *Extractive) stillSaid(items []candidate) []candidate {
	return slices.DeleteFunc(slices.Clone(items), func(c candidate) bool {
		said, person := strings.CutPrefix(c.text, personSaid)
		c.text, c.person = said, true
		return person && endedBy(c, e.turns) != nil
	})
}

// workedLater is put behind a failure that was put right.
const workedLater = ", worked later at line "

const nothing = "- (none)\n"

// checkpointFrame is the length of all headings with nothing under them, in
// code points.
func checkpointFrame() (runes int) {
	var b strings.Builder
	for _, part := range checkpointParts() {
		part.write(&b, nil)
	}
	return utf8.RuneCountInString(b.String())
}

// writeCheckpoint writes what was chosen under the headings of a checkpoint.
func writeCheckpoint(text *strings.Builder, plans []*plan) []Section {
	var sections []Section
	for _, part := range checkpointParts() {
		part.write(text, plans)
	}
	for _, p := range plans {
		if len(p.chosen) > 0 {
			sections = append(sections, p.section())
		}
	}
	return sections
}

func (part checkpointPart) write(text *strings.Builder, plans []*plan) {
	text.WriteString("\n" + part.heading + "\n")
	if part.mark == "" {
		return
	}
	empty := true
	for _, p := range plans {
		if !part.takes(p.title) {
			continue
		}
		for _, c := range p.chosen {
			mark := part.mark
			if strings.HasSuffix(c.text, " failed") { // a command: it is not done
				mark = strings.Replace(mark, "[x]", "[ ]", 1)
			}
			text.WriteString(p.marked(c, mark))
			empty = false
		}
	}
	if empty {
		text.WriteString(nothing)
	}
}

func (part checkpointPart) takes(title string) bool {
	for _, t := range part.titles {
		if strings.HasPrefix(title, t) {
			return true
		}
	}
	return false
}
