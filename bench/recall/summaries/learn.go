package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/summarize"
)

// guess is one sentence of a session, with what an estimate of pkg/summarize makes of it.
type guess struct {
	example
	set   string
	shown float64 // what the weights of pkg/summarize say
}

// estimate is one of the three that pkg/summarize makes of a sentence.
type estimate struct {
	name    string
	signs   []string // as pkg/summarize calls them, in their order
	guesses []guess
}

// riskSigns and idleSigns are the names of the signs in pkg/summarize/risk.go.
func riskSigns() []string {
	return strings.Fields("signAlways signAfter signLate signWords signQuestion signCovered signAnswer signChanged signPointed signBegins signEnds signChoice signHurdle signProposal signSpeaker signFinished")
}

func idleSigns() []string {
	return strings.Fields("idleAlways idlePlace idleOpens idleNumber idleWords idleProposal idleWork idleAnswers idleKnown")
}

// likelySigns are the names of the signs in pkg/summarize/likely.go.
func likelySigns() []string {
	return strings.Fields("likelyAlways likelyMass likelyShare likelyFar likelyNext")
}

// What weights are learned with. The sessions of the first author, who made the rules
// too, are shorter and easier than those of others, so they count less.
const (
	penalty       = 50
	ofFirstAuthor = 0.3
)

// byOthers are the sets that others than the author of the first rules wrote.
func byOthers() []string { return sets()[slices.Index(sets(), "fresh, sixth"):] }

// printLearned prints the weights that the marks of all sentences lead to, and how good
// such weights are on sessions that they were not learned from.
func printLearned(ctx context.Context, out *bytes.Buffer, all []*script) error {
	three, err := estimates(ctx, all)
	if err != nil {
		return err
	}
	for _, e := range three {
		if err := e.printWeights(out); err != nil {
			return err
		}
	}
	fmt.Fprintln(out, "\n| estimate | set left out | sentences | yes | AUC, learned without it | risk.go | log loss, learned without it | risk.go |\n|---|---|---|---|---|---|---|---|")
	for _, e := range three {
		for _, set := range byOthers() {
			if err := e.printLeftOut(out, set); err != nil {
				return err
			}
		}
	}
	return nil
}

// estimates are the sentences of sessions with what they turned out to be.
func estimates(ctx context.Context, all []*script) (three [3]estimate, err error) {
	three = [3]estimate{{name: "risk", signs: riskSigns()}, {name: "idle", signs: idleSigns()}, {name: "likely", signs: likelySigns()}}
	for _, s := range all {
		e := summarize.NewExtractive(summarize.Options{})
		if err := s.scan(ctx, e.Add); err != nil {
			return three, err
		}
		for _, x := range e.Sentences() {
			if len(x.RiskSigns) != len(three[0].signs) || len(x.IdleSigns) != len(three[1].signs) {
				return three, fmt.Errorf("%s: the signs of pkg/summarize are not those of learn.go", s.name)
			}
			s.learnFrom(x, &three)
		}
	}
	return three, nil
}

// learnFrom adds a sentence. Whether it holds is asked of what somebody needs, as it would
// be told: what is stale is right with a line that has the last word on it. Questions are
// left out of what is idle, as summaries leave them out.
func (s *script) learnFrom(x summarize.Sentence, three *[3]estimate) {
	st := statement{text: x.Text, line: x.Line, struck: overtaken.MatchString(x.Text)}
	worth, counts := s.verdict(st), 1.0
	if !slices.Contains(byOthers(), s.set) {
		counts = ofFirstAuthor
	}
	if worth != noise {
		three[0].guesses = append(three[0].guesses, guess{example{x.RiskSigns, worth == wrong, counts}, s.set, x.Risk})
	}
	said, _, _ := strings.Cut(x.Text, " → ")
	if !strings.HasSuffix(said, "?") {
		three[1].guesses = append(three[1].guesses, guess{example{x.IdleSigns, worth == noise, counts}, s.set, x.Idle})
	}
	if s.verdict(statement{text: said, line: x.Line}) == wrong {
		three[2].guesses = append(three[2].guesses, s.later(said, x)...)
	}
}

