//go:build linux && amd64

// Command table runs faults on commands and prints what came of it as a
// Markdown table: one row a command, one column a fault.
//
//	go run ./internal/faults/table              # everything, at every call
//	go run ./internal/faults/table -share 10    # at ten calls each
//	go run ./internal/faults/table -commands 'compact' -faults 'power'
//	go run ./internal/faults/table -systems     # without leases, without exchange
//
// It exits with 1 if anything was violated.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/sessctl/sessctl/internal/faults"
	"github.com/sessctl/sessctl/internal/program"
	"github.com/sessctl/sessctl/internal/scratch"
)

func main() {
	faults.PlayManager()
	commands := flag.String("commands", "", "only commands that match this `pattern`")
	columns := flag.String("faults", "", "only faults that match this `pattern`")
	share := flag.Int("share", 0, "at most this many `runs` for each command and fault; 0 is every call")
	systems := flag.Bool("systems", false, "on systems without leases, and without exchange, instead")
	flag.Parse()
	violations, err := run(chosen(regexp.MustCompile(*commands), *systems), *share, regexp.MustCompile(*columns))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if violations > 0 {
		os.Exit(1)
	}
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
