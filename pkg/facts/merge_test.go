package facts

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sessctl/sessctl/pkg/session"
	"pgregory.net/rapid"
)

// fact is what a person states in a text, said at a time; of what is not stated
// outright, a preference with that text.
func fact(t *testing.T, text string, at int64) Fact {
	t.Helper()
	all, _ := Outright([]Message{{Role: session.RoleUser, Text: text, Line: 1, Time: at}}, 0)
	if len(all) == 0 {
		return Fact{Kind: Preference, Text: "The user said: " + text, Confidence: 0.9, Time: at, Line: 1}
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
		{"I prefer tabs over spaces", "I prefer tea over coffee", unrelated},
		{"My city is Oslo", "my city is Oslo.", repeats},
		{"My city is Oslo, Norway", "My city is Oslo", repeats},
		{"My city is Oslo", "My city is Bergen", corrects},
		{"My name is Anna", "My city is Anna", unrelated},
		{"my email is a@x.example", "my email is b@x.example", corrects},
		{"my email is a@x.example", "my work email is b@x.example", unrelated},
		{"We decided to use port 7443 for the importer", "We decided to use port 8443 for the importer", corrects},
		{"We decided to use port 7443 for the importer", "We decided to use port 7443 for the exporter", unrelated},
		{"Always push to main", "Never push to main", corrects},
		{"Remember that /srv/base/one is the base code of the billing importer", "Remember that /srv/base/two is the base code of the billing importer", corrects},
		{"Remember that the billing database of the importer is on db.acme.example", "Remember that the billing database of the importer is on db.other.example", unrelated},
		{"Nie wieder auf main pushen", "Nie wieder auf main pushen!", repeats},
		{"I'm allergic to nuts", "I'm allergic to penicillin", unrelated},
	} {
		if got := relate(fact(t, tt.said, 2), fact(t, tt.known, 1)); got != tt.want {
			t.Errorf("known %q, said %q: %d, want %d", tt.known, tt.said, got, tt.want)
		}
	}
}

// TestNewerSupersedes: whichever was extracted first.
func TestNewerSupersedes(t *testing.T) {
	oslo, bergen := fact(t, "My city is Oslo", 10), fact(t, "My city is Bergen", 20)
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
	back := fact(t, "My city is Oslo", 30)
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
	if m := Merge(all, known, 2); m.LeftOut != 1 || m.Repeated != 1 {
		t.Errorf("%d left out and %d repeated, want 1 of each", m.LeftOut, m.Repeated)
	}
}

// TestMergeTwice: what was merged once adds nothing when it comes again.
func TestMergeTwice(t *testing.T) {
	texts := []string{
		"My city is Oslo", "My city is Bergen", "I prefer tabs over spaces", "My name is Anna", "My name is Anna Berg",
		"We decided to use port 7443 for the importer", "We decided to use port 8443 for the importer", "Always push to main", "Never push to main",
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
