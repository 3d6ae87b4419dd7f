package cmd

import (
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/lipgloss/table"
)

// barCells is the width of the bar that shows how full a context is.
const barCells = 10

// renderSizes prints the table on a terminal, else tab-separated rows.
func renderSizes(a *app, doc sizesDocument) error {
	if !a.OutTTY {
		return a.printEach(sizesRows(doc))
	}
	if len(doc.Sessions) == 0 {
		_, err := fmt.Fprintln(a.Out, "no sessions")
		return err
	}
	return a.printSizesTable(doc)
}

// sizesRows makes the rows for programs, each valid until the next.
func sizesRows(doc sizesDocument) iter.Seq[[]string] {
	row := make([]string, 10)
	return func(yield func([]string) bool) {
		for _, s := range doc.Sessions {
			row = append(row[:0],
				s.Runtime, visible(s.Agent), visible(s.name()), strconv.FormatInt(s.Tokens, 10), s.TokenSource,
				s.thresholdState(), strconv.FormatInt(s.Bytes, 10), strconv.Itoa(s.Messages), s.LastActivity, s.State,
			)
			if !yield(row) {
				return
			}
		}
	}
}

func (a *app) printSizesTable(doc sizesDocument) error {
	r := a.renderer()
	faint, warn := r.NewStyle().Faint(true), r.NewStyle().Foreground(lipgloss.Color("3")).Bold(true)
	t := table.New().Border(lipgloss.HiddenBorder()).BorderTop(false).BorderBottom(false).BorderLeft(false).BorderRight(false).
		Headers("AGENT", "SESSION", "TOKENS", "CONTEXT", "SOURCE", "SIZE", "MESSAGES", "IDLE", "STATE").
		StyleFunc(func(row, col int) lipgloss.Style {
			style := r.NewStyle().PaddingRight(1)
			switch {
			case row == table.HeaderRow:
				return style.Inherit(faint)
			case doc.Sessions[row].Over && (col == 2 || col == 3):
				style = style.Inherit(warn)
			}
			if col == 2 || col == 5 || col == 6 || col == 7 {
				style = style.Align(lipgloss.Right)
			}
			return style
		})
	for _, s := range doc.Sessions {
		t.Row(a.sizesCells(s, doc.Threshold)...)
	}
	over := 0
	for _, s := range doc.Sessions {
		if s.Over {
			over++
		}
	}
	_, err := fmt.Fprintf(a.Out, "%s\n%s\n", t.Render(),
		faint.Render(fmt.Sprintf("%d of %d sessions at or over %s tokens", over, len(doc.Sessions), formatCount(doc.Threshold))))
	return err
}

func (a *app) sizesCells(s *sessionRow, threshold int64) []string {
	whole := int64(s.ContextWindow)
	if whole == 0 {
		whole = threshold
	}
	state := s.State
	if s.Over {
		state = "over, " + state
	}
	if s.Kind != "live" && s.Kind != "database" {
		state += " (" + s.Kind + ")"
	}
	return []string{
		firstLine(s.Agent, 20), firstLine(s.name(), 44), formatCount(s.Tokens), bar(s.Tokens, whole), s.TokenSource,
		formatBytes(s.Bytes), s.messageCount(), formatAge(a.now().Sub(s.last)), state,
	}
}

// bar draws tokens of whole as filled cells and a percentage.
func bar(tokens, whole int64) string {
	percent := int(100 * tokens / max(whole, 1))
	filled := min(barCells, (percent*barCells+50)/100)
	return strings.Repeat("█", filled) + strings.Repeat("░", barCells-filled) + fmt.Sprintf(" %3d%%", percent)
}
