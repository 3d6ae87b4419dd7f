package summarize

import (
	"container/heap"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/summarize/state"
	"github.com/sessctl/sessctl/pkg/work"
)

// use is how a term was used in the log.
type use struct {
	term
	first, last int // the events that have it
	events      int
	by          [parties]int
	edits       int // calls that change files
	commands    int
	inTurn      bool // somebody has said it since the last request
	small       bool // written without capitals somewhere: no name
	stays       bool // what stays beside the summary tells it
	told        bool // its worth is lowered already
	places      [placesKept]int32
	likely      float64 // how much it is worth before anything is told
	worth       float64
}

// placesKept is how many of the last places of a term are looked at.
const placesKept = 3

// uses are the terms of a log.
type uses struct {
	byKey  map[string]*use
	events int
	spoken []spoken       // by people and the agent, in order
	heard  map[*use][]int // which of the spoken have a term that few events have
}

// usesOf counts the terms of all events.
func usesOf(events []event, focus []string) *uses {
	u := &uses{heard: map[*use][]int{}, byKey: make(map[string]*use, 1<<12), events: len(events)}
	turn := len(events)
	for i := range events {
		if events[i].by == person {
			turn = i
		}
	}
	r := termReader{}
	for i := range events {
		x := &events[i]
		r.yield = func(key []byte, of class) { u.note(key, of, i, x, i >= turn && x.by <= agent) }
		r.read(x.text)
		if x.by == call {
			for _, path := range x.paths {
				r.read(path)
			}
			if x.kind == work.KindCommand {
				r.commands(commandIn(x.text))
			}
		}
	}
	for _, t := range u.byKey {
		t.likely = u.worthOf(t)
		if slices.Contains(focus, t.key) {
			t.likely += focusWorth
		}
	}
	u.untold()
	u.listen(events)
	return u
}

// untold takes back that terms were told.
func (u *uses) untold() {
	for _, t := range u.byKey {
		t.worth, t.told = t.likely, false
	}
}

// focusWorth is how much a word of the focus counts: more than any other.
const focusWorth = 3

// isCommand tells whether a program and a verb are one, as "git push" is, and not the
// words of a script or of prose.
func isCommand(verb string) bool {
	program, word, found := strings.Cut(verb, " ")
	return found && strings.Trim(verb, "abcdefghijklmnopqrstuvwxyz0123456789-: ") == "" && len(program) > 1 && len(word) > 1 && !slices.Contains([]string{
		"for", "do", "done", "if", "then", "else", "while", "case", "in", "echo", "printf", "cd", "xargs", "set", "export", "return", "import", "from", "def", "class", "print", "cat", "sed", "head", "tail", "awk", "sleep", "sort", "wc", "test", "true", "and", "or", "not", "to", "the", "is", "as",
	}, program)
}

// commandIn is the command of a call, without what it is for.
func commandIn(text string) string {
	if _, command, found := strings.Cut(text, prompt); found {
		return command
	}
	return text
}

// commands yields the program and the verb of each command of a line.
func (r *termReader) commands(line string) {
	for part := range strings.FieldsFuncSeq(line, func(c rune) bool { return c == '\n' || c == ';' || c == '|' || c == '&' }) {
		if verb := state.Verb(strings.TrimSpace(part)); isCommand(verb) && !state.Looks(part) {
			r.put(verb, command)
		}
	}
}

func (u *uses) note(key []byte, of class, at int, x *event, inTurn bool) {
	small := of == plainWord && x.by <= agent
	if of == opening {
		of = plainWord
	}
	t := u.byKey[string(key)]
	if t == nil {
		t = &use{term: term{string(key), of}, first: at, last: -1}
		u.byKey[t.key] = t
	}
	t.small = t.small || small
	if of == name && t.class == plainWord {
		t.class = name
	}
	if t.last == at {
		return
	}
	t.last = at
	t.places[t.events%placesKept] = int32(at)
	t.events++
	t.by[x.by]++
	t.inTurn = t.inTurn || inTurn
	t.stays = t.stays || x.stays
	if x.by == call {
		switch x.kind {
		case work.KindEdit, work.KindWrite, work.KindDelete:
			t.edits++
		case work.KindCommand:
			t.commands++
		}
	}
}

