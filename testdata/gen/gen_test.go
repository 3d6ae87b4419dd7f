package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestUpToDate compares what the stories make with what is in the repository.
func TestUpToDate(t *testing.T) {
	made := t.TempDir()
	if err := run(made); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	walk(t, made, func(name string, data []byte) {
		names[name] = true
		kept, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Error(err)
		} else if !bytes.Equal(kept, data) {
			t.Errorf("%s is not what the stories make: go generate ./testdata/gen", name)
		}
	})
	for _, dir := range []string{"sample", "claude", "claude-history", "cline-tasks", "goose", "cursor", "sessions"} {
		walk(t, filepath.Join("..", dir), func(name string, _ []byte) {
			if name = filepath.Join(dir, name); !names[name] {
				t.Errorf("%s is not made by the stories", name)
			}
		})
	}
}

func walk(t *testing.T, root string, each func(name string, data []byte)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		each(name, data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
