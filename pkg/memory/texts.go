package memory

import (
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Texts are kept compressed, each by itself: several together would be shorter,
// but what is forgotten must leave the file without those beside it, and a
// question reads a hundred of them from anywhere (docs/decisions.md D27).

// keptText is a text as it is kept: compressed, or as it is where that is no
// longer. Reading one that is damaged gives "": the checksum of its record does
// not hold.
type keptText string

// Scan reads what the database has: a string is a text as it is.
func (t *keptText) Scan(value any) error {
	*t = ""
	switch v := value.(type) {
	case string:
		*t = keptText(v)
	case []byte:
		if plain, err := textDecoder().DecodeAll(v, nil); err == nil {
			*t = keptText(plain)
		}
	}
	return nil
}

// mostText bounds what a text may unpack to, in bytes: more is damage.
const mostText = 64 << 20

// textDecoder reads texts; any number at a time.
var textDecoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(mostText))
	if err != nil {
		panic(err) // the options are constants
	}
	return d
})

// textWriter makes of texts what is kept.
type textWriter struct {
	encoder *zstd.Encoder
	packed  []byte
}

func newTextWriter() (*textWriter, error) {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderCRC(false), zstd.WithSingleSegment(true), zstd.WithLowerEncoderMem(true))
	return &textWriter{encoder: e}, err
}

// kept is what is kept of a text. It is valid until the next call.
func (w *textWriter) kept(text string) any {
	w.packed = w.encoder.EncodeAll([]byte(text), w.packed[:0])
	if len(w.packed) >= len(text) || len(text) > mostText {
		return text
	}
	return w.packed
}