// worthOf is how likely a term is needed in what comes next, times how much it says.
// That what was used late, often, and by people is needed again is measured
// (docs/dev/summaries.md); what only tools printed hardly ever is.
func (u *uses) worthOf(t *use) float64 {
	n := float64(u.events)
	if t.stays || u.events < 2 || float64(t.events) > n/2 {
		return 0
	}
	age := n - float64(t.last)
	z := bias(t.class) - 0.7*math.Log1p(age) + 0.9*age/n + 0.2*math.Log(float64(t.events)) + 1.9*float64(t.events)/n
	z += 0.5*logOf(t.by[person]) + 0.35*logOf(t.by[agent]) + 0.55*logOf(t.by[call]) - 0.6*logOf(t.edits) + 0.3*logOf(t.commands)
	if t.inTurn {
		z += 0.3
	}
	if t.by[result] == t.events {
		z -= 1.9
	}
	worth := math.Log1p(n/float64(t.events)) / math.Log1p(n) / (1 + math.Exp(-z))
	if t.class == plainWord || t.class == name && t.small {
		if float64(t.events) > max(3, n/20) || t.by[person]+t.by[agent] == 0 {
			return 0
		}
		return worth * wordWorth
	}
	return worth
}

// wordWorth is how much a plain word counts, of what a name does.
const wordWorth = 0.25

func logOf(n int) float64 { return math.Log1p(float64(n)) }

// bias is how likely a term of a class is needed again, all else equal.
func bias(c class) float64 {
	switch c {
	case pathTerm:
		return -1.6
	case codeTerm:
		return -1.75
	case name:
		return -1.85
	case command:
		return -1.25
	case value:
		return -2.8
	case address:
		return -2.3
	}
	return -1.9
}

// top yields the terms that are worth something, those that are worth most first. Who
// asks for a few does not wait until all are in order.
func (u *uses) top() iter.Seq[*use] {
	return func(yield func(*use) bool) {
		all := make(useHeap, 0, len(u.byKey))
		for _, t := range u.byKey {
			if t.worth > 0 {
				all = append(all, t)
			}
		}
		for heap.Init(&all); len(all) > 0; {
			if !yield(heap.Pop(&all).(*use)) {
				return
			}
		}
	}
}

// useHeap has the term that is worth most on top.
type useHeap []*use

func (h useHeap) Len() int { return len(h) }
func (h useHeap) Less(i, j int) bool {
	return h[i].worth > h[j].worth || h[i].worth == h[j].worth && h[i].key < h[j].key
}
func (h useHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push adds a term, as package heap wants it.
func (h *useHeap) Push(x any) { *h = append(*h, x.(*use)) }

// Pop takes out the last term, as package heap wants it.
func (h *useHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// covered takes the worth of the terms that a text tells, but for a part of it.
func (u *uses) covered(text string, left float64) {
	r := termReader{yield: func(key []byte, _ class) {
		if t := u.byKey[string(key)]; t != nil && !t.told {
			t.worth *= left
			t.told = true
		}
	}}
	r.read(text)
	r.commands(text)
}

// telling reports whether a term is one that must be repeated letter by letter.
func (t *use) telling() bool {
	switch t.class {
	case plainWord:
		return false
	case name:
		return !t.small
	}
	return true
}

// spoken is a sentence that somebody said, with the terms of it that few events have.
type spoken struct {
	sentence
	rare []*use
}

// listen notes the sentences of people and of the agent.
func (u *uses) listen(events []event) {
	for i := range events {
		if events[i].by > agent {
			continue
		}
		for _, text := range sentencesOf(events[i].text) {
			s := spoken{sentence{text, i}, u.rare(text)}
			for _, t := range s.rare {
				u.heard[t] = append(u.heard[t], len(u.spoken))
			}
			u.spoken = append(u.spoken, s)
		}
	}
}

// rare are the terms of a text that few events have.
func (u *uses) rare(text string) (terms []*use) {
	return slices.DeleteFunc(u.telling(text), func(t *use) bool {
		return t.class == value || t.events < 2 || float64(t.events) > max(4, float64(u.events)/20)
	})
}
