package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"unicode"

	"github.com/sessctl/sessctl/pkg/facts"
)

// quoted is a fact as a second reader noted it: with the sentences that say it
// (facts/README.md).
type quoted struct {
	kinds    []string
	text     string
	at       string // words of the record
	optional bool
}

// loadQuoted reads what a second reader noted of a session.
func (s *script) loadQuoted() error {
	raw, err := fs.ReadFile(scripts, "facts/"+s.name+".quoted")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for line := range strings.Lines(string(raw)) {
		parts := strings.Split(strings.TrimSpace(line), " | ")
		if len(parts) < 2 || len(parts) > 3 {
			return fmt.Errorf("facts/%s.quoted: %q is not kinds, sentences and words of the record", s.name, line)
		}
		kinds, optional := strings.CutPrefix(parts[0], "?")
		q := quoted{kinds: strings.Split(kinds, "|"), text: parts[1], at: parts[1], optional: optional}
		if len(parts) == 3 {
			q.at = parts[2]
		}
		s.quoted = append(s.quoted, q)
	}
	return err
}

// wordsOf are the words of a text, each between spaces.
func wordsOf(text string) string {
	return " " + strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), " ") + " "
}

// linesOfQuoted are the lines of the records that a fact of the second reader is from.
func (s *script) linesOfQuoted(q quoted) (all []int) {
	at := wordsOf(q.at)
	for _, e := range s.events {
		text := e.text()
		if e.kind == called {
			text = e.target + "\n" + strings.Join(e.output, "\n")
		}
		if !strings.Contains(wordsOf(text), at) {
			continue
		}
		if all = append(all, e.line); e.kind == called {
			all = append(all, e.result)
		}
	}
	return all
}

// says tells whether a fact has the words of the second reader's, or some of them,
// from its line, whatever its kind.
func (q quoted) says(f facts.Fact, s *script) bool {
	mine, theirs := wordsOf(f.Quote), wordsOf(q.text)
	return (strings.Contains(theirs, mine) || strings.Contains(mine, theirs)) && slices.Contains(s.linesOfQuoted(q), f.Line)
}

// agreement is how far two readers of the same sessions agree, and what the facts
// that are found are by each.
type agreement struct {
	noted, first, wanted, reached int // of the second reader's facts, by the first one's labels
	made, byFirst, byEither       int // of the facts that are found
}

// agree compares the second reader with the labels, all kinds as one.
func (s *script) agree(ctx context.Context) (agreement, error) {
	window := facts.NewWindow(0)
	if err := s.scan(ctx, window.Add); err != nil {
		return agreement{}, err
	}
	found, _ := facts.Offline(window.Messages(), facts.DefaultConfidence)
	var a agreement
	reached := make([]bool, len(s.labels))
	for _, q := range s.quoted {
		a.noted++
		hit, lines := false, s.linesOfQuoted(q)
		for i, l := range s.labels {
			if slices.ContainsFunc(lines, func(n int) bool { return l.says(facts.Fact{Text: q.text, Line: n}, s) }) {
				hit, reached[i] = true, true
			}
		}
		if hit {
			a.first++
		}
	}
	for i, l := range s.labels {
		if !l.optional {
			a.wanted++
		}
		if !l.optional && reached[i] {
			a.reached++
		}
	}
	for _, f := range facts.Merge(found, nil, -1).Facts {
		a.made++
		first := slices.ContainsFunc(s.labels, func(l label) bool { return l.says(f, s) })
		if first {
			a.byFirst++
		}
		if first || slices.ContainsFunc(s.quoted, func(q quoted) bool { return q.says(f, s) }) {
			a.byEither++
		}
	}
	return a, nil
}

// printAgreement prints how far two readers agree, set by set.
func printAgreement(ctx context.Context, out *bytes.Buffer, all []*script) error {
	sums := map[string]agreement{}
	for _, s := range all {
		if len(s.labels) == 0 || len(s.quoted) == 0 {
			continue
		}
		a, err := s.agree(ctx)
		if err != nil {
			return err
		}
		b := sums[s.factSet()]
		sums[s.factSet()] = agreement{a.noted + b.noted, a.first + b.first, a.wanted + b.wanted, a.reached + b.reached, a.made + b.made, a.byFirst + b.byFirst, a.byEither + b.byEither}
	}
	fmt.Fprintln(out, "| all kinds as one | the second reader by the labels: precision | recall | facts found: right by the labels | by either |\n|---|---|---|---|---|")
	for _, name := range factSets() {
		if a, ok := sums[name]; ok {
			fmt.Fprintf(out, "| %s | %.3f | %.3f | %.3f | %.3f |\n", name, share(a.first, a.noted), share(a.reached, a.wanted), share(a.byFirst, a.made), share(a.byEither, a.made))
		}
	}
	return nil
}
