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
	if bytes.IndexByte(line, '\n') >= 0 {
		return fmt.Errorf("append to %s: a line with a line feed in it", path)
	}
	dir := filepath.Dir(path)
	if err := MakeDir(dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND|openNoFollow|openNonblock, perm)
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
	return SyncDir(dir)
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
