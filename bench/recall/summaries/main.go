// Command summaries measures what a summary and the facts of a session hold of
// what one needs in order to go on.
//
//	go run ./recall/summaries            the table of docs/summary-quality.md
//	go run ./recall/summaries -facts     the table of docs/fact-quality.md
//	go run ./recall/summaries -facts -provider ollama -model M  the same with a model
//	go run ./recall/summaries -v NAME    one session, every statement judged
//	go run ./recall/summaries -sections  how right each section is, by who says it,
//	                                           and every statement that is not
//	go run ./recall/summaries -facts -sections  how right each rule and kind of fact is
//	go run ./recall/summaries -facts -agree  how far two readers agree what the facts are
//	go run ./recall/summaries -set NAME  only the sessions of this set of the table
//	go run ./recall/summaries -learn     the weights of the estimates in pkg/summarize, learned
//	                                           from the marks, and how good they are on
//	                                           sets that are left out
//	go run ./recall/summaries -learn -until NAME  the same from the sets up to this one
//	go run ./recall/summaries -facts -learn  pkg/facts/weights.go, learned from the labels
//	go run ./recall/summaries -write DIR the logs, as their runtimes write them
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
	"errors"
	"flag"
	"fmt"
	"math"
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
	sections := flag.Bool("sections", false, "measure each section, or each rule for facts, and show what is not right")
	set := flag.String("set", "", "only the sessions of this `set`")
	agree := flag.Bool("agree", false, "with -facts: how far two readers agree")
	learn := flag.Bool("learn", false, "learn the weights of the estimates, and measure them")
	until := flag.String("until", "", "only the sessions of the sets up to this `set`")
	directory := flag.String("write", "", "write the logs into this `directory`")
	var model summarize.Endpoint
	flag.StringVar(&model.Provider, "provider", "", "with -facts: also ask a model of this `provider`: ollama, openai, anthropic; its key is in SESSCTL_BENCH_KEY")
	flag.StringVar(&model.Model, "model", "", "the `model` to ask")
	flag.StringVar(&model.BaseURL, "url", "", "where the model is asked, if not at the provider's own `address`")
	flag.Parse()
	model.Key, model.Meter = os.Getenv("SESSCTL_BENCH_KEY"), summarize.NewMeter(math.MaxInt)
	var out bytes.Buffer
	err := run(context.Background(), &out, options{*factual, *sections, *agree, *learn, *verbose, *set, *until, *directory, model})
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
	factual, sections, agree, learn bool
	verbose, set, until, directory  string
	model                           summarize.Endpoint // without a provider none is asked
}

// extraction says how facts are extracted: by rules, and by the model if there is
// one.
func (o options) extraction() (facts.Options, error) {
	how := byRules()
	if o.model.Provider == "" {
		return how, nil
	}
	client, err := summarize.NewClient(o.model)
	if err != nil {
		return how, fmt.Errorf("-provider %s: %w", o.model.Provider, err)
	}
	how.Client = client
	return how, nil
}

// byRules extracts without a model.
func byRules() facts.Options { return facts.Options{Confidence: facts.DefaultConfidence} }

