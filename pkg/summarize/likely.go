package summarize

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// What became of a statement often stands in a message that shares only a word or two with
// it. Which message that is cannot be told for sure, so nothing of it is quoted: an item
// names the lines that are likeliest. How likely a line is comes from logistic regression,
// as the risk does (docs/dev/summaries.md, "The lines that most likely tell more").

// laterLine is the line of a later message, and how likely it tells what became of a
// statement: a sum of weights, of which the larger is the likelier.
type laterLine struct {
	line   int
	likely float64
}

// likelySigns are what speaks for or against it that a message tells what became of a
// statement, in the order of [likelyWeights].
type likelySigns [likelyCount]float64

// What is looked at.
const (
	likelyAlways = iota
	likelyMass   // how much the words say that it shares with the statement, [mostMass] at most
	likelyShare  // the share of the statement's words that these are
	likelyFar    // ln(1 + messages between)
	likelyNext   // 1: it is of the next [nextTurns] turns
	likelyCount
)

// mostMass is how much shared words count at most.
const mostMass = 3

// likelyWeights are how much each sign speaks for it.
func likelyWeights() likelySigns {
	return likelySigns{
		likelyAlways: -1.87,
		likelyMass:   0.71,
		likelyShare:  2.30,
		likelyFar:    -0.49,
		likelyNext:   1.24,
	}
}

// likelySigns looks at a message; the first one behind the statement is that at from, and
// mass is how much the words say that the message shares with it.
func (m *remarks) likelySigns(at, from int, mass float64, said *subject) likelySigns {
	t, before := &m.all[at], 0
	if from > 0 {
		before = m.all[from-1].people
	}
	return likelySigns{
		likelyAlways: 1,
		likelyMass:   min(mass, mostMass),
		likelyShare:  mass / max(said.mass, leastMass),
		likelyFar:    math.Log1p(float64(at - from)),
		likelyNext:   indicator(t.people-before <= nextTurns),
	}
}

// likely is the sum of the weights of some signs.
func (x *likelySigns) likely() (sum float64) {
	for i, weight := range likelyWeights() {
		sum += float64(weight * x[i])
	}
	return sum
}

// likeliest returns the lines that most likely tell what became of a statement, the
// likeliest first: [seenLines] and two more, which may be quoted. Each shares more than a
// month with it, and none only asks.
func (m *remarks) likeliest(line int, said *subject, masses []float64, wanted func(*remark) bool) []laterLine {
	likeliest := make([]laterLine, 0, seenLines+3)
	from, dated := m.firstAfter(line), slices.ContainsFunc(said.words, wordKey.month)
	for i := from; i < len(m.all); i++ {
		if masses[i] < nextMass || !wanted(&m.all[i]) {
			continue
		}
		x := m.likelySigns(i, from, masses[i], said)
		one := laterLine{m.all[i].line, x.likely()}
		at, _ := slices.BinarySearchFunc(likeliest, one, func(a, b laterLine) int { return cmp.Compare(b.likely, a.likely) })
		if at < seenLines+2 && !asksOnly(m.all[i].text) && (!dated || m.sharesMore(&m.all[i], said)) {
			likeliest = slices.Insert(likeliest, at, one)
			likeliest = likeliest[:min(len(likeliest), seenLines+2)]
		}
	}
	return likeliest
}

// see adds the numbers of the likeliest lines that are not quoted.
func (c *candidate) see(likeliest []laterLine) {
	seen := 0
	for _, later := range likeliest {
		if line := followedBy + strconv.Itoa(later.line); seen < seenLines && !strings.Contains(c.text, line+":") {
			c.text += line
			seen++
		}
	}
}

// seenLines is how many lines an item names at most beside those it quotes.
const seenLines = 2
