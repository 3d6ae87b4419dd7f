//go:build linux && amd64

package faults

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"path"
	"slices"
	"strings"
)

// Change is what somebody has changed.
type Change struct {
	Files []string // below the module
	Known bool     // false: what has changed is not known, and may be anything
	Seed  string   // decides what is drawn: the same again for the same seed
}

// Choice is the part of the table that is tried for a change.
type Choice struct {
	Touched []string // rows that execute something of what has changed
	Drawn   []string // rows of the others, a tenth
	Left    []string // rows that are not tried
	Core    bool     // the change is of what every promise stands on
	seed    string
}

// core are the packages that move, archive and remove what people wrote.
var core = []string{"pkg/durable", "pkg/session", "pkg/compact", "pkg/archive", "pkg/retention"}

// Choose picks, of the rows of the table, those that execute a file of a change, and
// a tenth of the others.
func Choose(x Executions, change Change) Choice {
	c, touched := Choice{seed: change.Seed, Core: !change.Known}, map[string]bool{}
	for _, file := range change.Files {
		c.Core = c.Core || slices.Contains(core, path.Dir(file)) && isSource(file)
		for _, row := range x.touchedBy(file) {
			touched[row] = true
		}
	}
	var others []string
	recorded := x.Rows()
	for _, row := range Commands() {
		if touched[row.Name] || !change.Known || !slices.Contains(recorded, row.Name) && len(touched) > 0 {
			c.Touched = append(c.Touched, row.Name)
		} else {
			others = append(others, row.Name)
		}
	}
	slices.SortFunc(others, func(a, b string) int { return cmp.Compare(draw(change.Seed, a), draw(change.Seed, b)) })
	n := (len(others) + 9) / 10
	c.Drawn, c.Left = others[:n], others[n:]
	return c
}

// draw is a number that a seed gives to a name.
func draw(seed, name string) uint32 {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(seed + "\n" + name)) // never fails, by its documentation
	return hash.Sum32()
}

// isSource says whether a file can change what the program does.
func isSource(file string) bool {
	return !strings.HasSuffix(file, "_test.go") && !strings.HasSuffix(file, ".md") && !strings.Contains("/"+file, "/testdata/")
}

// touchedBy are the rows for which a changed file may make a difference: those that
// execute it or, where it is new or no source of Go, something of its directory. What
// the harness is made of, or the modules that the program is linked with, touches
// all; so does a new directory that the program may be made of.
func (x Executions) touchedBy(file string) []string {
	if !isSource(file) {
		return nil
	}
	if rows, known := x[file]; known {
		return rows
	}
	for _, dir := range []string{"internal/faults/", "internal/crashloop/", "internal/fake", "internal/program/"} {
		if strings.HasPrefix(file, dir) {
			return x.Rows()
		}
	}
	if rows, known := x.below(path.Dir(file)); known {
		return rows
	}
	if file == "go.mod" || file == "go.sum" || strings.HasPrefix(file, "pkg/") || strings.HasPrefix(file, "cmd/") {
		return x.Rows()
	}
	return nil
}

// Has says whether a row is tried.
func (c Choice) Has(row string) bool { return !slices.Contains(c.Left, row) }

// wide says that a change touches more than half of the table: what many rows
// execute, each of them need not meet with every fault.
func (c Choice) wide() bool { return len(c.Touched) > len(Commands())/2 }

// Columns are the faults that are tried on a row: of those of one kind (three
// signals, three errors at one call or from one on, four power cuts) one, and of a
// wide change a SIGKILL and every seventh one. The next row gets the next ones, and
// another seed begins with others.
func (c Choice) Columns(row Command, all []Fault) []Fault {
	number := slices.IndexFunc(Commands(), func(c Command) bool { return c.Name == row.Name || strings.HasPrefix(row.Name, c.Name+", no ") })
	some := c.oneOfEachKind(number, all)
	if !c.wide() {
		return some
	}
	// Kinds have 3, 4 and 6 columns: in 84 rows each of them has had every seventh.
	part := slices.Clone(some[:1])
	for i := (number + int(draw(c.seed, "seventh")%7)) % 7; i < len(some)-1; i += 7 {
		part = append(part, some[1+i])
	}
	return part
}

// oneOfEachKind leaves out all but one of the faults of a kind.
func (c Choice) oneOfEachKind(number int, all []Fault) []Fault {
	kinds := map[string][]Fault{}
	for _, f := range all {
		kinds[f.kind] = append(kinds[f.kind], f)
	}
	return slices.DeleteFunc(slices.Clone(all), func(f Fault) bool {
		same := kinds[f.kind]
		return f.kind != "" && same[(number+int(draw(c.seed, f.kind)%uint32(len(same))))%len(same)].Name != f.Name
	})
}

// String says what is tried and what is left out.
func (c Choice) String() string {
	columns := Faults()
	return fmt.Sprintf("fault table: %d rows that execute what has changed, %d drawn of the others, %d left out; %d of %d columns a row, the others by turns; seed %s",
		len(c.Touched), len(c.Drawn), len(c.Left), len(c.Columns(Commands()[0], columns)), len(columns), c.seed)
}
