package facts

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sessctl/sessctl/pkg/session"
	"pgregory.net/rapid"
)

// fact is what the rules make of a text, said at a time.
func fact(t *testing.T, text string, at int64) Fact {
	t.Helper()
	all, _ := explicit([]Message{{Role: session.RoleUser, Text: text, Line: 1, Time: at}})
	if len(all) != 1 {
		t.Fatalf("%q makes %d facts", text, len(all))
	}
	return all[0]
}

// TestRelate: what was said, and what was known before.
func TestRelate(t *testing.T) {
	for _, tt := range []struct {
		known, said string
		want        relation
	}{
		{"I prefer tabs over spaces", "I really prefer tabs over spaces.", repeats},
		{"I prefer tabs over spaces", "I prefer tabs over spaces in Go code", repeats},
		{"I prefer tabs over spaces", "I prefer spaces over tabs", corrects},
		{"I prefer tabs over spaces", "I prefer tea over coffee", unrelated},
		{"I live in Oslo", "I'm based in Oslo", repeats},
		{"I live in Oslo, Norway", "I live in Oslo", repeats},
		{"I live in Oslo", "I moved to Bergen", corrects},
		{"My name is Anna Berg", "I'm Anna", repeats},
		{"I'm German", "My name is Anna", unrelated},
		{"I'm German", "I'm Anna", unrelated},
		{"my email is a@x.example", "my email is b@x.example", corrects},
		{"my email is a@x.example", "my work email is b@x.example", unrelated},
		{"Bob's email is b@x.example", "Ann's email is b@x.example", unrelated},
		{"We decided to use port 7443 for the importer", "We decided to use port 8443 for the importer", corrects},
		{"We decided to use port 7443 for the importer", "We decided to use port 7443 for the exporter", unrelated},
		{"We decided to use port 7443 for the importer", "we agreed on port 7443 for the importer", repeats},
		{"We use Jenkins for builds", "We switched from Jenkins to GitHub Actions", corrects},
		{"I've been using Jenkins for 9 years", "We switched from Jenkins to GitHub Actions", unrelated},
		{"I work at Northwind", "I no longer work at Northwind", corrects},
		{"I've been writing Go for 12 years", "I no longer use Go", unrelated},
		{"Always push to main", "Never push to main", corrects},
		{"I usually deploy on Fridays", "I never deploy on Fridays", corrects},
		{"I'm allergic to nuts", "I'm allergic to penicillin", unrelated},
		{"My cat is called Tom", "My dog is called Tom", unrelated},
	} {
		if got := relate(fact(t, tt.said, 2), fact(t, tt.known, 1)); got != tt.want {
			t.Errorf("known %q, said %q: %d, want %d", tt.known, tt.said, got, tt.want)
		}
	}
}

// TestNewerSupersedes: whichever was extracted first.
func TestNewerSupersedes(t *testing.T) {
	oslo, bergen := fact(t, "I live in Oslo", 10), fact(t, "I live in Bergen", 20)
	m := Merge([]Fact{bergen}, []Known{{ID: "oslo", Fact: oslo}}, -1)
	if diff := cmp.Diff(map[string]int{"oslo": 0}, m.Over); diff != "" || len(m.Late) != 0 {
		t.Errorf("later: %s, %v", diff, m.Late)
	}
	m = Merge([]Fact{oslo}, []Known{{ID: "bergen", Fact: bergen}}, -1)
	if diff := cmp.Diff(map[int]Successor{0: {ID: "bergen"}}, m.Late); diff != "" || len(m.Over) != 0 {
		t.Errorf("earlier: %s, %v", diff, m.Over)
	}
	m = Merge([]Fact{oslo, bergen}, nil, -1)
	if diff := cmp.Diff(map[int]Successor{0: {Index: 1}}, m.Late); diff != "" {
		t.Errorf("together: %s", diff)
	}
	back := fact(t, "I live in Oslo", 30)
	m = Merge([]Fact{back}, []Known{{ID: "oslo", Fact: oslo, Superseded: true}, {ID: "bergen", Fact: bergen}}, -1)
	if diff := cmp.Diff(map[string]int{"bergen": 0}, m.Over); diff != "" || len(m.Facts) != 1 {
		t.Errorf("back again: %s, %v", diff, m.Facts)
	}
	m = Merge([]Fact{oslo}, []Known{{ID: "oslo", Fact: oslo, Superseded: true}, {ID: "bergen", Fact: bergen}}, -1)
	if len(m.Facts) != 0 || m.Repeated != 1 {
		t.Errorf("the old log again: %+v", m)
	}
}

// TestSurest: of many the surest are kept, and known ones do not take their
// places.
func TestSurest(t *testing.T) {
	all := []Fact{
		{Text: "one thing", Confidence: 0.9, Time: 1}, {Text: "second matter", Confidence: 0.7, Time: 2},
		{Text: "third item", Confidence: 0.9, Time: 3}, {Text: "fourth point", Confidence: 0.95, Time: 4},
	}
	texts := func(facts []Fact) (list []string) {
		for _, f := range facts {
			list = append(list, f.Text)
		}
		return list
	}
	if diff := cmp.Diff([]string{"third item", "fourth point"}, texts(Merge(all, nil, 2).Facts)); diff != "" {
		t.Error(diff)
	}
	known := []Known{{ID: "k", Fact: all[3]}}
	if diff := cmp.Diff([]string{"one thing", "third item"}, texts(Merge(all, known, 2).Facts)); diff != "" {
		t.Error(diff)
	}
	if n := len(Merge(all, nil, -1).Facts); n != 4 {
		t.Errorf("%d of 4 facts", n)
	}
}

// TestMergeTwice: what was merged once adds nothing when it comes again.
func TestMergeTwice(t *testing.T) {
	texts := []string{
		"I live in Oslo", "I live in Bergen", "I prefer tabs over spaces", "I prefer spaces over tabs", "My name is Anna", "My name is Anna Berg", "I'm Anna",
		"We decided to use port 7443 for the importer", "We decided to use port 8443 for the importer", "We use Jenkins for builds", "We switched from Jenkins to Drone",
		"Always push to main", "Never push to main", "I no longer work at Northwind", "I work at Northwind",
	}
	rapid.Check(t, func(rt *rapid.T) {
		var facts []Fact
		for i, text := range rapid.SliceOfN(rapid.SampledFrom(texts), 1, 12).Draw(rt, "texts") {
			facts = append(facts, fact(t, text, int64(i+1)))
		}
		m := Merge(facts, nil, -1)
		var known []Known
		for i, f := range m.Facts {
			_, over := m.Late[i]
			known = append(known, Known{ID: string(rune('a' + i)), Fact: f, Superseded: over})
		}
		if slices.ContainsFunc(known, func(k Known) bool { return !k.Superseded }) == false {
			rt.Fatalf("nothing is left of %v", facts)
		}
		if again := Merge(facts, known, -1); len(again.Facts) != 0 {
			rt.Fatalf("again: %+v", again.Facts)
		}
	})
}
