package main

import (
	"slices"
	"testing"

	"github.com/sessctl/sessctl/internal/tier"
	"github.com/sessctl/sessctl/pkg/facts"
)

// What a second reader noted is of a kind that there is, and stands in a record.
func TestQuoted(t *testing.T) {
	tier.SkipSmoke(t, "it looks for 3,813 sentences in 65 sessions")
	all, err := loadLabelled()
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, s := range all {
		if len(s.quoted) == 0 {
			continue
		}
		read++
		if err := s.scan(t.Context(), facts.NewWindow(0).Add); err != nil { // this numbers the lines
			t.Fatal(err)
		}
		for _, q := range s.quoted {
			if len(s.linesOfQuoted(q)) == 0 {
				t.Errorf("%s: nobody says %q", s.name, q.at)
			}
			for _, kind := range q.kinds {
				if !slices.Contains(facts.Kinds(), facts.Kind(kind)) {
					t.Errorf("%s: %q is no kind", s.name, kind)
				}
			}
		}
	}
	if read != 65 {
		t.Errorf("%d sessions have a second reader", read)
	}
}

// Two readers agree on most of what the facts of a session are: the labels can be
// found.
func TestReadersAgree(t *testing.T) {
	tier.SkipSmoke(t, "it looks for 1,910 facts in 18 sessions")
	all, err := loadLabelled()
	if err != nil {
		t.Fatal(err)
	}
	var sum agreement
	for _, s := range all {
		if len(s.labels) == 0 || len(s.quoted) == 0 {
			continue
		}
		a, err := s.agree(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		sum = sum.plus(a)
	}
	if share(sum.labelled, sum.noted) < 0.92 || share(sum.reached, sum.wanted) < 0.94 {
		t.Errorf("precision %.3f, recall %.3f", share(sum.labelled, sum.noted), share(sum.reached, sum.wanted))
	}
}
