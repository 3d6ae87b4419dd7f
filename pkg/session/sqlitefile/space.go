package sqlitefile

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// ErrNotDatabase is returned for a file that is no SQLite database.
var ErrNotDatabase = errors.New("not a SQLite database")

// Space is what a database takes up on the disk, in bytes, and what of it is
// used.
type Space struct {
	PageSize int64
	Pages    int64 // the database has, with what is in its log
	Free     int64 // of them, that nothing uses
	File     int64 // size of the file
	Log      int64 // size of the write-ahead log, 0 without one
	// Journal is the size of a rollback journal: of a transaction that is under
	// way, or was killed.
	Journal int64
}

// Live is how many bytes of pages are used.
func (s Space) Live() int64 { return (s.Pages - s.Free) * s.PageSize }

// Unused is how many bytes of pages nothing uses.
func (s Space) Unused() int64 { return s.Free * s.PageSize }

// Disk is how many bytes the database takes up with its logs.
func (s Space) Disk() int64 { return s.File + s.Log + s.Journal }

// Reclaimable is how many bytes a VACUUM and a checkpoint give back at least:
// free pages and the log. Pages that are partly full may give more.
func (s Space) Reclaimable() int64 { return max(s.Disk()-s.Live(), 0) }

// Measure looks at the header of a database and at the headers of the frames
// of its log; no page is read in full but that of the header. It opens nothing
// with SQLite and leaves nothing behind. An error wraps fs.ErrNotExist if there
// is none, [ErrNotDatabase] if it is none.
func Measure(ctx context.Context, f File) (Space, error) {
	root, err := f.openBase()
	if err != nil {
		return Space{}, fmt.Errorf("measure %s: %w", f.Path(), err)
	}
	defer root.Close()
	s, err := f.measure(ctx, root)
	if err != nil {
		return s, fmt.Errorf("measure %s: %w", f.Path(), err)
	}
	return s, nil
}

func (f File) measure(ctx context.Context, root *os.Root) (s Space, err error) {
	seen, err := f.look(root)
	if err != nil {
		return s, err
	}
	s = Space{File: seen.main.size, Log: seen.wal.size, Journal: seen.journal.size}
	held, err := f.hold(root)
	defer func() { err = errors.Join(err, held.close()) }()
	if err != nil || s.File == 0 {
		return s, err
	}
	o := &overlay{main: held.file, size: s.File}
	if s.Log > 0 {
		o, err = f.overlaid(ctx, root, held.file)
		defer func() { err = errors.Join(err, o.close()) }()
		if err != nil && !errors.Is(err, errChanged) { // its log went into the database just now
			return s, err
		}
	}
	return s, s.header(&overlaidFile{overlay: o}, o.size)
}

// header reads the first page of the whole.
func (s *Space) header(f fs.File, size int64) error {
	head := make([]byte, 100)
	if _, err := io.ReadFull(f, head); err != nil {
		if ignoreShort(err) == nil {
			err = ErrNotDatabase
		}
		return err
	}
	if string(head[:len(magic)]) != magic {
		return ErrNotDatabase
	}
	s.PageSize = int64(binary.BigEndian.Uint16(head[16:]))
	if s.PageSize == 1 {
		s.PageSize = maxPageSize
	}
	if s.PageSize < minPageSize {
		return ErrNotDatabase
	}
	// The header's count of pages holds only if the version that wrote it last
	// knew of it.
	s.Pages = int64(binary.BigEndian.Uint32(head[28:]))
	if binary.BigEndian.Uint32(head[24:]) != binary.BigEndian.Uint32(head[92:]) || s.Pages == 0 {
		s.Pages = size / s.PageSize
	}
	s.Free = min(int64(binary.BigEndian.Uint32(head[36:])), s.Pages)
	return nil
}

// magic begins every SQLite database.
const magic = "SQLite format 3\x00"
