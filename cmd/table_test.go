package cmd

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"
)

// A table is never wider than the terminal, whatever stands in it, and columns
// go in the order that they declare.
func TestTableFits(t *testing.T) {
	list := table{
		columns: []column{{name: "AGENT", least: 6}, {name: "SESSION", least: 8}, {name: "TOKENS", right: true}, {name: "SOURCE", drop: 2}, {name: "SIZE", right: true, drop: 1}},
		rows: [][]string{
			{"Zoë-🦞-研究", "600fa7f5-3a0b-4cc5-9e68-d8388de117a2", "168,044", "usage", "518 KiB"},
			{"coordinator", "agent:coordinator:研究研究研究研究研究研究研究研究", "12", "estimate", "1 B"},
			{"👩‍👩‍👧‍👦\x1b[31m", "x", "0", "", ""},
		},
	}
	for _, c := range []struct {
		width int
		names []string
	}{
		{200, []string{"AGENT", "SESSION", "TOKENS", "SOURCE", "SIZE"}},
		{44, []string{"AGENT", "SESSION", "TOKENS", "SOURCE", "SIZE"}},
		{43, []string{"AGENT", "SESSION", "TOKENS", "SIZE"}},
		{30, []string{"AGENT", "SESSION", "TOKENS"}},
	} {
		var out bytes.Buffer
		s := &streams{Out: &out, OutTTY: true, Width: c.width}
		if err := s.printTable(list); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if names := strings.Fields(lines[0]); !slices.Equal(names, c.names) {
			t.Errorf("%d columns: %v, want %v", c.width, names, c.names)
		}
		if len(lines) != 4 {
			t.Errorf("%d columns: %d lines:\n%s", c.width, len(lines), out.String())
		}
		at := strings.Index(lines[0], "TOKENS") + len("TOKENS") // where the numbers end
		for _, line := range lines {
			if w := ansi.StringWidth(line); w > c.width {
				t.Errorf("%d columns: %d wide: %s", c.width, w, line)
			}
			if strings.Contains(line, "\x1b") {
				t.Errorf("an escape sequence in %q", line)
			}
			if number := ansi.Truncate(line, at, ""); number[len(number)-1] == ' ' {
				t.Errorf("%d columns: the numbers do not end together: %q", c.width, line)
			}
		}
	}
}

func TestTableOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cells := rapid.SliceOfN(rapid.SliceOfN(rapid.String(), 4, 4), 1, 6).Draw(t, "rows")
		list := table{rows: cells, columns: []column{{name: "A", least: 3}, {name: "B", least: 2}, {name: "C", drop: 1}, {name: "D", right: true, drop: 2}}}
		width := rapid.IntRange(7, 120).Draw(t, "width")
		var out bytes.Buffer
		if err := (&streams{Out: &out, OutTTY: true, Width: width}).printTable(list); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(lines) != len(cells)+1 {
			t.Fatalf("%d lines for %d rows", len(lines), len(cells))
		}
		for _, line := range lines {
			if w := ansi.StringWidth(line); w > width {
				t.Fatalf("%d wide, the terminal has %d: %q", w, width, line)
			}
		}
	})
}
