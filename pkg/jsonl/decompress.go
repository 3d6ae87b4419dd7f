package jsonl

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Compression is how a stream is compressed.
type Compression string

// The compressions that [Decompress] knows.
const (
	CompressionNone Compression = "none"
	CompressionGzip Compression = "gzip"
	CompressionZstd Compression = "zstd"
)

// errTooLarge is returned when a compressed stream yields more than 64 MiB and
// 256 times its own size. Logs compress 7 to 13 times; more is a bomb.
var errTooLarge = errors.New("it decompresses to more than 256 times its size, as no log does")

const (
	outputFloor  = 64 << 20 // bytes that every stream may yield
	outputFactor = 256      // times the compressed size on top of that

	// maxWindow is the largest zstd window that is read, and so the memory
	// that a stream can ask for. zstd -19 needs 8 MiB; only --ultra and --long
	// need more.
	maxWindow = 32 << 20
)

// Unsized is given to [Decompress] for a stream whose size is not known: what
// was read of it so far counts.
const Unsized int64 = -1

// Decompress returns the plain bytes of r. Its first bytes say what r is, never
// a name: some sessions named .jsonl are gzip, and some named .gz are plain.
// compressedSize is the size of r in bytes. Reading fails with errTooLarge
// after 256 times that and 64 MiB more; see [Unsized].
//
// A truncated stream yields what can be read of it, then io.ErrUnexpectedEOF.
// A damaged one yields what comes before the damage, then an error. Closing
// the result frees the decoder; it does not close r.
func Decompress(r io.Reader, compressedSize int64) (io.ReadCloser, Compression, error) {
	head := make([]byte, 4)
	n, err := io.ReadFull(r, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, CompressionNone, fmt.Errorf("read the first bytes: %w", err)
	}
	plain := &prefixed{head: head[:n], rest: r}
	compression := compressionOf(head[:n])
	if compression == CompressionNone {
		return io.NopCloser(plain), compression, nil
	}
	d := &decompressor{source: plain, compression: compression, limit: outputLimit(compressedSize)}
	if compressedSize == Unsized {
		counted := &counter{Reader: plain}
		d.source, d.read = counted, &counted.n
	}
	return d, compression, nil
}

// compressionOf tells how a stream that begins with head is compressed.
func compressionOf(head []byte) Compression {
	switch {
	case bytes.HasPrefix(head, []byte("\x1f\x8b\x08")):
		return CompressionGzip
	case bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")):
		return CompressionZstd
	}
	return CompressionNone
}

// outputLimit returns how many bytes a stream of compressedSize may yield.
func outputLimit(compressedSize int64) int64 {
	if compressedSize > (math.MaxInt64-outputFloor)/outputFactor {
		return math.MaxInt64
	}
	return outputFloor + outputFactor*max(compressedSize, 0)
}

// decompressor yields the output of a decoder up to a limit. The decoder is
// made by the first Read, so that a stream cut inside its header is an error
// of reading like every other cut.
type decompressor struct {
	source      io.Reader
	compression Compression
	decoder     io.ReadCloser
	limit       int64  // how many bytes may come, if read is nil
	read        *int64 // how many compressed bytes were read
	came        int64
	err         error // sticky
}

// counter counts what is read.
type counter struct {
	io.Reader
	n int64
}

// Read implements io.Reader.
func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}

// tooMuch reports whether more came than so much compressed text can hold.
func (d *decompressor) tooMuch() bool {
	if d.read != nil {
		return d.came > outputLimit(*d.read)
	}
	return d.came > d.limit
}

// Read implements io.Reader.
func (d *decompressor) Read(p []byte) (int, error) {
	if d.decoder == nil && d.err == nil {
		d.err = d.open()
	}
	if d.err != nil || len(p) == 0 {
		return 0, d.err
	}
	n, err := d.decoder.Read(p)
	if d.came += int64(n); d.tooMuch() {
		n, err = 0, errTooLarge
	}
	d.err = d.wrap(err)
	return n, d.err
}

func (d *decompressor) open() error {
	open := openZstd
	if d.compression == CompressionGzip {
		open = openGzip
	}
	decoder, err := open(d.source)
	if err == nil {
		d.decoder = decoder
		return nil
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return d.wrap(err)
}

func openGzip(r io.Reader) (io.ReadCloser, error) { return gzip.NewReader(r) }

func openZstd(r io.Reader) (io.ReadCloser, error) {
	decoder, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, err
	}
	return decoder.IOReadCloser(), nil
}

// wrap says what was being done; io.EOF and io.ErrUnexpectedEOF stay what they
// are.
func (d *decompressor) wrap(err error) error {
	if err == nil || err == io.EOF || err == io.ErrUnexpectedEOF || err == errTooLarge {
		return err
	}
	return fmt.Errorf("decompress %s: %w", d.compression, err)
}

// Close frees the decoder.
func (d *decompressor) Close() error {
	d.err = io.ErrClosedPipe
	if d.decoder == nil {
		return nil
	}
	return d.decoder.Close()
}

// prefixed yields head and then rest.
type prefixed struct {
	head []byte
	rest io.Reader
}

// Read implements io.Reader.
func (p *prefixed) Read(b []byte) (int, error) {
	if len(p.head) == 0 {
		return p.rest.Read(b)
	}
	n := copy(b, p.head)
	p.head = p.head[n:]
	return n, nil
}
