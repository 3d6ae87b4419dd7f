package jsonl

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// readBackward returns copies of all lines of b, and the error it ended with.
func readBackward(b *BackwardReader) ([]Line, error) {
	var lines []Line
	for {
		line, err := b.Prev()
		if err != nil {
			return lines, err
		}
		line.Raw = bytes.Clone(line.Raw)
		lines = append(lines, line)
	}
}

// checkBackward checks that reading data backwards gives the lines, reversed.
func checkBackward(t failer, data []byte, o Options, lines []Line) {
	b := NewBackwardReader(bytes.NewReader(data), int64(len(data)), o)
	got, err := readBackward(b)
	if err != io.EOF {
		t.Fatalf("%.200q backwards: %v", data, err)
	}
	want := slices.Clone(lines)
	slices.Reverse(want)
	for i := range want {
		want[i].Number = 0
	}
	if diff := cmp.Diff(want, got, compareLines); diff != "" {
		t.Fatalf("%.200q backwards: %.2000s", data, diff)
	}
	if _, again := b.Prev(); again != io.EOF {
		t.Fatalf("the end did not stay: %v", again)
	}
}

func TestBackwardReaderIsTheReaderReversed(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		"\n", "\n", "\r\n", "\x00", "{", "}", "a", " ", `"`, `\"`, `\n`, `\u00e4`, "é", "\xef\xbb\xbf", strings.Repeat("long ", 1000), strings.Repeat("x", blockSize-1), strings.Repeat("y", blockSize),
	})
	rapid.Check(t, func(t *rapid.T) {
		data := []byte("{" + strings.Join(rapid.SliceOfN(piece, 0, 30).Draw(t, "pieces"), ""))
		o := Options{MaxLine: rapid.SampledFrom([]int{10, 5000, 70_000, 0}).Draw(t, "max line"), MaxString: 100}
		lines, err := readAll(NewReader(bytes.NewReader(data), o))
		if err == ErrUTF16 {
			return
		}
		if err != io.EOF {
			t.Fatal(err)
		}
		checkBackward(t, data, o, lines)
	})
}

func TestBackwardReaderLineLengths(t *testing.T) {
	o := Options{MaxLine: 3 * blockSize, MaxString: 1000}
	for _, size := range []int{0, 1, blockSize, 2 * blockSize, 3 * blockSize, 4 * blockSize} {
		for _, after := range []int{0, 1, 1000, blockSize} {
			for d := -3; d <= 3; d++ {
				for _, ending := range []string{"", "\n", "\r\n"} {
					if size+d < 0 {
						continue
					}
					data := []byte("first\n" + strings.Repeat("x", size+d) + "\n" + strings.Repeat("a", after) + ending)
					lines, err := readAll(NewReader(bytes.NewReader(data), o))
					if err != io.EOF {
						t.Fatal(err)
					}
					checkBackward(t, data, o, lines)
				}
			}
		}
	}
}

// countedReaderAt counts what is read from source.
type countedReaderAt struct {
	source io.ReaderAt
	bytes  int64
}

func (c *countedReaderAt) ReadAt(p []byte, offset int64) (int, error) {
	n, err := c.source.ReadAt(p, offset)
	c.bytes += int64(n)
	return n, err
}

func TestBackwardReaderReadsOnlyTheEnd(t *testing.T) {
	data := bytes.Repeat([]byte("{\"a\":\"0123456789\"}\n"), 100_000)
	source := &countedReaderAt{source: bytes.NewReader(data)}
	b := NewBackwardReader(source, int64(len(data)), Options{})
	for range 100 {
		if _, err := b.Prev(); err != nil {
			t.Fatal(err)
		}
	}
	if source.bytes != blockSize {
		t.Errorf("%d bytes were read for the last hundred lines", source.bytes)
	}
	if _, err := readBackward(b); err != io.EOF || source.bytes != int64(len(data)) {
		t.Errorf("%d bytes were read of %d, %v", source.bytes, len(data), err)
	}
}

func TestBackwardReaderErrors(t *testing.T) {
	data := []byte(strings.Repeat("{}\n", 50_000))
	b := NewBackwardReader(bytes.NewReader(data), int64(len(data))+10, Options{})
	for range 2 {
		if _, err := b.Prev(); err != io.ErrUnexpectedEOF {
			t.Errorf("a file that became shorter gave %v", err)
		}
	}
	broken := errors.New("the disk is gone")
	b = NewBackwardReader(brokenReaderAt{bytes.NewReader(data), 70_000, broken}, int64(len(data)), Options{})
	lines, err := readBackward(b)
	if !errors.Is(err, broken) || len(lines) == 0 || len(lines) > (len(data)-70_000)/3+1 {
		t.Errorf("after %d lines: %v", len(lines), err)
	}
	for _, size := range []int{4, 100, 50_000} {
		data := append([]byte("\xff\xfe{\x00"), bytes.Repeat([]byte("a\x00\n\x00"), size)...)
		_, err := readBackward(NewBackwardReader(bytes.NewReader(data), int64(len(data)), Options{}))
		if err != ErrUTF16 {
			t.Errorf("UTF-16 of %d bytes gave %v", len(data), err)
		}
	}
}

// brokenReaderAt fails below offset from.
type brokenReaderAt struct {
	io.ReaderAt
	from int64
	err  error
}

func (b brokenReaderAt) ReadAt(p []byte, offset int64) (int, error) {
	if offset < b.from {
		return 0, b.err
	}
	return b.ReaderAt.ReadAt(p, offset)
}
