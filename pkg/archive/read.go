package archive

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/jsonl"
)

// storedFiles opens the files of archives, or their copies from object storage,
// and reads them.
type storedFiles struct {
	pins  *durable.Pins
	fetch func(context.Context, Entry) (*os.File, error) // nil fetches nothing
	// copied returns nil if the copy on object storage of an archive counts; nil
	// counts none, see [Store.CountingCopies].
	copied func(context.Context, Entry) error
}

// Verify reads the whole archive and compares length and hash, of the file and
// of the session in it, with the entry. [ErrMissing] is returned when the file
// is not there, [ErrCorrupt] with what differs when it is not the same, and
// the system's error when it cannot be read. An archive that is only on object
// storage is fetched for that, unless its copy counts ([Store.CountingCopies]).
func (sf *storedFiles) Verify(ctx context.Context, e Entry) error {
	err := sf.VerifyFile(ctx, e)
	switch {
	case !errors.Is(err, ErrMissing) || e.Remote == nil:
		return err
	case sf.copied != nil && e.SupersededBy != "":
		return err // what is said of that copy is not of its beginning
	case sf.copied != nil:
		return sf.copied(ctx, e)
	case sf.fetch == nil:
		return err
	}
	stored, err := sf.openFetched(ctx, e)
	if err != nil {
		return err
	}
	return verifyStored(ctx, e, stored)
}

// VerifyFile is [Store.Verify] of the file that is here: one that is only on object
// storage is missing.
func (sf *storedFiles) VerifyFile(ctx context.Context, e Entry) error {
	stored, err := sf.openStored(e)
	if err != nil {
		return err
	}
	return verifyStored(ctx, e, stored)
}

func verifyStored(ctx context.Context, e Entry, stored *storedFile) error {
	r, err := newEntryReader(ctx, e, stored)
	if err != nil {
		return err
	}
	defer r.Close()
	if r.stored.size != e.StoredBytes {
		return corrupt(e, "the file has %d bytes, expected %d", r.stored.size, e.StoredBytes)
	}
	if _, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, r, make([]byte, bufferSize)); err != nil {
		return err
	}
	if lines := r.given.lines(); lines != e.Lines {
		return corrupt(e, "it has %d lines, expected %d", lines, e.Lines)
	}
	return r.checkFile()
}

// Prove is [Store.Verify] of the bytes of an archive's file that come from
// elsewhere. They are read to their end, and all that the entry says of file and
// session is compared.
func Prove(ctx context.Context, e Entry, from io.Reader) error {
	file, given := newTally(), newTally()
	content := io.TeeReader(from, file)
	if e.Compression == CompressionZstd {
		decoder, err := newDecompressor(content)
		if err != nil {
			return err
		}
		defer decoder.Close()
		content = decoder
	}
	buffer := make([]byte, bufferSize)
	for {
		n, err := content.Read(buffer)
		if _, err := given.Write(buffer[:n]); err != nil {
			return err
		}
		if err == io.EOF && given.bytes <= e.Bytes {
			break
		}
		if err = errors.Join(ctx.Err(), err); err != nil || given.bytes > e.Bytes {
			return errors.Join(corrupt(e, "it cannot be read as %d bytes", e.Bytes), err)
		}
	}
	if _, err := io.CopyBuffer(struct{ io.Writer }{file}, from, buffer); err != nil {
		return err
	}
	if file.bytes != e.StoredBytes || file.sha256() != e.StoredSHA256 || given.bytes != e.Bytes || given.sha256() != e.SHA256 || given.lines() != e.Lines {
		return corrupt(e, "a file of %d bytes with sha256 %s, in it %d bytes and %d lines with %s", file.bytes, file.sha256(), given.bytes, given.lines(), given.sha256())
	}
	return nil
}

// Look checks what can be checked without reading the archive: that its file is
// there, is a regular file and has the length it was stored with. An archive that
// is on object storage and can be fetched from there may be missing here. The
// errors are those of [Store.Verify].
func (sf *storedFiles) Look(e Entry) error {
	stored, err := sf.openStored(e)
	if sf.fetched(e, err) {
		return nil // the copy counts; whether it is good the storage can tell
	}
	if err != nil {
		return err
	}
	if err := stored.file.Close(); err != nil {
		return fmt.Errorf("look at archive %s: %w", e.ID, err)
	}
	if stored.size != e.StoredBytes {
		return corrupt(e, "the file has %d bytes, expected %d", stored.size, e.StoredBytes)
	}
	return nil
}

