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

// kinds are the columns of the table, each with how the names of its faults
// begin. What fits none is a writer.
var kinds = [...]struct{ name, begins string }{
	{"killed", "SIGKILL|torn write"},
	{"short or lost write", "short write|write lost"},
	{"asked to end", "SIGTERM|SIGINT|SIGHUP"},
	{"disk or quota full", "ENOSPC|EDQUOT"},
	{"I/O error", "EIO"},
	{"a writer", ""},
	{"second sessctl", "second"},
	{"power cut", "power cut"},
}

func kindOf(fault string) int {
	for i, k := range kinds {
		for begin := range strings.SplitSeq(k.begins, "|") {
			if begin != "" && strings.HasPrefix(fault, begin) {
				return i
			}
		}
	}
	return slices.IndexFunc(kinds[:], func(k struct{ name, begins string }) bool { return k.begins == "" })
}

// tally counts runs and violations.
type tally struct{ runs, violations int }

func (t *tally) add(r Result) {
	t.runs += r.Runs
	t.violations += len(r.Violations)
}

func (t tally) String() string {
	if t == (tally{}) {
		return "–"
	}
	return fmt.Sprintf("%d / %d", t.runs, t.violations)
}

// WriteTable writes results as a Markdown table with a row for each command
// and a column for each kind of fault; a cell is "runs / violations".
func WriteTable(w io.Writer, all []Result) {
	var commands []string
	rows := map[string]*[len(kinds) + 1]tally{}
	var sum [len(kinds) + 1]tally
	for _, r := range all {
		row := rows[r.Command]
		if row == nil {
			row = new([len(kinds) + 1]tally)
			rows[r.Command] = row
			commands = append(commands, r.Command)
		}
		for _, column := range []int{kindOf(r.Fault), len(kinds)} {
			row[column].add(r)
			sum[column].add(r)
		}
	}
	fmt.Fprint(w, "| command |")
	for _, k := range kinds {
		fmt.Fprintf(w, " %s |", k.name)
	}
	fmt.Fprintf(w, " all |\n|---|%s\n", strings.Repeat("---:|", len(kinds)+1))
	for _, c := range commands {
		writeRow(w, c, rows[c][:])
	}
	writeRow(w, "**all**", sum[:])
}

func writeRow(w io.Writer, name string, cells []tally) {
	fmt.Fprintf(w, "| %s |", name)
	for _, c := range cells {
		fmt.Fprintf(w, " %s |", c)
	}
	fmt.Fprintln(w)
}
