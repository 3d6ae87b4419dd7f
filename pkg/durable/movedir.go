package durable

import (
	"fmt"
	"os"
	"path/filepath"
)

// MoveDir renames a directory within one file system and syncs the directories
// that hold its names. It never replaces: [ErrExists] is returned when anything
// is at to. It looks first and renames then, so the caller holds a lock under
// which nobody else makes that name.
func MoveDir(from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return fmt.Errorf("move %s to %s: %w", from, to, ErrExists)
	}
	if err := os.Rename(from, to); err != nil {
		return explain("move "+from+" to", to, filepath.Dir(to), err)
	}
	return syncBoth(to, from)
}
