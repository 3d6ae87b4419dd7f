package durable

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"
)

// appendRows writes rows at a byte offset of a file that only grows, and
// syncs it. What stood behind the offset was never named by anybody and is
// cut off first. The file is made if it is missing, with its directory.
// A caller names the rows only after this has returned nil; after an error the
// rows may be there or not, and the next call cuts them off.
func appendRows(path string, offset int64, rows []byte, perm fs.FileMode) error {
	dir := filepath.Dir(path)
	if err := MakeDir(dir, 0o700); err != nil {
		return err
	}
	n, err := nameAt(path)
	if err != nil {
		return fmt.Errorf("open rows %s: %w", path, bare(err))
	}
	defer n.close()
	return appendRowsIn(n.in, n.base, offset, rows, perm)
}

func appendRowsIn(root *os.Root, base string, offset int64, rows []byte, perm fs.FileMode) error {
	dir, path := root.Name(), filepath.Join(root.Name(), base)
	f, err := root.OpenFile(base, os.O_RDWR|os.O_CREATE|openNoFollow|openNonblock, perm)
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
		return SyncDirIn(root) // also for a run that was killed before it came to this
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

// Overwrite writes over parts of a file, each given by its offset, and syncs
// it. What lies beyond the end of the file is cut off. A file that is missing
// is no error.
func Overwrite(path string, parts iter.Seq2[int64, []byte]) error {
	n, err := nameAt(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open rows %s: %w", path, bare(err))
	}
	defer n.close()
	return overwriteIn(n.in, n.base, parts)
}

func overwriteIn(root *os.Root, base string, parts iter.Seq2[int64, []byte]) error {
	path := filepath.Join(root.Name(), base)
	f, err := root.OpenFile(base, os.O_RDWR|openNoFollow|openNonblock, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open rows %s: %w", path, bare(err))
	}
	err = overwrite(f, parts)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return explain("overwrite rows of", path, root.Name(), err)
}

func overwrite(f *os.File, parts iter.Seq2[int64, []byte]) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	for at, part := range parts {
		left := min(int64(len(part)), info.Size()-at)
		if left <= 0 {
			continue
		}
		if _, err := f.WriteAt(part[:left], at); err != nil {
			return err
		}
	}
	return f.Sync()
}

// AppendLine appends one line to a file of lines, which it makes if it is
// missing, with one write and a sync. A line that an earlier, killed call left
// half written is ended first, so that it spoils no other. The line must hold
// no line feed; it gets one. A full disk is a [*SpaceError].
func AppendLine(path string, line []byte, perm fs.FileMode) error {
	if err := MakeDir(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	n, err := nameAt(path)
	if err != nil {
		return explain("append to", path, filepath.Dir(path), err)
	}
	defer n.close()
	return appendLineIn(n.in, n.base, line, perm)
}

func appendLineIn(root *os.Root, base string, line []byte, perm fs.FileMode) error {
	dir, path := root.Name(), filepath.Join(root.Name(), base)
	if bytes.IndexByte(line, '\n') >= 0 {
		return fmt.Errorf("append to %s: a line with a line feed in it", path)
	}
	f, err := root.OpenFile(base, os.O_RDWR|os.O_CREATE|os.O_APPEND|openNoFollow|openNonblock, perm)
	if err != nil {
		return explain("append to", path, dir, err)
	}
	err = appendLine(f, line, perm)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return explain("append to", path, dir, err)
	}
	return SyncDirIn(root)
}

func appendLine(f *os.File, line []byte, perm fs.FileMode) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return ErrNotRegular
	}
	text := append(bytes.Clone(line), '\n')
	if info.Size() == 0 {
		err = f.Chmod(perm) // whatever the umask
	} else {
		var last [1]byte
		_, err = f.ReadAt(last[:], info.Size()-1)
		if last[0] != '\n' {
			text = append([]byte{'\n'}, text...)
		}
	}
	if err != nil {
		return err
	}
	if _, err := f.Write(text); err != nil {
		return errors.Join(err, f.Truncate(info.Size()))
	}
	return f.Sync()
}

// OpenAppendIn opens a regular file below root for reading and appending, as
// carefully as [OpenRegularIn].
func OpenAppendIn(root *os.Root, name string) (*os.File, error) {
	before, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	return openChecked(name, before, func() (*os.File, error) {
		return root.OpenFile(name, os.O_RDWR|os.O_APPEND|openNoFollow|openNonblock, 0)
	})
}

// AppendRecord appends bytes to a file from [OpenAppendIn] with one write and
// syncs it. A write that fails half way is undone: the file gets its old length
// back. Without a record the file is only synced. The caller holds a lease or
// knows otherwise that nobody else writes. A full disk is a [*SpaceError].
func AppendRecord(f *os.File, record []byte) error {
	dir := filepath.Dir(f.Name())
	before, err := f.Stat()
	if err != nil {
		return fmt.Errorf("append to %s: %w", f.Name(), err)
	}
	if len(record) > 0 {
		if _, err := f.Write(record); err != nil {
			err = explain("append to", f.Name(), dir, err)
			return errors.Join(err, f.Truncate(before.Size()))
		}
	}
	if err := f.Sync(); err != nil {
		return explain("sync", f.Name(), dir, err)
	}
	return nil
}
