package main

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// drawn are examples whose signs turn out by known weights.
func drawn(n int, known []float64) (all []example) {
	random := rand.New(rand.NewPCG(1, 2))
	for range n {
		x := []float64{1, 3 + 2*random.NormFloat64(), truth(random.Float64() < 0.2)}
		all = append(all, example{x, random.Float64() < chance(known, x), 1})
	}
	return all
}

// The weights by which examples were drawn are found again, and a penalty draws them to 0.
func TestRegression(t *testing.T) {
	known := []float64{-1.5, 0.6, -0.9}
	all := drawn(40000, known)
	free, err := regression(all, 0)
	if err != nil {
		t.Fatal(err)
	}
	drawnIn, err := regression(all, 5000)
	if err != nil {
		t.Fatal(err)
	}
	for i := range known {
		if math.Abs(free[i]-known[i]) > 0.07 {
			t.Errorf("weight %d is %.3f, not %.3f", i, free[i], known[i])
		}
		if i > 0 && math.Abs(drawnIn[i]) >= math.Abs(free[i]) {
			t.Errorf("weight %d is %.3f with a penalty, %.3f without", i, drawnIn[i], free[i])
		}
	}
}

// One sign that is there or not has weights that can be written down: with 1 of 4 that
// turn out yes without it, and 3 of 4 with it, they are -ln 3 and 2 ln 3. An example that
// counts twice is two.
func TestRegressionByHand(t *testing.T) {
	var all []example
	for _, sign := range []float64{0, 1} {
		all = append(all, example{[]float64{1, sign}, sign == 0, 1}, example{[]float64{1, sign}, sign == 1, 2}, example{[]float64{1, sign}, sign == 1, 1})
	}
	got, err := regression(all, 0)
	if want := []float64{-math.Log(3), 2 * math.Log(3)}; err != nil || math.Abs(got[0]-want[0]) > 1e-6 || math.Abs(got[1]-want[1]) > 1e-6 {
		t.Errorf("%v (%v), not %v", got, err, want)
	}
}

// Signs that say the same have no weights of their own without a penalty.
func TestRegressionOfSame(t *testing.T) {
	all := []example{{[]float64{1, 0, 0}, true, 1}, {[]float64{1, 1, 1}, false, 1}, {[]float64{1, 0, 0}, false, 1}}
	if _, err := regression(all, 0); !errors.Is(err, errSingular) {
		t.Errorf("the error is %v", err)
	}
	if w, err := regression(all, 1); err != nil || math.Abs(w[1]-w[2]) > 1e-9 {
		t.Errorf("%v (%v): two of the same weigh the same", w, err)
	}
}

// Of two pairs that differ one is in order; the equal one counts half.
func TestRanked(t *testing.T) {
	all := []outcome{{0.9, true}, {0.5, false}, {0.5, true}, {0.7, false}}
	if got := ranked(all); got != 2.5/4 {
		t.Errorf("%f, not %f", got, 2.5/4)
	}
	if got := logLoss([]outcome{{0.5, true}, {0.5, false}}); math.Abs(got-math.Ln2) > 1e-12 {
		t.Errorf("two tosses of a coin cost %f", got)
	}
}
