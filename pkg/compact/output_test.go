package compact

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// A long output loses its middle, and what is missing is counted to the byte.
func TestCutOutput(t *testing.T) {
	lines := strings.Repeat("a line of the build\n", 100)
	for _, c := range []struct {
		name, text string
		limit      int64
	}{
		{"shorter", lines, 4000},
		{"as long", lines, int64(len(lines))},
		{"longer", lines, 500},
		{"one line", strings.Repeat("é", 9000), 999},
		{"none", lines, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			short, cut := cutOutput([]byte(c.text), c.limit)
			if int64(len(c.text)) <= c.limit {
				if string(short) != c.text || cut != 0 {
					t.Errorf("%d bytes cut of an output within the limit", cut)
				}
				return
			}
			head, rest, ok := strings.Cut(string(short), "[")
			_, tail, closed := strings.Cut(rest, "left out]\n")
			if !ok || !closed || !utf8.Valid(short) {
				t.Fatalf("cut to %q", short)
			}
			kept := strings.TrimSuffix(head, "\n")
			if strings.HasSuffix(c.text[:len(head)], "\n") {
				kept = head
			}
			if !strings.HasPrefix(c.text, kept) || !strings.HasSuffix(c.text, tail) || len(kept)+len(tail)+int(cut) != len(c.text) {
				t.Errorf("%d and %d bytes stayed and %d are counted, of %d", len(kept), len(tail), cut, len(c.text))
			}
			if int64(len(kept)+len(tail)) > c.limit {
				t.Errorf("%d bytes stayed, the limit is %d", len(kept)+len(tail), c.limit)
			}
		})
	}
}
