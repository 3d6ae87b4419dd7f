// Command summaries measures what a summary and the facts of a session hold of
// what one needs in order to go on.
//
//	go run ./bench/recall/summaries            the table of docs/summaries.md
//	go run ./bench/recall/summaries -facts     the table of docs/facts.md
//	go run ./bench/recall/summaries -v NAME    one session, every statement judged
//	go run ./bench/recall/summaries -write DIR the logs, as their runtimes write them
//
// The sessions are scripts in sessions/, written by us; the program writes them
// in the format of their runtime and reads them as sessctl does. What is to be
// found was written down with the script, before any summary of it was looked at:
// ten facts that one needs in order to go on, the durable facts, and for every
// sentence what it is worth at the end (see script.go and judge.go).
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/facts"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/claude"
	"github.com/sessctl/sessctl/pkg/session/codex"
	"github.com/sessctl/sessctl/pkg/session/gemini"
	"github.com/sessctl/sessctl/pkg/session/openclaw"
	"github.com/sessctl/sessctl/pkg/session/pi"
	"github.com/sessctl/sessctl/pkg/summarize"
)

func main() {
	factual := flag.Bool("facts", false, "measure extract-facts")
	verbose := flag.String("v", "", "show every statement of this `session`, judged")
	directory := flag.String("write", "", "write the logs into this `directory`")
	flag.Parse()
	var out bytes.Buffer
	err := run(context.Background(), &out, *factual, *verbose, *directory)
	if err == nil {
		_, err = out.WriteTo(os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out *bytes.Buffer, factual bool, verbose, directory string) error {
	all, err := load()
	if err != nil {
		return err
	}
	switch {
	case directory != "":
		return writeLogs(all, directory)
	case factual:
		return printFacts(ctx, out, all, verbose)
	}
	return printSummaries(ctx, out, all, verbose)
}

// writeLogs writes each session as the file that its runtime would write.
func writeLogs(all []*script, directory string) error {
	for _, s := range all {
		log, err := s.log()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(directory, s.name+".jsonl"), log, 0o600); err != nil {
			return fmt.Errorf("write a log: %w", err)
		}
	}
	return nil
}

// scan reads the log of a session as sessctl does.
func (s *script) scan(ctx context.Context, emit func(*session.Message) error) error {
	log, err := s.log()
	if err != nil {
		return err
	}
	if _, err := s.store().Scan(ctx, bytes.NewReader(log), session.ScanOptions{}, emit); err != nil {
		return fmt.Errorf("read %s: %w", s.name, err)
	}
	return nil
}

func (s *script) store() session.Store {
	switch s.runtime {
	case "claude":
		return claude.Open(".")
	case "codex":
		return codex.Open(".")
	case "gemini":
		return gemini.Open(".")
	case "openclaw":
		return openclaw.Open(".", openclaw.Options{})
	}
	return pi.Open(".")
}

// summary is the extractive summary of a session.
func (s *script) summary(ctx context.Context, checkpoint bool) (string, error) {
	e := summarize.NewExtractive(summarize.Options{Checkpoint: checkpoint})
	err := s.scan(ctx, e.Add)
	return e.Summary().Text, err
}

// tally adds up what several sessions held.
type tally struct{ facts, held, statements, wrong, noise int }

func (t *tally) add(j judged) {
	t.facts += len(j.facts)
	t.held += j.held
	t.statements += len(j.statements)
	t.wrong += j.wrong
	t.noise += j.noise
}

func (t tally) row() string {
	return fmt.Sprintf("%d of %d | %d | %.3f | %.3f", t.held, t.facts, t.statements, share(t.wrong, t.statements), share(t.noise, t.statements))
}

func share(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// forms are the two shapes of a summary.
func forms() []struct {
	name       string
	checkpoint bool
} {
	return []struct {
		name       string
		checkpoint bool
	}{{"plain", false}, {"checkpoint", true}}
}

func printSummaries(ctx context.Context, out *bytes.Buffer, all []*script, verbose string) error {
	fmt.Fprintln(out, "| session | form | held | statements | wrong or stale | noise |\n|---|---|---|---|---|---|")
	for _, form := range forms() {
		sums := map[bool]*tally{false: {}, true: {}}
		for _, s := range all {
			text, err := s.summary(ctx, form.checkpoint)
			if err != nil {
				return err
			}
			j := s.judge(text)
			sums[s.held].add(j)
			var one tally
			one.add(j)
			if verbose == "" || verbose == s.name {
				fmt.Fprintf(out, "| %s%s | %s | %s |\n", s.name, map[bool]string{true: " (held back)"}[s.held], form.name, one.row())
			}
			if verbose == s.name {
				s.explain(out, j)
			}
		}
		if verbose == "" {
			fmt.Fprintf(out, "| **six sessions** | %s | %s |\n| **two held back** | %s | %s |\n", form.name, sums[false].row(), form.name, sums[true].row())
		}
	}
	return nil
}

// explain prints every judgement of one session.
func (s *script) explain(out *bytes.Buffer, j judged) {
	for i, w := range s.facts {
		fmt.Fprintf(out, "  %-5v %s\n", j.facts[i], w.fact)
	}
	for i, st := range j.statements {
		fmt.Fprintf(out, "  %-5s [%s] %s (line %d)\n", j.verdicts[i], st.heading, st.text, st.line)
	}
}

// extracted is what extract-facts makes of a session, compared with its labels.
type extracted struct {
	made, right     int
	wanted, reached int
	wrong           []facts.Fact
	missed          []label
}

// extract compares the facts that the rules find with the labels.
func (s *script) extract(ctx context.Context) (extracted, error) {
	window := facts.NewWindow(0)
	if err := s.scan(ctx, window.Add); err != nil {
		return extracted{}, err
	}
	made, _ := facts.Offline(window.Messages(), facts.DefaultConfidence)
	x := extracted{made: len(made)}
	reached := make([]bool, len(s.labels))
	for _, f := range made {
		ok := false
		for i, l := range s.labels {
			if l.fits(f, s) {
				ok, reached[i] = true, true
			}
		}
		if ok {
			x.right++
		} else {
			x.wrong = append(x.wrong, f)
		}
	}
	for i, l := range s.labels {
		switch {
		case l.optional:
		case reached[i]:
			x.wanted, x.reached = x.wanted+1, x.reached+1
		default:
			x.wanted++
			x.missed = append(x.missed, l)
		}
	}
	return x, nil
}

// fits tells whether a fact is the labelled one: of one of its kinds, with its
// words, from its line.
func (l label) fits(f facts.Fact, s *script) bool {
	lacks := func(word string) bool { return !strings.Contains(strings.ToLower(f.Text), strings.ToLower(word)) }
	return slices.Contains(l.kinds, string(f.Kind)) && !slices.ContainsFunc(l.has, lacks) && slices.Contains(s.linesOf(l), f.Line)
}

// linesOf are the lines of the records that have the words of a label.
func (s *script) linesOf(l label) []int {
	var all []int
	for _, e := range s.events {
		if len(e.pieces) > 0 && strings.Contains(strings.ToLower(e.text()), strings.ToLower(l.at)) {
			all = append(all, e.line)
		}
	}
	return all
}

// laterHalf are the sessions whose facts were not looked at while rules were
// made: every second one by name, and those that are held back anyway.
func laterHalf(s *script) bool {
	return s.held || s.name == "churn" || s.name == "vitest"
}

func printFacts(ctx context.Context, out *bytes.Buffer, all []*script, verbose string) error {
	fmt.Fprintln(out, "| session | facts made | right | to be found | found | precision | recall |\n|---|---|---|---|---|---|---|")
	sums := map[bool]*extracted{false: {}, true: {}}
	for _, s := range all {
		x, err := s.extract(ctx)
		if err != nil {
			return err
		}
		sums[laterHalf(s)].plus(x)
		if verbose == "" || verbose == s.name {
			fmt.Fprintf(out, "| %s%s | %s |\n", s.name, map[bool]string{true: " (held back)"}[laterHalf(s)], x.row())
		}
		if verbose == s.name {
			for _, f := range x.wrong {
				fmt.Fprintf(out, "  wrong  line %d %s %.2f %s\n", f.Line, f.Kind, f.Confidence, f.Text)
			}
			for _, l := range x.missed {
				fmt.Fprintf(out, "  missed %v %v at %q\n", l.kinds, l.has, l.at)
			}
		}
	}
	if verbose == "" {
		fmt.Fprintf(out, "| **four sessions** | %s |\n| **four held back** | %s |\n", sums[false].row(), sums[true].row())
	}
	return nil
}

// plus adds the counts of another session.
func (x *extracted) plus(o extracted) {
	x.made, x.right, x.wanted, x.reached = x.made+o.made, x.right+o.right, x.wanted+o.wanted, x.reached+o.reached
}

func (x extracted) row() string {
	return fmt.Sprintf("%d | %d | %d | %d | %.3f | %.3f", x.made, x.right, x.wanted, x.reached, share(x.right, x.made), share(x.reached, x.wanted))
}
