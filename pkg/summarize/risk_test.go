package summarize

import (
	"math"
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
		e.remarks.add(i+1, []byte(text), person)
	}
	e.remarks.index()
	return e
}

// A statement that has later words behind it is told only if it probably holds; one
// without any is told anyway.
func TestReliable(t *testing.T) {
	e := heard(
		"the boiler of the museum leaks", "I think you could call the plumber for the boiler of the museum.",
		"the plumber of the museum was here about the boiler", "You could ask the plumber for the pump of the boiler.",
		"the boiler has a new pump from the plumber", "The museum has a boiler with a pump.",
		"now the tickets", "They are printed.",
		"and the flyers", "They are printed too.",
		"and the bags", "They are ordered.",
	)
	asks := candidate{line: 2, text: "Should I call your plumber for the boiler of the museum?"}
	last := candidate{line: 10, text: "12 flyers are printed and sent now."}
	for _, c := range []struct {
		candidate
		told bool
	}{{asks, true}, {last, true}, {pointed(asks), false}, {pointed(last), true}} {
		if told := len(e.reliable([]candidate{c.candidate})) == 1; told != c.told {
			t.Errorf("%q is told: %v", c.text, told)
		}
	}
}

func pointed(c candidate) candidate {
	c.text += followedBy + "12: They are ordered."
	return c
}

// The signs are of what stands behind a line, not of the line itself or before it.
func TestSigns(t *testing.T) {
	e := heard("the mill needs 40 sacks of rye", "It comes on Tuesday.", "the mill gets 30 sacks", "The rye is ordered.", "the cat sleeps", "Good.")
	x := e.signsOf(1, true, "the mill needs 40 sacks of rye")
	for sign, want := range map[int]float64{
		signAlways: 1, signPerson: 1, signPlace: 1 - 2.0/3, signAfter: math.Log(3), signLate: 1, signWords: math.Log(8), signQuestion: 0,
		signNumbers: math.Log(2), signNumbersGone: 1, signWordsFirst + 1: 1, signWordsFirst + 8: 0,
	} {
		if math.Abs(x[sign]-want) > 1e-9 {
			t.Errorf("sign %d is %f, not %f", sign, x[sign], want)
		}
	}
	if x[signShare] != x[signPeople] || x[signShare] <= laterShare || x[signShare] >= 1 || x[signCovered] < x[signShare] {
		t.Errorf("shares %f, %f and %f", x[signShare], x[signPeople], x[signCovered])
	}
	if y := e.signsOf(6, false, "the mill needs 40 sacks of rye"); y[signShare] != 0 || y[signCovered] != 0 || y[signAfter] != 0 || y[signPlace] != 1 {
		t.Errorf("nothing stands behind the last line: %v", y)
	}
}
