package main

import (
	"errors"
	"fmt"
	"math"
)

// example is something with signs that turned out one way or the other. The first sign
// is 1 of every one.
type example struct {
	signs  []float64
	yes    bool
	counts float64 // how much it counts beside others
}

// errSingular is why no weights can be found.
var errSingular = errors.New("a sign follows from the others, or is the same everywhere")

// regression are the weights by which the logistic function of the signs comes closest to
// how the examples turned out. The penalty is on the squares of the weights, as they are
// if all signs have the same spread, so that a sign that few examples have does not weigh
// much by chance; the first sign has none.
func regression(examples []example, penalty float64) ([]float64, error) {
	mean, spread := scales(examples)
	weights := make([]float64, len(mean))
	for range mostSteps {
		step, err := newtonStep(examples, mean, spread, weights, penalty)
		if err != nil {
			return nil, err
		}
		far := 0.0
		for i := range weights {
			weights[i] += step[i]
			far = max(far, math.Abs(step[i]))
		}
		if far < closeEnough {
			return unscaled(weights, mean, spread), nil
		}
	}
	return nil, fmt.Errorf("no weights after %d steps", mostSteps)
}

// Newton's method needs about eight steps.
const (
	mostSteps   = 50
	closeEnough = 1e-9
)

// scales are the mean of each sign and how far it spreads. The first sign stays as it is,
// and so does one that never changes.
func scales(examples []example) (mean, spread []float64) {
	mean, spread = make([]float64, len(examples[0].signs)), make([]float64, len(examples[0].signs))
	n := float64(len(examples))
	for _, x := range examples {
		for i, v := range x.signs {
			mean[i] += v / n
		}
	}
	for _, x := range examples {
		for i, v := range x.signs {
			spread[i] += (v - mean[i]) * (v - mean[i]) / n
		}
	}
	for i := range spread {
		if spread[i] = math.Sqrt(spread[i]); i == 0 || spread[i] == 0 {
			mean[i], spread[i] = 0, 1
		}
	}
	return mean, spread
}

// unscaled are weights for signs as they are, from those for signs of the same spread.
func unscaled(scaled, mean, spread []float64) []float64 {
	weights := make([]float64, len(scaled))
	for i := range scaled {
		weights[i] = scaled[i] / spread[i]
		if i > 0 {
			weights[0] -= weights[i] * mean[i]
		}
	}
	return weights
}

// newtonStep is what to add to the weights: where the slope of the penalised likelihood
// would be 0 if its curvature stayed the same.
func newtonStep(examples []example, mean, spread, weights []float64, penalty float64) ([]float64, error) {
	n := len(weights)
	slope, curve, x := make([]float64, n), make([][]float64, n), make([]float64, n)
	for i := range curve {
		curve[i] = make([]float64, n)
		if i > 0 {
			slope[i], curve[i][i] = -penalty*weights[i], penalty
		}
	}
	for _, one := range examples {
		for i, v := range one.signs {
			x[i] = (v - mean[i]) / spread[i]
		}
		p := chance(weights, x)
		for i := range x {
			slope[i] += one.counts * (truth(one.yes) - p) * x[i]
			for j := range x {
				curve[i][j] += one.counts * p * (1 - p) * x[i] * x[j]
			}
		}
	}
	return solved(curve, slope)
}

// chance is how likely some signs are to turn out yes.
func chance(weights, signs []float64) float64 {
	sum := 0.0
	for i, w := range weights {
		sum += w * signs[i]
	}
	return 1 / (1 + math.Exp(-sum))
}

// truth is 1 for true, and 0 for false.
func truth(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// solved is the x of a·x = b, by elimination with the largest element first; it changes
// both.
func solved(a [][]float64, b []float64) ([]float64, error) {
	for i := range a {
		largest := i
		for j := i; j < len(a); j++ {
			if math.Abs(a[j][i]) > math.Abs(a[largest][i]) {
				largest = j
			}
		}
		if math.Abs(a[largest][i]) < 1e-12 {
			return nil, errSingular
		}
		a[i], a[largest], b[i], b[largest] = a[largest], a[i], b[largest], b[i]
		for j := i + 1; j < len(a); j++ {
			factor := a[j][i] / a[i][i]
			for k := i; k < len(a); k++ {
				a[j][k] -= factor * a[i][k]
			}
			b[j] -= factor * b[i]
		}
	}
	for i := len(a) - 1; i >= 0; i-- {
		for k := i + 1; k < len(a); k++ {
			b[i] -= a[i][k] * b[k]
		}
		b[i] /= a[i][i]
	}
	return b, nil
}
