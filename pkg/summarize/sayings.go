package summarize

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/summarize/state"
)

// Bounds of sayings, in code points.
const (
	leastSaying = 12
	leastTold   = 25 // of what says most
	mostSaying  = 240
	answerRunes = 160 // of an answer to a question
	laterRunes  = 110 // of a later word on the same
)

// rulesOf are the sentences by which people say what must always or never be, and what
// is to be remembered, newest first.
func rulesOf(events []event) (all []sentence) {
	for i, x := range slices.Backward(events) {
		if !x.says() {
			continue
		}
		for _, s := range sentencesOf(x.text) {
			if n := utf8.RuneCountInString(s); n < leastSaying || n > mostSaying || strings.HasSuffix(s, "?") || !sets(s) {
				continue
			}
			all = append(all, sentence{s, i})
		}
	}
	return all
}

// choicesOf are what people answered to a question that the agent ended with, newest
// first: each with its question, because an answer says little by itself.
func choicesOf(events []event) (all []sentence) {
	asked := ""
	for i, x := range events {
		switch x.by {
		case agent:
			asked = state.LastQuestion(x.text)
		case person:
			if asked != "" && x.says() && !strings.HasSuffix(strings.TrimSpace(x.text), "?") {
				text := state.Cut(x.text, answerRunes) + " (asked: " + state.Cut(redact(asked), answerRunes) + ")"
				all = append(all, sentence{text, i})
			}
			asked = ""
		}
	}
	slices.Reverse(all)
	return all
}

// sentencesOf are the sentences of what somebody said, without the marks of lists.
func sentencesOf(text string) (all []string) {
	for line := range strings.Lines(text) {
		line = unmarked(line)
		for from := 0; from < len(line); {
			begin, end := sentenceAround(line, from, len(line), from)
			if end <= from {
				break
			}
			if s := strings.TrimSpace(line[begin:end]); s != "" {
				all = append(all, s)
			}
			from = end
		}
	}
	return all
}

// sets tells whether a sentence sets a rule: by the words that the languages which
// facts are read in have for always and never, must and may not, and for remembering.
func sets(sentence string) bool {
	lower := " " + strings.ToLower(sentence) + " "
	return slices.ContainsFunc(ruleWords, func(w string) bool { return strings.Contains(lower, w) })
}

// ruleWords are words of rules, with the spaces that set them apart.
var ruleWords = []string{
	" always ", " never ", " must ", " must not ", " don't ever ", " do not ever ", " from now on ", " remember ", " make sure ", " no more than ", " at most ", " under no ", " should not ", " shouldn't ", " mustn't ", " not allowed ", " only use ", " prefer ", " please don't ", " i don't want ", " do not ", " avoid ",
	" immer ", " nie ", " niemals ", " darf ", " dürfen ", " muss ", " müssen ", " höchstens ", " ab jetzt ", " merk dir ", " bitte nicht ",
	" toujours ", " jamais ", " doit ", " ne pas ", " désormais ", " souviens-toi ", " au plus ",
	" siempre ", " nunca ", " debe ", " no debe ", " recuerda ", " a partir de ahora ", " como máximo ",
	" sempre ", " mai ", " deve ", " non deve ", " ricorda ", " d'ora in poi ", " al massimo ",
	" altijd ", " nooit ", " moet ", " mag niet ", " onthoud ", " vanaf nu ",
	" nunca ", " lembre ", " não deve ", " no máximo ",
	" всегда ", " никогда ", " нельзя ", " должен ", " должна ", " запомни ",
	"总是", "永远", "不要", "必须", "记住", "绝不", "必ず", "常に", "絶対", "しないで", "覚えて", "ないこと",
}

// later is the last sentence of a person on the same after an event, with its place: it
// may take back what the sentence says. "" for none. Two sentences are on the same if
// they share two words that few messages have, or one and both have a number.
func (e *Extractive) later(u *uses, s sentence) string {
	own := u.rare(s.text)
	for _, x := range slices.Backward(u.spoken) {
		if x.event <= s.event {
			break
		}
		if y := &e.events[x.event]; y.by != person || y.shown {
			continue
		}
		shared := 0
		for _, t := range x.rare {
			if slices.Contains(own, t) {
				shared++
			}
		}
		if shared >= 2 {
			return " → " + placeName(e.placeOf(x.event)) + ": " + state.Cut(redact(x.text), laterRunes)
		}
	}
	return ""
}

// people are what people said that says most: sentences with words, numbers and names
// that few messages have, of at most so many code points together. Later ones count a
// little more.
func (e *Extractive) people(u *uses, runes int, told string) (items []Item) {
	var all []quote
	for i := range e.events {
		if x := &e.events[i]; x.says() {
			for _, text := range sentencesOf(x.safe()) {
				if n := utf8.RuneCountInString(text); n >= leastTold && n <= mostSaying && !strings.HasSuffix(text, "?") && !strings.Contains(told, text) {
					all = append(all, quote{text, i, u.telling(text)})
				}
			}
		}
	}
	newest := float64(len(e.events))
	told2 := map[*use]bool{}
	gain := func(q quote) (sum float64) {
		for _, t := range q.terms {
			if !told2[t] {
				sum += u.rarity(t)
			}
		}
		return sum * (1 + float64(q.event)/newest) / float64(100+len(q.text))
	}
	r := room{runes}
	var chosen []quote
	for len(all) > 0 {
		best := 0
		for i := range all {
			if gain(all[i]) > gain(all[best]) {
				best = i
			}
		}
		q := all[best]
		all = slices.Delete(all, best, best+1)
		if gain(q) <= 0 {
			break
		}
		if !r.take(e.item(q.event, q.text)) {
			if r.left < leastMessage {
				break
			}
			continue
		}
		chosen = append(chosen, q)
		for _, t := range q.terms {
			told2[t] = true
		}
	}
	slices.SortStableFunc(chosen, func(a, b quote) int { return a.event - b.event })
	for _, q := range chosen {
		items = append(items, e.item(q.event, q.text+e.later(u, sentence{q.text, q.event})))
	}
	return items
}

// telling are the terms of a sentence, each once.
func (u *uses) telling(text string) (terms []*use) {
	r := termReader{yield: func(key []byte, _ class) {
		if t := u.byKey[string(key)]; t != nil && !slices.Contains(terms, t) {
			terms = append(terms, t)
		}
	}}
	r.read(text)
	return terms
}

// rarity is how much a term says whatever comes next: one that few events have says
// more.
func (u *uses) rarity(t *use) float64 {
	rare := math.Log1p(float64(u.events)/float64(t.events)) / math.Log1p(float64(u.events))
	if t.class == plainWord {
		return rare / 2
	}
	return rare
}

// placeOf is the place of an event.
func (e *Extractive) placeOf(event int) state.Place {
	place := e.events[event].place
	if e.seen.lastLine != 1 {
		place.Message = 0
	}
	return place
}

// at names the place of an event as the state does.
func (e *Extractive) at(event int) string { return e.placeOf(event).String() }
