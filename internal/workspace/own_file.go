package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// CheckReplaced refuses to replace a file that sessctl did not write: all that it
// writes there begins with mark. A directory, a link or a device is none either.
// noDirectory is what to do if the directory of path is missing.
func CheckReplaced(path, flag, mark, noDirectory string) error {
	file, err := durable.OpenRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(filepath.Dir(path)); err != nil {
			return failure.Usage(noDirectory, "%s: %w", flag, err)
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
		return failure.Usage("name another file, or remove it", "%s: %s is not a file that sessctl wrote", flag, path)
	}
	return nil
}

// RefuseOwn refuses to replace a file of the data directory, such as what says where
// an archive is, or an archive, wherever it lies. flag named the file.
func RefuseOwn(ctx context.Context, run *Run, path, flag string) error {
	file, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil // there is no such file
	}
	own := liesIn(run.DataDir(), file)
	if !own {
		own, err = isArchive(ctx, run, file)
	}
	if err != nil || !own {
		return err
	}
	return failure.Usage("name a file elsewhere", "%s: %s is sessctl's own", flag, path)
}

// liesIn reports whether a file is somewhere in a directory, however both are spelt:
// there are systems where case does not matter.
func liesIn(dir, file string) bool {
	for above := filepath.Dir(file); ; above = filepath.Dir(above) {
		if SameFile(dir, above) {
			return true
		}
		if above == filepath.Dir(above) {
			return false
		}
	}
}

// isArchive reports whether the catalogue names a file.
func isArchive(ctx context.Context, run *Run, file string) (bool, error) {
	archives, err := run.OpenArchive()
	if err != nil {
		return false, err
	}
	entries, err := archives.List(ctx, archive.Filter{})
	return slices.ContainsFunc(entries, func(e archive.Entry) bool { return SameFile(findArchive(run, e), file) }), err
}

// RefuseSession refuses to replace the log or the database of a session.
func RefuseSession(ctx context.Context, run *Run, path, flag string) error {
	stores, err := run.OpenStores()
	if err != nil || !Exists(path) {
		return err
	}
	for _, s := range stores {
		listing, err := s.List(ctx)
		if err != nil && liesIn(s.Root(), path) {
			return err // nobody can tell
		}
		if slices.ContainsFunc(listing.Refs, func(r session.Ref) bool { return SameFile(r.Path, path) }) {
			return failure.Usage("name a file elsewhere", "%s: %s is a session of %s", flag, path, s.Runtime())
		}
	}
	return nil
}
