//go:build linux && amd64

// Command table runs faults on commands and prints what came of it as a
// Markdown table: one row a command, one column a fault.
//
//	go run ./internal/faults/table              # everything, at every call
//	go run ./internal/faults/table -share 10    # at ten calls each
//	go run ./internal/faults/table -commands 'compact' -faults 'power'
//	go run ./internal/faults/table -systems     # without leases, without exchange
//	go run ./internal/faults/table -record      # what each command executes, or with -commands some
//	go run ./internal/faults/table -choice      # what is tried for a change
//
// With -record it writes internal/faults/testdata/executes.txt below the working
// directory. With -choice it says in one line what make test-faults tries, and what
// it leaves out, for the change that SESSCTL_CHANGED and SESSCTL_SEED name.
// It exits with 1 if anything was violated.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/sessctl/sessctl/internal/faults"
	"github.com/sessctl/sessctl/internal/program"
	"github.com/sessctl/sessctl/internal/scratch"
	"github.com/sessctl/sessctl/internal/tier"
)

func main() {
	faults.PlayManager()
	commands := flag.String("commands", "", "only commands that match this `pattern`")
	columns := flag.String("faults", "", "only faults that match this `pattern`")
	share := flag.Int("share", 0, "at most this many `runs` for each command and fault; 0 is every call")
	systems := flag.Bool("systems", false, "on systems without leases, and without exchange, instead")
	record := flag.Bool("record", false, "write down what each command executes, and try nothing")
	choice := flag.Bool("choice", false, "say what is tried for a change, and try nothing")
	flag.Parse()
	if *record || *choice {
		if err := told(*record, regexp.MustCompile(*commands)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		return
	}
	violations, err := run(chosen(regexp.MustCompile(*commands), *systems), *share, regexp.MustCompile(*columns))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if violations > 0 {
		os.Exit(1)
	}
}

// told writes a record, or says what is chosen by the last one.
func told(record bool, commands *regexp.Regexp) error {
	if record {
		return writeRecord("internal/faults/testdata/executes.txt", commands)
	}
	if tier.Long() {
		fmt.Printf("fault table: %d rows, %d columns, at %d calls each (0 is every call); seed %s\n", len(faults.Commands()), len(faults.Faults()), tier.Calls(), tier.Seed())
		return nil
	}
	x, err := faults.Executed()
	if err != nil {
		return err
	}
	files, known, err := tier.Changed()
	if err != nil {
		return err
	}
	choice := faults.Choose(x, faults.Change{Files: files, Known: known, Seed: tier.Seed()})
	fmt.Println(choice)
	if choice.Core && len(choice.Touched) == 0 {
		return errors.New("the change is of the core, and no row executes it")
	}
	return nil
}

// writeRecord runs the commands that match a pattern with a program that says what it
// executes. Of the others it keeps what the last record says.
func writeRecord(path string, pattern *regexp.Regexp) (err error) {
	dir, err := os.MkdirTemp(scratch.Dir(), "faults-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	sessctl, err := program.Build(dir, faults.CoverageFlags()...)
	if err != nil {
		return err
	}
	recorder, err := faults.NewRecorder(sessctl, dir)
	if err != nil {
		return err
	}
	before, err := faults.Executed()
	if err != nil {
		return err
	}
	x, err := recordAll(recorder, before, pattern)
	return errors.Join(err, os.WriteFile(path, []byte(x.String()), 0o644))
}

// recordAll runs all commands, some at a time. What it returns has those that could
// be run, also with an error.
func recordAll(recorder *faults.Recorder, before faults.Executions, pattern *regexp.Regexp) (x faults.Executions, err error) {
	x = faults.Executions{}
	for file := range recorder.Files() {
		x[file] = slices.DeleteFunc(slices.Clone(before[file]), pattern.MatchString)
	}
	var lock sync.Mutex
	var group sync.WaitGroup
	turn := make(chan struct{}, 4)
	for _, c := range faults.Commands() {
		if !pattern.MatchString(c.Name) {
			continue
		}
		group.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			files, rowErr := recorder.Row(c, true)
			lock.Lock()
			defer lock.Unlock()
			fmt.Fprintf(os.Stderr, "%s: %d files\n", c.Name, len(files))
			err = errors.Join(err, rowErr)
			for file := range files {
				x[file] = append(x[file], c.Name)
			}
		})
	}
	group.Wait()
	return x, err
}

// chosen lists the commands that match a pattern or, with systems, each of
// them on every system that has less.
func chosen(pattern *regexp.Regexp, systems bool) (some []faults.Command) {
	all := faults.Commands()
	if systems {
		all = nil
		for _, c := range faults.Commands() {
			for _, s := range faults.Systems() {
				all = append(all, c.On(s))
			}
		}
	}
	for _, c := range all {
		if pattern.MatchString(c.Name) {
			some = append(some, c)
		}
	}
	return some
}

func run(commands []faults.Command, share int, columns *regexp.Regexp) (violations int, err error) {
	dir, err := os.MkdirTemp(scratch.Dir(), "faults-*")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	sessctl, err := program.Build(dir)
	if err != nil {
		return 0, err
	}
	var all []faults.Result
	for i, c := range commands {
		bench, err := faults.NewBench(sessctl, filepath.Join(dir, fmt.Sprint(i)), c)
		if err != nil {
			return 0, err
		}
		results, err := row(os.Stderr, bench, share, columns)
		bench.Close()
		if err != nil {
			return 0, err
		}
		all = append(all, results...)
	}
	faults.WriteTable(os.Stdout, all)
	return faults.Violations(all), nil
}

// row tries every fault on one command and says on the way how it goes.
func row(progress io.Writer, bench *faults.Bench, share int, columns *regexp.Regexp) ([]faults.Result, error) {
	var all []faults.Result
	for _, f := range faults.Faults() {
		if !columns.MatchString(f.Name) {
			continue
		}
		start := time.Now()
		r, err := bench.Try(f, share)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(progress, "%-24s %-48s %4d runs, %d violations, %.0f s %s\n", r.Command, r.Fault, r.Runs, len(r.Violations), time.Since(start).Seconds(), r.Skipped)
		for _, v := range r.Violations {
			fmt.Fprintf(progress, "\t%s\n", v)
		}
		all = append(all, r)
	}
	return all, nil
}