// Here reports whether there is a file of the archive, whatever is in it.
func (sf *storedFiles) Here(e Entry) bool {
	sf.pins.Top(filepath.Dir(filepath.Dir(e.Path)))
	_, err := sf.pins.Lstat(e.Path)
	return err == nil
}

// OpenEntry opens the archived session for reading from its start,
// decompressed. The reader never gives more than the entry's bytes. In place
// of io.EOF it returns [ErrCorrupt] when length or hash of what it gave is not
// the entry's, so a caller that reads to the end has read the session.
func (sf *storedFiles) OpenEntry(ctx context.Context, e Entry) (io.ReadCloser, error) {
	return sf.openEntry(ctx, e)
}

// entryReader gives the session in an archive and checks it at the end.
type entryReader struct {
	ctx     context.Context
	entry   Entry
	stored  *storedFile
	decoder *zstd.Decoder // nil: not compressed
	content io.Reader
	given   *tally
	err     error // sticky
}

func (sf *storedFiles) openEntry(ctx context.Context, e Entry) (*entryReader, error) {
	stored, err := sf.openStored(e)
	if sf.fetched(e, err) {
		stored, err = sf.openFetched(ctx, e)
	}
	if err != nil {
		return nil, err
	}
	return newEntryReader(ctx, e, stored)
}

func newEntryReader(ctx context.Context, e Entry, stored *storedFile) (r *entryReader, err error) {
	r = &entryReader{ctx: ctx, entry: e, stored: stored, content: stored, given: newTally()}
	if e.Compression != CompressionZstd {
		return r, nil
	}
	r.decoder, err = newDecompressor(stored)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open archive %s: %w", e.ID, err), stored.file.Close())
	}
	r.content = r.decoder
	return r, nil
}

// Read implements io.Reader.
func (r *entryReader) Read(p []byte) (int, error) {
	if r.err != nil || len(p) == 0 {
		return 0, r.err
	}
	if r.err = r.ctx.Err(); r.err != nil {
		return 0, r.err
	}
	n, err := r.content.Read(p)
	if left := r.entry.Bytes - r.given.bytes; int64(n) > left {
		n, err = int(left), r.surplus()
	}
	_, _ = r.given.Write(p[:n]) // a hash takes everything
	r.err = r.explain(err)
	return n, r.err
}

// surplus is what more bytes than those of the session mean: a superseded archive ends
// there, and the later one goes on.
func (r *entryReader) surplus() error {
	if r.entry.SupersededBy != "" {
		return io.EOF
	}
	return corrupt(r.entry, "it holds more than the expected %d bytes", r.entry.Bytes)
}

// checkFile compares the file with the entry, when all of it has been read. Of a
// superseded archive only the beginning was: its own hash has said of that what there
// is to say.
func (r *entryReader) checkFile() error {
	if r.entry.SupersededBy != "" {
		return nil
	}
	return r.stored.check(r.entry)
}

// explain turns the end into a verdict, and a broken stream into ErrCorrupt.
func (r *entryReader) explain(err error) error {
	switch {
	case err == nil || errors.Is(err, ErrCorrupt):
		return err
	case r.stored.err != nil:
		return fmt.Errorf("read archive %s: %w", r.entry.ID, r.stored.err)
	case err != io.EOF:
		return corrupt(r.entry, "%v", err)
	case r.given.bytes != r.entry.Bytes:
		return corrupt(r.entry, "it holds %d bytes, expected %d", r.given.bytes, r.entry.Bytes)
	case r.given.sha256() != r.entry.SHA256:
		return corrupt(r.entry, "it has sha256 %s, expected %s", r.given.sha256(), r.entry.SHA256)
	}
	return io.EOF
}

// Close implements io.Closer.
func (r *entryReader) Close() error {
	if r.decoder != nil {
		r.decoder.Close()
	}
	return r.stored.file.Close()
}