// later are the later messages of a sentence that does not hold, and whether each has the
// last word on its subject; none if no message has.
func (s *script) later(said string, x summarize.Sentence) (all []guess) {
	subject, settled := s.overtakenSubject(said, x.Line), false
	for _, l := range x.Later {
		e, result := s.at(l.Line)
		settles := e != nil && !result && e.settles(subject)
		settled = settled || settles
		all = append(all, guess{example{l.Signs, settles, 1}, s.set, l.Likely})
	}
	if subject == "" || !settled {
		return nil
	}
	return all
}

// overtakenSubject is the subject of what a sentence of a line quotes that the log
// overtakes, "" if it has none.
func (s *script) overtakenSubject(said string, line int) (subject string) {
	e, result := s.at(line)
	if e == nil || result {
		return ""
	}
	for _, p := range e.quoted(said) {
		if strings.Contains(p.marks, "~") && p.subject != "" {
			subject = p.subject
		}
	}
	return subject
}

// weights are those learned without one set; of "" from all.
func (e *estimate) weights(without string) ([]float64, error) {
	var from []example
	for _, g := range e.guesses {
		if g.set != without {
			from = append(from, g.example)
		}
	}
	weights, err := regression(from, penalty)
	if err != nil {
		return nil, fmt.Errorf("learn %s: %w", e.name, err)
	}
	return weights, nil
}

// printWeights prints the weights as pkg/summarize has them.
func (e *estimate) printWeights(out *bytes.Buffer) error {
	weights, err := e.weights("")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s, from %d sentences:\n", e.name, len(e.guesses))
	for i, name := range e.signs {
		fmt.Fprintf(out, "\t\t%-14s%.2f,\n", name+":", weights[i])
	}
	return nil
}

// printLeftOut prints how good weights learned without a set are on it, and those of
// pkg/summarize/risk.go.
func (e *estimate) printLeftOut(out *bytes.Buffer, set string) error {
	weights, err := e.weights(set)
	if err != nil {
		return err
	}
	var learned, shown []outcome
	for _, g := range e.guesses {
		if g.set == set {
			learned = append(learned, outcome{chance(weights, g.signs), g.yes})
			shown = append(shown, outcome{g.shown, g.yes})
		}
	}
	if len(learned) > 0 {
		fmt.Fprintf(out, "| %s | %s | %d | %d | %.3f | %.3f | %.3f | %.3f |\n", e.name, set, len(learned), yes(learned), ranked(learned), ranked(shown), logLoss(learned), logLoss(shown))
	}
	return nil
}

// outcome is how likely something was thought to be, and whether it is so.
type outcome struct {
	chance float64
	yes    bool
}

// yes is how many are so.
func yes(all []outcome) (n int) {
	for _, o := range all {
		n += int(truth(o.yes))
	}
	return n
}

// ranked is how often what is so was thought to be likelier than what is not, of all such
// pairs; equal ones count half. (This is the area under the ROC curve.)
func ranked(all []outcome) float64 {
	sorted := slices.SortedFunc(slices.Values(all), func(a, b outcome) int { return cmp.Compare(a.chance, b.chance) })
	below, pairs := 0.0, 0.0
	for from, no := 0, 0.0; from < len(sorted); {
		to, ties, hits := from, 0.0, 0.0
		for ; to < len(sorted) && sorted[to].chance == sorted[from].chance; to++ {
			hits, ties = hits+truth(sorted[to].yes), ties+truth(!sorted[to].yes)
		}
		below += hits * (no + ties/2)
		from, no = to, no+ties
		pairs = no * float64(yes(sorted))
	}
	return below / pairs
}

// logLoss is how surprising the outcomes are on average, 0 if all were certain.
func logLoss(all []outcome) (loss float64) {
	for _, o := range all {
		p := o.chance
		if !o.yes {
			p = 1 - p
		}
		loss -= math.Log(max(p, 1e-12)) / float64(len(all))
	}
	return loss
}
