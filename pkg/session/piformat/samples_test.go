package piformat

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/sessctl/sessctl/pkg/jsonl"
)

// samplesDir returns the directory of session samples beside the module, and
// skips the test if there is none.
func samplesDir(t testing.TB) string {
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

func readSample(t testing.TB, name string) []byte {
	t.Helper()
	text, err := readLog(filepath.Join(samplesDir(t), filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// readLog returns a log's text, decompressed; of a stream that is cut off, the
// part that can be read.
func readLog(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	plain, _, err := jsonl.Decompress(f, info.Size())
	if err != nil {
		return nil, err
	}
	defer plain.Close()
	text, err := io.ReadAll(plain)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return text, err
}
