package facts

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/session"
)

// Offline extracts what is said outright, by rules and without a model: the
// facts of at least this confidence, in the order of the log. What looked like
// a fact and was not made one is among the refusals.
func Offline(messages []Message, confidence float64) ([]Fact, []Refusal) {
	all, refused := explicit(messages)
	return slices.DeleteFunc(all, func(f Fact) bool {
		if f.Confidence < confidence {
			refused = append(refused, Refusal{Line: f.Line, Reason: fmt.Sprintf("it is not sure enough (%.2f)", f.Confidence)})
		}
		return f.Confidence < confidence
	}), refused
}

// explicit returns everything that a rule matches, with its confidence.
func explicit(messages []Message) ([]Fact, []Refusal) {
	var found []Fact
	var refused []Refusal
	for _, m := range messages {
		for _, s := range sentences(m.Text) {
			for _, c := range s.clauses() {
				f, ok := match(m, s, c)
				if !ok {
					continue
				}
				if why := objection(f, c); why != "" {
					refused = append(refused, Refusal{Line: m.Line, Reason: why})
					continue
				}
				found = append(found, f)
			}
		}
	}
	return slices.DeleteFunc(found, func(f Fact) bool { return slices.ContainsFunc(found, f.named) }), refused
}

// named tells whether another fact says better what a fact says: "my name is
// Tomás Herrera" and "I'm Tomás".
func (f Fact) named(other Fact) bool {
	return f.Topic == topicIs && other.Topic == topicName && strings.Contains(spaced(other.Value), spaced(f.Value))
}

// The topics of who somebody is. "I'm German" is no name.
const (
	topicName = "user.name"
	topicIs   = "user.is"
)

// surest keeps the surest facts, and of equally sure ones the newest, in their
// order.
func surest(all []Fact, most int) []Fact {
	if most < 0 || len(all) <= most {
		return all
	}
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int {
		return cmp.Or(cmp.Compare(all[y].Confidence, all[x].Confidence), cmp.Compare(all[y].Time, all[x].Time), cmp.Compare(y, x))
	})
	order = order[:most]
	slices.Sort(order)
	kept := make([]Fact, 0, most)
	for _, i := range order {
		kept = append(kept, all[i])
	}
	return kept
}

// match finds the first rule that a clause matches.
func match(m Message, s sentence, c clause) (Fact, bool) {
	if s.question && !c.explicit || supposed().MatchString(c.text) || utf8.RuneCountInString(c.text) < 6 {
		return Fact{}, false
	}
	for _, r := range rules() {
		if m.Role != session.RoleUser && (!r.agent || strings.HasPrefix(c.text, "I")) { // its own are not the person's
			continue
		}
		if groups := r.pattern.FindStringSubmatch(straight(c.text)); groups != nil {
			return r.fact(m, c, groups), true
		}
	}
	if m.Role == session.RoleUser && c.request && utf8.RuneCountInString(c.text) >= 12 {
		return newFact(m, c, Fact{Kind: Background, Confidence: 0.85, Text: quoted("The user asked to remember", c.text), Value: c.text}), true
	}
	return Fact{}, false
}

// straight has straight apostrophes, as the rules.
func straight(text string) string { return strings.ReplaceAll(text, "’", "'") }

// fact makes a fact of a match.
func (r *rule) fact(m Message, c clause, groups []string) Fact {
	f := Fact{Kind: r.kind, Confidence: r.confidence, Value: strings.TrimSpace(r.group(groups, "v")), Instead: strings.TrimSpace(r.group(groups, "old"))}
	f.Value = cmp.Or(f.Value, f.Instead)
	if m := marks().instead.FindStringSubmatch(f.Value); m != nil && r.kind == Decision {
		f.Instead = m[1]
	}
	f.Topic = strings.ToLower(r.fill(r.topic, groups))
	if m.Role != session.RoleUser {
		f.Confidence = agentConfidence
	}
	if chosen, topic := choice(f.Value); r.kind == Preference && topic != "" && f.Topic == "" {
		f.Topic, f.Value = topic, chosen
	}
	if c.explicit {
		f.Confidence = min(f.Confidence+0.05, 0.97)
	}
	if !r.free {
		f.Confidence -= doubt(f, c)
	}
	f.Text = r.sentence(m, c, groups)
	return newFact(m, c, f)
}

// sentence is the fact in the third person. Where that would need more than a
// template, it quotes what was said.
func (r *rule) sentence(m Message, c clause, groups []string) string {
	who := "The user said"
	if m.Role != session.RoleUser {
		who = "The agent said"
	}
	said := r.group(groups, "v") + " " + r.group(groups, "who")
	if r.text == "" || !r.free && addressed().MatchString(said) {
		return quoted(who, c.text)
	}
	text := r.fill(r.text, groups)
	if strings.HasSuffix(r.text, "${v}s") { // "loves strong coffee"
		verb, rest, _ := strings.Cut(r.group(groups, "v"), " ")
		text = strings.TrimSuffix(r.text, "${v}s") + strings.ToLower(verb) + "s " + rest
	}
	text = own().ReplaceAllStringFunc(text, func(s string) string { return s[:len(s)-2] + "their" })
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

func quoted(who, text string) string { return who + `: "` + strings.ReplaceAll(text, `"`, "'") + `".` }

// newFact adds where a fact comes from.
func newFact(m Message, c clause, f Fact) Fact {
	f.MadeBy = MadeByRules
	f.Quote, f.Line, f.Offset, f.End, f.Time, f.Speaker = strings.Join(strings.Fields(c.text), " "), m.Line, m.Offset, m.End, m.Time, m.Role
	return f
}

// choice splits "tabs over spaces" into what is chosen and what the choice is
// about, which is the same for "spaces over tabs".
func choice(value string) (chosen, topic string) {
	m := over().FindStringSubmatch(value)
	if m == nil {
		return "", ""
	}
	pair := []string{normal(m[1]), normal(m[2])}
	chosen = pair[0]
	slices.Sort(pair)
	return chosen, "preference." + strings.Join(pair, "|")
}

func over() *regexp.Regexp { return marks().over }

func own() *regexp.Regexp { return marks().own }

func addressed() *regexp.Regexp { return marks().addressed }

func supposed() *regexp.Regexp { return marks().supposed }
