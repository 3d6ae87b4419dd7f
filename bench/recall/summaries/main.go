// Command summaries measures what a summary holds of what one needs in order to
// go on.
//
//	go run ./recall/summaries            the table of docs/dev/summaries.md
//	go run ./recall/summaries -v NAME    one session, every statement judged
//	go run ./recall/summaries -sections  how right each section is, by who says it,
//	                                           and every statement that is not
//	go run ./recall/summaries -set NAME  only the sessions of this set of the table
//	go run ./recall/summaries -write DIR the logs, as their runtimes write them
//	go run ./recall/summaries -next [DIR...]   how much of what was done next summaries
//	                                           have, in these sessions or in logs of
//	                                           yours: the table of docs/summaries.md
//
// The sessions are scripts in sessions/, written by us; the program writes them
// in the format of their runtime and reads them as sessctl does. What is to be
// found was written down with the script, before any summary of it was looked at:
// ten facts that one needs in order to go on, and for every
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

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/claude"
	"github.com/sessctl/sessctl/pkg/session/codex"
	"github.com/sessctl/sessctl/pkg/session/gemini"
	"github.com/sessctl/sessctl/pkg/session/openclaw"
	"github.com/sessctl/sessctl/pkg/session/pi"
	"github.com/sessctl/sessctl/pkg/summarize"
)

func main() {
	verbose := flag.String("v", "", "show every statement of this `session`, judged")
	sections := flag.Bool("sections", false, "measure each section, and show what is not right")
	set := flag.String("set", "", "only the sessions of this `set`")
	directory := flag.String("write", "", "write the logs into this `directory`")
	next := flag.Bool("next", false, "measure what was done next, also in the logs below some directories")
	flag.Parse()
	var out bytes.Buffer
	err := run(context.Background(), &out, options{*sections, *next, *verbose, *set, *directory, flag.Args()})
	if err == nil {
		_, err = out.WriteTo(os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// options are those of the command line.
type options struct {
	sections, next          bool
	verbose, set, directory string
	logs                    []string
}

func run(ctx context.Context, out *bytes.Buffer, o options) error {
	if o.next {
		return printNext(ctx, out, o.logs)
	}
	all, err := load()
	if err != nil {
		return err
	}
	if o.set != "" {
		all = slices.DeleteFunc(all, func(s *script) bool { return s.set != o.set })
	}
	switch {
	case o.directory != "":
		return writeLogs(all, o.directory)
	case o.sections:
		return printSections(ctx, out, all)
	}
	return printSummaries(ctx, out, all, o.verbose)
}

// printNext prints what texts have of what was done next.
func printNext(ctx context.Context, out *bytes.Buffer, directories []string) error {
	logs, err := writtenLogs(ctx)
	if len(directories) > 0 {
		logs, err = realLogs(ctx, directories)
	}
	if err != nil {
		return err
	}
	r, err := newRecaller(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(r.dir) }()
	t, err := compare(ctx, logs, r)
	if err == nil {
		t.print(out)
	}
	return err
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
		sums := map[string]*tally{}
		for _, s := range all {
			j, err := s.judged(ctx, form.checkpoint)
			if err != nil {
				return err
			}
			if sums[s.set] == nil {
				sums[s.set] = &tally{}
			}
			sums[s.set].add(j)
			var one tally
			one.add(j)
			if verbose == "" || verbose == s.name {
				fmt.Fprintf(out, "| %s (%s) | %s | %s |\n", s.name, s.set, form.name, one.row())
			}
			if verbose == s.name {
				s.explain(out, j)
			}
		}
		for _, name := range sets() {
			if sum := sums[name]; sum != nil && verbose == "" {
				fmt.Fprintf(out, "| **%s** | %s | %s |\n", name, form.name, sum.row())
			}
		}
	}
	return nil
}

// judged is the judgement of a session's extractive summary.
func (s *script) judged(ctx context.Context, checkpoint bool) (judged, error) {
	text, err := s.summary(ctx, checkpoint)
	if err != nil {
		return judged{}, err
	}
	return s.judge(text), nil
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
