package removal

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/sessctl/sessctl/internal/workspace"
)

// pageOwner is the archive whose page a file is, or "".
func pageOwner(name string) string {
	id, isPage := strings.CutSuffix(name, ".html")
	if !isPage {
		return ""
	}
	id, _, _ = strings.Cut(id, "-L")
	return id
}

// RemovePagesOf removes the kept pages whose archive is one of those. What a killed
// run has left half written goes with them.
func RemovePagesOf(run *workspace.Run, gone func(id string) bool) error {
	dir := run.PagesDir()
	entries, err := run.Pins.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list the pages: %w", err)
	}
	if err := run.Pins.Sweep(dir, 0); err != nil { // the caller has the lock
		return fmt.Errorf("remove half-written pages: %w", err)
	}
	for _, first := range []bool{true, false} {
		for _, e := range entries {
			owner := pageOwner(e.Name())
			if owner == "" || first != (e.Name() == owner+".html") || !gone(owner) {
				continue
			}
			if err := run.Pins.RemoveFile(filepath.Join(dir, e.Name())); err != nil {
				return fmt.Errorf("remove a page: %w", err)
			}
		}
	}
	return nil
}
