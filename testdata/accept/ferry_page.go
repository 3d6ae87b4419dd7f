package main

import (
	"fmt"
	"strings"
)

// ferryTable is what was measured of each source and target.
type ferryTable struct{ cells map[[2]string]arrived }

func (f *ferryTable) note(from, into traveller, a arrived) {
	if f.cells == nil {
		f.cells = map[[2]string]arrived{}
	}
	f.cells[[2]string{from.name, into.name}] = a
}

const tableBegin, tableEnd = "<!-- make accept -only ferry -->\n", "<!-- end -->\n"

// write puts the table between its marks in a page. It is of one run: a source that was
// not played has no row.
func (f *ferryTable) write(page string) error {
	return splice(page, tableBegin, func(string) string { return f.table() })
}

// table is a row for each source: the share of its text in the target's next request, and
// its calls with their results.
func (f *ferryTable) table() string {
	var b strings.Builder
	b.WriteString("| from \\ in")
	rule := "\n|---"
	for _, into := range travellers() {
		fmt.Fprintf(&b, " | %s %s", into.title, packages()[into.needs].version)
		rule += "|---"
	}
	b.WriteString(" |" + rule + "|\n")
	for _, from := range travellers() {
		if !f.played(from) {
			continue
		}
		fmt.Fprintf(&b, "| %s", from.title)
		for _, into := range travellers() {
			b.WriteString(" | " + f.cell(from, into))
		}
		b.WriteString(" |\n")
	}
	return b.String()
}

func (f *ferryTable) played(from traveller) bool {
	for c := range f.cells {
		if c[0] == from.name {
			return true
		}
	}
	return false
}

func (f *ferryTable) cell(from, into traveller) string {
	a, ok := f.cells[[2]string{from.name, into.name}]
	switch {
	case from.name == into.name:
		return ""
	case !ok:
		return "not tried"
	case a.bytes == a.total && a.pairs == a.calls:
		return "all"
	}
	return fmt.Sprintf("%d %%, %d/%d", a.bytes*100/max(a.total, 1), a.pairs, a.calls)
}
