package workspace

import (
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/sessctl/sessctl/pkg/retention"
)

// PagesDir is where pages are kept that recall leads to.
func (s *Settings) PagesDir() string { return filepath.Join(s.DataDir(), "pages") }

// SessionTrash is the trash of sessions.
func (run *Run) SessionTrash() retention.Trash {
	witness := func(item retention.Item) error { return witnessRecord(run, item) }
	return retention.Trash{Dir: filepath.Join(run.DataDir(), "trash", "sessions"), Moves: run.Moves(), Pins: run.Pins, Witness: witness}
}

// FactsReceiptsDir is the directory of the receipts of facts.
func (s *Settings) FactsReceiptsDir() string { return filepath.Join(s.DataDir(), "facts") }

// HooksDir keeps what was registered, and what went wrong in hooks.
func (s *Settings) HooksDir() string { return filepath.Join(s.DataDir(), "hooks") }

// SameFile reports whether two paths are one file.
func SameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// PathIn is a recorded path as it is called below a directory that had another name
// then: a link, a mount, a name in other case led to it. It returns false if the path
// is not below the directory.
func PathIn(dir, path string) (string, bool) {
	at, err := os.Stat(dir)
	if err != nil {
		return "", false
	}
	for above := filepath.Dir(path); ; above = filepath.Dir(above) {
		if info, err := os.Stat(above); err == nil && os.SameFile(info, at) {
			return filepath.Join(dir, path[len(above):]), true
		}
		if above == filepath.Dir(above) {
			break
		}
	}
	if direct, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil && direct != filepath.Dir(path) {
		return PathIn(dir, filepath.Join(direct, filepath.Base(path)))
	}
	return "", false
}

// OnePlace reports whether two directories are one, or one is somewhere below the other,
// whatever names lead to them.
func OnePlace(a, b string) bool {
	_, below := PathIn(a, b)
	_, above := PathIn(b, a)
	return below || above || SameFile(a, b)
}

// ParseAgo reads an age: 30d, 12h.
func ParseAgo(s string) (time.Duration, error) {
	unit := map[byte]time.Duration{'d': 24 * time.Hour, 'w': 7 * 24 * time.Hour}[s[len(s)-1]]
	if unit == 0 {
		return time.ParseDuration(s)
	}
	n, err := strconv.ParseFloat(s[:len(s)-1], 64)
	return time.Duration(n * float64(unit)), err
}

// RunsDir is the directory of the records of runs.
func (s *Settings) RunsDir() string { return RunsIn(s.DataDir()) }

// RunsIn is where a data directory has its records of runs.
func RunsIn(data string) string { return filepath.Join(data, "runs") }

// ShrinkDir is the directory of what a shortening of a database has begun.
func (s *Settings) ShrinkDir() string { return filepath.Join(s.DataDir(), "shrink") }

// JournalDir is the directory of changes that were begun.
func (s *Settings) JournalDir() string { return filepath.Join(s.DataDir(), "journal") }

// MemoryDir is the directory of the memory.
func (s *Settings) MemoryDir() string { return filepath.Join(s.DataDir(), "memory") }
