package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/sessctl/sessctl/internal/tier"
)

// A sign that goes with what is so has a weight, one that chance put there has none.
func TestSparse(t *testing.T) {
	var from []worded
	for i := range 240 {
		x := worded{author: string(rune('a' + i%8)), counts: 1}
		if i%3 == 0 {
			x.signs, x.yes = append(x.signs, "tells"), 1
		}
		if i%2 == 0 {
			x.signs = append(x.signs, "chance")
		}
		if i%60 == 0 {
			x.signs = append(x.signs, "rare")
		}
		from = append(from, x)
	}
	w := sparse(from, 3)
	if w["tells"] < 1 || w["chance"] != 0 || w["rare"] != 0 {
		t.Errorf("weights %v", w)
	}
	if w[""] > -1 || w[""]+w["tells"] < 1.4 { // likely with it, and not without
		t.Errorf("weights %v", w)
	}
	if got := shrunk(-2, 0.5); got != -1.5 || math.Abs(shrunk(0.3, 0.5)) != 0 {
		t.Errorf("shrunk by 0.5: %v", got)
	}
}

// The table in pkg/facts is what the labels lead to.
func TestFactWeights(t *testing.T) {
	tier.SkipSmoke(t, "it learns from 113 sessions")
	all, err := loadLabelled()
	if err != nil {
		t.Fatal(err)
	}
	var made bytes.Buffer
	if err := printFactWeights(t.Context(), &made, all); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(filepath.Join("..", "..", "..", "pkg", "facts", "weights.go"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(made.Bytes(), kept) {
		t.Error("weights.go is not what go run ./recall/summaries -facts -learn prints")
	}
}
