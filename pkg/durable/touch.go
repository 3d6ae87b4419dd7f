package durable

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Touch sets the modification time of a regular file and makes it durable.
// [ErrNotRegular] is returned for anything else; a link is not followed.
func Touch(path string, at time.Time) error {
	fi, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("touch %s: %w", path, bare(err))
	}
	if !fi.Mode().IsRegular() {
		return fmt.Errorf("touch %s: %w", path, ErrNotRegular)
	}
	if err := os.Chtimes(path, at, at); err != nil {
		return explain("touch", path, filepath.Dir(path), err)
	}
	return SyncFile(path)
}
