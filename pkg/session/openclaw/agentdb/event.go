package agentdb

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// MaxEvent is the length in bytes that a compressed record may have once it is
// decompressed: the schema's own bound of transcript_events.event_utf8_bytes.
const MaxEvent = 4 << 20

// maxWindow bounds the memory that a compressed record can ask for, in bytes.
const maxWindow = 8 << 20

var (
	// ErrLength is returned when a record does not have the length that its row
	// says.
	ErrLength = errors.New("its record does not have the length that the row says")
	// ErrCompression is returned when a compressed record cannot be
	// decompressed.
	ErrCompression = errors.New("its record cannot be decompressed")
)

// eventLine is the line of a record: its text as it is stored, or
// decompressed, and a line feed. length is what the row says, in bytes.
func eventLine(plain, packed []byte, length int) ([]byte, error) {
	line := make([]byte, 0, length+1)
	switch {
	case plain != nil && len(plain) != length:
		return nil, fmt.Errorf("%w (%d bytes, not %d)", ErrLength, len(plain), length)
	case plain != nil:
		line = append(line, plain...)
	default:
		var err error
		if line, err = decompress(line[:length], packed); err != nil {
			return nil, err
		}
	}
	return append(oneLine(line), '\n'), nil
}

// decompress fills text, no less and no more.
func decompress(text, packed []byte) ([]byte, error) {
	decoder, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCompression, err)
	}
	defer decoder.Close()
	n, err := io.ReadFull(decoder, text)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("%w (%d bytes, not %d)", ErrLength, n, len(text))
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrCompression, err)
	}
	switch n, err := io.ReadFull(decoder, make([]byte, 1)); {
	case n > 0:
		return nil, fmt.Errorf("%w (more than %d bytes)", ErrLength, len(text))
	case !errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%w: %w", ErrCompression, err)
	}
	return text, nil
}

// oneLine puts a record on one line. A line feed between the parts of a JSON
// text says as much as a space; what is not JSON stays as it is.
func oneLine(text []byte) []byte {
	if bytes.IndexByte(text, '\n') < 0 || !json.Valid(text) {
		return text
	}
	return bytes.ReplaceAll(text, []byte("\n"), []byte(" "))
}