func run(ctx context.Context, out *bytes.Buffer, o options) error {
	if !o.factual && (o.agree || o.model.Provider != "") {
		return errors.New("-agree and -provider go with -facts")
	}
	read := load
	if o.factual || o.directory != "" {
		read = loadLabelled
	}
	all, err := read()
	if err != nil {
		return err
	}
	if o.set != "" {
		all = slices.DeleteFunc(all, func(s *script) bool { return s.set != o.set && s.factSet() != o.set })
	}
	if last := slices.Index(sets(), o.until); last >= 0 {
		all = slices.DeleteFunc(all, func(s *script) bool { return slices.Index(sets(), s.set) > last })
	} else if o.until != "" {
		return fmt.Errorf("no set is called %q", o.until)
	}
	switch {
	case o.agree && o.factual:
		return printAgreement(ctx, out, all)
	case o.learn && o.factual:
		return printFactWeights(ctx, out, all)
	case o.learn:
		return printLearned(ctx, out, all)
	case o.directory != "":
		return writeLogs(all, o.directory)
	case o.sections && o.factual:
		return printRules(ctx, out, all)
	case o.sections:
		return printSections(ctx, out, all)
	case o.factual:
		how, err := o.extraction()
		if err != nil {
			return err
		}
		return printFacts(ctx, out, all, how, o.verbose)
	}
	return printSummaries(ctx, out, all, o.verbose)
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

// extracted is what extract-facts makes of a session, compared with its labels.
type extracted struct {
	made, right     int
	wanted, reached int
	fit, wrong      []facts.Fact
	missed          []label
	misnamed        int              // of the wrong ones: labelled, under another kind
	saidAtAll       int              // of what was to be found: found under any kind
	bySource        map[string]reach // of what was to be found: who said it
}

// reach is how much of what was to be found was found.
type reach struct{ wanted, reached int }

// extract compares the facts that are found with the labels. An error is returned
// too if a model did not answer whole.
func (s *script) extract(ctx context.Context, how facts.Options) (extracted, error) {
	window := facts.NewWindow(0)
	if err := s.scan(ctx, window.Add); err != nil {
		return extracted{}, err
	}
	found, err := facts.Extract(ctx, window.Messages(), nil, how)
	if err == nil && found.Degraded {
		err = errors.New(found.Reason)
	}
	if err != nil {
		return extracted{}, fmt.Errorf("%s: %w", s.name, err)
	}
	made := facts.Merge(found.Facts, nil, -1).Facts
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
			x.fit = append(x.fit, f)
		} else {
			x.wrong = append(x.wrong, f)
			x.misnamed += s.misnamed(f)
		}
	}
	x.bySource = map[string]reach{}
	for i, l := range s.labels {
		if l.optional {
			continue
		}
		one := reach{wanted: 1}
		if reached[i] {
			one.reached = 1
		} else {
			x.missed = append(x.missed, l)
		}
		x.wanted, x.reached = x.wanted+1, x.reached+one.reached
		if slices.ContainsFunc(made, func(f facts.Fact) bool { return l.says(f, s) }) {
			x.saidAtAll++
		}
		x.from(s.sourceOf(l), one)
	}
	return x, nil
}

// misnamed is 1 of a fact that is labelled under another kind, else 0.
func (s *script) misnamed(f facts.Fact) int {
	if slices.ContainsFunc(s.labels, func(l label) bool { return l.says(f, s) }) {
		return 1
	}
	return 0
}

// from counts what was to be found of one source.
func (x *extracted) from(source string, r reach) {
	if x.bySource == nil {
		x.bySource = map[string]reach{}
	}
	sum := x.bySource[source]
	x.bySource[source] = reach{sum.wanted + r.wanted, sum.reached + r.reached}
}

// sourceOf tells who says what is labelled: a person, a call with its result, or
// the agent.
func (s *script) sourceOf(l label) string {
	lines := s.linesOf(l)
	for _, kind := range []eventKind{said, called, replied} {
		if slices.ContainsFunc(s.events, func(e event) bool { return e.kind == kind && slices.Contains(lines, e.line) }) {
			return [...]string{"a person", "the agent", "a call or its result"}[kind]
		}
	}
	return ""
}

// fits tells whether a fact is the labelled one: of one of its kinds, and saying
// the same.
func (l label) fits(f facts.Fact, s *script) bool {
	return slices.Contains(l.kinds, string(f.Kind)) && l.says(f, s)
}

// says tells whether a fact has the words of a label, from its line, whatever its
// kind. What a model writes in its own words is shown with its quotation.
func (l label) says(f facts.Fact, s *script) bool {
	text := strings.ToLower(f.Text)
	if f.Rule == "" {
		text += "\n" + strings.ToLower(f.Quote)
	}
	lacks := func(word string) bool { return !strings.Contains(text, strings.ToLower(word)) }
	return !slices.ContainsFunc(l.has, lacks) && slices.Contains(s.linesOf(l), f.Line)
}

// linesOf are the lines of the records that have the words of a label: what was
// said, and calls with their results.
func (s *script) linesOf(l label) []int {
	var all []int
	for _, e := range s.events {
		text := strings.ToLower(e.text())
		if e.kind == called {
			text = strings.ToLower(e.target + "\n" + strings.Join(e.output, "\n"))
		}
		if !slices.ContainsFunc(l.at, func(words string) bool { return strings.Contains(text, strings.ToLower(words)) }) {
			continue
		}
		if all = append(all, e.line); e.kind == called {
			all = append(all, e.result)
		}
	}
	return all
}