// storedFile is an archive's file as it is stored, hashed as it is read where
// that is not the session's hash already.
type storedFile struct {
	file *os.File
	size int64
	read *tally // nil: not compressed
	err  error  // what the file system said, other than io.EOF
}

func (sf *storedFiles) openStored(e Entry) (*storedFile, error) {
	sf.pins.Top(filepath.Dir(filepath.Dir(e.Path)))
	file, err := sf.pins.OpenRegular(e.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("archive %s: %w: %s", e.ID, ErrMissing, e.Path)
	}
	if errors.Is(err, durable.ErrNotRegular) {
		return nil, corrupt(e, "not a regular file")
	}
	if err != nil {
		return nil, fmt.Errorf("open archive %s: %w", e.ID, err)
	}
	return newStoredFile(e, file)
}

// fetched reports whether an archive's file, which could not be opened, is to be
// got from object storage.
func (sf *storedFiles) fetched(e Entry, err error) bool {
	return errors.Is(err, ErrMissing) && e.Remote != nil && sf.fetch != nil
}

// openFetched opens the copy of an archive whose own file is not there.
func (sf *storedFiles) openFetched(ctx context.Context, e Entry) (*storedFile, error) {
	file, err := sf.fetch(ctx, e)
	if err != nil {
		return nil, fmt.Errorf("fetch archive %s: %w", e.ID, err)
	}
	return newStoredFile(e, file)
}

func newStoredFile(e Entry, file *os.File) (*storedFile, error) {
	fi, err := file.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open archive %s: %w", e.ID, err), file.Close())
	}
	stored := &storedFile{file: file, size: fi.Size()}
	if e.Compression == CompressionZstd {
		stored.read = newTally()
	}
	return stored, nil
}

// Read implements io.Reader.
func (f *storedFile) Read(p []byte) (int, error) {
	n, err := f.file.Read(p)
	if f.read != nil {
		_, _ = f.read.Write(p[:n]) // a hash takes everything
	}
	if err != nil && err != io.EOF {
		f.err = err
	}
	return n, err
}

// check compares the file with the entry, when all of it has been read.
func (f *storedFile) check(e Entry) error {
	if f.read == nil || f.read.sha256() == e.StoredSHA256 {
		return nil
	}
	return corrupt(e, "the file has sha256 %s, expected %s", f.read.sha256(), e.StoredSHA256)
}

func corrupt(e Entry, format string, values ...any) error {
	return fmt.Errorf("archive %s: %w: %s: %s", e.ID, ErrCorrupt, e.Path, fmt.Sprintf(format, values...))
}

// LinePiece is the longest piece of a line, in bytes, that [Store.Lines] gives
// at once.
const LinePiece = 1 << 20

// Lines gives the lines first to last of the archived session, counted from 1;
// last 0 means to the end. Each comes with its line end, so what fn gets is the
// session's bytes exactly; of a log that is compressed itself, as the runtime
// left it, the bytes of the text in it. A line longer than [LinePiece] comes in
// several pieces with the same number. The slice is valid until fn returns; an
// error of fn ends the reading and is returned.
func (sf *storedFiles) Lines(ctx context.Context, e Entry, first, last int, fn func(n int, line []byte) error) error {
	r, err := sf.openEntry(ctx, e)
	if err != nil {
		return err
	}
	defer r.Close()
	text, _, err := jsonl.Decompress(r, e.Bytes)
	if err != nil {
		return err
	}
	defer text.Close()
	lines := bufio.NewReaderSize(text, LinePiece)
	for n := 1; last <= 0 || n <= last; {
		line, err := lines.ReadSlice('\n')
		if n >= first && len(line) > 0 {
			if err := fn(n, line); err != nil {
				return err
			}
		}
		switch {
		case err == nil:
			n++
		case err == io.EOF:
			return nil
		case err != bufio.ErrBufferFull:
			return err
		}
	}
	return nil
}

