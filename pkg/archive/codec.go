package archive

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"

	"github.com/klauspost/compress/zstd"
)

const (
	// bufferSize is how much is read and written at a time
	// (research/performance.md section 3).
	bufferSize = 256 << 10
	// encodeWindow is how far back a compressed archive refers: it bounds the
	// memory of writing and reading. Of 200 MB of logs 1 MiB makes 37.8 and
	// 4 MiB 37.6; 8 MiB, at twice the memory, makes no less.
	encodeWindow = 4 << 20
	// encodeLevel takes two thirds of the time of SpeedDefault and makes
	// archives that are 5 to 6 % larger: of 200 MB 37.6 instead of 35.4, where
	// the program zstd makes 35.2 at its level 3 (docs/performance.md).
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
}

func newTally() *tally { return &tally{hash: sha256.New()} }

// Write implements io.Writer. It never fails.
func (t *tally) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	t.hash.Write(p)
	t.bytes += int64(len(p))
	t.ends += int64(bytes.Count(p, []byte{'\n'}))
	t.last = p[len(p)-1]
	return len(p), nil
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
