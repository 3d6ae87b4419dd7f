package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// report counts and prints what was checked.
type report struct {
	began                   time.Time
	passed, failed, skipped int
	tried                   []tried
	excused                 map[string]int // differences from a replay, by what they are
}

// bench is what all scenarios share.
type bench struct {
	sessctl  string // absolute path
	work     string
	model    *model
	runtimes map[runtimeName]installed
	ferried  *ferryTable
}

// errGivenUp ends a scenario whose next steps make no sense any more.
var errGivenUp = errors.New("given up")

// scenario plays one scenario in a home of its own.
func (r *report) scenario(ctx context.Context, s scenario, b *bench) {
	rt := b.runtimes[s.needs]
	if rt.problem != nil {
		r.skipped++
		fmt.Printf("skipped %s: %v\n", s.name, rt.problem)
		return
	}
	st := &stage{bench: b, report: r, name: s.name, runtime: rt, home: filepath.Join(b.work, strings.ReplaceAll(s.name, " ", "-"))}
	defer func() {
		st.stopAll()
		if p := recover(); p != nil && p != errGivenUp {
			panic(p)
		}
	}()
	failed := r.failed
	defer func() { r.try(s, rt.npm, r.failed-failed) }()
	st.must("make a home", os.MkdirAll(filepath.Join(st.home, "tmp"), 0o700))
	s.play(ctx, st)
}

// end prints the sum and returns the number of failures.
func (r *report) end() int {
	r.printExcuses()
	took := time.Since(r.began).Round(time.Second)
	fmt.Printf("%d passed, %d failed, %d skipped, %s\n", r.passed, r.failed, r.skipped, took)
	if r.skipped > 0 {
		fmt.Println("NOT everything was tried: see the lines that say skipped")
	}
	return r.failed
}

// same is a check: got must be want.
func same[T comparable](s *stage, what string, got, want T) {
	if got == want {
		s.pass(what)
		return
	}
	s.fail(what, fmt.Sprintf("got %v, want %v", got, want))
}

func (s *stage) pass(what string) {
	s.report.passed++
	fmt.Printf("ok      %s: %s\n", s.name, what)
}

func (s *stage) fail(what, why string) {
	s.report.failed++
	fmt.Printf("FAILED  %s: %s: %s\n", s.name, what, why)
}

// skip ends a scenario that cannot be played here.
func (s *stage) skip(why string) {
	s.report.skipped++
	fmt.Printf("skipped %s: %s\n", s.name, why)
	panic(errGivenUp)
}

// must ends the scenario if err is not nil.
func (s *stage) must(what string, err error) {
	if err == nil {
		return
	}
	s.fail(what, err.Error())
	panic(errGivenUp)
}
