//go:build linux || darwin

package memory_test

import (
	"context"
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/sessctl/sessctl/pkg/memory"
)

// While the store is open, with the files that SQLite keeps beside it, and
// after something was forgotten: no umask opens anything to others.
func TestFilesAreForThisUserOnly(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	s, dir := newStore(t)
	put(t, s, record(0, "one"), record(1, "two"))
	embedAll(t, s, "a")
	if _, err := s.Forget(context.Background(), memory.Selection{ID: record(1, "two").ID}); err != nil {
		t.Fatal(err)
	}
	put(t, s, record(2, "three"))
	seen := map[string]bool{}
	for _, root := range []string{dir, memory.ForgottenDir(dir)} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err == nil && info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s is %v", path, info.Mode())
			}
			seen[filepath.Ext(path)] = true
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, ext := range []string{".db", ".db-wal", ".db-shm", ".json"} {
		if !seen[ext] {
			t.Errorf("no %s file was there to be looked at", ext)
		}
	}
}
