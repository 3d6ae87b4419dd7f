//go:build linux || darwin

package durable_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/sessctl/sessctl/pkg/durable"
)

// A log is opened where it lies and nowhere else, and only if no other name
// leads to it.
func TestOpenSingle(t *testing.T) {
	base, outside := filepath.Join(t.TempDir(), "store"), t.TempDir()
	for _, err := range []error{
		os.MkdirAll(filepath.Join(base, "agent"), 0o700),
		os.WriteFile(filepath.Join(base, "agent", "log"), []byte("ours"), 0o600),
		os.WriteFile(filepath.Join(outside, "log"), []byte("theirs"), 0o600),
		os.Symlink(outside, filepath.Join(base, "away")),
		os.Symlink("agent", filepath.Join(base, "alias")),
		os.Symlink("log", filepath.Join(base, "agent", "link")),
		os.WriteFile(filepath.Join(base, "agent", "twin"), nil, 0o600),
		os.Link(filepath.Join(base, "agent", "twin"), filepath.Join(outside, "twin")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]error{
		"agent/log":  nil,
		"alias/log":  nil, // stays inside
		"agent/twin": durable.ErrManyNames,
		"agent/link": durable.ErrNotRegular,
		"agent":      durable.ErrNotRegular,
		"agent/none": os.ErrNotExist,
	} {
		f, err := durable.OpenSingle(base, filepath.Join(base, path))
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
		if err == nil {
			f.Close()
		}
	}
	if f, err := durable.OpenSingle(base, filepath.Join(base, "away", "log")); err == nil {
		f.Close()
		t.Error("a link out of the store was followed")
	}
	f, err := durable.OpenSingle("", filepath.Join(outside, "log"))
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}
