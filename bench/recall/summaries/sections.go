package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
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
