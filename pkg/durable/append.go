package durable

import (
	"bytes"
	"errors"
	"fmt"
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
