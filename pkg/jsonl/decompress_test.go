package jsonl

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/sessctl/sessctl/internal/tier"
)

func gzipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstandard(t *testing.T, data []byte, options ...zstd.EOption) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil, options...)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll(data, nil)
}

// logText is text that does not compress to nothing.
func logText(lines int) []byte {
	var b bytes.Buffer
	state := uint32(1)
	for range lines {
		b.WriteString(`{"type":"message","text":"`)
		for range 20 {
			state = state*1664525 + 1013904223
			b.WriteString([]string{"alpha ", "beta ", "gamma ", "delta ", "epsilon ", "zeta ", "eta ", "theta "}[state>>29])
		}
		b.WriteString("\"}\n")
	}
	return b.Bytes()
}

func TestDecompress(t *testing.T) {
	text := logText(5000)
	skippable := []byte("\x50\x2a\x4d\x18\x03\x00\x00\x00abc")
	for name, test := range map[string]struct {
		data []byte
		want Compression
		text []byte
	}{
		"plain":             {text, CompressionNone, text},
		"empty":             {nil, CompressionNone, nil},
		"one byte":          {[]byte("{"), CompressionNone, []byte("{")},
		"three bytes":       {[]byte("{}\n"), CompressionNone, []byte("{}\n")},
		"part of a magic":   {[]byte("\x1f\x8b"), CompressionNone, []byte("\x1f\x8b")},
		"gzip":              {gzipped(t, text), CompressionGzip, text},
		"gzip of nothing":   {gzipped(t, nil), CompressionGzip, nil},
		"two gzip members":  {append(gzipped(t, text[:100]), gzipped(t, text[100:])...), CompressionGzip, text},
		"zstd":              {zstandard(t, text), CompressionZstd, text},
		"zstd of nothing":   {zstandard(t, nil, zstd.WithZeroFrames(true)), CompressionZstd, nil},
		"two zstd frames":   {append(zstandard(t, text[:100]), zstandard(t, text[100:])...), CompressionZstd, text},
		"frames with a gap": {append(append(zstandard(t, text[:100]), skippable...), zstandard(t, text[100:])...), CompressionZstd, text},
	} {
		for _, r := range []io.Reader{bytes.NewReader(test.data), iotest.OneByteReader(bytes.NewReader(test.data)), iotest.DataErrReader(bytes.NewReader(test.data))} {
			plain, compression, err := Decompress(r, int64(len(test.data)))
			if err != nil {
				t.Fatal(name, err)
			}
			got, err := io.ReadAll(plain)
			if err != nil || compression != test.want || !bytes.Equal(got, test.text) {
				t.Errorf("%s: %s, %d bytes of %d, %v", name, compression, len(got), len(test.text), err)
			}
			if err := plain.Close(); err != nil {
				t.Errorf("%s: close: %v", name, err)
			}
		}
	}
}

// Wherever a stream was cut, what is delivered is a beginning of the text, and
// the cut is noticed.
func TestDecompressTruncated(t *testing.T) {
	text := logText(3000)
	for name, data := range map[string][]byte{"gzip": gzipped(t, text), "zstd": zstandard(t, text)} {
		for k := 4; k < len(data); k += 1 + k/50 {
			plain, _, err := Decompress(bytes.NewReader(data[:k]), int64(k))
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(plain)
			if err != io.ErrUnexpectedEOF || !bytes.HasPrefix(text, got) {
				t.Fatalf("%s cut at %d of %d: %d bytes, %v", name, k, len(data), len(got), err)
			}
			if _, again := plain.Read(make([]byte, 1)); again != err {
				t.Fatalf("%s: the error did not stay: %v", name, again)
			}
			if k > len(data)*3/4 && len(got) < len(text)/2 {
				t.Fatalf("%s cut at %d of %d: only %d bytes were delivered", name, k, len(data), len(got))
			}
			plain.Close()
		}
	}
}

func TestDecompressDamaged(t *testing.T) {
	text := logText(3000)
	for name, data := range map[string][]byte{"gzip": gzipped(t, text), "zstd": zstandard(t, text)} {
		data[len(data)/2] ^= 0x40
		plain, _, err := Decompress(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(plain); err == nil || !strings.Contains(err.Error(), "decompress "+name) {
			t.Errorf("%s with a flipped bit: %v", name, err)
		}
	}
}

func TestDecompressStopsBombs(t *testing.T) {
	bomb := bytes.Repeat([]byte{0}, outputFloor+2<<20)
	for name, data := range map[string][]byte{"gzip": gzipped(t, bomb), "zstd": zstandard(t, bomb)} {
		for size, want := range map[int64]error{0: errTooLarge, -5: errTooLarge, 4096: errTooLarge, 8192: nil, math.MaxInt64: nil} {
			plain, _, err := Decompress(bytes.NewReader(data), size)
			if err != nil {
				t.Fatal(err)
			}
			n, err := io.Copy(io.Discard, plain)
			if !errors.Is(err, want) || n > outputLimit(size) {
				t.Errorf("%s said to be %d bytes: %d bytes, %v", name, size, n, err)
			}
			plain.Close()
		}
	}
}

// A bomb whose size nobody knows ends by what was read of it, and ordinary
// text, which is compressed less, does not.
func TestDecompressStopsBombsOfUnknownSize(t *testing.T) {
	tier.SkipSmoke(t, "it compresses 192 MB twice")
	bomb := bytes.Repeat([]byte("0123456789abcdef"), 12<<20)
	for name, data := range map[string][]byte{"gzip": gzipped(t, bomb), "zstd": zstandard(t, bomb)} {
		plain, _, err := Decompress(bytes.NewReader(data), Unsized)
		if err != nil {
			t.Fatal(err)
		}
		defer plain.Close()
		if n, err := io.Copy(io.Discard, plain); !errors.Is(err, errTooLarge) || n > outputLimit(int64(len(data))) {
			t.Errorf("%s of %d bytes: %d bytes, %v", name, len(data), n, err)
		}
	}
	random := make([]byte, 1<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(random)
	text := bytes.Repeat(random, 80) // more than the floor
	data := gzipped(t, text)         // whose window is too short to see that it repeats
	plain, _, err := Decompress(bytes.NewReader(data), Unsized)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if n, err := io.Copy(io.Discard, plain); err != nil || n != int64(len(text)) {
		t.Errorf("%d bytes: %d bytes of %d, %v", len(data), n, len(text), err)
	}
}

// The memory that a zstd stream asks for is bounded.
func TestDecompressRefusesHugeWindows(t *testing.T) {
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, zstd.WithWindowSize(2*maxWindow))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(bytes.Repeat(logText(1000), 10)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	plain, _, err := Decompress(&b, int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if _, err := io.ReadAll(plain); !errors.Is(err, zstd.ErrWindowSizeExceeded) {
		t.Errorf("a window of %d MiB gave %v", 2*maxWindow>>20, err)
	}
}

func TestDecompressReportsTheFirstReadError(t *testing.T) {
	broken := errors.New("the disk is gone")
	if _, _, err := Decompress(iotest.ErrReader(broken), 0); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	plain, _, err := Decompress(io.MultiReader(bytes.NewReader(gzipped(t, logText(100))[:50]), iotest.ErrReader(broken)), 50)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(plain); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}
