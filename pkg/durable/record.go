package durable

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

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
// syncs it. A write that fails half way is undone: the file gets its old
// length back. Without a record the file is only synced. The caller holds a lease or knows otherwise that nobody else
// writes. A full disk is a [*SpaceError].
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
