package smallpackages_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/sessctl/sessctl/pkg/printable"
)

func TestPrintableLineAndText(t *testing.T) {
	for _, c := range []struct{ in, line, text string }{
		{"plain", "plain", "plain"},
		{"a\nb\tc\rd", `a\nb\tc\rd`, "a\nb\tc\\rd"},
		{"\x1b[31mred\x00", `\x1b[31mred\x00`, `\x1b[31mred\x00`},
		{"ab\u202ecd", `ab\u202ecd`, `ab\u202ecd`},
		{"bad \xff\xfe end", `bad \xff\xfe end`, `bad \xff\xfe end`},
		{"Zoë 👩‍💻 \ufffd", "Zoë 👩‍💻 \ufffd", "Zoë 👩‍💻 \ufffd"},
		{"", "", ""},
	} {
		if got := printable.Line(c.in); got != c.line {
			t.Errorf("Line(%q) = %q, want %q", c.in, got, c.line)
		}
		if got := printable.Text(c.in); got != c.text {
			t.Errorf("Text(%q) = %q, want %q", c.in, got, c.text)
		}
	}
}

func TestPrintableJSON(t *testing.T) {
	if got := string(printable.JSON([]byte("{\"a\":\"x\u202e\U000e0041y\"}\n"))); got != "{\"a\":\"x\\u202e\\udb40\\udc41y\"}\n" {
		t.Errorf("%q", got)
	}
}

// TestMiddle: whatever the text, what is cut fits, begins and ends as it did, and has
// nothing that acts on a terminal. A text that fits stays whole.
func TestMiddle(t *testing.T) {
	sign := rapid.SampledFrom([]string{"a", "-", "ü", "日", "本", "🦞", "👩‍🚀", "e\u0301", "\x1b", "\x1b[31m", "\u202e", "\u0085", "\x00", "\n", "\xff", "/", "…"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(sign, 0, 60).Draw(t, "text"), "")
		width := rapid.IntRange(0, 40).Draw(t, "width")
		whole, got := printable.Line(text), printable.Middle(text, width)
		if w := ansi.StringWidth(got); w > width {
			t.Fatalf("%q in %d columns is %q: %d", text, width, got, w)
		}
		for _, r := range got {
			if printable.Hidden(r) || r == utf8.RuneError {
				t.Fatalf("%q: %q acts on a terminal", text, got)
			}
		}
		if ansi.StringWidth(whole) <= width {
			if got != whole {
				t.Fatalf("%q fits %d columns, and became %q", whole, width, got)
			}
			return
		}
		for at := range len(got) {
			if strings.HasPrefix(got[at:], "…") && strings.HasPrefix(whole, got[:at]) && strings.HasSuffix(whole, got[at+len("…"):]) && ansi.StringWidth(got) >= width-2 {
				return
			}
		}
		if width > 0 {
			t.Fatalf("%q in %d columns is %q", whole, width, got)
		}
	})
}

func TestMiddleKeepsTheEnd(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"agent:support-de:telegram:direct:4711", 20, "agent:supp…rect:4711"},
		{"home-ana-日本語の仕事", 12, "home-a…仕事"},
		{"short", 5, "short"},
		{"shorter", 1, "…"},
		{"shorter", 0, ""},
		{"\x1b[31mred alert", 9, `\x1b…lert`},
	} {
		if got := printable.Middle(c.text, c.width); got != c.want {
			t.Errorf("%q in %d columns: %q, want %q", c.text, c.width, got, c.want)
		}
	}
}
