package durable

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

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

// WriteTailIn writes the end of a file that only grows: text at an offset, with
// one write, in a file in root, which is held open. It makes the file if it is
// missing, with mode 0600. What lies behind the offset, the half of a record that a killed call
// left, is cut off first. A write that fails half way is undone. Unless lasting is
// false, for what can be made again, the content is synced, and so is the directory
// if the file is new. A file that is shorter than the offset is an error. The caller
// has a lock under which nobody else writes. A full disk is a [*SpaceError].
func WriteTailIn(root *os.Root, base string, offset int64, text []byte, lasting bool) error {
	dir, path := root.Name(), filepath.Join(root.Name(), base)
	f, err := root.OpenFile(base, os.O_RDWR|os.O_CREATE|openNoFollow|openNonblock, 0o600)
	if err != nil {
		return explain("append to", path, dir, err)
	}
	err = writeTail(f, offset, text, lasting)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil && offset == 0 && lasting {
		return SyncDirIn(root)
	}
	return explain("append to", path, dir, err)
}

func writeTail(f *os.File, offset int64, text []byte, lasting bool) error {
	info, err := f.Stat()
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return ErrNotRegular
	case info.Size() < offset:
		return fmt.Errorf("it has %d bytes, and %d were there: %w", info.Size(), offset, io.ErrUnexpectedEOF)
	case info.Size() > offset:
		err = f.Truncate(offset)
	}
	if err == nil && offset == 0 {
		err = f.Chmod(0o600) // whatever the umask
	}
	if err != nil {
		return err
	}
	if _, err := f.WriteAt(text, offset); err != nil {
		return errors.Join(err, f.Truncate(offset))
	}
	if !lasting {
		return nil
	}
	if err := f.Sync(); err != nil {
		return errors.Join(err, f.Truncate(offset)) // what is left of it on the disk nobody knows
	}
	return nil
}
