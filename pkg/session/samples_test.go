package session

import (
	"os"
	"path/filepath"
	"testing"
)

// samples returns the directory of session samples beside the module, and
// skips the test if there is none.
func samples(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	for err == nil {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			break
		}
		if parent := filepath.Dir(dir); parent != dir {
			dir = parent
			continue
		}
		t.Skip("no module root above the test")
	}
	dir = filepath.Join(dir, "..", "shared", "samples")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("no samples beside the module: ", err)
	}
	return dir
}
