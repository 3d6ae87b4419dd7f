package cmd

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sessctl/sessctl/internal/steps"
	"pgregory.net/rapid"
)

func TestDifference(t *testing.T) {
	lines := func(s string) []string { return strings.Split(s, "\n") }
	want := lines("a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk")
	got := lines("a\nB\nc\nd\ne\nf\ng\nh\ni\nnew\nj\nk")
	const text = `--- golden
+++ now
@@ line 1 @@
 a
-b
+B
 c
 d
@@ line 8 @@
 h
 i
+new
 j
 k
`
	if diff := cmp.Diff(text, steps.Difference("golden", want, got)); diff != "" {
		t.Error(diff)
	}
	many := make([]string, 4000)
	if n := strings.Count(steps.Difference("golden", many, lines(strings.Repeat("x\n", 4000))), "\n"); n > steps.DiffLines+4 {
		t.Errorf("%d lines of a diff", n)
	}
}

// Property: what is taken out and what stays is the one text, what stays and
// what is put in the other, in their order; equal texts have no edits.
func TestLineEdits(t *testing.T) {
	text := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 30)
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		var before, after []string
		changed := 0
		for _, e := range steps.LineEdits(a, b) {
			if e.Mark != '+' {
				before = append(before, e.Text)
				if a[e.Line-1] != e.Text {
					t.Fatalf("line %d is %q, not %q", e.Line, a[e.Line-1], e.Text)
				}
			}
			if e.Mark != '-' {
				after = append(after, e.Text)
			}
			if e.Mark != ' ' {
				changed++
			}
		}
		if !cmp.Equal(a, append([]string{}, before...)) || !cmp.Equal(b, append([]string{}, after...)) {
			t.Fatalf("%v to %v: %v and %v", a, b, before, after)
		}
		if want := len(a) + len(b) - 2*common(a, b); changed != want {
			t.Fatalf("%v to %v: %d edits, %d would do", a, b, changed, want)
		}
	})
}

// common is the length of the longest common subsequence.
func common(a, b []string) int {
	row := make([]int, len(b)+1)
	for _, x := range a {
		last := 0
		for j, y := range b {
			here := row[j+1]
			if x == y {
				row[j+1] = last + 1
			} else {
				row[j+1] = max(row[j+1], row[j])
			}
			last = here
		}
	}
	return row[len(b)]
}
