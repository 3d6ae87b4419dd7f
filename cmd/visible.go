package cmd

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/sessctl/sessctl/pkg/printable"
)

// visible makes text that is not ours safe to print on one line of a terminal.
func visible(s string) string { return printable.Line(s) }

// visibleText is visible for text of several lines: line feeds and tabs stay.
func visibleText(s string) string { return printable.Text(s) }

// firstLine shortens text to one visible line that fills at most width columns
// of a terminal.
func firstLine(s string, width int) string {
	return ansi.Truncate(visible(strings.Join(strings.Fields(s), " ")), width, "…")
}

// visibleJSON is visible for the strings in a document of JSON.
func visibleJSON(document []byte) []byte { return printable.JSON(document) }
