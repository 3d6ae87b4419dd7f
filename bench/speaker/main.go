// Command speaker learns the weights by which pkg/speaker tells what a line looks like:
// shown, or said in words. It reads texts whose speaker is known, as gather.py beside
// it writes them, and says with -n how many lines it learned from.
//
//	python3 speaker/gather.py LOGS... > texts.json
//	go run ./speaker -texts texts.json -o ../pkg/speaker/lines.weights
//
// The weights in pkg/speaker were made from what 140 commands of a Debian machine
// print, the help of 600 programs, source files of Go modules, people's and agents'
// messages and the output of tools in session logs, and from messages, chats, tables
// and logs of our own making (said.py, forms.py). The texts themselves are in no file
// here, and no set by which the program is judged was among them.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"

	"github.com/sessctl/sessctl/pkg/speaker"
)

// texts are those of each kind: what is shown by its group and program, and messages.
type texts struct {
	Shown               map[string][][]string
	People, Own, Agents []string
}

func main() {
	from := flag.String("texts", "texts.json", "the texts, as gather.py writes them")
	to := flag.String("o", "lines.weights", "where the weights go")
	steps := flag.Int("n", 6_000_000, "how many lines to learn from")
	flag.Parse()
	if err := run(*from, *to, *steps); err != nil {
		fmt.Fprintln(os.Stderr, "speaker:", err)
		os.Exit(1)
	}
}

func run(from, to string, steps int) error {
	raw, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	var all texts
	if err := json.Unmarshal(raw, &all); err != nil {
		return fmt.Errorf("reading %s: %w", from, err)
	}
	draw := newDraw(&all)
	var l learner
	for i := range steps {
		line, agent, shown := draw.line()
		l.learn(line, agent, shown, 0.1*(1-0.95*float64(i)/float64(steps)))
	}
	fmt.Printf("%d lines, the last tenth with a loss of %.4f\n", steps, l.loss)
	return os.WriteFile(to, l.bytes(), 0o644)
}

// learner is a logistic regression over the marks of lines, with steps that become
// smaller for marks that were moved much (AdaGrad).
type learner struct {
	weight, moved [1 << speaker.MarkBits]float64
	form          speaker.Form
	loss          float64 // a mean that forgets
}

// decay draws the weights of marks that come to zero.
const decay = 2e-4

func (l *learner) learn(line string, agent, shown bool, rate float64) {
	l.form.Read([]byte(line), agent)
	marks, sum, want := l.form.Marks(), 0.0, 0.0
	if shown {
		want = 1
	}
	share := 1 / math.Sqrt(float64(len(marks)))
	for _, m := range marks {
		sum += l.weight[m] * share
	}
	off := 1/(1+math.Exp(-sum)) - want
	l.loss += (-math.Log(max(1e-9, 1-math.Abs(off))) - l.loss) / 1e5
	for _, m := range marks {
		step := off*share + decay*l.weight[m]
		l.moved[m] += step * step
		l.weight[m] -= rate * step / (1e-3 + math.Sqrt(l.moved[m]))
	}
}

// bytes are the weights in sixteenths.
func (l *learner) bytes() []byte {
	all := make([]byte, len(l.weight))
	for i, w := range l.weight {
		all[i] = byte(int8(max(-127, min(127, math.Round(w*16)))))
	}
	return all
}

// draw draws lines by chance, always the same ones of the same texts.
type draw struct {
	random              *rand.Rand
	shown               map[string][][][]string // group, program, text, lines
	people, own, agents []string
}

func newDraw(all *texts) *draw {
	d := &draw{random: rand.New(rand.NewPCG(1, 2)), shown: map[string][][][]string{}}
	for group, programs := range all.Shown {
		for _, outputs := range programs {
			var cut [][]string
			for _, x := range outputs {
				if l := lines(x, false); len(l) > 0 {
					cut = append(cut, l)
				}
			}
			if len(cut) > 0 {
				d.shown[group] = append(d.shown[group], cut)
			}
		}
	}
	for _, x := range all.People {
		d.people = append(d.people, lines(x, false)...)
	}
	for _, x := range all.Own {
		d.own = append(d.own, lines(x, false)...)
	}
	for _, x := range all.Agents {
		d.agents = append(d.agents, lines(x, true)...)
	}
	return d
}

// lines are those of a text that are not blank, and not between fences if a text has
// such.
func lines(text string, fences bool) (all []string) {
	fenced := false
	for l := range strings.SplitSeq(strings.ReplaceAll(text, "\r", ""), "\n") {
		switch {
		case fences && strings.HasPrefix(strings.TrimSpace(l), "```"):
			fenced = !fenced
		case !fenced && strings.TrimSpace(l) != "":
			all = append(all, l)
		}
	}
	return all
}

// line is the next line, whether an agent has it in its name, and whether it is shown.
func (d *draw) line() (line string, agent, shown bool) {
	agent = d.random.Float64() < 0.3
	if d.random.Float64() < 0.5 {
		return d.output(), agent, true
	}
	from := d.people
	switch v := d.random.Float64(); {
	case agent && v < 0.7, v < 0.1: // what a person says is read as an agent's too, by pkg/facts
		from = d.agents
	case agent && v < 0.85, !agent && v < 0.6:
		from = d.own
	}
	return one(d.random, from), agent, false
}

// output is a line of what is shown: of the beginning of a text more often.
func (d *draw) output() string {
	group := "command"
	switch v := d.random.Float64(); {
	case v < 0.2:
		group = "help"
	case v < 0.4:
		group = "tool"
	case v < 0.55:
		group = "file"
	case v < 0.75:
		group = "form"
	}
	text := one(d.random, one(d.random, d.shown[group]))
	if d.random.Float64() < 0.6 {
		text = text[:min(len(text), 16)]
	}
	return one(d.random, text)
}

func one[T any](random *rand.Rand, list []T) T { return list[random.IntN(len(list))] }
