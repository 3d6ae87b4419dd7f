package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/sessctl/sessctl/pkg/facts"
)

// printSections prints how right the plain form of the summaries is by section
// and by who says it, and every statement that is not right.
func printSections(ctx context.Context, out *bytes.Buffer, all []*script) error {
	sums := map[[2]string]*tally{}
	var keys [][2]string
	var bad bytes.Buffer
	for _, s := range all {
		j, err := s.judged(ctx, false)
		if err != nil {
			return err
		}
		for i, st := range j.statements {
			key := [2]string{st.heading, s.evidence(st)}
			if sums[key] == nil {
				sums[key], keys = &tally{}, append(keys, key)
			}
			sums[key].count(j.verdicts[i])
			if j.verdicts[i] != right {
				fmt.Fprintf(&bad, "%s %s [%s, %s] %s (line %d)\n", s.name, j.verdicts[i], st.heading, key[1], st.text, st.line)
			}
		}
	}
	slices.SortFunc(keys, func(a, b [2]string) int { return sums[b].statements - sums[a].statements })
	fmt.Fprintln(out, "| section | said by | statements | wrong or stale | noise |\n|---|---|---|---|---|")
	for _, key := range keys {
		t := sums[key]
		fmt.Fprintf(out, "| %s | %s | %d | %d | %d |\n", key[0], key[1], t.statements, t.wrong, t.noise)
	}
	fmt.Fprintln(out)
	_, err := bad.WriteTo(out)
	return err
}

// printRules prints of each rule of extract-facts and of each kind of fact how many
// facts were right, and every fact that was not.
func printRules(ctx context.Context, out *bytes.Buffer, all []*script) error {
	sums, bad := map[string]*extracted{}, bytes.Buffer{}
	count := func(f facts.Fact, right int) {
		for _, key := range []string{f.Rule, "**" + string(f.Kind) + "**"} {
			if sums[key] == nil {
				sums[key] = &extracted{}
			}
			sums[key].plus(extracted{made: 1, right: right})
		}
	}
	for _, s := range all {
		if s.factSet() == "" {
			continue
		}
		x, err := s.extract(ctx, byRules())
		if err != nil {
			return err
		}
		for _, f := range x.fit {
			count(f, 1)
		}
		for _, f := range x.wrong {
			count(f, 0)
			fmt.Fprintf(&bad, "%s (%s) line %d, %s: %s %s\n", s.name, s.factSet(), f.Line, f.Rule, f.Kind, f.Text)
		}
	}
	keys := slices.SortedFunc(maps.Keys(sums), func(a, b string) int {
		return cmp.Or(cmp.Compare(sums[b].made, sums[a].made), cmp.Compare(a, b))
	})
	fmt.Fprintln(out, "| rule or kind | facts made | right | precision |\n|---|---|---|---|")
	for _, key := range keys {
		x := sums[key]
		fmt.Fprintf(out, "| %s | %d | %d | %.2f |\n", key, x.made, x.right, share(x.right, x.made))
	}
	fmt.Fprintln(out)
	_, err := bad.WriteTo(out)
	return err
}

// count adds one statement.
func (t *tally) count(v verdict) {
	t.statements++
	switch v {
	case wrong:
		t.wrong++
	case noise:
		t.noise++
	}
}

// evidence is who says what a statement quotes.
func (s *script) evidence(st statement) string {
	e, _ := s.at(st.line)
	switch {
	case e == nil:
		return "nobody"
	case e.kind == said:
		return "person"
	case e.kind == called || isAction(st):
		return "call"
	}
	for i := range s.events {
		if &s.events[i] == e && i+1 < len(s.events) && s.events[i+1].kind == called {
			return "agent at work"
		}
	}
	return "agent's report"
}
