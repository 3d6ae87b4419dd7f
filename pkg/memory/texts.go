package memory

import (
	_ "embed"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Texts are kept compressed, each by itself: several together would be shorter,
// but what is forgotten must leave the file without those beside it, and a
// question reads a hundred of them from anywhere (docs/dev/decisions.md D27).

// dictionary has what texts are likely to have, so that a short one becomes
// shorter too: phrases of conversations and of coding sessions (dictionary.txt)
// and how often which byte follows. It is never changed: texts that were written
// with it can be read only with it. Another one would stand beside it, with a
// number of its own.
//
//go:embed dictionary.bin
var dictionary []byte

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
		plain, _ := unpackText(v)
		*t = keptText(plain)
	}
	return nil
}

// unpackText returns the text that was compressed, and whether it is whole.
func unpackText(packed []byte) (string, bool) {
	plain, err := textDecoder().DecodeAll(packed, nil)
	if err != nil {
		return "", false
	}
	return string(plain), true
}

// mostText bounds what a text may unpack to, in bytes: more is damage.
const mostText = 64 << 20

// textDecoder reads texts; any number at a time.
var textDecoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(mostText), zstd.WithDecoderDicts(dictionary))
	if err != nil {
		panic(err) // the options are constants
	}
	return d
})

// Lengths of texts, in bytes. A text of up to leastPacked is kept as it is: hardly
// one gets shorter. From leastAlone on a text is compressed without the dictionary:
// that takes half of the time, because the encoder copies its tables of the
// dictionary anew for every text, and a long text has its own repeats
// (docs/dev/decisions.md D27 has the figures).
const (
	leastPacked = 64
	leastAlone  = 3000
)

// textWriter makes of texts what is kept.
type textWriter struct {
	encoder *zstd.Encoder // with the dictionary
	alone   *zstd.Encoder // without
	plain   []byte
	packed  []byte
}

// textWindow is how far back, in bytes, the beginning of a longer text is looked
// for in it. Texts are shorter, and there is a writer for each processor.
const textWindow = 256 << 10

func newTextWriter() (*textWriter, error) {
	e, err := newTextEncoder(zstd.WithEncoderDict(dictionary))
	if err != nil {
		return nil, err
	}
	alone, err := newTextEncoder(zstd.WithAllLitEntropyCompression(true))
	return &textWriter{encoder: e, alone: alone}, err
}

func newTextEncoder(o zstd.EOption) (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderCRC(false), zstd.WithWindowSize(textWindow), zstd.WithSingleSegment(true), zstd.WithLowerEncoderMem(true), o)
}

// kept is what is kept of a text. It is valid until the next call.
func (w *textWriter) kept(text string) (kept any) {
	kept, w.packed = w.appendKept(w.packed[:0], text)
	return kept
}

// appendKept is kept, which is appended to dst where the text becomes shorter.
func (w *textWriter) appendKept(dst []byte, text string) (kept any, _ []byte) {
	if len(text) <= leastPacked || len(text) > mostText {
		return text, dst
	}
	encoder := w.encoder
	if len(text) >= leastAlone {
		encoder = w.alone
	}
	w.plain = append(w.plain[:0], text...)
	packed := encoder.EncodeAll(w.plain, dst)
	if len(packed)-len(dst) >= len(text) {
		return text, dst
	}
	return packed[len(dst):len(packed):len(packed)], packed
}
