package compact

import (
	"encoding/json"
	"math"
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

// A receipt that does not tell its limit is of a version that had none. One of
// those that was written anew says 0, and then nothing was cut.
func TestContentLimit(t *testing.T) {
	for text, want := range map[string]struct {
		limit    int64
		recorded bool
		policy   int64
	}{
		`{"cut_bytes": 5}`:                       {math.MaxInt64, false, math.MaxInt64},
		`{"cut_bytes": 0, "output_limit": 0}`:    {math.MaxInt64, false, math.MaxInt64},
		`{"cut_bytes": 5, "output_limit": 0}`:    {0, true, -1},
		`{"cut_bytes": 5, "output_limit": 40}`:   {40, true, 40},
		`{"cut_bytes": 0, "output_limit": 4096}`: {4096, true, 4096},
	} {
		var c Content
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			t.Fatal(err)
		}
		if limit, recorded := c.Limit(); limit != want.limit || recorded != want.recorded || c.policyLimit() != want.policy {
			t.Errorf("%s: %d, %t, of a policy %d", text, limit, recorded, c.policyLimit())
		}
		if again, err := json.Marshal(c); err != nil || strings.Contains(string(again), "output_limit") != strings.Contains(text, "output_limit") {
			t.Errorf("%s is written again as %s, %v", text, again, err)
		}
	}
}
