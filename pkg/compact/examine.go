package compact

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Unreadable is a file of the journal or of the receipts that cannot be used,
// and why.
type Unreadable struct {
	Path string
	Err  error
}

// Examine returns all intents that can be read, oldest first, and the entries
// that cannot: those of a newer version and damaged ones.
func (j Journal) Examine() ([]Intent, []Unreadable, error) {
	return examine(j.Dir, "journal", readIntent)
}

// Examine returns all receipts that can be read, oldest first, and the files
// that cannot.
func (r Receipts) Examine() ([]Receipt, []Unreadable, error) {
	return examine(r.Dir, "receipts", func(path string) (receipt Receipt, err error) {
		err = readJSON(path, &receipt)
		return receipt, err
	})
}

// examine reads every record of a directory; one that does not exist is empty.
func examine[T any](dir, name string, read func(path string) (T, error)) (good []T, bad []Unreadable, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("list %s: %w", name, err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		path := filepath.Join(dir, e.Name())
		value, err := read(path)
		if err != nil {
			bad = append(bad, Unreadable{path, err})
			continue
		}
		good = append(good, value)
	}
	return good, bad, nil
}
