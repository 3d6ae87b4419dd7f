package claude

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// A pasted text that is there and cannot be read is an error: an archive without it
// would pass for whole. One that is gone, or no file, is none.
func TestPastedTextThatCannotBeRead(t *testing.T) {
	root := t.TempDir()
	const gone, directory = "0123456789abcdef", "fedcba9876543210"
	if err := os.Mkdir(filepath.Join(root, directory+pasteEnd), 0o700); err != nil {
		t.Fatal(err)
	}
	dir, err := logfile.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	cache := pasteCache{dir}
	for _, hash := range []string{gone, directory, "no hash"} {
		if line, err := io.ReadAll(&pasteReader{cache: cache, paste: paste{hash: hash}}); err != nil || len(line) > 0 {
			t.Errorf("%s: %q, %v", hash, line, err)
		}
	}
	cache.close() // nothing in it can be read any more
	if _, err := io.ReadAll(&pasteReader{cache: cache, paste: paste{hash: gone}}); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a text that cannot be read passes for one that is not there: %v", err)
	}
}
