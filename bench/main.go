// Command bench compares sessctl with the programs one would otherwise use, on
// session logs that it makes itself (package corpus), and says whether the
// targets are met.
//
// Every program's answer is checked before anything is timed: the same tokens,
// lines, bytes, or the same messages, chunks and code points. Then the programs
// of one operation run in turn (A B C A B C ...), so that whatever else the
// machine does falls on all of them; what counts is the CPU time of the process
// (user and system, from wait4), the median of the rounds, and the ratio of two
// programs in the same run. A program that is not installed is left out and
// named.
//
//	go run ./bench            all of it
//	go run ./bench -quick     small logs, under two minutes
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/sessctl/sessctl/bench/corpus"
)

// options are the flags.
type options struct {
	quick  bool
	rounds int
	dir    string
	only   string
	make   string
}

func main() {
	var o options
	flag.BoolVar(&o.quick, "quick", false, "small logs, under two minutes")
	flag.IntVar(&o.rounds, "rounds", 5, "how often each program runs")
	flag.StringVar(&o.dir, "dir", filepath.Join(os.TempDir(), "sessctl-bench"), "where logs and programs are kept between runs")
	flag.StringVar(&o.only, "only", "", "operations whose name matches this regular expression")
	flag.StringVar(&o.make, "make", "", "make one corpus and stop (the driver calls itself with it)")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	if o.make != "" {
		_, err := corpus.Make(o.dir, specOf(o.make))
		return err
	}
	only, err := regexp.Compile(o.only)
	if err != nil {
		return err
	}
	tools, err := findTools(o.dir)
	if err != nil {
		return err
	}
	d := &driver{options: o, tools: tools, corpora: map[string]corpus.Corpus{}}
	results := report{tools: tools, rounds: o.rounds}
	for _, op := range operations(o.quick) {
		if !only.MatchString(op.name) {
			continue
		}
		r, err := d.measure(op)
		if err != nil {
			fmt.Fprintf(os.Stderr, "\n%s: %v\n", op.name, err)
			r = result{operation: op, failed: err}
		}
		results.add(r)
	}
	if _, err := os.Stdout.Write(results.table()); err != nil {
		return err
	}
	return results.broken()
}
