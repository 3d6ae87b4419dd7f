package steps

import (
	"fmt"
	"strings"
)

// Bounds of a diff for people.
const (
	diffAround = 2    // lines of context
	DiffLines  = 200  // printed
	diffEdits  = 1500 // that are looked for line by line; more are shown as one change
)

// LineEdit is a line of one text, of the other (+, -), or of both (space).
type LineEdit struct {
	Mark byte
	Text string
	Line int // of the first text, 1-based
}

// Difference shows the lines that are not the same, with two lines around them.
func Difference(path string, want, got []string) string {
	head, tail := sameEnds(want, got)
	edits := LineEdits(want[head:len(want)-tail], got[head:len(got)-tail])
	var all []LineEdit
	add := func(mark byte, lines []string, first int) {
		for i, text := range lines {
			all = append(all, LineEdit{mark, text, first + i})
		}
	}
	before := max(0, head-diffAround)
	add(' ', want[before:head], before+1)
	for _, e := range edits {
		e.Line += head
		all = append(all, e)
	}
	after := len(want) - tail
	add(' ', want[after:min(len(want), after+diffAround)], after+1)
	return fmt.Sprintf("--- %s\n+++ now\n", path) + hunks(all)
}

// sameEnds counts the lines that two texts begin and end with.
func sameEnds(a, b []string) (head, tail int) {
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return head, tail
}

// hunks writes what changed and the lines around it.
func hunks(all []LineEdit) string {
	var b strings.Builder
	printed, shown := 0, -1 // shown is the last line that was written
	for i := range all {
		if !nearChange(all, i) {
			continue
		}
		if printed == DiffLines {
			fmt.Fprintf(&b, "... %d more lines\n", len(all)-i)
			break
		}
		if shown < 0 || i > shown+1 {
			fmt.Fprintf(&b, "@@ line %d @@\n", all[i].Line)
		}
		fmt.Fprintf(&b, "%c%s\n", all[i].Mark, all[i].Text)
		printed, shown = printed+1, i
	}
	return b.String()
}

func nearChange(all []LineEdit, i int) bool {
	for _, e := range all[max(0, i-diffAround):min(len(all), i+diffAround+1)] {
		if e.Mark != ' ' {
			return true
		}
	}
	return false
}

// LineEdits makes b of a with the fewest lines taken out and put in (Myers,
// "An O(ND) Difference Algorithm", 1986), or with all of them where that would
// take too many.
func LineEdits(a, b []string) []LineEdit {
	reached := map[int]int{1: 0} // on each diagonal, the furthest line of a
	var trace []map[int]int
	for d := 0; d <= min(diffEdits, len(a)+len(b)); d++ {
		row := map[int]int{}
		for k := -d; k <= d; k += 2 {
			x := reached[k-1] + 1
			if k == -d || k != d && reached[k-1] < reached[k+1] {
				x = reached[k+1]
			}
			for x < len(a) && x-k < len(b) && a[x] == b[x-k] {
				x++
			}
			row[k] = x
			if x >= len(a) && x-k >= len(b) {
				return backtrack(a, b, append(trace, row))
			}
		}
		trace, reached = append(trace, row), row
	}
	return wholly(a, b)
}

// backtrack reads the edits from the rows of Myers' search, from its end.
func backtrack(a, b []string, trace []map[int]int) []LineEdit {
	var edits []LineEdit
	x, y := len(a), len(b)
	for d := len(trace) - 1; d > 0; d-- {
		k, before := x-y, trace[d-1]
		from := k - 1
		if k == -d || k != d && before[k-1] < before[k+1] {
			from = k + 1
		}
		startX := before[from]
		for startY := startX - from; x > startX && y > startY; x, y = x-1, y-1 {
			edits = append(edits, LineEdit{' ', a[x-1], x})
		}
		if x == startX {
			edits = append(edits, LineEdit{'+', b[y-1], x + 1})
			y--
		} else {
			edits = append(edits, LineEdit{'-', a[x-1], x})
			x--
		}
	}
	for ; x > 0; x-- {
		edits = append(edits, LineEdit{' ', a[x-1], x})
	}
	for i, j := 0, len(edits)-1; i < j; i, j = i+1, j-1 {
		edits[i], edits[j] = edits[j], edits[i]
	}
	return edits
}

// wholly removes all lines and inserts all others.
func wholly(a, b []string) (edits []LineEdit) {
	for i, text := range a {
		edits = append(edits, LineEdit{'-', text, i + 1})
	}
	for _, text := range b {
		edits = append(edits, LineEdit{'+', text, len(a) + 1})
	}
	return edits
}
