package cmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sessctl/sessctl/pkg/durable"
)

// checkReplaced refuses to replace a file that sessctl did not write: all that it
// writes there begins with mark. A directory, a link or a device is none either.
// noDirectory is what to do if the directory of path is missing.
func checkReplaced(path, flag, mark, noDirectory string) error {
	file, err := durable.OpenRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(filepath.Dir(path)); err != nil {
			return usageError(noDirectory, "%s: %w", flag, err)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at %s: %w", path, err)
	}
	defer file.Close()
	begin := make([]byte, len(mark))
	n, err := io.ReadFull(file, begin)
	if n > 0 && (err != nil || string(begin) != mark) {
		return usageError("name another file, or remove it", "%s: %s is not a file that sessctl wrote", flag, path)
	}
	return nil
}

// refuseOwn refuses to replace a file of the data directory: an archive, or what
// says where one is. flag named the file.
func (a *app) refuseOwn(path, flag string) error {
	dir, errDir := filepath.EvalSymlinks(a.dataDir())
	file, errFile := filepath.EvalSymlinks(path)
	if errDir != nil || errFile != nil {
		return nil // there is no such file, or no data directory
	}
	if below, err := filepath.Rel(dir, file); err != nil || !filepath.IsLocal(below) {
		return nil
	}
	return usageError("name a file elsewhere", "%s: %s is sessctl's own", flag, path)
}
