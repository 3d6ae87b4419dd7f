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
//	cd bench && go run .           all of it
//	cd bench && go run . -quick    small logs, under two minutes
package main

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/sessctl/sessctl/bench/corpus"
	"github.com/sessctl/sessctl/bench/product"
	"github.com/sessctl/sessctl/internal/objectstore"
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
		return makeCorpus(o.dir, specOf(o.make))
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
	defer func() { _ = d.stopStorage() }() // the run itself has failed or not
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
	table := results.table() // judges
	if _, err := os.Stdout.Write(table); err != nil {
		return err
	}
	return results.broken()
}

// makeCorpus makes a corpus. The text of a real one is the sessions of
// bench/recall and the source code of Go's library: both stay as they are.
func makeCorpus(dir string, s corpus.Spec) error {
	if s.Real {
		own, errOwn := printed("go", "list", "-m", "-f", "{{.Dir}}")
		library, errLibrary := printed("go", "env", "GOROOT")
		if err := errors.Join(errOwn, errLibrary); err != nil {
			return fmt.Errorf("find the text of logs: %w", err)
		}
		s.Sources = corpus.Sources{Talk: filepath.Join(own, "recall", "summaries"), Code: []string{filepath.Join(library, "src", "net"), filepath.Join(library, "src", "cmd", "go")}}
	}
	_, err := corpus.Make(dir, s)
	return err
}

// printed runs a command and returns the line that it prints.
func printed(name string, arguments ...string) (string, error) {
	out, err := exec.Command(name, arguments...).Output()
	return strings.TrimSpace(string(out)), err
}

// The peers' scripts. They do what the product does in the way a plain script
// does it; each says what it computes.
//
//go:embed peers
var peerScripts embed.FS

// tools is where the programs are.
type tools struct {
	dir     string            // of the peers' scripts and the built product
	paths   map[string]string // by name; absent if not there
	missing []string          // peers that are not installed
	broken  []string          // parts of the product that do not build, with the error
}

// findTools builds the product, writes the peers' scripts and looks for the
// programs that run them.
func findTools(dir string) (*tools, error) {
	t := &tools{dir: filepath.Join(dir, "bin"), paths: map[string]string{}}
	if err := os.MkdirAll(t.dir, 0o700); err != nil {
		return nil, err
	}
	if err := t.writeScripts(); err != nil {
		return nil, err
	}
	t.buildProduct()
	for _, name := range []string{"extract", "kernel", "put", "scan", "screen", "vectordb"} {
		t.build(name)
	}
	return t, t.findPeers()
}

func (t *tools) findPeers() error {
	for _, name := range []string{"wc", "find", "python3", "node", "jq", "zstd", "sh", "rclone"} {
		path, err := exec.LookPath(name)
		if errors.Is(err, exec.ErrNotFound) {
			t.missing = append(t.missing, name)
			continue
		}
		if err != nil {
			return err
		}
		t.paths[name] = realProgram(name, path)
	}
	if objectstore.Available() {
		t.paths["versitygw"] = "versitygw"
	} else {
		t.missing = append(t.missing, "versitygw")
	}
	if t.paths["zstd"] != "" { // what is run is a shell that runs it
		t.paths["zstd and sh"] = t.paths["sh"]
	}
	return nil
}

// buildProduct builds the program itself.
func (t *tools) buildProduct() {
	path, err := product.Build(context.Background(), t.dir)
	if err != nil {
		t.broken = append(t.broken, err.Error())
		return
	}
	t.paths["sessctl"] = path
}

// build builds a program of this module that runs a part of the product.
func (t *tools) build(name string) {
	path := filepath.Join(t.dir, name)
	c := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, product.Module+"/bench/"+name)
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		t.broken = append(t.broken, fmt.Sprintf("%s: %v\n%s", name, err, out))
		return
	}
	t.paths[name] = path
}

func (t *tools) writeScripts() error {
	entries, err := peerScripts.ReadDir("peers")
	if err != nil {
		return err
	}
	for _, e := range entries {
		text, err := peerScripts.ReadFile("peers/" + e.Name())
		if err != nil {
			return err
		}
		if err := os.WriteFile(t.script(e.Name()), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (t *tools) script(name string) string { return filepath.Join(t.dir, name) }

// realProgram looks through the shims of version managers, which are shell
// scripts that would be timed as well.
func realProgram(name, path string) string {
	if name != "python3" {
		return path
	}
	out, err := exec.Command(path, "-c", "import sys; print(sys.executable, end='')").Output()
	if err != nil || len(out) == 0 {
		return path
	}
	return string(out)
}
