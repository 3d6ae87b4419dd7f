package embed

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestStemsMeet: the forms of a word have one stem, words that only look alike
// have not.
func TestStemsMeet(t *testing.T) {
	for _, forms := range []string{
		"hike hikes hiked hiking",
		"make makes made making",
		"bake bakes baked baking",
		"invite invites invited inviting",
		"write writes wrote written writing",
		"buy buys bought buying",
		"go goes went gone going",
		"run runs ran running",
		"stop stops stopped stopping",
		"use uses used using",
		"die dies died dying",
		"fall falls fell fallen falling",
		"study studies studied studying",
		"try tries tried trying",
		"box boxes boxed boxing",
		"watch watches watched watching",
		"pass passes passed passing",
		"agree agrees agreed",
		"speed speeds",
		"party parties",
		"bus buses",
		"glass glasses",
		"child children",
		"person people",
		"quick quickly",
		"index indexes indices",
	} {
		words := strings.Fields(forms)
		want := string(stem([]byte(words[0])))
		for _, w := range words {
			if got := string(stem([]byte(w))); got != want {
				t.Errorf("stem(%s) = %s, but stem(%s) = %s", w, got, words[0], want)
			}
		}
	}
	for _, pair := range []string{"bus bu", "this thi", "analysis analysi", "thing th", "string str", "red r", "fly f", "care car", "need ne", "business busines"} {
		a, b, _ := strings.Cut(pair, " ")
		if got := string(stem([]byte(a))); got == string(stem([]byte(b))) {
			t.Errorf("%s and %s are both %s", a, b, got)
		}
	}
}

// TestStemLeaves: what is not an inflected English word stays.
func TestStemLeaves(t *testing.T) {
	for _, w := range []string{"", "a", "go", "api", "日本", "москва", "v1.2.3", "01j8zqk3v4", "naïf", "ss", "ed", "ing", "ies", "ly", "str"} {
		if got := string(stem([]byte(w))); got != w {
			t.Errorf("stem(%q) = %q", w, got)
		}
	}
}

// TestStemBounds: a stem is never empty, longer than its word, or written past it.
func TestStemBounds(t *testing.T) {
	letters := rapid.StringOfN(rapid.SampledFrom([]rune("aeiousedlyng")), 1, 12, -1)
	rapid.Check(t, func(t *rapid.T) {
		w := letters.Draw(t, "word")
		room := append([]byte(w), "guard"...)
		got := stem(room[:len(w):len(w)])
		if len(got) == 0 || len(got) > len(w) && regular([]byte(w)) == "" {
			t.Fatalf("stem(%s) = %q", w, got)
		}
		if tail := string(room[len(w):]); tail != "guard" {
			t.Fatalf("stem(%s) wrote past its word: %q", w, tail)
		}
	})
}

// TestRegular: every form in the list is found, no base form is itself a form
// of another word, and nothing else is found.
func TestRegular(t *testing.T) {
	pairs := strings.Fields(irregularForms)
	if !slices.IsSorted(pairs) || len(pairs) < 150 {
		t.Fatalf("%d forms, sorted: %v", len(pairs), slices.IsSorted(pairs))
	}
	for _, pair := range pairs {
		form, base, _ := strings.Cut(pair, "=")
		if got := regular([]byte(form)); got != base {
			t.Errorf("regular(%s) = %q, want %q", form, got, base)
		}
		if again := regular([]byte(base)); again != "" {
			t.Errorf("%s is %s is %s", form, base, again)
		}
		for _, other := range []string{form + "s", form[1:], "a" + form, strings.ToUpper(form), pair} {
			if got := regular([]byte(other)); got != "" && !slices.Contains(pairs, other+"="+got) {
				t.Errorf("regular(%s) = %q", other, got)
			}
		}
	}
}
