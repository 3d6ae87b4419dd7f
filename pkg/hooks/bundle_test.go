package hooks

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write contrib/plugin anew")

// The bundle in contrib/plugin is what the program would install.
func TestBundle(t *testing.T) {
	dir := filepath.Join("..", "..", "contrib", "plugin")
	bundle := Bundle("0.1.0")
	for name, text := range bundle {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if *update {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("%s differs (%v): go test ./pkg/hooks -run TestBundle -update writes it", path, err)
		}
	}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if _, ours := bundle[filepath.ToSlash(name)]; !ours && filepath.Base(name) != "README.md" {
			t.Errorf("%s is in no bundle", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
