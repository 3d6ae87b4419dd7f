package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sessctl/sessctl/bench/corpus"
	"github.com/sessctl/sessctl/bench/product"
)

const (
	megabyte = 1_000_000
	// readingPeak bounds the memory of everything that only reads logs,
	// whatever their size or that of their lines; archivePeak that of copying
	// one compressed (docs/dev/decisions.md D24). They are beyond what the program
	// takes to start: most of that are pages of its own file, which the kernel
	// maps by the neighbourhood and may drop. extractPeak is all of a small
	// program that only reads, and cannot be below that of the driver.
	readingPeak = 16 << 20
	archivePeak = 32 << 20
	extractPeak = 24 << 20
)

// operation is something that several programs do; the first is the product.
type operation struct {
	name     string
	corpus   string
	programs []program
	peak     int64   // bytes of memory that the product may hold at most beyond its start; 0 for no target
	growth   string  // an operation on a fifth of the bytes, see maxGrowth
	allocs   float64 // allocations a megabyte at most; 0 for no target
	wall     float64 // of the time by the clock that the second program takes, at most; 0 for no target
	rounds   int     // at most; 0 for no bound
	stages   []stage // that the product's time is shown by
	needs    string  // a program without which it is left out; "" for none
	room     bool    // what is measured is how large a memory is; there are no programs
}

// maxGrowth is how many times the CPU time may grow when the bytes grow
// fivefold (docs/dev/decisions.md D24).
const maxGrowth = 5.5

// specOf returns what a corpus holds, by its name.
func specOf(name string) corpus.Spec {
	specs := map[string]corpus.Spec{
		"m20":     {Files: 12, Bytes: 20 * megabyte},
		"m200":    {Files: 116, Bytes: 200 * megabyte},
		"s20":     {Files: 782, Bytes: 20 * megabyte, Spread: true},
		"s200":    {Files: 7820, Bytes: 200 * megabyte, Spread: true},
		"one10":   {Files: 1, Bytes: 10 * megabyte},
		"one20":   {Files: 1, Bytes: 20 * megabyte},
		"one200":  {Files: 1, Bytes: 200 * megabyte},
		"one1000": {Files: 1, Bytes: 1000 * megabyte},
		"line60":  {Files: 1, Bytes: 60 * megabyte, OneLine: true},
		"line600": {Files: 1, Bytes: 600 * megabyte, OneLine: true},
		"old400":  {Files: 400, Bytes: 10 * megabyte, Spread: true, Closed: true},
		"old2000": {Files: 2000, Bytes: 50 * megabyte, Spread: true, Closed: true},
		"u224":    {Files: 224, Bytes: 20 * megabyte, Spread: true},
		"out20k":  {Files: 20_000, Bytes: 5 * megabyte, Outputs: true},
		"coding":  {Files: 6, Bytes: 5 * megabyte},
		"chat":    {Files: 60, Bytes: 1 * megabyte, Chat: true},
	}
	spec := specs[name]
	if mb, ok := strings.CutPrefix(name, "real"); ok {
		spec = realSpec(mb)
	}
	spec.Name = name
	return spec
}

// realSpec is a corpus of so many megabytes of real text, in sessions of 12 MB.
func realSpec(megabytes string) corpus.Spec {
	n, err := strconv.ParseInt(megabytes, 10, 64)
	if err != nil || n <= 0 {
		return corpus.Spec{}
	}
	return corpus.Spec{Files: int(n/12 + 1), Bytes: n * megabyte, Real: true}
}

// operations returns what is measured, with its targets (docs/dev/performance.md,
// "Results").
func operations(quick bool) []operation {
	if quick {
		return quickOperations()
	}
	all := append(sizesOperations(), readingOperations()...)
	all = append(all, storingOperations()...)
	all = append(all, workerOperations()...)
	all = append(all, cleaningOperations()...)
	all = append(all, roomOperations()...)
	all = append(all, uploadOperations(false)...)
	// The answer about thousands of logs makes the driver itself larger, and
	// with it the smallest peak that can be seen: last but for compact.
	return append(all, []operation{
		{
			name: "sizes, 200 MB in 7820 logs", corpus: "s200",
			programs: []program{sessctlSizes(), wc(target{most: 6}), find(target{}), sizesPython(target{})},
		},
		{
			name: "sizes again, nothing changed, 7820 logs", corpus: "s200",
			programs: []program{sizesAgain(), find(target{most: 2}), wc(target{})},
		},
		{
			name: "browse, 7820 logs", corpus: "s200", wall: 1,
			programs: []program{browse(), countedSizes(target{most: 1.2})},
		},
		{name: "compact, 10 MB", corpus: "one10", programs: []program{sessctlCompact(), extractChunks()}},
		{name: "compact, 200 MB", corpus: "one200", programs: []program{sessctlCompact(), extractChunks()}, rounds: 1, stages: compactStages()},
		{name: "compact, 100 MB of real text", corpus: "real100", programs: []program{sessctlCompact()}, rounds: 1, stages: compactStages()},
		{name: "compact, 200 MB of real text", corpus: "real200", programs: []program{sessctlCompact()}, rounds: 1, stages: compactStages()},
	}...)
}

