package samples

import (
	"os"
	"path/filepath"
)

// T is what of a test is used here.
type T interface {
	Helper()
	Fatal(args ...any)
	Skip(args ...any)
}

// Beside is the path of a file or directory of the larger set, with slashes:
// "samples/pi/large-session.jsonl". The test is skipped where it is not there.
func Beside(t T, name string) string {
	t.Helper()
	path := filepath.Join(module(t), "..", "shared", filepath.FromSlash(name))
	if _, err := os.Stat(path); err != nil {
		t.Skip("not beside the module:", err)
	}
	return path
}

// Read returns what is in a file of the directory "samples". The test is skipped where the
// file is not there.
func Read(t T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(Beside(t, "samples/"+name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Matching are the files and directories of the larger set that match one of some
// patterns, with slashes: "samples-newer/omp-*/stages/*.jsonl". There are none where
// the set is not there.
func Matching(t T, patterns ...string) (paths []string) {
	t.Helper()
	for _, pattern := range patterns {
		found, err := filepath.Glob(filepath.Join(module(t), "..", "shared", filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, found...)
	}
	return paths
}

// module is the directory of the repository: that of the outermost of the modules
// that the test lies in.
func module(t T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	outermost := ""
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			outermost = dir
		}
	}
	if outermost == "" {
		t.Fatal("no go.mod above the test")
	}
	return outermost
}
