package durable_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/durable"
)

// A program that renames another file to the old name, just before that is
// taken away from the moved file, keeps its file.
func TestDropNameOfAnotherFile(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	mustWrite(t, to, "moved")
	mustWrite(t, from, "a stranger's")
	wantIs(t, durable.DropName(from, to), durable.ErrExists)
	if got := mustRead(t, to) + ", " + mustRead(t, from) + ": " + names(t, dir); got != "moved, a stranger's: from to" {
		t.Errorf("got %q", got)
	}
}

// A kill in between is ended by the next sweep, whatever the file is.
func TestSweepEndsMoves(t *testing.T) {
	hidden := strings.TrimSuffix(durable.TempName("from"), ".tmp") + ".moved"
	for name, test := range map[string]struct {
		prepare func(dir string) error
		want    string
	}{
		"the moved file": {
			func(dir string) error { return os.Link(filepath.Join(dir, hidden), filepath.Join(dir, "to")) }, "to",
		},
		"a stranger's file":              {func(string) error { return nil }, "from"},
		"a stranger's file, and another": {func(dir string) error { return os.WriteFile(filepath.Join(dir, "from"), nil, 0o600) }, hidden + " from"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			mustWrite(t, filepath.Join(dir, hidden), "text")
			if err := test.prepare(dir); err != nil {
				t.Skip(err)
			}
			for range 2 {
				if err := durable.Sweep(dir, 0); err != nil {
					t.Fatal(err)
				}
				if got := names(t, dir); got != test.want {
					t.Fatalf("left are %q, want %q", got, test.want)
				}
			}
		})
	}
}
