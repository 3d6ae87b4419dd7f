package main

import (
	"math"
	"testing"

	"github.com/sessctl/sessctl/pkg/memory"
)

// The figures are those that the definitions give by hand.
func TestSessionScore(t *testing.T) {
	var s sessionScore
	s.add([]int{0})
	s.add([]int{6, -1})
	want := sessionScore{any1: 1, any5: 1, any10: 2, all5: 1, all10: 1, reciprocal: 1 + 1.0/7, questions: 2}
	want.gain10 = 1 + (1/math.Log2(8))/(1+1/math.Log2(3))
	if math.Abs(s.gain10-want.gain10) > 1e-12 {
		t.Errorf("gain %v, want %v", s.gain10, want.gain10)
	}
	if s.gain10 = want.gain10; s != want {
		t.Errorf("%+v, want %+v", s, want)
	}
}

// Sessions stand in the order of their first hits; a question may have several.
func TestPlacesOf(t *testing.T) {
	var hits []memory.Hit
	for _, n := range []int{4, 4, 1, 4, 2} {
		h := memory.Hit{}
		h.Session = sessionID(0, n)
		hits = append(hits, h)
	}
	got := placesOf(0, question{evidence: []place{{1, 3}, {2, 0}, {1, 5}, {9, 0}}}, hits)
	if len(got) != 3 || got[0] != 1 || got[1] != 2 || got[2] != -1 {
		t.Error(got)
	}
}
