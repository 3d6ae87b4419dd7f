package main

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/bench/corpus"
)

// timing is what the rounds of one program cost.
type timing struct {
	program program
	median  time.Duration // of CPU
	best    time.Duration
	wall    time.Duration // the shortest
	peak    int64         // bytes, of all rounds
	allocs  float64       // a megabyte, of loops
}

// result is one operation, measured. Without timings it was left out.
type result struct {
	operation operation
	leftOut   string // why it was not measured; "" if it was
	bytes     int64
	timings   []timing
	stages    []stage
	start     int64 // bytes of memory that the product takes to start, at least
	room      *room // of an operation that measures bytes
	failed    error // a program did not run or gave a wrong answer
}

func newResult(op operation, c corpus.Corpus, programs []program, samples [][]sample) result {
	r := result{operation: op, bytes: c.Bytes()}
	for i, p := range programs {
		t := timing{program: p}
		var cpu []time.Duration
		for _, s := range samples[i] {
			cpu = append(cpu, s.cpu)
			if t.wall == 0 || s.wall < t.wall {
				t.wall = s.wall
			}
			t.peak = max(t.peak, s.peak)
			t.allocs = max(t.allocs, s.allocs)
		}
		slices.Sort(cpu)
		t.median, t.best = cpu[len(cpu)/2], cpu[0]
		r.timings = append(r.timings, t)
	}
	return r
}

// row is one line of the table.
type row struct {
	operation, program, cpu, rate, peak, ratio, target, verdict string
}

// report collects results and judges them.
type report struct {
	tools    *tools
	rounds   int
	results  []result
	misses   []string // targets
	failures []string // targets that no machine excuses
}

// slack is how many times a ratio of two programs in the same run may be what its
// target asks before the run fails: a machine with other caches and other versions of
// the peers shifts it, but not that far.
const slack = 2

func (r *report) add(res result) { r.results = append(r.results, res) }

// broken returns an error if the product does not build, a program failed or gave
// a wrong answer, nothing was measured, or a target was missed that does not depend
// on the machine. Any other missed target is a finding and no error.
func (r *report) broken() error {
	if len(r.tools.broken) > 0 {
		return errors.New("a part of the product does not build")
	}
	measured := 0
	for _, res := range r.results {
		if res.failed != nil {
			return fmt.Errorf("%s: %w", res.operation.name, res.failed)
		}
		if res.leftOut == "" {
			measured++
		}
	}
	switch {
	case measured == 0:
		return errors.New("nothing was measured")
	case len(r.failures) > 0:
		return errors.New(strings.Join(r.failures, "; "))
	}
	return nil
}

// judge says pass or miss and remembers the misses.
func (r *report) judge(met bool, what string) string {
	if met {
		return "pass"
	}
	r.misses = append(r.misses, what)
	return "MISS"
}

// hold says pass, miss or, for what no machine excuses, fail, and remembers which.
func (r *report) hold(met, excused bool, what string) string {
	verdict := r.judge(met, what)
	if met || excused {
		return verdict
	}
	r.failures = append(r.failures, what)
	return "FAIL"
}

// table returns the table, and what was left out of it.
func (r *report) table() []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "\n%s/%s, %d CPUs, %s; CPU time (user and system), median of up to %d interleaved rounds\n\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), r.rounds)
	rows := [][]string{{"operation", "program", "CPU s", "MB/s", "peak MB", "ratio", "target", ""}}
	for _, res := range r.results {
		for _, line := range r.rows(res) {
			rows = append(rows, []string{line.operation, line.program, line.cpu, line.rate, line.peak, line.ratio, line.target, line.verdict})
		}
	}
	appendTable(&out, rows)
	if floor := r.floor(); floor < math.MaxInt64 {
		fmt.Fprintf(&out, "\nno peak can be below that of the driver, here %d MB\n", floor>>20)
	}
	for _, name := range r.tools.missing {
		fmt.Fprintf(&out, "left out: %s is not installed\n", name)
	}
	for _, part := range r.tools.broken {
		fmt.Fprintf(&out, "left out: %s\n", part)
	}
	for _, miss := range r.misses {
		fmt.Fprintf(&out, "missed: %s\n", miss)
	}
	for _, failure := range r.failures {
		fmt.Fprintf(&out, "failed: %s\n", failure)
	}
	return out.Bytes()
}

// appendTable appends rows with their columns below each other.
func appendTable(out *bytes.Buffer, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len(cell))
		}
	}
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			line += fmt.Sprintf("%-*s  ", widths[i], cell)
		}
		out.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// floor returns the smallest peak that was seen: the driver's own.
func (r *report) floor() int64 {
	floor := int64(math.MaxInt64)
	for _, res := range r.results {
		for _, t := range res.timings {
			floor = min(floor, t.peak)
		}
	}
	return floor
}

