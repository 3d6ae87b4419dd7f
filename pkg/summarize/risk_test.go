package summarize

import (
	"math"
	"slices"
	"testing"
)

// heard makes an Extractive of what was said, a message of a person on every odd line.
func heard(texts ...string) *Extractive {
	e := NewExtractive(Options{})
	for i, text := range texts {
		person := i%2 == 0
		if person {
			e.seen.people++
		}
		e.remarks.add(remark{line: i + 1, person: person, people: e.seen.people}, []byte(text))
	}
	e.remarks.index()
	return e
}

// A statement is told only if it probably holds; a short talk has room for all.
func TestReliable(t *testing.T) {
	talk := []string{
		"the boiler of the museum leaks", "I think you could call the plumber for the boiler of the museum.",
		"the plumber of the museum was here about the boiler", "You could ask the plumber for the pump of the boiler.",
		"the boiler has a new pump from the plumber", "The museum has a boiler with a pump.",
		"now the tickets", "They are printed.",
		"and the flyers", "They are printed too.",
		"and the bags", "12 flyers are printed and sent now.",
	}
	asks := candidate{line: 2, text: "Should I call your plumber for the boiler of the museum?"}
	last := candidate{line: 12, text: "12 flyers are printed and sent now."}
	for _, c := range []struct {
		candidate
		messages int
		told     bool
	}{{asks, len(talk), false}, {asks, 4, true}, {last, len(talk), true}, {pointed(last), len(talk), true}} {
		if told := len(heard(talk[:c.messages]...).reliable([]candidate{c.candidate})) == 1; told != c.told {
			t.Errorf("%q of %d messages is told: %v", c.text, c.messages, told)
		}
	}
}

func pointed(c candidate) candidate {
	c.text += followedBy + "12: They are ordered."
	return c
}

// The signs are of what stands behind a line, not of the line itself or before it.
func TestSigns(t *testing.T) {
	e := heard("the mill needs 40 sacks of rye", "It comes on Tuesday.", "the mill gets 30 sacks", "40 sacks would do for the mill.", "the cat sleeps", "Good.")
	x := e.signsOf(1, true, "the mill needs 40 sacks of rye")
	for sign, want := range map[int]float64{
		signAlways: 1, signAfter: math.Log(3), signLate: 1, signWords: math.Log(8), signQuestion: 0, signAnswer: 0, signBegins: 1, signEnds: 1, signProposal: 0, signSpeaker: 0,
	} {
		if math.Abs(x[sign]-want) > 1e-9 {
			t.Errorf("sign %d is %f, not %f", sign, x[sign], want)
		}
	}
	if x[signCovered] <= 0 || x[signCovered] >= 1 || x[signChanged] <= changedSign {
		t.Errorf("the share is %f, another number counts %f", x[signCovered], x[signChanged])
	}
	y := e.signsOf(4, false, "40 sacks would do for the mill.")
	if y[signProposal] != 1 || y[signBegins] != 0 || y[signCovered] != 0 || y[signChanged] != 0 {
		t.Errorf("nothing behind it is on the same: %v", y)
	}
}

// What nobody probably needs is short, has no number and opens a message.
func TestIdle(t *testing.T) {
	e := heard("Hello there! The mill needs 40 sacks of rye by the ninth of May.", "It comes on Tuesday.")
	greeting, needed := e.idle(0, "Hello there!", 1, true), e.idle(0, "The mill needs 40 sacks of rye by the ninth of May.", 6, false)
	if greeting < idleLimit || needed >= idleLimit {
		t.Errorf("the greeting is idle by %f, what is needed by %f", greeting, needed)
	}
}

// What the agent finds in the first tenth of a talk is what the talk goes on to change.
func TestOpening(t *testing.T) {
	const found = "The mill leaks at the wheel, the flume has 12 cracks since Friday."
	talk := []string{"the mill leaks at 40 places", found}
	for range 12 {
		talk = append(talk, "and now the next of the many things", "It is finished.")
	}
	told := func(line int) bool {
		said := slices.Clone(talk)
		said[line-1] = found
		return slices.ContainsFunc(heard(said...).unsaid(nil), func(c candidate) bool { return c.line == line })
	}
	for line, opening := range map[int]bool{2: true, 4: false, 26: false} {
		if heard(talk...).opening(line) != opening {
			t.Errorf("line %d opens the talk: %v", line, !opening)
		}
	}
	if told(2) || !told(26) {
		t.Errorf("told of the opening: %v, of the end: %v", told(2), told(26))
	}
}
