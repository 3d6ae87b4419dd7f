package facts

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/session"
)

// The rules know forms of sentences; what people say in another form they miss. So
// sentences that no rule takes are weighed: how likely a sentence says something that
// lasts, and which kind of fact it is then, comes from logistic regression over what it
// looks like ([signs]), learned from sessions that people labelled (weights.go,
// docs/fact-quality.md). Only what is very likely becomes a fact, and nothing that the
// rules have a reason to refuse.

// RuleLikely is [Fact.Rule] of what no rule takes and is likely a fact.
const RuleLikely = "likely"

// How likely a sentence must be to become a fact: that it says something that lasts, and
// that it does and the kind is right. Both were chosen on sessions of authors whose labels the
// weights were not learned from.
const (
	leastLikely     = 0.8
	leastLikelyKind = 0.6
	// leastShare is how much rules must take of what people say: a session where they
	// take less is one of orders, and most of what looks like a fact there is none.
	leastShare = 0.1
	// likelyConfidence is what such a fact has: less than what a rule takes.
	likelyConfidence = agentConfidence
)

// Remark is a sentence of a person that may be a fact by its form, as it is weighed.
type Remark struct {
	Fact  Fact     // as it would be made
	Signs []string // what it looks like
	Taken bool     // a rule makes a fact of it
	said  statement
}

// Remarks returns the sentences of people that are weighed, and those that rules take,
// for learning the weights.
func Remarks(messages []Message) []Remark {
	h := hear(messages, true)
	return h.weighed()
}

// remark notes a sentence of a person, if nothing speaks against making it a fact.
func (h *hearing) remark(m Message, s sentence, st statement, taken, refused bool) {
	h.sentences++
	if taken {
		h.taken++
	}
	if refused || taken && !h.all || !st.mayState(s) || !st.wordy() || st.ordersOnce() || onCondition().MatchString(st.lower) || supposed().MatchString(st.text) {
		return
	}
	h.remarks = append(h.remarks, Remark{Signs: st.signsOf(m, h.at, h.in), Taken: taken, said: st, Fact: st.asFact(m, Decision)})
}

// onCondition matches what holds only if something else does. "Only if" is a rule.
var onCondition = expression(`(?:^|[^y] |[^l]y |[^n]ly )(?:if|wenn|falls)\b`)

// asFact is a sentence as a fact of some kind that no rule takes.
func (s *statement) asFact(m Message, k Kind) Fact {
	f := newFact(m, clause{text: s.text}, Fact{Kind: k, Rule: RuleLikely, Confidence: likelyConfidence, Text: s.quoted(k), Value: linked().ReplaceAllString(s.text, "")})
	if k == Decision {
		f.Instead = cmp.Or(insteadOf(s.text), s.replacedValue(s.text))
	}
	return f
}

// share is how much of what people say rules make facts of, apart from so many sentences.
func (h *hearing) share(apart int) float64 {
	return float64(h.taken-apart+1) / float64(h.sentences+5)
}

// weighed are the remarks with the signs that only the whole session tells: where rules
// take much of what people say, more of the rest lasts than in a session of orders.
func (h *hearing) weighed() []Remark {
	for i := range h.remarks {
		r := &h.remarks[i]
		apart := 0
		if r.Taken {
			apart = 1
		}
		share := h.share(apart)
		for _, least := range []float64{0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4} {
			if share >= least {
				r.Signs = append(r.Signs, fmt.Sprintf("rules take >= %.2f", least))
			}
		}
	}
	return h.remarks
}

// likely are the facts that no rule takes.
func (h *hearing) likely() (made []Fact) {
	if h.taken == 0 || h.share(0) < leastShare {
		return nil
	}
	for _, r := range h.weighed() {
		chance := lastingWeights().chance(r.Signs)
		if chance < leastLikely {
			continue
		}
		kind, sure := kindBySigns(r.Signs)
		if chance*sure < leastLikelyKind {
			continue
		}
		if r.said.barred(kind) {
			continue
		}
		f := r.said.asFact(Message{Role: session.RoleUser, Line: r.Fact.Line, Offset: r.Fact.Offset, End: r.Fact.End, Time: r.Fact.Time}, kind)
		if workObjection(f) == "" && !slices.ContainsFunc(h.found, f.repeats) {
			made = append(made, f)
		}
	}
	return made
}

// barred tells what a sentence that no rule takes is not, for a reason that the rules
// have too: an answer to what there is chooses nothing, a day of every week or of the
// past has nothing due, what some or nobody do is no rule.
func (s *statement) barred(k Kind) bool {
	switch k {
	case Decision:
		return asksWhatIs(s.last) || asksNothing().MatchString(s.last)
	case Preference:
		main := s.mainClause()
		return ofSome().MatchString(s.lower) || ofNobody().MatchString(main) && !nobodyDoes(main)
	case Deadline:
		text := withoutPaths(s.lower)
		named := dayOfMonth().MatchString(text) || dayOfWeek().MatchString(text) || s.has("tomorrow")
		return !named || toldBy().MatchString(text) || undated().MatchString(s.lower) || s.restricts(s.lower) || s.datesPast() || happenedElsewhere().MatchString(s.lower) || weekly().MatchString(s.lower) || recurring().MatchString(s.lower)
	}
	return false
}

// ofSome matches what is so of some only, and a turn of speech.
var ofSome = expression(`^(?:some|many|most|several) |\bnot only\b`)

// ordersOnce tells what is to be done at once, by the agent or by who says it.
func (s *statement) ordersOnce() bool {
	at := slices.IndexFunc(s.words, func(w string) bool { return !linking(w) && !agreeing(w) })
	return at >= 0 && taskVerb(s.words[at]) || letMe().MatchString(s.lower)
}

var letMe = expression(`\blet me\b`)

// wordy tells whether a sentence has a word that says something, or a number.
func (s *statement) wordy() bool {
	return slices.ContainsFunc(signWords(s.lower), ofContent)
}

// repeats tells whether another fact quotes the same words.
func (f Fact) repeats(other Fact) bool {
	a, b := spaced(f.Quote), spaced(other.Quote)
	return f.Line == other.Line && (strings.Contains(a, b) || strings.Contains(b, a))
}

// signWeights are how much each sign speaks for something; "" is there always.
type signWeights map[string]float64

// chance is how likely something is by its signs.
func (w signWeights) chance(all []string) float64 {
	sum := w[""]
	for _, s := range all {
		sum += w[s]
	}
	return 1 / (1 + math.Exp(-sum))
}

// kindBySigns is the kind that a sentence most likely has, and how likely it has it.
func kindBySigns(all []string) (kind Kind, chance float64) {
	for _, k := range likelyKinds() {
		if c := kindWeights()[k].chance(all); c > chance {
			kind, chance = k, c
		}
	}
	return kind, chance
}

// likelyKinds are the kinds that are told apart by their signs.
func likelyKinds() []Kind {
	return []Kind{Decision, Preference, Environment, Contact, Deadline, Background, Project, Pattern}
}