// factSet is the set of a session in the table of facts, where other sessions
// were not looked at while rules were made than for summaries; "" if it has no
// labels.
func (s *script) factSet() string {
	if len(s.labels) == 0 {
		return ""
	}
	switch s.name {
	case "churn", "vitest", "calendar", "rollout":
		return factSets()[1]
	case "mailer", "stockmove", "retreat":
		return factSets()[2]
	case "outage", "modules", "apprelease", "greenhouse":
		return factSets()[3]
	case "ratelimit", "studio":
		return factSets()[4]
	}
	if slices.Contains(factSets(), s.set) {
		return s.set
	}
	return factSets()[0]
}

// factSets are the sets of sessions in the order of the table.
func factSets() []string {
	return []string{"four sessions", "four held back first", "three more", "four held back second", "two held back last", "fresh one", "fresh two", "fresh three", "fresh four", "fresh five", "fresh six", "fresh seven", "fresh, fourth", "fresh, fifth", "fresh, sixth", "fresh, thirteenth", "fresh, fourteenth", "fresh, fifteenth", "fresh, sixteenth", "fresh, seventeenth"}
}

func printFacts(ctx context.Context, out *bytes.Buffer, all []*script, how facts.Options, verbose string) error {
	fmt.Fprintln(out, "| session | facts made | right | to be found | found | precision | recall |\n|---|---|---|---|---|---|---|")
	sums := map[string]*extracted{}
	for _, s := range all {
		if s.factSet() == "" { // nobody has labelled it
			continue
		}
		x, err := s.extract(ctx, how)
		if err != nil {
			return err
		}
		if sums[s.factSet()] == nil {
			sums[s.factSet()] = &extracted{}
		}
		sums[s.factSet()].plus(x)
		if verbose == "" || verbose == s.name {
			fmt.Fprintf(out, "| %s (%s) | %s |\n", s.name, s.factSet(), x.row())
		}
		if verbose == s.name {
			x.explain(out)
		}
	}
	for _, name := range factSets() {
		if sum := sums[name]; sum != nil && verbose == "" {
			fmt.Fprintf(out, "| **%s** | %s |\n", name, sum.row())
		}
	}
	if verbose == "" {
		printSources(out, sums)
		printMisnamed(out, sums)
	}
	return nil
}

// printSources prints of each set how much was found of what each source says.
func printSources(out *bytes.Buffer, sums map[string]*extracted) {
	fmt.Fprintln(out, "\n| found, said by | a person | a call or its result | the agent |\n|---|---|---|---|")
	for _, name := range factSets() {
		sum := sums[name]
		if sum == nil {
			continue
		}
		fmt.Fprintf(out, "| %s |", name)
		for _, source := range []string{"a person", "a call or its result", "the agent"} {
			r := sum.bySource[source]
			fmt.Fprintf(out, " %d of %d |", r.reached, r.wanted)
		}
		fmt.Fprintln(out)
	}
}

// printMisnamed prints of each set how many of the wrong facts are labelled, under
// another kind, and the figures of all kinds as one.
func printMisnamed(out *bytes.Buffer, sums map[string]*extracted) {
	fmt.Fprintln(out, "\n| all kinds as one | wrong | of them only in their kind | precision | recall |\n|---|---|---|---|---|")
	for _, name := range factSets() {
		if sum := sums[name]; sum != nil {
			fmt.Fprintf(out, "| %s | %d | %d | %.3f | %.3f |\n", name, sum.made-sum.right, sum.misnamed, share(sum.right+sum.misnamed, sum.made), share(sum.saidAtAll, sum.wanted))
		}
	}
}

// explain prints what is wrong and what is missing.
func (x extracted) explain(out *bytes.Buffer) {
	for _, f := range x.wrong {
		fmt.Fprintf(out, "  wrong  line %d %s %.2f %s\n", f.Line, f.Kind, f.Confidence, f.Text)
	}
	for _, l := range x.missed {
		fmt.Fprintf(out, "  missed %v %v at %q\n", l.kinds, l.has, l.at)
	}
}

// plus adds the counts of another session.
func (x *extracted) plus(o extracted) {
	x.made, x.right, x.wanted, x.reached = x.made+o.made, x.right+o.right, x.wanted+o.wanted, x.reached+o.reached
	x.misnamed, x.saidAtAll = x.misnamed+o.misnamed, x.saidAtAll+o.saidAtAll
	for source, r := range o.bySource {
		x.from(source, r)
	}
}

func (x extracted) row() string {
	return fmt.Sprintf("%d | %d | %d | %d | %.3f | %.3f", x.made, x.right, x.wanted, x.reached, share(x.right, x.made), share(x.reached, x.wanted))
}
