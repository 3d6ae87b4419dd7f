package sqlitefile

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
)

// overlay is a database and its write-ahead log, read as one file where they
// lie: a page that the log has comes from there. It holds a few bytes for each
// page in the log, and nothing else.
type overlay struct {
	main     *os.File // of whoever made it
	wal      *os.File
	head     [walHead]byte // of the log when its pages were noted
	pageSize int64
	size     int64            // of the whole, in bytes
	pages    map[uint32]int64 // where a page begins in the log
	unread   bool             // a damaged page ends the log before its last commit
}

// openOverlaid opens a database together with its log, without copying them. A
// database of 70 GB has no room for a copy of itself.
func (d *Database) openOverlaid(ctx context.Context, root *os.Root) (err error) {
	if d.inPlace, err = d.file.hold(root); err != nil {
		return err
	}
	if d.overlay, err = d.file.overlaid(ctx, root, d.inPlace.file); err != nil {
		return err
	}
	d.noteUnread(d.overlay)
	if err := d.inPlace.show(d.overlay); err != nil {
		return fmt.Errorf("read it with its log: %w", err)
	}
	if err := d.connect(ctx, d.inPlace.address()); err != nil {
		return err
	}
	after, err := d.file.look(root)
	if err != nil {
		return err
	}
	if !copiedBetween(d.stamp, after) || d.damage != nil && after.wal != d.stamp.wal || after.main.young(d.taken) || d.Unchanged() != nil {
		return errChanged
	}
	return nil
}

// overlaid opens the log of a database and notes what is in it. The overlay is
// returned with an error too, to be closed.
func (f File) overlaid(ctx context.Context, root *os.Root, main *os.File) (*overlay, error) {
	o := &overlay{main: main, pages: map[uint32]int64{}}
	info, err := main.Stat()
	if err != nil {
		return o, err
	}
	o.size = info.Size()
	if o.wal, err = durable.OpenRegularIn(root, f.Name+walEnd); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = errChanged
		}
		return o, err
	}
	return o, o.index(ctx)
}

// The write-ahead log as SQLite's file format (section 4) has it: a header,
// then frames of a header and a page each. Numbers are big-endian; the lowest
// bit of the first one says in which order the checksum takes them.
const (
	walMagic    = 0x377f0682
	frameHead   = 24
	minPageSize = 512
	maxPageSize = 65536
)

// index notes the pages of the log up to its last complete commit. Frames of an
// earlier turn of the log, and what a killed writer has left, have other salts
// or another checksum: they end it.
func (o *overlay) index(ctx context.Context) error {
	in := &countingReader{r: o.wal}
	if _, err := io.ReadFull(in, o.head[:]); err != nil {
		return ignoreShort(err)
	}
	sum, ok := newChecksum(o.head[:])
	o.pageSize = int64(binary.BigEndian.Uint32(o.head[8:]))
	if !ok || o.pageSize < minPageSize || o.pageSize > maxPageSize || o.pageSize&(o.pageSize-1) != 0 {
		return nil // no log that SQLite would read
	}
	frame := make([]byte, frameHead+o.pageSize)
	pending := map[uint32]int64{} // of the transaction that is read
	for ctx.Err() == nil {
		at := in.n + frameHead
		if _, err := io.ReadFull(in, frame); err != nil {
			return ignoreShort(err)
		}
		if !sum.takes(frame, o.head[16:24]) {
			o.unread = o.commits(in, frame)
			return nil
		}
		pending[binary.BigEndian.Uint32(frame)] = at
		if pages := binary.BigEndian.Uint32(frame[4:]); pages > 0 {
			for page, at := range pending {
				o.pages[page] = at
			}
			clear(pending)
			o.size = int64(pages) * o.pageSize
		}
	}
	return ctx.Err()
}

// commits reports whether a commit of this turn of the log follows in it, or is the frame.
func (o *overlay) commits(in io.Reader, frame []byte) bool {
	for err := error(nil); err == nil; _, err = io.ReadFull(in, frame) {
		if string(frame[8:16]) == string(o.head[16:24]) && binary.BigEndian.Uint32(frame[4:]) > 0 {
			return true
		}
	}
	return false
}

// errLog is the error that SQLite does not return for such a log: it reads what is before.
var errLog = errors.New("a page of its write-ahead log is damaged, and what was written after it is not read")

