//go:build linux && amd64

package faults

import (
	"bufio"
	_ "embed"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// executed is written by `go run ./internal/faults/table -record`.
//
//go:embed testdata/executes.txt
var executed string

// Executions says which rows of the table execute something of a file: a map of
// paths below the module to names of commands. What every start of the program
// executes, whatever it is asked for, does not count. A file that no row executes
// has an entry without rows.
type Executions map[string][]string

// Executed returns what was recorded last. It is older than the source: [Choose]
// goes by the directory where a file is not in it.
func Executed() (Executions, error) { return ParseExecutions(executed) }

// Rows are the commands of which one is known to execute something.
func (x Executions) Rows() []string {
	rows := map[string]bool{}
	for _, names := range x {
		for _, name := range names {
			rows[name] = true
		}
	}
	return slices.Sorted(maps.Keys(rows))
}

// below are the rows that execute some file of a directory, and whether one of its
// files is known at all.
func (x Executions) below(dir string) (rows []string, known bool) {
	for file, names := range x {
		if path.Dir(file) == dir {
			rows, known = append(rows, names...), true
		}
	}
	slices.Sort(rows)
	return slices.Compact(rows), known
}

// String is the form in which it is kept: the rows, numbered, and then the files of
// each set of rows, by directory.
func (x Executions) String() string {
	rows, sets := x.Rows(), map[string][]string{}
	for file, names := range x {
		set := numbers(rows, names)
		sets[set] = append(sets[set], file)
	}
	var b strings.Builder
	for i, name := range rows {
		fmt.Fprintf(&b, "row %d %s\n", i, name)
	}
	for _, set := range slices.Sorted(maps.Keys(sets)) {
		fmt.Fprintf(&b, "executed by %s\n", set)
		files := slices.Sorted(slices.Values(sets[set]))
		for i, file := range files {
			if i == 0 || path.Dir(file) != path.Dir(files[i-1]) {
				fmt.Fprintf(&b, "\t%s:", path.Dir(file))
			}
			fmt.Fprintf(&b, " %s", path.Base(file))
			if i == len(files)-1 || path.Dir(file) != path.Dir(files[i+1]) {
				b.WriteByte('\n')
			}
		}
	}
	return b.String()
}

// numbers writes a set of rows as their numbers, "0-3 7", or "none".
func numbers(rows, names []string) string {
	var parts []string
	for first := 0; first < len(rows); first++ {
		last := first
		for last < len(rows) && slices.Contains(names, rows[last]) {
			last++
		}
		switch last - first {
		case 0:
			continue
		case 1:
			parts = append(parts, strconv.Itoa(first))
		default:
			parts = append(parts, fmt.Sprintf("%d-%d", first, last-1))
		}
		first = last
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, " ")
}

// ParseExecutions reads what [Executions.String] has written.
func ParseExecutions(text string) (Executions, error) {
	x, rows := Executions{}, map[string]string{}
	var set []string
	lines := bufio.NewScanner(strings.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		var err error
		kind, rest, _ := strings.Cut(lines.Text(), " ")
		switch {
		case kind == "row":
			number, name, _ := strings.Cut(rest, " ")
			rows[number] = name
		case kind == "executed":
			set, err = named(rows, strings.TrimPrefix(rest, "by "))
		case strings.HasPrefix(kind, "\t"):
			dir := strings.Trim(kind, "\t:")
			for base := range strings.FieldsSeq(rest) {
				x[path.Join(dir, base)] = set
			}
		default:
			err = fmt.Errorf("%q is neither a row nor a file", lines.Text())
		}
		if err != nil {
			return nil, fmt.Errorf("executes.txt:%d: %w", n, err)
		}
	}
	return x, lines.Err()
}

// named is the inverse of numbers.
func named(rows map[string]string, set string) (names []string, err error) {
	if set == "none" {
		return nil, nil
	}
	for part := range strings.FieldsSeq(set) {
		from, to, found := strings.Cut(part, "-")
		if !found {
			to = from
		}
		first, errFirst := strconv.Atoi(from)
		last, errLast := strconv.Atoi(to)
		if errFirst != nil || errLast != nil {
			return nil, fmt.Errorf("%q names no rows", part)
		}
		for i := first; i <= last; i++ {
			name, ok := rows[strconv.Itoa(i)]
			if !ok {
				return nil, fmt.Errorf("there is no row %d", i)
			}
			names = append(names, name)
		}
	}
	return names, nil
}
