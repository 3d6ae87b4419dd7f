package facts

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/sessctl/sessctl/pkg/statements"
)

// Merged is what is to be done about new facts.
type Merged struct {
	// Facts are new, in their order.
	Facts []Fact
	// Over maps the ids of known facts to the fact of Facts that supersedes it,
	// by its index.
	Over map[string]int
	// Late maps a fact of Facts, by its index, to the id of the known one that is
	// newer and supersedes it, or to the later one of Facts, if the id is "".
	Late     map[int]Successor
	Repeated int // said before: not stored again
	LeftOut  int // new, and less sure than those that there was room for
}

// Successor is what supersedes a fact that is new itself: a known fact, or one
// of the same extraction.
type Successor struct {
	ID    string
	Index int
}

// Merge compares new facts, in the order of the log, with the known ones of the
// same agent, and keeps at most so many new ones, the surest; all for a
// negative number. The newer of two that cannot both be true supersedes the
// older, whichever was extracted first.
func Merge(facts []Fact, known []Known, most int) Merged {
	m := Merged{Over: map[string]int{}, Late: map[int]Successor{}}
	fresh := slices.DeleteFunc(distinct(facts), func(f Fact) bool {
		return slices.ContainsFunc(known, func(k Known) bool {
			return f.Replaces != k.ID && (!k.Superseded || f.Time <= k.Time) && relate(f, k.Fact) == repeats
		})
	})
	m.Facts = surest(fresh, most)
	m.Repeated, m.LeftOut = len(facts)-len(fresh), len(fresh)-len(m.Facts)
	for at, f := range m.Facts {
		for i, other := range m.Facts[:at] {
			if _, over := m.Late[i]; !over && relate(f, other) == corrects {
				m.Late[i] = Successor{Index: at}
			}
		}
		m.against(at, f, known)
	}
	return m
}

// against compares one new fact with the known ones.
func (m *Merged) against(at int, f Fact, known []Known) {
	for _, k := range known {
		switch {
		case k.Superseded:
		case f.Replaces != k.ID && relate(f, k.Fact) != corrects:
		case k.Time <= f.Time:
			m.Over[k.ID] = at
		default:
			m.Late[at] = Successor{ID: k.ID}
		}
	}
}

// distinct drops facts that say what an earlier one of the list says, unless
// something else was said in between.
func distinct(facts []Fact) (kept []Fact) {
	for _, f := range facts {
		last := unrelated
		for _, k := range kept {
			last = cmp.Or(relate(f, k), last)
		}
		if last != repeats {
			kept = append(kept, f)
		}
	}
	return kept
}

// surest are the facts with the highest confidence, the newest of equals, in
// their order; all for a negative number.
func surest(all []Fact, most int) []Fact {
	if most < 0 || len(all) <= most {
		return all
	}
	best := slices.Clone(all)
	slices.Reverse(best)
	slices.SortStableFunc(best, func(x, y Fact) int {
		return cmp.Or(cmp.Compare(y.Confidence, x.Confidence), cmp.Compare(y.Time, x.Time))
	})
	return slices.DeleteFunc(slices.Clone(all), func(f Fact) bool { return !slices.Contains(best[:most], f) })
}

// relation is what a fact is to another that was known before.
type relation uint8

const (
	unrelated relation = iota
	repeats            // it says the same
	corrects           // both cannot be true
)

// sameShare is the share of words of the shorter of two facts from which they
// say the same.
const sameShare = 0.8

// relate compares two facts.
func relate(x, known Fact) relation {
	opposite := statements.Negates(x.Text) != statements.Negates(known.Text)
	switch {
	case slices.Equal(words(x.Text), words(known.Text)) && opposite:
		return corrects
	case slices.Equal(words(x.Text), words(known.Text)):
		return repeats
	case x.Topic != "" && known.Topic != "":
		return byTopic(x, known)
	case x.Kind != known.Kind:
		return unrelated
	}
	return byWords(words(x.Text), words(known.Text), opposite)
}

// byTopic compares the values of what there can be only one of.
func byTopic(x, known Fact) relation {
	switch a, b := words(x.Value), words(known.Value); {
	case x.Topic != known.Topic:
		return unrelated
	case len(a) <= len(b) && slices.Equal(a, b[:len(a)]): // "Oslo" of "Oslo, Norway"
		return repeats
	}
	return corrects
}

// byWords compares the words that say something: the same ones with another value
// correct, and enough of the same ones repeat.
func byWords(x, known []string, opposite bool) relation {
	slices.Sort(x)
	slices.Sort(known)
	x, known = slices.Compact(x), slices.Compact(known)
	fixedX, valuesX := apart(x)
	fixedKnown, valuesKnown := apart(known)
	if !slices.Equal(valuesX, valuesKnown) {
		if len(fixedX) >= 2 && slices.Equal(fixedX, fixedKnown) && len(valuesX) == len(valuesKnown) {
			return corrects
		}
		return unrelated
	}
	least := min(len(x), len(known))
	if least < 2 || float64(common(x, known)) < sameShare*float64(least) {
		return unrelated
	}
	if opposite {
		return corrects
	}
	return repeats
}

// apart splits words into statements and values.
func apart(all []string) (fixed, values []string) {
	for _, w := range all {
		if statements.Value(w) {
			values = append(values, w)
		} else {
			fixed = append(fixed, w)
		}
	}
	return fixed, values
}

func common(x, y []string) (n int) {
	for _, w := range x {
		if slices.Contains(y, w) {
			n++
		}
	}
	return n
}

// words are the stems of a text's words that say something, without those of the form
// in which facts are told. Names, numbers and paths are whole.
func words(text string) (all []string) {
	var plain []string
	for w := range strings.FieldsSeq(strings.ToLower(text)) {
		if w = strings.Trim(w, ".,;:!?\"'“”()[]`"); strings.ContainsAny(w, "0123456789.@_/+#-:") {
			all = append(all, w)
		} else {
			plain = append(plain, w)
		}
	}
	return append(all, slices.DeleteFunc(statements.Content(strings.Join(plain, " ")), func(w string) bool { return slices.Contains(telling(), w) })...)
}

// telling are the stems of words with which a fact is told.
var telling = sync.OnceValue(func() []string {
	return statements.Content("prefers wants uses likes decided asked remember called named works lives said team standing instruction always usually normally typically often rarely generally mostly really now anymore any more also has been")
})
