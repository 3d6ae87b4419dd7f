package facts

import (
	"slices"
	"strings"
)

// replacedValue is the value in the agent's message that a short choice of a person
// changes: "200GB" of "the limit is 200GB", if the person says "better 400GB". It is
// "" if none is, or more than one may be.
func (t turn) replacedValue(text string) string {
	own := measures(strings.ToLower(text))
	if len(own) != 1 || len(strings.Fields(text)) > shortWords {
		return ""
	}
	old := ""
	for _, m := range measures(t.lower) {
		if m.unit != own[0].unit || m.number == own[0].number || m.text == old {
			continue
		}
		if old != "" {
			return ""
		}
		old = m.text
	}
	return old
}

// measure is a number with its unit.
type measure struct{ text, number, unit string }

func measures(lower string) []measure {
	var all []measure
	for _, m := range measured().FindAllStringSubmatch(lower, -1) {
		all = append(all, measure{strings.TrimSpace(m[0]), m[1], strings.TrimSuffix(m[2], "s")})
	}
	return all
}

// moves tells whether a fact says that a day of another one has changed: it says so,
// and both are about the same.
func (f Fact) moves(other Fact) bool {
	if f.Kind != Deadline || other.Kind != Deadline || !movedDay().MatchString(f.Quote) {
		return false
	}
	days := func(text string) []string { return dates().FindAllString(strings.ToLower(text), -1) }
	if slices.Equal(days(f.Quote), days(other.Quote)) {
		return false
	}
	about := subjectsOf(other.Quote)
	return slices.ContainsFunc(subjectsOf(f.Quote), func(w string) bool {
		return slices.ContainsFunc(about, func(o string) bool { return alike(w, o) })
	})
}

// subjectsOf are the words of a dated sentence that say what is on that day.
func subjectsOf(text string) []string {
	return slices.DeleteFunc(stems(text), func(w string) bool {
		return len(w) < leastAlike || value(w) || notSubject().MatchString(w)
	})
}

// leastAlike is how many letters two words have in common that mean the same.
const leastAlike = 5

// alike tells whether two words begin alike: "present" and "presentation".
func alike(x, y string) bool {
	n := min(len(x), len(y))
	return n >= leastAlike && x[:n] == y[:n]
}

var (
	measured   = expression(`(?:^|[\s(~])(\d[\d.,]*) ?([a-z]{1,7}|%|€)\b`)
	movedDay   = expression(`(?i)\b(?:move[sd]?|moved|instead|postponed|postpone|becomes|delayed|shifted|rescheduled|actually|not before|new date|later than planned)\b`)
	notSubject = expression(`^(?:` + months + `|` + weekday + `|everyth|anyth|someth|instead|actual|moved?|postpon|becom|befor|after|until|there|where|which|their)`)
)
