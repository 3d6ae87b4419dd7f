package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
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
	if err := fixMode(f, perm); err != nil {
		return errors.Join(explain("set the mode of", path, dir, err), f.Close())
	}
	if err := writeAndSync(f, rows, offset); err != nil {
		return explain("write rows of", path, dir, err)
	}
	if offset == 0 {
		return SyncDir(dir) // also for a run that was killed before it came to this
	}
	return nil
}

// fixMode gives a file the mode that the umask may have kept from it, or that
// somebody has widened since.
func fixMode(f *os.File, perm fs.FileMode) error {
	info, err := f.Stat()
	if err != nil || info.Mode().Perm() == perm || runtime.GOOS == "windows" {
		return err
	}
	return f.Chmod(perm)
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

// ZeroRows overwrites rows of a file, each of size bytes, with zeros and syncs
// it. Rows that the file does not have, or a file that is not there, have
// nothing to overwrite. The file keeps its length.
func ZeroRows(path string, size int64, rows []int64) error {
	f, err := os.OpenFile(path, os.O_RDWR|openNoFollow|openNonblock, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open rows %s: %w", path, bare(err))
	}
	err = zeroRows(f, size, rows)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return explain("overwrite rows of", path, filepath.Dir(path), err)
}

func zeroRows(f *os.File, size int64, rows []int64) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	zeros := make([]byte, size)
	for _, row := range rows {
		left := min(size, info.Size()-row*size)
		if left <= 0 {
			continue
		}
		if _, err := f.WriteAt(zeros[:left], row*size); err != nil {
			return err
		}
	}
	return f.Sync()
}
