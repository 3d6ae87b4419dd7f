package secrets

import (
	"bytes"
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
