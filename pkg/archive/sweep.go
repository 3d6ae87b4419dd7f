package archive

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
)

// Sweep removes what killed runs left unfinished in the catalogue and in the
// directory of m's agent, if nobody has written it for olderThan; age 0 is
// right for a caller that holds the lock under which archives are made.
//
// A temporary file that holds the archive of an entry whose own file is
// missing is not removed but put in its place: on a file system that lost the
// renaming in a power cut it is the only copy (research/reliability.md A4,
// fault 7).
func (s *Store) Sweep(ctx context.Context, m Meta, olderThan time.Duration) error {
	if err := s.sweep(ctx, m, olderThan); err != nil {
		return fmt.Errorf("sweep archives: %w", err)
	}
	return nil
}

func (s *Store) sweep(ctx context.Context, m Meta, olderThan time.Duration) error {
	dir, err := s.dirOf(m)
	if err != nil {
		return err
	}
	if err := durable.EndMoves(dir); err != nil {
		return err
	}
	leftovers, err := durable.Leftovers(dir, olderThan)
	if err != nil {
		return err
	}
	for _, path := range leftovers {
		if err := s.rescueOrRemove(ctx, path); err != nil {
			return err
		}
	}
	return durable.Sweep(s.catalogue, olderThan)
}

// rescueOrRemove deals with one temporary file of the archives.
func (s *Store) rescueOrRemove(ctx context.Context, path string) error {
	whole, err := measureFile(ctx, path)
	if err != nil {
		return err // not known to be worthless: it stays
	}
	var lost []Entry
	if err := s.each(ctx, func(_ string, e Entry, err error) {
		if err == nil && e.StoredBytes == whole.bytes && e.StoredSHA256 == whole.sha256() && filepath.Dir(e.Path) == filepath.Dir(path) {
			lost = append(lost, e)
		}
	}); err != nil {
		return err
	}
	for _, e := range lost {
		if verify(ctx, e) != nil {
			return rescue(path, e)
		}
	}
	return durable.RemoveFile(path)
}

// rescue gives a temporary file the name its entry has for it. Where a damaged
// file has that name, it stays as it is, and so does the good one.
func rescue(path string, e Entry) error {
	err := durable.MoveFile(path, e.Path)
	if errors.Is(err, durable.ErrExists) {
		return nil
	}
	return err
}

// measureFile reads a file whole.
func measureFile(ctx context.Context, path string) (*tally, error) {
	file, err := durable.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	fi, err := file.Stat()
	if err != nil {
		return nil, err
	}
	whole := newTally()
	return whole, copyInto(ctx, whole, file, fi.Size())
}
