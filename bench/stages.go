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
	"strings"
	"time"

	"github.com/sessctl/sessctl/bench/corpus"
)

// stage is a part of an operation: what some functions cost with all that they
// call, without what others of these cost.
type stage struct {
	name    string
	of      []string // functions, as a profile names them after the module's path
	without []string
	cpu     time.Duration
}

// compactStages are the steps of docs/architecture.md, the long one in parts.
func compactStages() []stage {
	const (
		remember = "pkg/compact.(*run).remember"
		put      = "pkg/memory.(*writer).put"
		words    = "modernc.org/sqlite/lib._fts5UpdateMethod"
		terms    = "pkg/embed.AppendTerms"
	)
	return []stage{
		{name: "plan: the log is read once", of: []string{"pkg/compact.NewPlan"}},
		{name: "secure: hash, copy, read back", of: []string{"pkg/compact.(*run).secure"}},
		{name: "remember: read, extract, redact, cut, summarise, commit", of: []string{remember}, without: []string{put}},
		{name: "remember: words of the texts, stemmed", of: []string{terms}},
		{name: "remember: full-text index (FTS5)", of: []string{words}},
		{name: "remember: other tables", of: []string{put}, without: []string{words, terms}},
		{name: "embed: built-in embedder", of: []string{"pkg/embed.(*batcher).embed"}},
		{name: "embed: vectors written, synced and named", of: []string{"pkg/memory.(*Store).PutVectors"}},
	}
}

// profiled runs a program of the product once more, with a profile.
func (d *driver) profiled(p program, c corpus.Corpus, stages []stage) ([]stage, error) {
	profile := filepath.Join(d.tools.dir, "stages.pprof")
	plain := p.arguments
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
	return append(stages, stage{name: "rotate, receipt, garbage collection, start", cpu: left}), nil
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
		costs[strings.TrimPrefix(name, module+"/")] += cost
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
