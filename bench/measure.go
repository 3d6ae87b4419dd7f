package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/bench/corpus"
	"github.com/sessctl/sessctl/internal/objectstore"
	"github.com/sessctl/sessctl/pkg/session"
)

// sample is what one run cost.
type sample struct {
	cpu    time.Duration // user and system
	wall   time.Duration
	peak   int64   // bytes of memory at most
	allocs float64 // a megabyte of the log; of programs that say it
	out    []byte
}

// driver runs operations.
type driver struct {
	options options
	tools   *tools
	corpora map[string]corpus.Corpus
	storage *objectstore.Server // of uploads, while they run
	start   int64               // bytes of memory that the product takes to start; 0 until it was asked
}

// corpus returns a corpus by name. It is made in a process of its own: the peak
// memory of a process is never below that of the one that started it, so this
// one stays small.
func (d *driver) corpus(name string) (corpus.Corpus, error) {
	if c, ok := d.corpora[name]; ok {
		return c, nil
	}
	if n, ok := records(name); ok {
		c, err := d.memory(name, n)
		d.corpora[name] = c
		return c, err
	}
	self, err := os.Executable()
	if err != nil {
		return corpus.Corpus{}, err
	}
	fmt.Fprintf(os.Stderr, "corpus %s\n", name)
	child := exec.Command(self, "-dir", d.options.dir, "-make", name)
	child.Stderr = os.Stderr
	if err := child.Run(); err != nil {
		return corpus.Corpus{}, fmt.Errorf("make corpus %s: %w", name, err)
	}
	c, err := corpus.Make(d.options.dir, specOf(name))
	d.corpora[name] = c
	return c, err
}

// measure checks the answers of an operation's programs and times them.
func (d *driver) measure(op operation) (result, error) {
	c, err := d.corpus(op.corpus)
	if err != nil {
		return result{}, err
	}
	if op.room {
		return d.measureRoom(op, c)
	}
	programs := d.present(op.programs)
	if op.needs != "" && d.tools.paths[op.needs] == "" {
		return result{operation: op, leftOut: op.needs + " is not installed"}, nil
	}
	if len(programs) == 0 || !programs[0].product() {
		return result{operation: op, leftOut: "not built"}, nil
	}
	fmt.Fprintf(os.Stderr, "%s: check", op.name)
	if err := d.check(programs, c); err != nil {
		return result{}, err
	}
	rounds := d.options.rounds
	if op.rounds > 0 {
		rounds = min(rounds, op.rounds)
	}
	samples := make([][]sample, len(programs))
	for round := range rounds {
		fmt.Fprintf(os.Stderr, " %d", round+1)
		for i, p := range programs {
			s, err := d.run(p, c, p.arguments)
			if err != nil {
				return result{}, err
			}
			s.out = nil
			samples[i] = append(samples[i], s)
		}
	}
	r := newResult(op, c, programs, samples)
	if r.start, err = d.startOf(programs[0], c); err != nil {
		return result{}, err
	}
	if len(op.stages) > 0 {
		fmt.Fprint(os.Stderr, " profile")
		if r.stages, err = d.profiled(programs[0], c, op.stages); err != nil {
			return result{}, err
		}
	}
	fmt.Fprintln(os.Stderr)
	return r, nil
}

// startOf is how much memory a program of the product takes when it does nothing:
// the least of some runs; 0 for the small programs that run a part of it.
func (d *driver) startOf(p program, c corpus.Corpus) (int64, error) {
	if p.tool != "sessctl" {
		return 0, nil
	}
	if d.start > 0 {
		return d.start, nil
	}
	idle := program{name: "sessctl version", tool: "sessctl", arguments: words("version")}
	for range 5 {
		s, err := d.run(idle, c, idle.arguments)
		if err != nil {
			return 0, err
		}
		if d.start == 0 || s.peak < d.start {
			d.start = s.peak
		}
	}
	return d.start, nil
}

// present returns the programs that are here.
func (d *driver) present(programs []program) []program {
	return slices.DeleteFunc(slices.Clone(programs), func(p program) bool { return d.tools.paths[p.tool] == "" })
}

// check compares every program's answer with what the corpus is known to
// hold, else with the product's, which comes first.
func (d *driver) check(programs []program, c corpus.Corpus) error {
	answers := map[question]string{tokens: fmt.Sprint(c.Tokens()), lines: fmt.Sprint(c.Lines()), size: fmt.Sprint(c.Bytes())}
	for _, p := range programs {
		arguments := p.arguments
		if p.checked != nil {
			arguments = p.checked
		}
		s, err := d.run(p, c, arguments)
		if err != nil {
			return err
		}
		got, err := p.answer(s.out)
		if err != nil {
			return fmt.Errorf("answer of %s: %w", p.name, err)
		}
		want, known := answers[p.question]
		if !known {
			answers[p.question] = got
		} else if want = firstWords(want, got); got != want {
			return fmt.Errorf("%s answers %q, want %q", p.name, got, want)
		}
	}
	return nil
}

// firstWords returns as many words of an answer as another program gives: not
// every program can hash.
func firstWords(answer, other string) string {
	words := strings.Fields(answer)
	return strings.Join(words[:min(len(words), len(strings.Fields(other)))], " ")
}

// run runs a program once.
func (d *driver) run(p program, c corpus.Corpus, arguments func(*tools, corpus.Corpus) []string) (sample, error) {
	home := c.Home
	if p.prepare != nil {
		if err := p.prepare(d, c); err != nil {
			return sample{}, err
		}
	}
	if p.fresh {
		scratch, err := d.copyOf(c)
		if err != nil {
			return sample{}, err
		}
		defer os.RemoveAll(scratch)
		home = scratch
		time.Sleep(session.Settled + 100*time.Millisecond) // as the usual log, it was left alone for a while
	}
	cmd := exec.Command(d.tools.paths[p.tool], arguments(d.tools, c)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.Dir = home
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "LC_ALL=C", "NO_COLOR=1"}
	cmd.Env = append(cmd.Env, p.env...)
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return sample{}, fmt.Errorf("run %s: %w: %s", p.name, err, errs.Bytes())
	}
	state := cmd.ProcessState
	s := sample{wall: time.Since(began), cpu: state.UserTime() + state.SystemTime(), peak: peakMemory(state), out: out.Bytes()}
	if p.tool == "kernel" {
		return s.ofLoop()
	}
	return s, nil
}

// copyOf copies a corpus' logs, times too, to a home that may be changed.
func (d *driver) copyOf(c corpus.Corpus) (string, error) {
	home, err := os.MkdirTemp(d.options.dir, "home-")
	if err != nil {
		return "", err
	}
	for _, l := range c.Logs {
		inside, err := filepath.Rel(c.Home, l.Path)
		if err != nil {
			return "", err
		}
		if err := copyFile(l.Path, filepath.Join(home, inside)); err != nil {
			return "", err
		}
	}
	return home, nil
}

func copyFile(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	info, err := source.Stat()
	if err != nil {
		return err
	}
	copied, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(copied, source)
	if err = errors.Join(err, copied.Close()); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}
