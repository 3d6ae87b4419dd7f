package cmd

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/pkg/printable"
)

// table is a list for people. It is never wider than the terminal: cells are
// cut, and where that is not enough columns are left out, those with the
// highest drop first. Into a pipe every list is printed as rows instead.
type table struct {
	columns []column
	rows    [][]string // cells, one for each column; any text may stand in them
	empty   string     // what is printed instead of a table without rows
	footer  string     // a line below, or ""
	// warn reports a cell that is to be seen first; nil for none.
	warn func(row, column int) bool
}

// column is one column of a table.
type column struct {
	name  string
	right bool // numbers are aligned at their end
	// least is the width, in columns of the terminal, to which cells may be cut; 0
	// for cells that are only shown whole.
	least int
	// middle says that cells are cut in the middle: the ends of names tell them apart.
	middle bool
	// drop says when the column is left out: the highest goes first, 0 never.
	drop int
}

// gap is what is left free between two columns.
const gap = 2

// printList prints rows for programs, or on a terminal a table.
func (s *streams) printList(t table, rows [][]string) error {
	if !s.OutTTY {
		return s.printRows(rows)
	}
	return s.printTable(t)
}

// printTable prints a table that fits the terminal.
func (s *streams) printTable(t table) error {
	if len(t.rows) == 0 {
		_, err := fmt.Fprintln(s.Out, t.empty)
		return err
	}
	r := s.renderer()
	faint, warn := r.NewStyle().Faint(true), r.NewStyle().Foreground(lipgloss.Color("3")).Bold(true)
	t = t.visible()
	kept, widths := t.fit(s.Width)
	var b strings.Builder
	fitted := func(line string) string { return ansi.Truncate(line, s.Width, "…") + "\n" } // where not even the narrowest columns fit
	header := make([]string, len(t.columns))
	for i, c := range t.columns {
		header[i] = c.name
	}
	b.WriteString(fitted(faint.Render(t.line(header, kept, widths, nil))))
	for i, row := range t.rows {
		b.WriteString(fitted(t.line(row, kept, widths, func(column int, cell string) string {
			if t.warn != nil && t.warn(i, column) {
				return warn.Render(cell)
			}
			return cell
		})))
	}
	if t.footer != "" {
		b.WriteString(fitted(faint.Render(wording.Visible(t.footer))))
	}
	_, err := s.Out.Write([]byte(b.String()))
	return err
}

// visible is the table with every cell on one visible line.
func (t table) visible() table {
	rows := make([][]string, len(t.rows))
	for i, row := range t.rows {
		for _, cell := range row {
			rows[i] = append(rows[i], wording.Visible(cell))
		}
	}
	t.rows = rows
	return t
}

// fit says which columns are shown, by their index, and how wide each is.
func (t table) fit(width int) (kept, widths []int) {
	for i := range t.columns {
		kept = append(kept, i)
	}
	for {
		if widths, ok := t.widths(kept, width); ok {
			return kept, widths
		}
		last := -1 // of those that can be left out, the one that goes first
		for at, i := range kept {
			if drop := t.columns[i].drop; drop > 0 && (last < 0 || drop > t.columns[kept[last]].drop) {
				last = at
			}
		}
		if last < 0 {
			widths, _ = t.widths(kept, width)
			return kept, widths
		}
		kept = append(kept[:last:last], kept[last+1:]...)
	}
}

// widths says how wide columns are when their cells are cut as far as the
// terminal needs it, and whether that is enough.
func (t table) widths(kept []int, width int) (widths []int, ok bool) {
	whole, total := make([]int, len(kept)), gap*(len(kept)-1)
	widths = make([]int, len(kept))
	for at, i := range kept {
		whole[at] = t.natural(i)
		widths[at] = whole[at]
		if least := t.columns[i].least; least > 0 {
			widths[at] = min(whole[at], least)
		}
		total += widths[at]
	}
	if total > width {
		return widths, false
	}
	for grown := true; grown && total < width; { // what is free goes to those that are cut, one column at a time
		grown = false
		for at := range widths {
			if widths[at] < whole[at] && total < width {
				widths[at]++
				total++
				grown = true
			}
		}
	}
	return widths, true
}

// natural is the width of a column's longest cell.
func (t table) natural(column int) int {
	width := ansi.StringWidth(t.columns[column].name)
	for _, row := range t.rows {
		width = max(width, ansi.StringWidth(row[column]))
	}
	return width
}

func (c column) cut(cell string, width int) string {
	if c.middle {
		return printable.Middle(cell, width)
	}
	return ansi.Truncate(cell, width, "…")
}

// line lays cells out. dress may colour one, once it is padded.
func (t table) line(cells []string, kept, widths []int, dress func(column int, cell string) string) string {
	var b strings.Builder
	for at, i := range kept {
		cell := t.columns[i].cut(cells[i], widths[at])
		space := strings.Repeat(" ", widths[at]-ansi.StringWidth(cell))
		if dress != nil {
			cell = dress(i, cell)
		}
		switch {
		case t.columns[i].right:
			cell = space + cell
		case at < len(kept)-1:
			cell += space
		}
		if at > 0 {
			b.WriteString(strings.Repeat(" ", gap))
		}
		b.WriteString(cell)
	}
	return b.String()
}
