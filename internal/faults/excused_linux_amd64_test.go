package faults

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/tier"
)

// mayFail are the calls that may fail without the run failing, of a compaction
// and of a run that finds a log that was held back. docs/dev/reliability.md says why
// nothing depends on them.
var mayFail = []string{
	"fchown data/sessctl/journal/.*.json.sessctl-*.tmp",
	"fchown data/sessctl/ledger/.checkpoint.sessctl-*.tmp",
	"fchown data/sessctl/memory/memory.db-journal",
	"fchown data/sessctl/memory/memory.db-shm",
	"fchown data/sessctl/memory/memory.db-wal",
	"fchown data/sessctl/receipts/.*.json.sessctl-*.tmp",
	"fchown home/.openclaw/agents/a/sessions/..sessions.json.*.*.sessctl.sessctl-*.tmp",
	"fsync data/sessctl/memory",
	"fsync data/sessctl/memory/memory.db",
	"fsync data/sessctl/memory/memory.db-wal",
	"ftruncate data/sessctl/memory/memory.db",
	"ftruncate data/sessctl/memory/memory.db-shm",
	"open data/sessctl/memory/memory.db",
	"open data/sessctl/memory/memory.db-shm",
	"openat data/sessctl/ledger/lock",
	"openat data/sessctl/lock",
	"pwrite64 data/sessctl/memory/memory.db",
	"pwrite64 data/sessctl/memory/memory.db-shm",
	"unlink data/sessctl/memory/memory.db-shm",
	"unlink data/sessctl/memory/memory.db-wal",
	"write data/sessctl/ledger/lock",
	"write data/sessctl/lock",
}

// Every other call that fails ends the run with an error, which TestFaults holds.
func TestCallsThatMayFail(t *testing.T) {
	tier.SkipSmoke(t, "it makes every call fail")
	program := BuiltProgram(t)
	for _, c := range Commands() {
		if c.Name != "compact, rotate, openclaw" && c.Name != "late lines, openclaw" {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			b, err := NewBench(program, filepath.Join(dir, "bench"), c)
			if err != nil {
				t.Fatal(err)
			}
			calls, err := b.calls(nil, false)
			if err != nil {
				t.Fatal(err)
			}
			excuses := 0
			for _, call := range calls {
				if excused(calls, call) == "" {
					continue
				}
				excuses++
				name := call.Name + " " + plainPath(b, call.Path)
				if copyOfHead := strings.Contains(name, " home/.local"); !copyOfHead && !slices.Contains(mayFail, name) {
					t.Errorf("%s may fail without the run failing, and that is new", name)
				}
			}
			if excuses == 0 || excuses > len(calls)/2 {
				t.Errorf("%d of %d calls may fail", excuses, len(calls))
			}
		})
	}
}

// plainPath is a path below the home of a bench, without what is different each
// time.
func plainPath(b *Bench, path string) string {
	path = strings.TrimPrefix(path, b.home.Dir+"/")
	return regexp.MustCompile(`[0-9a-f]{16}|[0-9A-HJKMNP-TV-Z]{26}`).ReplaceAllString(path, "*")
}
