package secrets

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// invented is a value of which only a name tells that it is a secret.
const invented = "Qx7vLm2TzRk9"

func TestValueIsRedactedWhereNothingTellsIt(t *testing.T) {
	for _, later := range []string{invented, "it answered " + invented + ".", "ssh jo@web1 # " + invented, `"` + invented + `"`, "a\n" + invented + "\nb", `a\n` + invented + `\nb`, "jo:" + invented, "x=" + invented} {
		s := NewSession()
		if clean, n := s.Redact("initial_password = " + invented); n != 1 || strings.Contains(clean, invented) {
			t.Fatalf("%q, %d values", clean, n)
		}
		if clean, n := s.Redact(later); n != 1 || strings.Contains(clean, invented) || !strings.Contains(clean, Mark) {
			t.Errorf("%q became %q, %d places", later, clean, n)
		}
		if s.Values() != 1 {
			t.Errorf("%d values", s.Values())
		}
	}
}

// In one text, too, and before the place that tells what it is.
func TestValueIsRedactedInItsText(t *testing.T) {
	if clean, n := Redact("tried " + invented + ", which failed: password=" + invented); n != 2 || strings.Contains(clean, invented) {
		t.Errorf("%q, %d places", clean, n)
	}
}

// What may be a word is redacted only where it is told to be a secret, and a value
// within another word is none.
func TestWordsAreNotValues(t *testing.T) {
	s := NewSession()
	for _, text := range []string{"password=postgres", "password=administrator", "token=" + invented} {
		s.Redact(text)
	}
	for _, text := range []string{"the database is postgres", "ask the administrator", "x" + invented, invented + "y"} {
		if clean, n := s.Redact(text); clean != text || n != 0 {
			t.Errorf("%q became %q", text, clean)
		}
	}
	if s.Values() != 3 {
		t.Errorf("%d values", s.Values())
	}
}

// A session finds at least what every text alone shows, and nothing of what it found is
// left in a later text.
func TestSessionFindsAtLeastWhatTextsShow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := NewSession()
		for range rapid.IntRange(1, 5).Draw(t, "texts") {
			text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(append(pieces(), invented, "password="+invented)), 0, 10).Draw(t, "pieces"), "")
			own, _ := s.RedactBytes([]byte(text))
			alone, _ := RedactBytes([]byte(text))
			if bytes.Count(own, []byte(Mark)) < bytes.Count(alone, []byte(Mark)) {
				t.Fatalf("%q: of a session %q, alone %q", text, own, alone)
			}
		}
	})
}

// The values that are looked for together are those that are found one by one, the
// longest first.
func TestValuesAreFoundAsOneByOne(t *testing.T) {
	values := []string{invented, invented + "-" + invented, invented + "Zz1", "Zz1" + invented, "correct-horse-battery-7", "horse-battery-7x"}
	rapid.Check(t, func(t *rapid.T) {
		var known valueSet
		for _, v := range rapid.SliceOfDistinct(rapid.SampledFrom(values), rapid.ID[string]).Draw(t, "values") {
			known.add([]byte(v))
			known.add([]byte(v))
		}
		text := []byte(strings.Join(rapid.SliceOf(rapid.SampledFrom(append(values, " ", "x", "\\n", Mark, "é", invented[:8]))).Draw(t, "text"), ""))
		clean, places := known.redact(bytes.Clone(text))
		wanted, all := text, 0
		for _, v := range known.sorted {
			var n int
			wanted, n = redactValue(wanted, v.text)
			all += n
		}
		if !bytes.Equal(clean, wanted) || places != all {
			t.Fatalf("%q became %q in %d places, one by one %q in %d", text, clean, places, wanted, all)
		}
	})
}

// A text is searched once, and found to have what was told of it later.
func TestPlainTextIsNotSearchedAgain(t *testing.T) {
	s := NewSession()
	text := []byte("it answered " + invented + " and then " + strings.Repeat("nothing ", 20))
	if s.Learn(text); len(s.plain) != 1 || s.Recurring() != 0 {
		t.Fatalf("%d texts, %d values", len(s.plain), s.Recurring())
	}
	s.Learn([]byte("password=" + invented))
	if clean, n := s.RedactBytes(text); n != 1 || bytes.Contains(clean, []byte(invented)) {
		t.Errorf("%q, %d places", clean, n)
	}
	if clean, n := s.RedactAlone(text); n != 0 || !bytes.Equal(clean, text) {
		t.Errorf("alone it became %q, %d places", clean, n)
	}
}

// What is known of a text is what a search finds, for memory and for the summary.
func TestWhatIsKnownIsWhatASearchFinds(t *testing.T) {
	kept := 0
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(strings.Join(rapid.SliceOfN(rapid.SampledFrom(append(pieces(), invented, "password="+invented, Mark, " nothing ", strings.Repeat("long ", 20))), 0, 12).Draw(t, "pieces"), ""))
		s := NewSession()
		first, values := s.look(text, true)
		kept += len(s.found)
		if again, same := s.look(text, false); !bytes.Equal(again, first) || !slices.EqualFunc(values, same, bytes.Equal) {
			t.Fatalf("%q became %q with %q, then %q with %q", text, first, values, again, same)
		}
		wanted, n := RedactBytes(text)
		if clean, places := s.RedactAlone(text); !bytes.Equal(clean, wanted) || places != n {
			t.Fatalf("%q became %q in %d places, alone %q in %d", text, wanted, n, clean, places)
		}
	})
	if kept == 0 {
		t.Error("nothing was kept")
	}
}
