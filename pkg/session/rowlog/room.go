package rowlog

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sessctl/sessctl/pkg/durable"
)

// Room checks that there is room for what VACUUM writes before it gives any
// back: a new database among the temporary files, and the same pages in the
// write-ahead log.
func Room(ctx context.Context, w *Writer, path string) error {
	live, err := w.live(ctx)
	if err != nil {
		return err
	}
	const slack = 1 << 20
	beside, temporary := filepath.Dir(path), temporaryDir()
	need := map[string]uint64{beside: uint64(live + live/64 + slack)}
	if sameDevice(beside, temporary) {
		need[beside] += uint64(live + slack)
	} else {
		need[temporary] = uint64(live + slack)
	}
	for dir, bytes := range need {
		free, err := durable.FreeSpace(dir)
		if err == nil && free < bytes {
			return &durable.SpaceError{Path: path, Dir: dir, Free: free, Err: fmt.Errorf("VACUUM needs %d bytes there for a while; what was removed is gone, and its pages are used again", bytes)}
		}
	}
	return nil
}

// temporaryDir is where SQLite puts its temporary files.
func temporaryDir() string {
	for _, dir := range []string{os.Getenv("SQLITE_TMPDIR"), os.Getenv("TMPDIR"), "/var/tmp"} {
		if info, err := os.Stat(dir); dir != "" && err == nil && info.IsDir() {
			return dir
		}
	}
	return os.TempDir()
}

func sameDevice(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX != nil || errY != nil || durable.Identify(x).Device == durable.Identify(y).Device
}
