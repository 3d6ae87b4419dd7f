package memory

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// Passages hold all words of a text in their order, cut no rune, and are short.
func TestPassagesHoldEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{
			"a", "\n\n", "\n", " ", "heron", "配送は第二便", "🙂", strings.Repeat("x", 700), strings.Repeat("words and words ", 60), strings.Repeat("é", 900),
		}), 0, 40).Draw(t, "parts"), "")
		list := passages(text)
		if got, want := strings.Join(strings.Fields(strings.Join(list, "")), ""), strings.Join(strings.Fields(text), ""); got != want {
			t.Fatalf("%q became %q", text, list)
		}
		for _, p := range list {
			if len(p) > passageBytes || !utf8.ValidString(p) {
				t.Fatalf("a passage of %d bytes, valid %v", len(p), utf8.ValidString(p))
			}
		}
	})
}

func TestPassagesAreMessages(t *testing.T) {
	long := strings.Repeat("what the agent said ", 15)
	list := passages("[Human]: yes\n\n[Agent]: done\n\n" + long + "\n\n[Human]: thanks")
	if len(list) != 3 || list[0] != "[Human]: yes\n\n[Agent]: done" || list[1] != long {
		t.Errorf("%q", list)
	}
}
