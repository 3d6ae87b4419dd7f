package memory

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Numbers are rounded as math.Round does, also beside each half.
func TestRoundHalf(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := -2*largestNumber - 1; n <= 2*largestNumber+1; n++ {
		half := float64(n) / 2
		for _, x := range []float64{half, math.Nextafter(half, math.Inf(1)), math.Nextafter(half, math.Inf(-1)), half + r.Float64()/2} {
			if got, want := roundHalf(x), int(math.Round(x)); got != want {
				t.Errorf("%v was rounded to %d, want %d", x, got, want)
			}
		}
	}
}

func TestLargestTwo(t *testing.T) {
	for _, c := range []struct {
		unit   []float32
		at     int
		second float64
	}{
		{[]float32{0, 0}, 0, 0},
		{[]float32{-3, 1, 2}, 0, 2},
		{[]float32{1, 2, -3}, 2, 2},
		{[]float32{2, -2}, 0, 2},
		{[]float32{0, 0, -0.5, 0.25}, 2, 0.25},
	} {
		if at, second := largestTwo(c.unit); at != c.at || second != c.second {
			t.Errorf("of %v: %d and %v, want %d and %v", c.unit, at, second, c.at, c.second)
		}
	}
}
