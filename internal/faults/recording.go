//go:build linux && amd64

package faults

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
)

// CoverageFlags are those of go build for a program that says what it executes.
func CoverageFlags() []string {
	return []string{"-cover", "-covermode=set", "-coverpkg=github.com/sessctl/sessctl/..."}
}

const coverageDir = "GOCOVERDIR"

// Recorder sees what commands execute.
type Recorder struct {
	program string // built with CoverageFlags
	dir     string
	always  map[string]bool // blocks that every start executes
	files   map[string]bool // of the program
}

// NewRecorder starts the program once, to see what it executes whatever it is asked
// for. It works in dir, which must be there.
func NewRecorder(program, dir string) (*Recorder, error) {
	r := &Recorder{program: program, dir: dir, always: map[string]bool{}, files: map[string]bool{}}
	for _, sub := range []string{"version", "unused"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, err
		}
	}
	version := exec.Command(program, "version")
	version.Env = []string{coverageDir + "=" + filepath.Join(dir, "version")}
	if out, err := version.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("version: %w: %s", err, out)
	}
	blocks, err := coverage(filepath.Join(dir, "version"))
	for block, executed := range blocks {
		r.files[fileOf(block)] = true
		if executed {
			r.always[block] = true
		}
	}
	return r, err
}

// Files are those of which the program is made.
func (r *Recorder) Files() map[string]bool { return r.files }

// Row returns the files of which a command executes something, and so do the runs
// after it. With disturbed it is run once more at a few calls with faults: what
// only then is executed counts too.
func (r *Recorder) Row(c Command, disturbed bool) (map[string]bool, error) {
	dir, err := os.MkdirTemp(r.dir, "row-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	seen := filepath.Join(dir, "seen")
	if err := os.Mkdir(seen, 0o700); err != nil {
		return nil, err
	}
	b, err := newBench(r.program, filepath.Join(dir, "bench"), c, filepath.Join(r.dir, "unused"))
	if err != nil {
		return nil, err
	}
	defer b.Close()
	b.home.covered = seen
	if _, err := b.undisturbed(nil, false); err != nil {
		return nil, err
	}
	if disturbed {
		if err := b.disturb(); err != nil {
			return nil, err
		}
	}
	blocks, err := coverage(seen)
	files := map[string]bool{}
	for block, executed := range blocks {
		if executed && !r.always[block] {
			files[fileOf(block)] = true
		}
	}
	return files, err
}

// disturb lets one fault of each sort happen. What is wrong then is for the table to
// tell.
func (b *Bench) disturb() error {
	for _, f := range Faults() {
		if !slices.Contains([]string{"SIGKILL", "EIO once", "log opened, written to after the run", "second sessctl"}, f.Name) {
			continue
		}
		if _, err := b.Try(f, 1); err != nil {
			return err
		}
	}
	return nil
}

// coverage returns the blocks of our sources, and whether runs have executed them.
func coverage(dir string) (map[string]bool, error) {
	profile := filepath.Join(dir, "profile.txt")
	out, err := exec.Command("go", "tool", "covdata", "textfmt", "-i", dir, "-o", profile).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("read coverage: %w: %s", err, out)
	}
	text, err := os.ReadFile(profile)
	if err != nil {
		return nil, err
	}
	blocks := map[string]bool{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		fields := strings.Fields(strings.TrimPrefix(lines.Text(), "github.com/sessctl/sessctl/"))
		if len(fields) == 3 {
			blocks[fields[0]] = blocks[fields[0]] || fields[2] != "0"
		}
	}
	if len(blocks) == 0 {
		return nil, errors.New("read coverage: the program has said nothing of what it executes")
	}
	return blocks, lines.Err()
}

// fileOf is the file of a block, FILE:FROM,TO.
func fileOf(block string) string {
	file, _, _ := strings.Cut(block, ":")
	return file
}