// noteLog looks for a damaged page in the log of a database that was copied.
func (d *Database) noteLog(ctx context.Context, path string) error {
	wal, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	o := &overlay{wal: wal, pages: map[uint32]int64{}}
	err = errors.Join(o.index(ctx), o.close())
	d.noteUnread(o)
	return err
}

func (d *Database) noteUnread(o *overlay) {
	if o.unread {
		d.damage = &DamagedError{Err: errLog}
	}
}

type countingReader struct {
	r io.Reader
	n int64
}

// Read implements io.Reader.
func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

func ignoreShort(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// walChecksum is the running checksum of a log.
type walChecksum struct {
	order  binary.ByteOrder
	s0, s1 uint32
}

// newChecksum begins with the header; false if that is none.
func newChecksum(head []byte) (*walChecksum, bool) {
	magic := binary.BigEndian.Uint32(head)
	c := &walChecksum{order: binary.LittleEndian}
	if magic&1 == 1 {
		c.order = binary.BigEndian
	}
	c.add(head[:24])
	return c, magic&^1 == walMagic && c.is(head[24:32])
}

func (c *walChecksum) add(b []byte) {
	for ; len(b) >= 8; b = b[8:] {
		c.s0 += c.order.Uint32(b) + c.s1
		c.s1 += c.order.Uint32(b[4:]) + c.s0
	}
}

func (c *walChecksum) is(b []byte) bool {
	return c.s0 == binary.BigEndian.Uint32(b) && c.s1 == binary.BigEndian.Uint32(b[4:])
}

// takes goes on with a frame, and reports whether it belongs to the log.
func (c *walChecksum) takes(frame, salts []byte) bool {
	if string(frame[8:16]) != string(salts) || binary.BigEndian.Uint32(frame) == 0 {
		return false
	}
	c.add(frame[:8])
	c.add(frame[frameHead:])
	return c.is(frame[16:24])
}

// unchanged reports whether the log has not been begun anew: what was noted
// still stands where it stood.
func (o *overlay) unchanged() bool {
	var now [walHead]byte
	_, err := o.wal.ReadAt(now[:], 0)
	return err == nil && now == o.head || len(o.pages) == 0
}

func (o *overlay) close() error {
	if o.wal == nil {
		return nil
	}
	return o.wal.Close()
}

// Open implements fs.FS: there is one file.
func (o *overlay) Open(name string) (fs.File, error) {
	if name != copyName {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &overlaidFile{overlay: o}, nil
}

// overlaidFile is a position in an overlay.
type overlaidFile struct {
	*overlay
	at int64
}

// Seek implements io.Seeker, from the start alone.
func (f *overlaidFile) Seek(offset int64, whence int) (int64, error) {
	if whence != io.SeekStart || offset < 0 {
		return 0, fs.ErrInvalid
	}
	f.at = offset
	return offset, nil
}

// Read implements io.Reader: at most to the end of a page.
func (f *overlaidFile) Read(p []byte) (int, error) {
	if f.at >= f.size {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), f.size-f.at)]
	from, at := f.main, f.at
	if f.pageSize > 0 {
		inPage := f.at % f.pageSize
		p = p[:min(int64(len(p)), f.pageSize-inPage)]
		if logged, ok := f.pages[uint32(f.at/f.pageSize)+1]; ok {
			from, at = f.wal, logged+inPage
		}
	}
	n, err := from.ReadAt(p, at)
	f.at += int64(n)
	if n > 0 && errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// Close implements fs.File. The files belong to the overlay.
func (f *overlaidFile) Close() error { return nil }

// Stat implements fs.File.
func (f *overlaidFile) Stat() (fs.FileInfo, error) { return overlaidInfo(f.size), nil }

// overlaidInfo is the size of the whole.
type overlaidInfo int64

// Name implements fs.FileInfo.
func (overlaidInfo) Name() string { return copyName }

// Size implements fs.FileInfo.
func (i overlaidInfo) Size() int64 { return int64(i) }

// Mode implements fs.FileInfo.
func (overlaidInfo) Mode() fs.FileMode { return 0o400 }

// ModTime implements fs.FileInfo.
func (overlaidInfo) ModTime() time.Time { return time.Time{} }

// IsDir implements fs.FileInfo.
func (overlaidInfo) IsDir() bool { return false }

// Sys implements fs.FileInfo.
func (overlaidInfo) Sys() any { return nil }
