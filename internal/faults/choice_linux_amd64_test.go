package faults_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/faults"
	"github.com/sessctl/sessctl/internal/program"
	"github.com/sessctl/sessctl/internal/scratch"
	"github.com/sessctl/sessctl/internal/tier"
)

func recorded(t *testing.T) faults.Executions {
	t.Helper()
	x, err := faults.Executed()
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// chosen is the part of the table that this tier tries.
func chosen(t *testing.T) faults.Choice {
	t.Helper()
	files, known, err := tier.Changed()
	if err != nil {
		t.Fatal(err)
	}
	c := faults.Choose(recorded(t), faults.Change{Files: files, Known: known, Seed: tier.Seed()})
	if c.Core && len(c.Touched) == 0 {
		t.Fatalf("the change is of the core, and no row executes it: %s", c)
	}
	return c
}

// tries says whether this tier tries a row. The smoke share and the nightly run do
// not go by a change.
func tries(choice faults.Choice, row faults.Command) bool {
	switch {
	case tier.Long():
		return true
	case tier.Smoke():
		return inSmoke(row)
	}
	return choice.Has(row.Name)
}

// columns are the faults that this tier tries on a row.
func columns(choice faults.Choice, row faults.Command) []faults.Fault {
	if tier.Long() || tier.Smoke() {
		return faults.Faults()
	}
	return choice.Columns(row, faults.Faults())
}

// A row that is new is recorded with what it executes:
// go run ./internal/faults/table -record
func TestEveryRowIsRecorded(t *testing.T) {
	rows := recorded(t).Rows()
	for _, c := range faults.Commands() {
		if !slices.Contains(rows, c.Name) {
			t.Errorf("%q is not in testdata/executes.txt", c.Name)
		}
	}
}

// What was recorded is read as it was written.
func TestExecutionsAreRead(t *testing.T) {
	x := recorded(t)
	again, err := faults.ParseExecutions(x.String())
	if err != nil || !maps.EqualFunc(x, again, slices.Equal) {
		t.Errorf("what was written is read as something else (%v)", err)
	}
	for _, text := range []string{"rubbish", "executed by 1", "row 0 a\nexecuted by b"} {
		if _, err := faults.ParseExecutions(text); err == nil {
			t.Errorf("%q is taken for a record", text)
		}
	}
}

func TestChoose(t *testing.T) {
	first, second := faults.Commands()[0].Name, faults.Commands()[1].Name
	var all []string
	for _, c := range faults.Commands() {
		all = append(all, c.Name)
	}
	x := faults.Executions{"pkg/a/one.go": {first}, "pkg/a/two.go": {second}, "pkg/b/none.go": nil, "cmd/all.go": all}
	for _, row := range []struct {
		changed string
		want    []string
	}{
		{"pkg/a/one.go", []string{first}},
		{"pkg/a/one.go pkg/a/two.go", []string{first, second}},
		{"pkg/a/new.go", []string{first, second}},       // it is of the directory
		{"pkg/a/words.bin", []string{first, second}},    // and so is what is embedded
		{"pkg/a/one_test.go docs/x.md", nil},            // no program has them
		{"pkg/a/testdata/x.json pkg/a/README.md", nil},  // nor these
		{"pkg/b/none.go bench/x.go testdata/y.sh", nil}, // no row executes them
		{"pkg/new/x.go", all},                           // anything may need it
		{"go.mod", all},                                 // every module may be another
		{"internal/crashloop/call.go", all},             // what finds, finds other things
		{"internal/faults/fault.go pkg/a/one.go", all},  // the same
		{"cmd/all.go", all},                             // every row executes it
		{"internal/faults/testdata/executes.txt", nil},  // it chooses
		{"internal/faults/choice_linux_amd64_test.go", nil},
	} {
		c := faults.Choose(x, faults.Change{Files: strings.Fields(row.changed), Known: true, Seed: "s"})
		if !slices.Equal(c.Touched, row.want) {
			t.Errorf("%s: touched %d rows %.80v, want %d", row.changed, len(c.Touched), c.Touched, len(row.want))
		}
		if others := len(all) - len(c.Touched); len(c.Drawn) != (others+9)/10 || len(c.Left) != others-len(c.Drawn) {
			t.Errorf("%s: %d of %d others are drawn, %d left", row.changed, len(c.Drawn), others, len(c.Left))
		}
	}
	if c := faults.Choose(x, faults.Change{Seed: "s"}); len(c.Left) != 0 || !c.Core {
		t.Errorf("a change that is not known leaves out %v", c.Left)
	}
	if c := faults.Choose(x, faults.Change{Files: []string{"pkg/durable/x.go"}, Known: true}); !c.Core {
		t.Error("pkg/durable is not of the core")
	}
}

// The same seed draws the same rows and columns, another seed others.
func TestChoiceIsRepeatable(t *testing.T) {
	x, drawn, columns := recorded(t), map[string]bool{}, map[string]bool{}
	for seed := range 40 {
		change := faults.Change{Known: true, Seed: fmt.Sprint(seed)}
		c, again := faults.Choose(x, change), faults.Choose(x, change)
		if !slices.Equal(c.Drawn, again.Drawn) {
			t.Fatalf("seed %d draws %v and %v", seed, c.Drawn, again.Drawn)
		}
		for _, row := range c.Drawn {
			drawn[row] = true
		}
		for _, f := range c.Columns(faults.Commands()[0], faults.Faults()) {
			columns[f.Name] = true
		}
	}
	if len(drawn) < len(faults.Commands())*9/10 || len(columns) < len(faults.Faults()) {
		t.Errorf("40 seeds draw %d of %d rows and %d of %d columns", len(drawn), len(faults.Commands()), len(columns), len(faults.Faults()))
	}
}

// Of the columns of one kind a row gets one, the next row the next; of a wide change
// seven rows share what one gets of another.
func TestColumnsTakeTurns(t *testing.T) {
	rows, all := faults.Commands(), faults.Faults()
	narrow := faults.Choose(recorded(t), faults.Change{Files: []string{"docs/x.md"}, Known: true, Seed: "s"})
	wide := faults.Choose(recorded(t), faults.Change{Seed: "s"})
	seen := map[string]bool{}
	for number, row := range rows[:84] {
		if counts := kindsOf(narrow.Columns(row, all)); counts["signal"] != 1 || counts["error"] != 1 || counts["power cut"] != 1 {
			t.Errorf("%s gets of each kind %v", row.Name, counts)
		}
		part, shared := wide.Columns(row, all), 0
		for _, next := range rows[number : number+7] {
			shared += len(wide.Columns(next, all)) - 1
		}
		if whole := len(narrow.Columns(row, all)); shared != whole-1 || part[0].Name != "SIGKILL" {
			t.Errorf("of a wide change %s and the next six rows get a kill and %d columns, not %d", row.Name, shared, whole-1)
		}
		for _, f := range part {
			seen[f.Name] = true
		}
	}
	if len(seen) != len(all) {
		t.Errorf("84 rows of a wide change get %d of %d columns", len(seen), len(all))
	}
}

// kindsOf counts the columns of each kind.
func kindsOf(columns []faults.Fault) map[string]int {
	counts := map[string]int{}
	for _, f := range columns {
		begin, _, _ := strings.Cut(f.Name, " ")
		for kind, names := range map[string]string{"signal": "SIGTERM SIGINT SIGHUP", "error": "ENOSPC EIO EDQUOT", "power cut": "power"} {
			if strings.Contains(names, begin) {
				counts[kind]++
			}
		}
	}
	return counts
}

// TestRecordIsFresh runs every row with a program that says what it executes. What
// two runs of a row execute must be in the record: one alone may be chance, and what
// only the record has chooses a row too many, which harms nobody.
func TestRecordIsFresh(t *testing.T) {
	tier.SkipUnlessLong(t, "it builds a program of its own and runs every row")
	dir, err := os.MkdirTemp(scratch.Dir(), "faults-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	sessctl, err := program.Build(dir, faults.CoverageFlags()...)
	if err != nil {
		t.Fatal(err)
	}
	recorder, err := faults.NewRecorder(sessctl, dir)
	if err != nil {
		t.Fatal(err)
	}
	x := recorded(t)
	for _, c := range faults.Commands() {
		missing, err := unrecorded(recorder, x, c)
		if err == nil && len(missing) > 0 {
			missing, err = unrecorded(recorder, x, c)
		}
		if err != nil || len(missing) > 0 {
			t.Errorf("%s executes %v, which is not recorded (%v): go run ./internal/faults/table -record", c.Name, missing, err)
		}
	}
}

// unrecorded lists what a row executes and is not known to. Where the record is older
// than a file, its directory chooses the row.
func unrecorded(r *faults.Recorder, x faults.Executions, c faults.Command) (missing []string, err error) {
	files, err := r.Row(c, false)
	for file := range files {
		choice := faults.Choose(x, faults.Change{Files: []string{file}, Known: true})
		if !slices.Contains(choice.Touched, c.Name) {
			missing = append(missing, file)
		}
	}
	return missing, err
}
