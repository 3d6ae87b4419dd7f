package printable

import "testing"

func TestLineAndText(t *testing.T) {
	for _, c := range []struct{ in, line, text string }{
		{"plain", "plain", "plain"},
		{"a\nb\tc\rd", `a\nb\tc\rd`, "a\nb\tc\\rd"},
		{"\x1b[31mred\x00", `\x1b[31mred\x00`, `\x1b[31mred\x00`},
		{"ab\u202ecd", `ab\u202ecd`, `ab\u202ecd`},
		{"bad \xff\xfe end", `bad \xff\xfe end`, `bad \xff\xfe end`},
		{"Zoë 👩‍💻 \ufffd", "Zoë 👩‍💻 \ufffd", "Zoë 👩‍💻 \ufffd"},
		{"", "", ""},
	} {
		if got := Line(c.in); got != c.line {
			t.Errorf("Line(%q) = %q, want %q", c.in, got, c.line)
		}
		if got := Text(c.in); got != c.text {
			t.Errorf("Text(%q) = %q, want %q", c.in, got, c.text)
		}
	}
}

func TestJSON(t *testing.T) {
	if got := string(JSON([]byte("{\"a\":\"x\u202e\U000e0041y\"}\n"))); got != "{\"a\":\"x\\u202e\\udb40\\udc41y\"}\n" {
		t.Errorf("%q", got)
	}
}
