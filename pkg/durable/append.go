package durable

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// AppendRows writes rows at a byte offset of a file that only grows, and
// syncs it. What stood behind the offset was never named by anybody and is
// written over. The file is made if it is missing, with its directory.
// A caller names the rows only after this has returned nil.
func AppendRows(path string, offset int64, rows []byte, perm fs.FileMode) error {
	if err := MakeDir(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	_, err := os.Lstat(path)
	f, openErr := os.OpenFile(path, os.O_RDWR|os.O_CREATE|openNoFollow, perm)
	if openErr != nil {
		return fmt.Errorf("open rows: %w", openErr)
	}
	if err := writeAndSync(f, rows, offset); err != nil {
		return explain("write rows of", path, filepath.Dir(path), err)
	}
	if os.IsNotExist(err) {
		return SyncDir(filepath.Dir(path))
	}
	return nil
}

func writeAndSync(f *os.File, rows []byte, offset int64) error {
	_, err := f.WriteAt(rows, offset)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}
