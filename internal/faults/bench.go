//go:build linux && amd64

package faults

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/crashloop"
)

// Bench tries faults on one command, in one directory, one after the other.
type Bench struct {
	home     Home
	template string // the home as the command finds it
	seen     map[string][]crashloop.Call
	// PowerCuts says why there are none, or nil.
	PowerCuts error
	// Twice says that after every fault the command is run twice again; else a
	// second time only where the first has left something to do, and after the run
	// without a fault.
	Twice bool
	// AtStake says that a share of the runs has, beside those calls, every one at which
	// most is at stake, see chosen.
	AtStake bool
	// Seed decides at which calls a share of the runs is made; "" always at the same.
	Seed string
	// Carried counts the runs after which a line was carried that had reached
	// the old log late.
	Carried int
	disks   *disks
}

// Result is one cell of the table.
type Result struct {
	Command, Fault string
	Runs           int
	Violations     []string // each with the call at which the fault happened
	Skipped        string   // why there were no runs
}

// NewBench prepares a command's home in dir, which must not exist yet, and
// sees what calls the undisturbed command makes.
func NewBench(program, dir string, c Command) (*Bench, error) { return newBench(program, dir, c, "") }

func newBench(program, dir string, c Command, covered string) (*Bench, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	b := &Bench{home: Home{Dir: filepath.Join(dir, "run"), Program: program, Command: c, covered: covered}, template: filepath.Join(dir, "template"), seen: map[string][]crashloop.Call{}}
	if err := b.home.build(); err != nil {
		return nil, fmt.Errorf("prepare %s: %w", c.Name, err)
	}
	if err := copyTree(b.home.Dir, b.template); err != nil {
		return nil, err
	}
	b.disks, b.PowerCuts = newDisks(dir)
	_, err = b.calls(nil, false)
	return b, err
}

// Command is the one that faults are tried on.
func (b *Bench) Command() Command { return b.home.Command }

// calls lists the calls of an undisturbed run: those that change files or, with
// reads, those that look at files too.
func (b *Bench) calls(env []string, reads bool) ([]crashloop.Call, error) {
	key := fmt.Sprint(reads, env)
	if calls, ok := b.seen[key]; ok {
		return calls, nil
	}
	calls, err := b.undisturbed(env, reads)
	b.seen[key] = calls
	return calls, err
}

// undisturbed runs the command without faults. A harness whose checks fail
// then would prove nothing.
func (b *Bench) undisturbed(env []string, reads bool) ([]crashloop.Call, error) {
	h, err := b.fresh()
	if err != nil {
		return nil, err
	}
	h.Command.Env = append(slices.Clone(env), h.Command.Env...)
	h.twice = true
	got, err := h.trace(reads, nil)
	switch {
	case err != nil:
		return nil, err
	case got.Exit != 0:
		return nil, fmt.Errorf("%s, undisturbed: exit %d: %s", h.Command.Name, got.Exit, got.Output)
	case len(got.Calls) < 10:
		return nil, fmt.Errorf("%s: only %d calls: the harness sees too little", h.Command.Name, len(got.Calls))
	}
	if err := h.Command.Done(h); err != nil {
		return nil, fmt.Errorf("%s, undisturbed: %w", h.Command.Name, err)
	}
	if err := h.settles(); err != nil {
		return nil, fmt.Errorf("%s, undisturbed: %w", h.Command.Name, err)
	}
	return got.Calls, nil
}

// fresh puts the home back into the state in which the command starts.
func (b *Bench) fresh() (*Home, error) {
	if err := os.RemoveAll(b.home.Dir); err != nil {
		return nil, err
	}
	h := b.home
	h.twice = b.Twice
	return &h, errors.Join(h.serversAsBefore(), copyTree(b.template, h.Dir))
}

// Close ends the server that the command has needed.
func (b *Bench) Close() {
	if b.home.shared != nil {
		b.home.shared.server.Stop()
	}
}

// Finds tries a fault at every place until something is violated, and returns
// that, or nothing. It begins at the end, where most is at stake.
func (b *Bench) Finds(f Fault) (string, error) {
	places, err := f.places(b)
	if err != nil || f.unfit(b) != "" {
		return "", err
	}
	if f.exit {
		places = append(places, crashloop.Call{Name: exitCall})
	}
	for _, c := range slices.Backward(places) {
		problem, err := f.try(b, c)
		if err != nil {
			return "", err
		}
		if problem != nil {
			return fmt.Sprintf("call %d, %s %s: %v", c.N, c.Name, c.Path, problem), nil
		}
	}
	return "", nil
}

// Try runs the command once for each call at which the fault can happen, or
// for about share of them, evenly spread, if share is not 0. The error is
// about the harness; what the program did wrong is in the result.
func (b *Bench) Try(f Fault, share int) (Result, error) {
	r := Result{Command: b.home.Command.Name, Fault: f.Name}
	if r.Skipped = f.unfit(b); r.Skipped != "" {
		return r, nil
	}
	places, err := f.places(b)
	if err != nil {
		return r, err
	}
	places = b.chosen(f, places, share)
	if f.exit {
		places = append(places, crashloop.Call{Name: exitCall})
	}
	for _, c := range places {
		problem, err := f.try(b, c)
		if err != nil {
			return r, fmt.Errorf("%s, %s at call %d (%s %s): %w", r.Command, f.Name, c.N, c.Name, c.Path, err)
		}
		r.Runs++
		if problem != nil {
			r.Violations = append(r.Violations, fmt.Sprintf("call %d, %s %s: %v", c.N, c.Name, c.Path, problem))
		}
	}
	return r, nil
}

