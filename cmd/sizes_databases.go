package cmd

import (
	"fmt"

	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
)

// printDatabases prints them after what fills the logs.
func printDatabases(a *app, databases []selection.DatabaseRow) error {
	if len(databases) == 0 {
		return nil
	}
	t := table{columns: []column{
		{name: "DATABASE", least: 20}, {name: "DISK", right: true}, {name: "LIVE", right: true}, {name: "FREE", right: true}, {name: "WAL", right: true}, {name: "VACUUM GIVES", right: true},
	}}
	rows := make([][]string, 0, len(databases))
	for _, d := range databases {
		sizes := []string{wording.Bytes(d.Disk), wording.Bytes(d.Live), wording.Bytes(d.Free), wording.Bytes(d.Log), wording.Bytes(d.Reclaimable)}
		rows = append(rows, append([]string{"database", wording.Visible(d.Path)}, sizes...))
		t.rows = append(t.rows, append([]string{a.Tilde(d.Path)}, sizes...))
	}
	if err := a.printList(t, rows); err != nil {
		return err
	}
	return printParts(a, databases)
}

// printParts prints what databases are made of.
func printParts(a *app, databases []selection.DatabaseRow) error {
	t := table{columns: []column{{name: "DATABASE", least: 20}, {name: "PART", least: 16}, {name: "SIZE", right: true}, {name: "OF LIVE", right: true}}}
	var rows [][]string
	for _, d := range databases {
		for _, p := range d.Parts {
			name, size, share := p.Name, wording.Bytes(p.Bytes), fmt.Sprintf("%.1f%%", selection.PercentOf(p.Bytes, d.Live))
			if p.Rows > 0 {
				name += ", " + wording.Plural(p.Rows, "row")
			}
			rows = append(rows, []string{"part", wording.Visible(d.Path), name, size, share})
			t.rows = append(t.rows, []string{a.Tilde(d.Path), name, size, share})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return a.printList(t, rows)
}