// sizesOperations ask how large sessions are.
func sizesOperations() []operation {
	return []operation{
		{
			name: "sizes, 200 MB in 116 logs", corpus: "m200", peak: readingPeak,
			programs: []program{
				sessctlSizes(), wc(target{most: 9}), find(target{}),
				sizesPython(target{least: 5}), sizesNode(target{}), sizesJQ(target{}),
			},
		},
		{
			name: "sizes, one log of 1 GB", corpus: "one1000", peak: readingPeak,
			programs: []program{sessctlSizes(), wc(target{most: 9})},
		},
		{name: "sizes, a line of 600 MB", corpus: "line600", peak: readingPeak, programs: []program{sessctlSizes(), wc(target{})}},
		{
			name: "sizes --by-type, 200 MB", corpus: "m200", peak: readingPeak,
			programs: []program{
				byType(), wc(target{most: 4}), typesPeer("python3", "kinds.py", target{least: 6}),
				typesPeer("node", "types.mjs", target{least: 5}), typesPeer("jq", "types.jq", target{least: 15}),
			},
		},
	}
}

// readingOperations are what a compaction does with a log before it stores
// anything.
func readingOperations() []operation {
	return []operation{
		{
			name: "read, extract, chunk: 200 MB", corpus: "one200", peak: extractPeak,
			programs: []program{
				extract(), wc(target{most: 5}), extractPython(target{least: 6}),
				extractNode(target{least: 4.5}), extractJQ(target{least: 25}),
			},
		},
		{name: "read, extract, chunk: 10 MB", corpus: "one10", peak: extractPeak, programs: []program{extract(), wc(target{})}},
		{
			name: "read, extract, chunk: 1 GB", corpus: "one1000", peak: extractPeak,
			programs: []program{extract(), wc(target{most: 5})}, growth: "read, extract, chunk: 200 MB",
		},
		{name: "read, extract, chunk: a line of 600 MB", corpus: "line600", peak: extractPeak, programs: []program{extractUnchecked(), wc(target{})}},
		{
			name: "decoder alone, 200 MB", corpus: "one200", allocs: 10,
			programs: []program{loopOf("piformat.Scan", "decode", target{}), loopOf("encoding/json, structs", "decode-std", target{})},
		},
		{
			name: "chunker alone, 200 MB", corpus: "one200", allocs: 1,
			programs: []program{loopOf("chunk.Chunker", "cut", target{}), loopOf("[]rune", "cut-runes", target{least: 20})},
		},
	}
}

// workerOperations compare two workers with one: CPU time may grow a little, and
// on a machine that does nothing else the clock shows the gain.
func workerOperations() []operation {
	return []operation{
		{
			name: "two workers: sizes --by-type, 200 MB", corpus: "m200", wall: 0.65,
			programs: []program{workers(byType(), 2, target{}), workers(byType(), 1, target{most: 1.12})},
		},
		{
			name: "two workers: sizes, 200 MB in 7820 logs", corpus: "s200", wall: 0.65,
			programs: []program{workers(sessctlSizes(), 2, target{}), workers(sessctlSizes(), 1, target{most: 1.12})},
		},
	}
}

// storingOperations write, or search what was written.
func storingOperations() []operation {
	return []operation{
		{
			name: "archive, zstd, verified: 200 MB", corpus: "one200", peak: archivePeak,
			programs: []program{archived(), zstdAndRead(target{most: 1.25})},
		},
		unchangedOperation(),
		unchangedOutputsOperation(),
		{name: "recall, 10,000 chunks", corpus: "memory10k", programs: []program{recall(), bareScan(target{most: 3}), vectorDB("vec0"), vectorDB("chromem")}},
		{name: "recall, 100,000 chunks", corpus: "memory100k", programs: []program{recall(), bareScan(target{most: 3}), vectorDB("vec0"), vectorDB("chromem")}},
		{name: "recall, 1,000,000 chunks", corpus: "memory1m", programs: []program{recall(), bareScan(target{most: 3})}, rounds: 3},
	}
}

// unchangedOperation archives what is archived: nothing is read, so it may take no
// longer than to read the logs once.
func unchangedOperation() operation {
	return operation{name: "archive --all again, nothing changed, 224 logs", corpus: "u224", programs: []program{archivedAgain(), wc(target{most: 4}), find(target{})}}
}

