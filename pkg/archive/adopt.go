package archive

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/sessctl/sessctl/pkg/durable"
)

// existing returns the entry of an archive of e's bytes that verifies, or an
// entry without id when there is none. An archive that does not verify,
// whatever the cause, is noted in e and left alone: a second copy is cheap,
// trusting it is not.
func (s *Store) existing(ctx context.Context, dir string, e *Entry) (Entry, error) {
	if old, err := s.load(e.ID); err == nil {
		if verify(ctx, old) == nil {
			return old, s.syncNames(old)
		}
		e.Superseded = append(old.Superseded, old.Path)
	}
	if err := ctx.Err(); err != nil {
		return Entry{}, err
	}
	return s.adopt(ctx, dir, *e)
}

// adopt takes over a file without an entry: a run was killed before it could
// write one, or the entry was lost.
func (s *Store) adopt(ctx context.Context, dir string, e Entry) (Entry, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return Entry{}, err
	}
	for _, file := range files {
		name, ok := parseName(file.Name(), e)
		if !ok {
			continue
		}
		found := e
		found.settleAt(filepath.Join(dir, file.Name()))
		found.CreatedAt, found.Compression = name.createdAt, name.compression
		adoptable, err := s.adoptable(ctx, &found)
		if err != nil {
			return Entry{}, err
		}
		if !adoptable {
			continue
		}
		if err := durable.SyncFile(found.Path); err != nil {
			return Entry{}, err
		}
		return s.enter(ctx, found)
	}
	return Entry{}, nil
}

// adoptable reports whether the file of found is a whole archive of its bytes
// that no other entry names. It completes the entry with what is stored.
func (s *Store) adoptable(ctx context.Context, found *Entry) (bool, error) {
	stored, err := measureFile(ctx, found.Path)
	if err != nil {
		return false, ctx.Err() // cannot be read: not adopted
	}
	found.StoredSHA256, found.StoredBytes = stored.sha256(), stored.bytes
	if verify(ctx, *found) != nil {
		return false, ctx.Err()
	}
	taken := false
	err = s.each(ctx, func(_ string, other Entry, err error) {
		taken = taken || err == nil && other.ID != found.ID && sameArchive(other, *found)
	})
	return err == nil && !taken, err
}

// syncNames makes an archive durable that another run made: it may have been
// killed after a file got its name and before that was synced.
func (s *Store) syncNames(e Entry) error {
	return errors.Join(durable.SyncDir(filepath.Dir(e.Path)), durable.SyncDir(s.catalogue))
}

// sameArchive reports whether two entries name one file, however the path is
// spelt.
func sameArchive(a, b Entry) bool {
	if a.Path == b.Path {
		return true
	}
	if !strings.EqualFold(filepath.Base(a.Path), filepath.Base(b.Path)) {
		return false
	}
	fa, errA := os.Lstat(a.Path)
	fb, errB := os.Lstat(b.Path)
	return errA == nil && errB == nil && os.SameFile(fa, fb)
}
