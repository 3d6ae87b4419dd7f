package corpus

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"
)

// version is part of a corpus' directory name; raise it with any change of
// what is written.
const version = 1

// Spec says what a corpus holds.
type Spec struct {
	Name    string
	Files   int
	Bytes   int64 // of all files together
	Spread  bool  // sizes vary, most are small (lognormal, sigma 1)
	OneLine bool  // one tool result of Bytes bytes in a single log
}

// Corpus is a corpus on disk: a pi store under a home directory.
type Corpus struct {
	Name string `json:"name"`
	Home string `json:"-"`
	Logs []Log  `json:"logs"`
}

// Make returns the corpus under dir, and writes it first if it is not there.
func Make(dir string, s Spec) (Corpus, error) {
	home := filepath.Join(dir, fmt.Sprintf("%s-v%d", s.Name, version))
	c, err := load(home)
	if !errors.Is(err, fs.ErrNotExist) {
		return c, err
	}
	if err := os.RemoveAll(home); err != nil {
		return Corpus{}, err
	}
	c = Corpus{Name: s.Name, Home: home}
	for i, size := range sizes(s) {
		l, err := writeFile(home, i, size, s)
		if err != nil {
			return Corpus{}, fmt.Errorf("write corpus %s: %w", s.Name, err)
		}
		c.Logs = append(c.Logs, l)
	}
	text, err := json.Marshal(c)
	if err != nil {
		return Corpus{}, err
	}
	return c, os.WriteFile(manifest(home), text, 0o600)
}

func manifest(home string) string { return filepath.Join(home, "corpus.json") }

// load reads the manifest, which is written last: a corpus without one is not
// complete. One whose logs have not the sizes that it says, because the machine
// stopped before they were on the disk, is not there either (fs.ErrNotExist).
func load(home string) (Corpus, error) {
	text, err := os.ReadFile(manifest(home))
	if err != nil {
		return Corpus{}, err
	}
	c := Corpus{Home: home}
	if err := json.Unmarshal(text, &c); err != nil {
		return c, fmt.Errorf("read %s: %w", manifest(home), err)
	}
	for _, l := range c.Logs {
		if info, err := os.Stat(l.Path); err != nil || info.Size() != l.Bytes {
			return Corpus{}, fmt.Errorf("%s: %w", l.Path, fs.ErrNotExist)
		}
	}
	return c, nil
}

// sizes returns how many bytes each file gets.
func sizes(s Spec) []int64 {
	r := rand.New(rand.NewPCG(seedOf(s.Name), 1))
	weights, total := make([]float64, s.Files), 0.0
	for i := range weights {
		weights[i] = 0.5 + r.Float64()
		if s.Spread {
			weights[i] = math.Exp(r.NormFloat64())
		}
		total += weights[i]
	}
	sizes := make([]int64, s.Files)
	for i, weight := range weights {
		sizes[i] = int64(weight / total * float64(s.Bytes))
	}
	return sizes
}

func seedOf(name string) uint64 {
	seed := uint64(14695981039346656037)
	for _, c := range []byte(name) {
		seed = (seed ^ uint64(c)) * 1099511628211
	}
	return seed
}

// writeFile writes the i-th log where pi would, with a time in the past.
func writeFile(home string, i int, size int64, s Spec) (Log, error) {
	seed := seedOf(s.Name) + uint64(i)
	r := rand.New(rand.NewPCG(seed, 3))
	dir := filepath.Join(home, ".pi", "agent", "sessions", fmt.Sprintf("--work-project-%d--", i%(s.Files/10+1)))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Log{}, err
	}
	path := filepath.Join(dir, fmt.Sprintf("2026-05-01T10-00-00-%03dZ_%s.jsonl", i%1000, appendUUID(nil, r)))
	file, err := os.Create(path)
	if err != nil {
		return Log{}, err
	}
	write := writeLog
	if s.OneLine {
		write = writeOneLine
	}
	l, err := write(file, seed, size)
	if err = errors.Join(err, file.Close()); err != nil {
		return Log{}, err
	}
	l.Path = path
	old := time.Date(2026, 6, 1, 9, 0, 0, 0, time.UTC)
	return l, os.Chtimes(path, old, old)
}

// Bytes returns the size of all logs.
func (c Corpus) Bytes() (total int64) {
	for _, l := range c.Logs {
		total += l.Bytes
	}
	return total
}

// Lines returns the number of lines of all logs.
func (c Corpus) Lines() (total int) {
	for _, l := range c.Logs {
		total += l.Lines
	}
	return total
}

// Tokens returns the sum of the context sizes of all logs.
func (c Corpus) Tokens() (total int64) {
	for _, l := range c.Logs {
		total += l.Tokens
	}
	return total
}

// Paths returns where the logs lie.
func (c Corpus) Paths() []string {
	paths := make([]string, len(c.Logs))
	for i, l := range c.Logs {
		paths[i] = l.Path
	}
	return paths
}