const (
	// bufferSize is how much is read and written at a time (docs/dev/decisions.md
	// D1).
	bufferSize = 256 << 10
	// encodeWindow is how far back a compressed archive refers: it bounds the
	// memory of writing and reading. Of 200 MB of logs 1 MiB makes 37.8 and
	// 4 MiB 37.6; 8 MiB, at twice the memory, makes no less.
	encodeWindow = 4 << 20
	// encodeLevel takes two thirds of the time of SpeedDefault and makes
	// archives that are 5 to 6 % larger: of 200 MB 37.6 instead of 35.4, where
	// the program zstd makes 35.2 at its level 3 (docs/dev/performance.md).
	encodeLevel = zstd.SpeedFastest
	// decodeWindow is the largest window that is accepted when reading: that
	// of zstd's own default levels.
	decodeWindow = 8 << 20
)

// tally is what passed through: length, hash and number of lines.
type tally struct {
	hash  hash.Hash
	bytes int64
	ends  int64 // line ends
	last  byte
	// marks are beginnings of hashes; starts are the hashes with one of them that the
	// text had at ends of its lines, the last one last. nil marks look for none.
	marks  map[string]bool
	starts []string
}

func newTally() *tally { return &tally{hash: sha256.New()} }

// Write implements io.Writer. It never fails.
func (t *tally) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if t.marks == nil {
		t.hash.Write(p)
	} else {
		t.writeLines(p)
	}
	t.bytes += int64(len(p))
	t.ends += int64(bytes.Count(p, []byte{'\n'}))
	t.last = p[len(p)-1]
	return len(p), nil
}

// writeLines looks at the hash after each line.
func (t *tally) writeLines(p []byte) {
	var sum [sha256.Size]byte
	for line := range bytes.Lines(p) {
		t.hash.Write(line)
		if line[len(line)-1] != '\n' {
			return
		}
		if digits := hex.EncodeToString(t.hash.Sum(sum[:0])); t.marks[digits[:shortDigit]] {
			t.starts = append(t.starts, digits)
		}
	}
}

func (t *tally) sha256() string { return hex.EncodeToString(t.hash.Sum(nil)) }

// lines counts a last line without an end too.
func (t *tally) lines() int64 {
	if t.bytes > 0 && t.last != '\n' {
		return t.ends + 1
	}
	return t.ends
}

// copyInto copies exactly size bytes: io.ErrUnexpectedEOF is returned when src
// has fewer. It stops between two buffers when ctx ends.
func copyInto(ctx context.Context, dst io.Writer, src io.Reader, size int64) error {
	buffer := make([]byte, min(bufferSize, max(size, 1)))
	for left := size; left > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := io.ReadFull(src, buffer[:min(left, int64(len(buffer)))])
		if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
			return fmt.Errorf("read source: %w", err)
		}
		if _, err := dst.Write(buffer[:n]); err != nil {
			return err
		}
		left -= int64(n)
		if err != nil {
			return fmt.Errorf("read source: %d of %d bytes: %w", size-left, size, io.ErrUnexpectedEOF)
		}
	}
	return nil
}

// compressor is zstd in front of a buffered file.
type compressor struct {
	*zstd.Encoder
	buffer *bufio.Writer
}

func newCompressor(w io.Writer) (*compressor, error) {
	buffer := bufio.NewWriterSize(w, bufferSize)
	encoder, err := zstd.NewWriter(buffer,
		zstd.WithEncoderLevel(encodeLevel),
		zstd.WithEncoderConcurrency(1),
		// The encoder's mode for less memory saves one window and moves the
		// whole window for every block: it costs half as much time again.
		zstd.WithWindowSize(encodeWindow),
		zstd.WithZeroFrames(true)) // an empty session is a valid file too
	if err != nil {
		return nil, fmt.Errorf("start zstd: %w", err)
	}
	return &compressor{encoder, buffer}, nil
}

// Close ends the frame and hands everything to the file.
func (c *compressor) Close() error {
	if err := c.Encoder.Close(); err != nil {
		return err
	}
	return c.buffer.Flush()
}

func newDecompressor(r io.Reader) (*zstd.Decoder, error) {
	decoder, err := zstd.NewReader(r,
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true),
		zstd.WithDecodeBuffersBelow(0),
		zstd.IgnoreChecksum(true), // SHA-256 says more, of what is stored and of what is in it
		zstd.WithDecoderMaxWindow(decodeWindow))
	if err != nil {
		return nil, fmt.Errorf("start zstd: %w", err)
	}
	return decoder, nil
}
