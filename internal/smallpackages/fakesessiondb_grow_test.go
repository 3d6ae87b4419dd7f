package smallpackages_test

import (
	"os"
	"strconv"
	"testing"

	"github.com/sessctl/sessctl/internal/fakesessiondb"
)

// TestFakesessiondbGrow writes the large database of docs/dev/performance.md, if it is told where
// and how large: SESSCTL_GROW=/path/opencode.db SESSCTL_GROW_BYTES=5000000000.
func TestFakesessiondbGrow(t *testing.T) {
	path := os.Getenv("SESSCTL_GROW")
	if path == "" {
		path = t.TempDir() + "/opencode.db"
	}
	size, err := strconv.ParseInt(os.Getenv("SESSCTL_GROW_BYTES"), 10, 64)
	if err != nil {
		size = 1 << 20
	}
	d := fakesessiondb.Create(path)
	fakesessiondb.Grow(d, size)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	rows, err := os.Stat(path)
	if err != nil || rows.Size() < size/2 {
		t.Fatal(rows, err)
	}
}
