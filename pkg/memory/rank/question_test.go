package rank

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/embed"
	"pgregory.net/rapid"
)

func TestAnswerWords(t *testing.T) {
	has := func(question, text string) bool {
		is := answerWords(question)
		if is == nil {
			return false
		}
		for _, term := range strings.Fields(string(embed.AppendTerms(nil, text))) {
			if is([]byte(term)) {
				return true
			}
		}
		return false
	}
	for _, x := range []struct {
		question, text string
		want           bool
	}{
		{"When did Maren move the server?", "I moved it two weeks ago", true},
		{"when was that", "in 2024", true},
		{"how long does it take", "it went on for three days", true},
		{"When did Maren move the server?", "I moved the server", false},
		{"How many boats are there?", "there are several of them", true},
		{"How many boats are there?", "there are 12 of them", true},
		{"How many boats are there?", "the boats are green", false},
		{"What did Maren do?", "yesterday", false},
		{"", "yesterday", false},
	} {
		if got := has(x.question, x.text); got != x.want {
			t.Errorf("%q, %q: %v", x.question, x.text, got)
		}
	}
}

func TestIdentifiers(t *testing.T) {
	got := Identifiers(`why did ERR_TOKEN_TOO_LONG (see /etc/app.conf, "E0308") happen at 10.0.0.1:80 in version v1.2.3 of handleRetry for us well-known Anna`)
	want := []string{"ERR_TOKEN_TOO_LONG", "/etc/app.conf", "E0308", "10.0.0.1:80", "v1.2.3", "handleRetry"}
	if !slices.Equal(got, want) {
		t.Fatalf("%q, want %q", got, want)
	}
}

func TestHoldsWholeWordsOnly(t *testing.T) {
	for _, c := range []struct {
		text, name string
		want       bool
	}{
		{"error E0308 in main", "E0308", true},
		{"error e0308.", "E0308", true},
		{"error E03081 in main", "E0308", false},
		{"E03081 then E0308", "E0308", true},
		{"open /etc/app.conf:12", "/etc/app.conf", true},
		{"open /etc/app.config", "/etc/app.conf", false},
		{"E0308", "E0308", true},
		{"", "E0308", false},
	} {
		if got := Holds(c.text, []string{"other", c.name})>>1 == 1; got != c.want {
			t.Errorf("%q holds %q: %v", c.text, c.name, got)
		}
	}
}

// Passages hold all words of a text in their order, cut no rune, and are short.
func TestPassagesHoldEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{
			"a", "\n\n", "\n", " ", "heron", "配送は第二便", "🙂", strings.Repeat("x", 700), strings.Repeat("words and words ", 60), strings.Repeat("é", 900),
		}), 0, 40).Draw(t, "parts"), "")
		var list []string
		for _, p := range passages(text) {
			if list = append(list, p.text); text[p.from:p.from+len(p.text)] != p.text {
				t.Fatalf("%q does not stand at %d", p.text, p.from)
			}
		}
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
	if len(list) != 3 || list[0].text != "[Human]: yes\n\n[Agent]: done" || list[1].text != long {
		t.Errorf("%v", list)
	}
}
