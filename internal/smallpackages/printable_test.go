package smallpackages_test

import (
	"testing"

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
