//go:build linux && amd64

package faults

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Violations is how many runs broke a rule.
func Violations(all []Result) int {
	n := 0
	for _, r := range all {
		n += len(r.Violations)
	}
	return n
}

// WriteTable writes results as a Markdown table with a row for each fault and
// a column for each command; a cell is "runs / violations".
func WriteTable(w io.Writer, all []Result) {
	var commands, faults []string
	cell := map[[2]string]string{}
	sum := map[string][2]int{}
	for _, r := range all {
		if !slices.Contains(commands, r.Command) {
			commands = append(commands, r.Command)
		}
		if !slices.Contains(faults, r.Fault) {
			faults = append(faults, r.Fault)
		}
		cell[[2]string{r.Fault, r.Command}] = fmt.Sprintf("%d / %d", r.Runs, len(r.Violations))
		if r.Skipped != "" {
			cell[[2]string{r.Fault, r.Command}] = "–"
		}
		sum[r.Command] = [2]int{sum[r.Command][0] + r.Runs, sum[r.Command][1] + len(r.Violations)}
	}
	fmt.Fprintf(w, "| fault | %s |\n|---|%s\n", strings.Join(commands, " | "), strings.Repeat("---:|", len(commands)))
	for _, f := range faults {
		fmt.Fprintf(w, "| %s |", f)
		for _, c := range commands {
			fmt.Fprintf(w, " %s |", cell[[2]string{f, c}])
		}
		fmt.Fprintln(w)
	}
	fmt.Fprint(w, "| **all** |")
	for _, c := range commands {
		fmt.Fprintf(w, " **%d / %d** |", sum[c][0], sum[c][1])
	}
	fmt.Fprintln(w)
}
