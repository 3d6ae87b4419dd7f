package main

import "math"

// usage is what a model call cost. weight counts the characters that its
// context had gained since the phase began.
type usage struct {
	phase  int
	weight int
	output int // characters
	failed bool

	input, out, cacheRead, cacheWrite int
}

// phase is the growth of the context between two compactions, in tokens after
// the first and after the last call.
type phase struct{ from, to int }

// settleUsage spreads the tokens of each phase over its calls by the text
// that came in between.
func settleUsage(lines []line, phases []phase) {
	last := map[int]int{}
	for _, l := range lines {
		if l.usage != nil {
			last[l.usage.phase] = max(last[l.usage.phase], l.usage.weight)
		}
	}
	before := 0
	for _, l := range lines {
		u := l.usage
		if u == nil || u.failed {
			continue
		}
		p := phases[u.phase]
		share := float64(u.weight) / float64(max(last[u.phase], 1))
		total := p.from + int(math.Round(share*float64(p.to-p.from)))
		before = u.settle(total, before)
	}
}

// settle divides the tokens of a call; before is what the previous call left
// in the provider's cache.
func (u *usage) settle(total, before int) int {
	u.out = min(u.output/3+4, total/4)
	prompt := total - u.out
	u.input = 4
	u.cacheRead = min(before, prompt-u.input)
	u.cacheWrite = prompt - u.input - u.cacheRead
	return total
}

// MarshalJSON writes the usage in the order of the runtimes, with the costs
// of 3, 15, 0.3 and 3.75 dollars a million tokens.
func (u *usage) MarshalJSON() ([]byte, error) {
	cost := func(tokens int, dollars float64) float64 { return float64(tokens) * dollars / 1e6 }
	in, out, read, write := cost(u.input, 3), cost(u.out, 15), cost(u.cacheRead, 0.3), cost(u.cacheWrite, 3.75)
	return encode(newObject(
		"input", u.input, "output", u.out, "cacheRead", u.cacheRead, "cacheWrite", u.cacheWrite,
		"totalTokens", u.input+u.out+u.cacheRead+u.cacheWrite,
		"cost", newObject("input", in, "output", out, "cacheRead", read, "cacheWrite", write, "total", in+out+read+write),
	))
}