// unchangedOutputsOperation is the same of many small files, of which each, its archive
// and its entry are looked at: find looks at a third of these.
func unchangedOutputsOperation() operation {
	return operation{name: "archive --all again, nothing changed, 20,000 side files", corpus: "out20k", programs: []program{archivedAgain(), findNamed("*.txt", target{most: 8})}}
}

// cleaningOperations look for what may be deleted: five times the logs of one
// agent may take five times the time, not more.
func cleaningOperations() []operation {
	return []operation{
		{name: "clean --dry-run, 400 closed logs of an agent", corpus: "old400", programs: []program{planToClean(), findClosed()}},
		{
			name: "clean --dry-run, 2000 closed logs of an agent", corpus: "old2000",
			programs: []program{planToClean(), findClosed()}, growth: "clean --dry-run, 400 closed logs of an agent",
		},
	}
}

// roomOperations say how large a memory is beside its logs. There is no target:
// no word of these logs is one of a language, so the dictionary of the memory
// does not help. TestRoom of pkg/memory holds the room of real text.
func roomOperations() []operation {
	return []operation{
		{name: "room of the memory, 5 MB of coding sessions", corpus: "coding", room: true},
		{name: "room of the memory, 1 MB of chat", corpus: "chat", room: true},
	}
}

// quickOperations are the same on a tenth of the bytes: start-up times weigh
// more, so the limits that only large files can meet are left out.
func quickOperations() []operation {
	return append(slices.Concat(cleaningOperations(), roomOperations(), uploadOperations(true)), []operation{
		unchangedOperation(),
		unchangedOutputsOperation(),
		{
			name: "sizes, 20 MB in 12 logs", corpus: "m20", peak: readingPeak,
			programs: []program{
				sessctlSizes(), wc(target{}), find(target{}),
				sizesPython(target{least: 5}), sizesNode(target{}), sizesJQ(target{}),
			},
		},
		{
			name: "sizes --by-type, 20 MB", corpus: "m20", peak: readingPeak,
			programs: []program{
				byType(), wc(target{}), typesPeer("python3", "kinds.py", target{least: 3}),
				typesPeer("node", "types.mjs", target{least: 3}), typesPeer("jq", "types.jq", target{least: 10}),
			},
		},
		{
			name: "read, extract, chunk: 20 MB", corpus: "one20", peak: extractPeak,
			programs: []program{
				extract(), wc(target{}), extractPython(target{least: 6}),
				extractNode(target{least: 4.5}), extractJQ(target{least: 15}),
			},
		},
		{name: "read, extract, chunk: a line of 60 MB", corpus: "line60", peak: extractPeak, programs: []program{extractUnchecked(), wc(target{})}},
		{
			name: "decoder alone, 20 MB", corpus: "one20", allocs: 10,
			programs: []program{loopOf("piformat.Scan", "decode", target{}), loopOf("encoding/json, structs", "decode-std", target{})},
		},
		{
			name: "chunker alone, 20 MB", corpus: "one20", allocs: 2, // 22 in all
			programs: []program{loopOf("chunk.Chunker", "cut", target{}), loopOf("[]rune", "cut-runes", target{least: 20})},
		},
		{
			name: "archive, zstd, verified: 20 MB", corpus: "one20", peak: archivePeak,
			programs: []program{archived(), zstdAndRead(target{})},
		},
		{name: "recall, 10,000 chunks", corpus: "memory10k", programs: []program{recall(), bareScan(target{most: 3})}},
		{
			name: "sizes, 20 MB in 782 logs", corpus: "s20",
			programs: []program{sessctlSizes(), wc(target{}), sizesPython(target{})},
		},
		{
			name: "sizes again, nothing changed, 782 logs", corpus: "s20",
			programs: []program{sizesAgain(), find(target{}), wc(target{})},
		},
		{
			name: "browse, 782 logs", corpus: "s20",
			programs: []program{browse(), countedSizes(target{})},
		},
		{name: "compact, 20 MB", corpus: "one20", programs: []program{sessctlCompact(), extractChunks()}, rounds: 1, stages: compactStages()},
		{name: "compact, 20 MB of real text", corpus: "real20", programs: []program{sessctlCompact()}, rounds: 1, stages: compactStages()},
	}...)
}

// extractUnchecked is for logs whose answer no peer gives: text beyond the
// longest string that is kept is cut.
func extractUnchecked() program {
	p := extract()
	p.checked = nil
	return p
}

// stage is a part of an operation: what some functions cost with all that they
// call, without what others of these cost.
type stage struct {
	name    string
	of      []string // functions, as a profile names them after the module's path
	without []string
	cpu     time.Duration
}

