package durable

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// AppendRows writes rows at a byte offset of a file that only grows, and
// syncs it. What stood behind the offset was never named by anybody and is
// cut off first. The file is made if it is missing, with its directory.
// A caller names the rows only after this has returned nil; after an error the
// rows may be there or not, and the next call cuts them off.
func AppendRows(path string, offset int64, rows []byte, perm fs.FileMode) error {
	dir := filepath.Dir(path)
	if err := MakeDir(dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|openNoFollow|openNonblock, perm)
	if err != nil {
		return fmt.Errorf("open rows %s: %w", path, bare(err))
	}
	if err := writeAndSync(f, rows, offset); err != nil {
		return explain("write rows of", path, dir, err)
	}
	if offset == 0 {
		return SyncDir(dir) // also for a run that was killed before it came to this
	}
	return nil
}

func writeAndSync(f *os.File, rows []byte, offset int64) error {
	err := f.Truncate(offset)
	if err == nil {
		_, err = f.WriteAt(rows, offset)
	}
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}