// rows makes the lines of one operation: the product, then the others.
func (r *report) rows(res result) []row {
	name := res.operation.name
	if res.failed != nil {
		return []row{{operation: name, program: res.failed.Error(), verdict: r.judge(false, name+" failed")}}
	}
	if res.room != nil {
		return roomRows(res)
	}
	if res.leftOut != "" {
		return []row{{operation: name, program: "left out: " + res.leftOut}}
	}
	ours := res.timings[0]
	rows := []row{r.peak(r.line(name, ours, res.bytes), res)}
	for _, t := range res.timings[1:] {
		rows = append(rows, r.compare(name, ours, t, res.bytes))
	}
	if res.operation.allocs > 0 {
		rows = append(rows, row{
			program: "allocations a MB", ratio: fmt.Sprintf("%.1f", ours.allocs), target: fmt.Sprintf("<= %.0f", res.operation.allocs),
			verdict: r.hold(ours.allocs <= res.operation.allocs, false, fmt.Sprintf("%s: %.1f allocations a MB", name, ours.allocs)),
		})
	}
	if res.operation.wall > 0 && len(res.timings) > 1 {
		rows = append(rows, r.wall(res))
	}
	rows = append(rows, stageRows(res.stages)...)
	return append(rows, r.growth(res)...)
}

// peak adds to the line of the product what memory it may take.
func (r *report) peak(line row, res result) row {
	target, ours := res.operation.peak, res.timings[0].peak
	if target == 0 {
		return line
	}
	line.target = fmt.Sprintf("peak <= %d MB", target>>20)
	what := fmt.Sprintf("%s: peak %d MB", res.operation.name, ours>>20)
	if res.start > 0 {
		line.target += fmt.Sprintf(" + %d to start", res.start>>20)
		what += fmt.Sprintf(", %d of them to start", res.start>>20)
	}
	line.verdict = r.hold(ours-res.start <= target, false, what)
	return line
}

// wall compares the shortest runs by the clock: what else the machine does
// makes runs longer, never shorter.
func (r *report) wall(res result) row {
	share := res.timings[0].wall.Seconds() / max(res.timings[1].wall.Seconds(), 1e-4)
	return row{
		program: "by the clock, best runs", ratio: fmt.Sprintf("%.2f of it", share), target: fmt.Sprintf("<= %.2f", res.operation.wall),
		verdict: r.judge(share <= res.operation.wall, fmt.Sprintf("%s: %.2f of the time by the clock", res.operation.name, share)),
	}
}

func (r *report) line(operation string, t timing, bytes int64) row {
	return row{
		operation: operation, program: t.program.name, cpu: fmt.Sprintf("%.3f", t.median.Seconds()),
		rate: fmt.Sprintf("%.0f", float64(bytes)/1e6/max(t.median.Seconds(), 1e-4)), peak: fmt.Sprint(t.peak >> 20),
	}
}

// compare makes the line of another program. A limit is shown as what the
// product costs of it, a peer as how much faster the product is.
func (r *report) compare(operation string, ours, other timing, bytes int64) row {
	line := r.line("", other, bytes)
	a, b := ours.median.Seconds(), max(other.median.Seconds(), 1e-4)
	goal := other.program.target
	what := operation + " against " + other.program.name
	switch {
	case goal.most > 0:
		line.ratio, line.target = fmt.Sprintf("%.2f of it", a/b), fmt.Sprintf("<= %.2f", goal.most)
		line.verdict = r.judge(a/b <= goal.most, what+" "+line.ratio)
	case goal.least > 0:
		line.ratio, line.target = faster(b/a), fmt.Sprintf(">= %.1fx", goal.least)
		line.verdict = r.hold(b/a >= goal.least, b/a >= goal.least/slack, what+" "+line.ratio)
	case b >= a:
		line.ratio = faster(b / a)
	default:
		line.ratio = fmt.Sprintf("%.2f of it", a/b)
	}
	return line
}

func faster(ratio float64) string {
	if ratio < 10 {
		return fmt.Sprintf("%.2fx faster", ratio)
	}
	return fmt.Sprintf("%.1fx faster", ratio)
}

// growth compares an operation with the same on a fifth of the bytes.
func (r *report) growth(res result) []row {
	for _, smaller := range r.results {
		if smaller.operation.name != res.operation.growth || len(smaller.timings) == 0 {
			continue
		}
		grown := res.timings[0].median.Seconds() / smaller.timings[0].median.Seconds()
		return []row{{
			program: "growth from " + smaller.operation.corpus, ratio: fmt.Sprintf("%.2fx", grown), target: fmt.Sprintf("<= %.1fx", maxGrowth),
			verdict: r.hold(grown <= maxGrowth, grown <= slack*maxGrowth, fmt.Sprintf("%s: %.2f times the CPU time of %s", res.operation.name, grown, smaller.operation.corpus)),
		}}
	}
	return nil
}
