package facts

import "slices"

// Known is a fact that is stored, under its id.
type Known struct {
	ID string
	Fact
	Superseded bool // it is not true any more
}

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
}

// Successor is what supersedes a fact that is new itself: a known fact, or one
// of the same extraction.
type Successor struct {
	ID    string
	Index int
}

// Merge holds new facts, in the order of the log, against those that are known
// of the same agent, and keeps at most so many new ones, the surest; all for a
// negative number. The newer of two that cannot both be true supersedes the
// older, whichever was extracted first.
func Merge(facts []Fact, known []Known, most int) Merged {
	m := Merged{Over: map[string]int{}, Late: map[int]Successor{}}
	fresh := slices.DeleteFunc(distinct(facts), func(f Fact) bool {
		return slices.ContainsFunc(known, func(k Known) bool {
			return f.Replaces != k.ID && (!k.Superseded || f.Time <= k.Time) && relate(f, k.Fact) == repeats
		})
	})
	m.Repeated = len(facts) - len(fresh)
	m.Facts = surest(fresh, most)
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

// against holds one new fact against the known ones.
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
func distinct(facts []Fact) []Fact {
	var kept []Fact
	for _, f := range facts {
		repeated := false
		for _, k := range kept {
			switch relate(f, k) {
			case repeats:
				repeated = true
			case corrects:
				repeated = false
			}
		}
		if !repeated {
			kept = append(kept, f)
		}
	}
	return kept
}