// compactStages are the steps of docs/dev/architecture.md, the long one in parts.
func compactStages() []stage {
	const (
		words   = "pkg/memory/words.(*Writer).Post"
		vectors = "pkg/memory/vectors.(*Writer).Add"
	)
	return []stage{
		{name: "plan: the log is read once", of: []string{"pkg/compact.NewPlan"}},
		{name: "secure: copy, read back", of: []string{"pkg/compact.(*run).secure"}},
		{name: "remember: read, extract, redact, cut, summarise", of: []string{"pkg/compact.(*reader).read", "pkg/compact.(*run).summarize"}, without: []string{"pkg/compact.takeSurvey"}},
		{name: "remember: words of the texts, built-in embedder", of: []string{"pkg/memory.(*preparer).read"}},
		{name: "remember: texts compressed", of: []string{"pkg/memory.(*textWriter).appendKept"}},
		{name: "remember: index of words", of: []string{words, "pkg/memory.(*writer).finishWords"}},
		{name: "remember: vectors written and named", of: []string{vectors, "pkg/memory/vectors.(*Writer).Flush"}},
		{name: "remember: what was done", of: []string{"pkg/memory.actionWriter.release"}, without: []string{"pkg/memory.(*textWriter).kept", "pkg/memory/words.(*Writer).AddTerms"}},
		{name: "remember: other tables", of: []string{"pkg/memory.(*writer).insertRow", "pkg/memory.(*writer).store"}, without: []string{words, vectors}},
	}
}

// profiled runs a program of the product once more, with a profile.
func (d *driver) profiled(p program, c corpus.Corpus, stages []stage) ([]stage, error) {
	profile := filepath.Join(d.tools.dir, "stages.pprof")
	plain := p.arguments
	// A signal that interrupts a goroutine often comes with that of the profiler, which then
	// counts a fifth of the time for no function.
	p.env = append(slices.Clip(p.env), "GODEBUG=asyncpreemptoff=1")
	p.arguments = func(t *tools, c corpus.Corpus) []string { return append([]string{"--pprof", profile}, plain(t, c)...) }
	if _, err := d.run(p, c, p.arguments); err != nil {
		return nil, err
	}
	defer os.Remove(profile)
	top := exec.Command("go", "tool", "pprof", "-top", "-cum", "-nodecount=1000000", "-nodefraction=0", "-unit=ms", d.tools.paths[p.tool], profile)
	top.Env = append(os.Environ(), "PPROF_TMPDIR="+d.tools.dir)
	out, err := top.Output()
	if err != nil {
		return nil, fmt.Errorf("read the profile: %w", err)
	}
	return staged(stages, out)
}

// staged fills in stages from the listing of a profile, and adds what is left.
func staged(stages []stage, listing []byte) ([]stage, error) {
	total, costs, err := functionCosts(listing)
	if err != nil {
		return nil, err
	}
	left := total
	stages = slices.Clone(stages)
	for i := range stages {
		s := &stages[i]
		for _, name := range s.of {
			s.cpu += costs[name]
		}
		for _, name := range s.without {
			s.cpu -= costs[name]
		}
		left -= s.cpu
	}
	return append(stages, stage{name: "commits, change of the log, receipt, garbage collection, start", cpu: left}), nil
}

// functionCosts reads what `go tool pprof -top -cum -unit=ms` prints: the total
// and what each function has cost with all that it calls. Names lose the path
// of this module.
func functionCosts(listing []byte) (total time.Duration, costs map[string]time.Duration, err error) {
	costs = map[string]time.Duration{}
	lines := bufio.NewScanner(bytes.NewReader(listing))
	for lines.Scan() {
		if _, after, ok := strings.Cut(lines.Text(), "Total samples = "); ok {
			if total, err = milliseconds(strings.Fields(after)[0]); err != nil {
				return 0, nil, err
			}
			continue
		}
		fields := strings.Fields(lines.Text())
		if len(fields) < 6 || !strings.HasSuffix(fields[4], "%") {
			continue
		}
		cost, err := milliseconds(fields[3])
		if err != nil {
			return 0, nil, err
		}
		name := strings.TrimSuffix(strings.Join(fields[5:], " "), " (inline)")
		costs[strings.TrimPrefix(name, product.Module+"/")] += cost
	}
	if total == 0 {
		return 0, nil, errors.New("the profile has no total")
	}
	return total, costs, lines.Err()
}

// milliseconds reads "12.50ms", "0" and, of the total, "1.25s".
func milliseconds(s string) (time.Duration, error) {
	if s == "0" {
		return 0, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("read the profile: %w", err)
	}
	return d, nil
}

// stageRows are the lines of the table for the stages of a result.
func stageRows(stages []stage) []row {
	total := time.Duration(0)
	for _, s := range stages {
		total += s.cpu
	}
	var rows []row
	for _, s := range stages {
		rows = append(rows, row{program: "  " + s.name, cpu: fmt.Sprintf("%.3f", s.cpu.Seconds()), ratio: fmt.Sprintf("%.0f %% of it", 100*s.cpu.Seconds()/max(total.Seconds(), 1e-9))})
	}
	return rows
}
