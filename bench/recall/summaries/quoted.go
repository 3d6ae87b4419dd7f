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
	noted, labelled, wanted, reached int // of what the second reader says is to be found, by the labels
	made, byLabels, byReader, either int // of the facts that are found
	readerReached                    int // of what the second reader says is to be found
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
	made := facts.Merge(found, nil, -1).Facts
	for _, q := range s.quoted {
		if q.optional {
			continue
		}
		a.noted++
		if slices.ContainsFunc(made, func(f facts.Fact) bool { return q.says(f, s) }) {
			a.readerReached++
		}
		hit, lines := false, s.linesOfQuoted(q)
		for i, l := range s.labels {
			if slices.ContainsFunc(lines, func(n int) bool { return l.says(facts.Fact{Text: q.text, Line: n}, s) }) {
				hit, reached[i] = true, true
			}
		}
		if hit {
			a.labelled++
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
	for _, f := range made {
		label := slices.ContainsFunc(s.labels, func(l label) bool { return l.says(f, s) })
		reader := slices.ContainsFunc(s.quoted, func(q quoted) bool { return q.says(f, s) })
		a.made, a.byLabels, a.byReader, a.either = a.made+1, a.byLabels+one(label), a.byReader+one(reader), a.either+one(label || reader)
	}
	return a, nil
}

func one(so bool) int {
	if so {
		return 1
	}
	return 0
}

func (a agreement) plus(b agreement) agreement {
	return agreement{
		a.noted + b.noted, a.labelled + b.labelled, a.wanted + b.wanted, a.reached + b.reached,
		a.made + b.made, a.byLabels + b.byLabels, a.byReader + b.byReader, a.either + b.either, a.readerReached + b.readerReached,
	}
}

func (a agreement) row(name string) string {
	return fmt.Sprintf("| %s | %.2f, %.2f | %.2f, %.2f | %.2f |\n", name, share(a.labelled, a.noted), share(a.reached, a.wanted), share(a.byReader, a.made), share(a.readerReached, a.noted), share(a.either, a.made))
}

// printAgreement prints how far two readers agree, set by set.
func printAgreement(ctx context.Context, out *bytes.Buffer, all []*script) error {
	sums, sum := map[string]agreement{}, agreement{}
	for _, s := range all {
		if len(s.labels) == 0 || len(s.quoted) == 0 {
			continue
		}
		a, err := s.agree(ctx)
		if err != nil {
			return err
		}
		sums[s.factSet()], sum = sums[s.factSet()].plus(a), sum.plus(a)
	}
	fmt.Fprintln(out, "| precision and recall, all kinds as one | the second reader, by the labels | facts found, by the second reader | right by the labels or the second reader |\n|---|---|---|---|")
	for _, name := range factSets() {
		if a, ok := sums[name]; ok {
			fmt.Fprint(out, a.row(name))
		}
	}
	fmt.Fprint(out, sum.row("all"))
	return nil
}
