package main

import (
	"math"
	"slices"
)

// worded is something with signs that have names, which turned out one way or the other.
type worded struct {
	author string
	signs  []string
	yes    float64 // 1 or 0
	counts float64 // how much it counts beside others
}

// sparseWeights are the weights of the signs that are worth one, by logistic regression
// with a penalty on the size of the weights: most become 0, so the table can be read. ""
// is there always.
type sparseWeights map[string]float64

// What a sign needs to get a weight: by chance it may go with one author.
const (
	leastTimes   = 20
	leastAuthors = 6
)

// common are the signs that enough of the examples of enough authors have, in order.
func common(from []worded) []string {
	times, authors := map[string]int{}, map[string]map[string]bool{}
	for _, x := range from {
		for _, s := range x.signs {
			if authors[s] == nil {
				authors[s] = map[string]bool{}
			}
			times[s]++
			authors[s][x.author] = true
		}
	}
	var kept []string
	for s, n := range times {
		if n >= leastTimes && len(authors[s]) >= leastAuthors {
			kept = append(kept, s)
		}
	}
	slices.Sort(kept)
	return kept
}

// descent finds weights one after the other, each where its own slope and the penalty
// balance, until none moves far.
type descent struct {
	from []worded
	sums []float64 // of the weights of each example
	has  [][]int   // the examples that have each sign
}

const (
	mostRounds = 200
	littleMove = 1e-4
	leastCurve = 0.05 // of an example: a smaller one makes steps too long
)

// sparse are the weights by which the examples are explained best, less the penalty.
func sparse(from []worded, penalty float64) sparseWeights {
	names := common(from)
	d := descent{from: from, sums: make([]float64, len(from)), has: make([][]int, len(names)+1)}
	for i, x := range from {
		d.has[0] = append(d.has[0], i)
		for _, s := range x.signs {
			if at, ok := slices.BinarySearch(names, s); ok {
				d.has[at+1] = append(d.has[at+1], i)
			}
		}
	}
	weights := make([]float64, len(d.has))
	for range mostRounds {
		far := 0.0
		for j := range weights {
			of := penalty
			if j == 0 { // what is always there has none
				of = 0
			}
			move := d.step(j, weights[j], of)
			weights[j] += move
			far = max(far, math.Abs(move))
		}
		if far < littleMove {
			break
		}
	}
	w := sparseWeights{"": weights[0]}
	for i, name := range names {
		if weights[i+1] != 0 {
			w[name] = weights[i+1]
		}
	}
	return w
}

// step moves one weight to where it is best if the others stay, and returns how far.
func (d *descent) step(j int, weight, penalty float64) float64 {
	slope, curve := -ridge*weight, ridge
	for _, i := range d.has[j] {
		p := 1 / (1 + math.Exp(-d.sums[i]))
		slope += d.from[i].counts * (d.from[i].yes - p)
		curve += d.from[i].counts * max(p*(1-p), leastCurve)
	}
	best := shrunk(slope+curve*weight, penalty) / curve
	for _, i := range d.has[j] {
		d.sums[i] += best - weight
	}
	return best - weight
}

// ridge is a small penalty on the squares, by which equal signs share their weight.
const ridge = 0.5

// shrunk is a number nearer to 0 by so much, and 0 if it is no farther than that.
func shrunk(x, by float64) float64 {
	return math.Copysign(max(math.Abs(x)-by, 0), x)
}
