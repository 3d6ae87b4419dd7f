package smallpackages_test

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/fakestatedb"
)

// TestFakestatedbGrow writes the large database of docs/dev/performance.md, if it is told where
// and how large: SESSCTL_GROW=/path/state.db SESSCTL_GROW_BYTES=380000000.
func TestFakestatedbGrow(t *testing.T) {
	path := os.Getenv("SESSCTL_GROW")
	if path == "" {
		path = t.TempDir() + "/state.db"
	}
	size, err := strconv.ParseInt(os.Getenv("SESSCTL_GROW_BYTES"), 10, 64)
	if err != nil {
		size = 1 << 20
	}
	d := fakestatedb.Create(path, 30)
	fakestatedb.Grow(d, size, time.Now())
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() < size {
		t.Fatal(info, err)
	}
}
