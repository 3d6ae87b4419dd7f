package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/facts"
)

// remark is a sentence of a person with what is known of it.
type remark struct {
	facts.Remark
	author string
	likely float64 // that it says something that lasts: 0 or 1
	counts float64
	kinds  []string
}

// What the weights of pkg/facts are learned with. They were chosen with the authors left
// out in turn (docs/fact-quality.md).
const (
	lastingPenalty = 3
	kindPenalty    = 5
)

// unread are the sets that nobody has looked at, and that nothing is learned from.
func unread() []string {
	return []string{"fresh, fifteenth", "fresh, sixteenth", "fresh, seventeenth"}
}

// author is who wrote a session, by the set in which they did.
func (s *script) author() string {
	set := s.factSet()
	if len(s.labels) == 0 {
		set = s.set
	}
	switch {
	case set == "fresh four" || set == "fresh five":
		return "fresh four and five"
	case slices.Contains(byOthers(), set) || set == "fresh six" || set == "fresh seven":
		return set
	}
	return firstAuthor
}

const firstAuthor = "the first author"

// remarksOf are the sentences of people in a session, with what their labels say, or a
// second reader where it has none.
func (s *script) remarksOf(ctx context.Context) ([]remark, error) {
	window := facts.NewWindow(0)
	if err := s.scan(ctx, window.Add); err != nil {
		return nil, err
	}
	var all []remark
	for _, r := range facts.Remarks(window.Messages()) {
		x := remark{Remark: r, author: s.author(), counts: 1}
		for _, l := range s.labels {
			if l.says(r.Fact, s) {
				x.likely = 1
				x.kinds = append(x.kinds, l.kinds...)
			}
		}
		for _, q := range s.quoted {
			if len(s.labels) == 0 && q.says(r.Fact, s) {
				x.likely = 1
				x.kinds = append(x.kinds, q.kinds...)
			}
		}
		if x.author == firstAuthor {
			x.counts *= ofFirstAuthor
		}
		all = append(all, x)
	}
	return all, nil
}

// factWeights are what pkg/facts knows sentences by.
type factWeights struct {
	lasting sparseWeights
	kinds   map[string]sparseWeights
}

// learnFacts learns the weights from sentences.
func learnFacts(from []remark) factWeights {
	w := factWeights{kinds: map[string]sparseWeights{}}
	var all, labelled []worded
	for _, r := range from {
		all = append(all, worded{r.author, r.Signs, r.likely, r.counts})
	}
	w.lasting = rounded(sparse(all, lastingPenalty))
	for _, kind := range facts.Kinds() {
		labelled = nil
		for _, r := range from {
			if len(r.kinds) > 0 {
				labelled = append(labelled, worded{r.author, signsOfKind(r.Signs), truth(slices.Contains(r.kinds, string(kind))), r.counts})
			}
		}
		w.kinds[string(kind)] = rounded(sparse(labelled, kindPenalty))
	}
	return w
}

// signsOfKind are the signs without those of the session: they tell of no kind.
func signsOfKind(signs []string) []string {
	return slices.DeleteFunc(slices.Clone(signs), func(s string) bool { return strings.HasPrefix(s, "rules take") })
}

// leastWeight is what a sign weighs that is worth a line of the table.
const leastWeight = 0.05

// rounded are weights with two decimals, without those that hardly weigh anything.
func rounded(w sparseWeights) sparseWeights {
	kept := sparseWeights{}
	for name, weight := range w {
		if weight = math.Round(weight*100) / 100; math.Abs(weight) >= leastWeight || name == "" {
			kept[name] = weight
		}
	}
	return kept
}

// knownRemarks are the sentences of all sessions that may be learned from.
func knownRemarks(ctx context.Context, all []*script) ([]remark, error) {
	var known []remark
	for _, s := range all {
		if slices.Contains(unread(), s.set) {
			continue
		}
		more, err := s.remarksOf(ctx)
		if err != nil {
			return nil, err
		}
		known = append(known, more...)
	}
	return known, nil
}

// printFactWeights prints pkg/facts/weights.go as the sessions make it.
func printFactWeights(ctx context.Context, out *bytes.Buffer, all []*script) error {
	known, err := knownRemarks(ctx, all)
	if err != nil {
		return err
	}
	learnFacts(known).print(out)
	return nil
}

func (w factWeights) print(out *bytes.Buffer) {
	fmt.Fprint(out, "package facts\n\nimport \"sync\"\n\n// The weights are as `go run ./recall/summaries -facts -learn` prints them\n// (docs/fact-quality.md).\n\n// lastingWeights are how much each sign speaks for it that a sentence says something\n// that lasts.\nvar lastingWeights = sync.OnceValue(func() signWeights {\n\treturn signWeights{\n")
	w.lasting.print(out, "\t\t")
	fmt.Fprint(out, "\t}\n})\n\n// kindWeights are how much each sign speaks for each kind.\nvar kindWeights = sync.OnceValue(func() map[Kind]signWeights {\n\treturn map[Kind]signWeights{\n")
	for _, kind := range facts.Kinds() {
		name := string(kind)
		fmt.Fprintf(out, "\t\t%s: {\n", strings.ToUpper(name[:1])+name[1:])
		w.kinds[name].print(out, "\t\t\t")
		fmt.Fprint(out, "\t\t},\n")
	}
	fmt.Fprint(out, "\t}\n})\n")
}

// print prints weights as Go has them.
func (w sparseWeights) print(out *bytes.Buffer, indent string) {
	widest := 0
	for name := range w {
		widest = max(widest, len(fmt.Sprintf("%q", name)))
	}
	for _, name := range slices.Sorted(maps.Keys(w)) {
		fmt.Fprintf(out, "%s%-*s %.2f,\n", indent, widest+1, fmt.Sprintf("%q:", name), w[name])
	}
}