// chosen is where a fault is tried: everywhere with a share of 0, else at about share
// places and where most is at stake: of a writer, before every call that gives a file
// of the sessions another name; of a kill, before every call that removes a file from
// a trash. There are one to five of them among a thousand.
func (b *Bench) chosen(f Fault, places []crashloop.Call, share int) []crashloop.Call {
	some := spread(places, share, b.Seed+b.home.Command.Name+f.Name)
	if !b.AtStake || share == 0 {
		return some
	}
	for _, c := range places {
		if b.atStake(f, c) && !slices.Contains(some, c) {
			some = append(some, c)
		}
	}
	return some
}

func (b *Bench) atStake(f Fault, c crashloop.Call) bool {
	if kinds[kindOf(f.Name)].begins == "" {
		return strings.HasPrefix(c.Name, "rename") && inSessions(b, c)
	}
	return f.Name == "SIGKILL" && strings.HasPrefix(c.Name, "unlink") && strings.Contains(c.Path, "/"+trashName+"/")
}

// exitCall stands for the moment right after the end of the program.
const exitCall = "exit"

// DryRun runs the command with --dry-run on a fresh home: it may not make one
// call that changes a file.
func (b *Bench) DryRun() (crashloop.Outcome, error) {
	h, err := b.fresh()
	if err != nil {
		return crashloop.Outcome{}, err
	}
	h.Command.Args = append(slices.Clone(h.Command.Args), "--dry-run")
	return h.trace(false, nil)
}

// spread picks share of the calls, evenly spread from a place that the seed
// decides: always the same ones for a command and a fault, others for others.
func spread(calls []crashloop.Call, share int, seed string) []crashloop.Call {
	if share == 0 || len(calls) <= share {
		return calls
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(seed)) // never fails, by its documentation
	start := int(hash.Sum32()) % len(calls)
	some := make([]crashloop.Call, share)
	for i := range some {
		some[i] = calls[(start+i*len(calls)/share)%len(calls)]
	}
	return some
}

// Violations is how many runs broke a rule.
func Violations(all []Result) int {
	n := 0
	for _, r := range all {
		n += len(r.Violations)
	}
	return n
}

// kinds are the columns of the table, each with how the names of its faults
// begin. What fits none is a writer.
var kinds = [...]struct{ name, begins string }{
	{"killed", "SIGKILL|torn write"},
	{"short or lost write", "short write|write lost"},
	{"asked to end", "SIGTERM|SIGINT|SIGHUP"},
	{"disk or quota full", "ENOSPC|EDQUOT"},
	{"I/O error", "EIO"},
	{"a writer", ""},
	{"second sessctl", "second"},
	{"power cut", "power cut"},
}

func kindOf(fault string) int {
	for i, k := range kinds {
		for begin := range strings.SplitSeq(k.begins, "|") {
			if begin != "" && strings.HasPrefix(fault, begin) {
				return i
			}
		}
	}
	return slices.IndexFunc(kinds[:], func(k struct{ name, begins string }) bool { return k.begins == "" })
}

// tally counts runs and violations.
type tally struct{ runs, violations int }

func (t *tally) add(r Result) {
	t.runs += r.Runs
	t.violations += len(r.Violations)
}

func (t tally) String() string {
	if t == (tally{}) {
		return "–"
	}
	return fmt.Sprintf("%d / %d", t.runs, t.violations)
}

// WriteTable writes results as a Markdown table with a row for each command
// and a column for each kind of fault; a cell is "runs / violations".
func WriteTable(w io.Writer, all []Result) {
	var commands []string
	rows := map[string]*[len(kinds) + 1]tally{}
	var sum [len(kinds) + 1]tally
	for _, r := range all {
		row := rows[r.Command]
		if row == nil {
			row = new([len(kinds) + 1]tally)
			rows[r.Command] = row
			commands = append(commands, r.Command)
		}
		for _, column := range []int{kindOf(r.Fault), len(kinds)} {
			row[column].add(r)
			sum[column].add(r)
		}
	}
	fmt.Fprint(w, "| command |")
	for _, k := range kinds {
		fmt.Fprintf(w, " %s |", k.name)
	}
	fmt.Fprintf(w, " all |\n|---|%s\n", strings.Repeat("---:|", len(kinds)+1))
	for _, c := range commands {
		writeRow(w, c, rows[c][:])
	}
	writeRow(w, "**all**", sum[:])
}

func writeRow(w io.Writer, name string, cells []tally) {
	fmt.Fprintf(w, "| %s |", name)
	for _, c := range cells {
		fmt.Fprintf(w, " %s |", c)
	}
	fmt.Fprintln(w)
}
