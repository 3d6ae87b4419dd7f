package jsonl

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// compareLines compares all of a line but the way to it.
var compareLines = cmp.Options{cmpopts.IgnoreFields(Line{}, "lead"), cmp.Comparer(bytes.Equal)}

// readAll returns copies of all lines of r, and the error it ended with.
func readAll(r *Reader) ([]Line, error) {
	var lines []Line
	for {
		line, err := r.Next()
		if err != nil {
			return lines, err
		}
		line.Raw = bytes.Clone(line.Raw)
		lines = append(lines, line)
	}
}

// naiveLines says what the lines of data are, for lines that need no
// shrinking.
func naiveLines(data []byte) []Line {
	var lines []Line
	offset := int64(0)
	for n, whole := range bytes.SplitAfter(data, []byte("\n")) {
		if len(whole) == 0 {
			continue
		}
		text, complete := bytes.CutSuffix(whole, []byte("\n"))
		text = bytes.TrimSuffix(text, []byte("\r"))
		if offset == 0 {
			text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
		}
		raw := bytes.Trim(text, "\x00")
		lines = append(lines, Line{
			Number: n + 1, Offset: offset, Length: int64(len(whole)), Raw: bytes.Clone(raw),
			Complete: complete, NULBytes: int64(len(text) - len(raw)),
		})
		offset += int64(len(whole))
	}
	return lines
}

// pieces reads like r, but in pieces of the given sizes in turn.
type pieces struct {
	r     io.Reader
	sizes []int
	n     int
}

func (p *pieces) Read(b []byte) (int, error) {
	size := p.sizes[p.n%len(p.sizes)]
	p.n++
	return p.r.Read(b[:min(len(b), size)])
}

// readers are ways to read data that must make no difference.
func readers(data []byte) map[string]io.Reader {
	return map[string]io.Reader{
		"whole":              bytes.NewReader(data),
		"one byte":           iotest.OneByteReader(bytes.NewReader(data)),
		"half":               iotest.HalfReader(bytes.NewReader(data)),
		"error with data":    iotest.DataErrReader(bytes.NewReader(data)),
		"prime pieces":       &pieces{r: bytes.NewReader(data), sizes: []int{7, 8191, 1, 65537}},
		"nothing in between": &pieces{r: bytes.NewReader(data), sizes: []int{0, 4096, 0, 0, 100_000}},
	}
}

func TestReaderLines(t *testing.T) {
	for _, text := range []string{
		"", "\n", "\n\n\n", "a", "a\n", "a\nb", "a\r\nb\r\n", "\r\n", "\r", "a\r", "a\r\r\n", "\xef\xbb\xbf{}\n{}\n", "\xef\xbb\xbf", "\xef\xbb\xbf\n\xef\xbb\xbf{}",
		"\x00\x00{}\x00\n{}\x00\x00", "\x00\x00\n", "{}\n" + strings.Repeat("\x00", 5000), "a\x00\r\n", "a\r\x00\n", "\x00\xef\xbb\xbf{}\n", "a\x00b\n", "{\x00", "{}\x00{}",
	} {
		for name, r := range readers([]byte(text)) {
			got, err := readAll(NewReader(r, Options{}))
			if diff := cmp.Diff(naiveLines([]byte(text)), got, compareLines); diff != "" || err != io.EOF {
				t.Errorf("%q read %s: %v %s", text, name, err, diff)
			}
		}
	}
}

// TestReaderLineLengths crosses lengths around every size the reader has with
// the position in the buffer.
func TestReaderLineLengths(t *testing.T) {
	for _, size := range []int{firstRead, blockSize, readSize, readSize + lineSlack, 2 * (readSize + lineSlack), 1 << 20} {
		for _, before := range []int{0, 1, 1000, firstRead} {
			for d := -3; d <= 3; d++ {
				data := []byte(strings.Repeat("b", before) + "\n" + strings.Repeat("x", size+d) + "\nlast")
				for _, r := range []io.Reader{bytes.NewReader(data), iotest.DataErrReader(bytes.NewReader(data)), &pieces{r: bytes.NewReader(data), sizes: []int{4096, 1, 100_000}}} {
					got, err := readAll(NewReader(r, Options{}))
					if diff := cmp.Diff(naiveLines(data), got, compareLines); diff != "" || err != io.EOF {
						t.Fatalf("a line of %d%+d after %d bytes: %v %.200s", size, d, before, err, diff)
					}
				}
			}
		}
	}
}

func TestReaderLinesAroundMaxLine(t *testing.T) {
	for _, ending := range []string{"\n", "\r\n", "", "\r"} {
		for d := -2; d <= 2; d++ {
			o := Options{MaxLine: 1000, MaxString: 300}
			line := `{"a":"` + strings.Repeat("x", o.MaxLine+d-8) + `"}`
			data := []byte(line + ending)
			for name, r := range readers(data) {
				lines, err := readAll(NewReader(r, o))
				if err != io.EOF || len(lines) != 1 {
					t.Fatalf("%d lines, %v", len(lines), err)
				}
				got := lines[0]
				if shrunk := got.CutBytes > 0; shrunk != (d > 0) || got.Length != int64(len(data)) || got.Complete != strings.HasSuffix(ending, "\n") {
					t.Errorf("MaxLine%+d with %q, %s: cut %d, length %d of %d", d, ending, name, got.CutBytes, got.Length, len(data))
				}
				if want := 8 + o.MaxString; d > 0 && len(got.Raw) != want {
					t.Errorf("MaxLine%+d with %q, %s: %d bytes are left, want %d", d, ending, name, len(got.Raw), want)
				}
			}
		}
	}
}

func TestReaderErrors(t *testing.T) {
	broken := errors.New("the disk is gone")
	for _, text := range []string{"", "a\nb\n", "a\nhalf a line", strings.Repeat("x", 1<<20)} {
		for _, r := range []io.Reader{
			io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)),
			iotest.DataErrReader(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken))),
		} {
			reader := NewReader(r, Options{})
			got, err := readAll(reader)
			if diff := cmp.Diff(naiveLines([]byte(text)), got, compareLines); diff != "" || !errors.Is(err, broken) {
				t.Errorf("%.20q: %v %.200s", text, err, diff)
			}
			if _, again := reader.Next(); again != err {
				t.Errorf("the error did not stay: %v", again)
			}
		}
	}
	if _, err := NewReader(idle{}, Options{}).Next(); err != io.ErrNoProgress {
		t.Errorf("a source without progress gave %v", err)
	}
	if _, err := NewReader(liar{}, Options{}).Next(); err == nil || err == io.EOF {
		t.Errorf("a source that lies about its count gave %v", err)
	}
}

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

type liar struct{}

func (liar) Read(p []byte) (int, error) { return len(p) + 1, nil }

func TestReaderRefusesUTF16(t *testing.T) {
	for text, want := range map[string]error{
		"\xff\xfe{\x00}\x00": ErrUTF16, "\xfe\xff\x00{\x00}": ErrUTF16, "{\x00\"\x00a\x00": ErrUTF16, "\x00{\x00\"\x00a": ErrUTF16, "\xff\xfe": ErrUTF16,
		"{}": io.EOF, "\x00\x00{}": io.EOF, "\x00{\"a\":1}": io.EOF, "{\x00": io.EOF, "\xff": io.EOF, "{\x00\x00\x00": io.EOF,
	} {
		for name, r := range readers([]byte(text)) {
			reader := NewReader(r, Options{})
			lines, err := readAll(reader)
			if err != want || want == ErrUTF16 && len(lines) > 0 {
				t.Errorf("%q read %s: %d lines, %v", text, name, len(lines), err)
			}
			if _, again := reader.Next(); again != err {
				t.Errorf("%q: the error did not stay: %v", text, again)
			}
		}
	}
}

func TestReaderReadsLittleOfSmallFiles(t *testing.T) {
	r := NewReader(strings.NewReader("{}\n"), Options{})
	if _, err := readAll(r); err != io.EOF || len(r.buf) != firstRead {
		t.Errorf("%d bytes were set aside for a small file, %v", len(r.buf), err)
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("{}\n\x00\x00{\"a\":1}\r\n\n  \nlast"), uint16(3))
	f.Add([]byte("\xef\xbb\xbf{\"a\":\""+strings.Repeat(`\ud83d\ude00`, 40)+"\"}\r\n{}"), uint16(1))
	f.Fuzz(func(t *testing.T, data []byte, size uint16) {
		r := &pieces{r: bytes.NewReader(data), sizes: []int{int(size), 1, int(size % 13)}}
		got, err := readAll(NewReader(r, Options{}))
		if isUTF16(data) {
			if err != ErrUTF16 || len(got) > 0 {
				t.Fatalf("%d lines, %v", len(got), err)
			}
			return
		}
		if diff := cmp.Diff(naiveLines(data), got, compareLines); diff != "" || err != io.EOF {
			t.Fatal(err, diff)
		}
		// With a small limit lines are shrunk, but the bytes still add up,
		// and neither the pieces nor the direction matters.
		o := Options{MaxLine: 20, MaxString: 8}
		small, err := readAll(NewReader(iotest.OneByteReader(bytes.NewReader(data)), o))
		if err != io.EOF {
			t.Fatal(err)
		}
		checkShrunkLines(t, data, small)
		again, _ := readAll(NewReader(bytes.NewReader(data), o))
		if diff := cmp.Diff(small, again, compareLines); diff != "" {
			t.Fatal(diff)
		}
		checkBackward(t, data, o, small)
	})
}

// checkShrunkLines checks what must hold of all lines of data.
func checkShrunkLines(t failer, data []byte, lines []Line) {
	offset := int64(0)
	for i, line := range lines {
		ending := int64(0)
		whole := data[offset : offset+line.Length]
		if text, ok := bytes.CutSuffix(whole, []byte("\n")); ok {
			ending++
			whole = text
		}
		if bytes.HasSuffix(whole, []byte("\r")) {
			ending++
		}
		if offset == 0 && bytes.HasPrefix(whole, []byte("\xef\xbb\xbf")) {
			ending += 3
		}
		sum := int64(len(line.Raw)) + line.CutBytes + line.NULBytes + ending
		if line.Number != i+1 || line.Offset != offset || line.Length != sum {
			t.Fatalf("line %d of %q does not add up: %+v (%q)", i+1, data, line, line.Raw)
		}
		offset += line.Length
	}
	if offset != int64(len(data)) {
		t.Fatalf("the lines have %d bytes, the data %d", offset, len(data))
	}
}

func TestReaderIsTheNaiveOne(t *testing.T) {
	piece := rapid.SampledFrom([]string{"\n", "\r\n", "\r", "\x00", "{", "}", "a", " ", `"`, `\`, "\xef\xbb\xbf", "\xff", "\xfe", strings.Repeat("long ", 1000)})
	rapid.Check(t, func(t *rapid.T) {
		data := []byte(strings.Join(rapid.SliceOfN(piece, 0, 60).Draw(t, "pieces"), ""))
		sizes := rapid.SliceOfN(rapid.IntRange(1, 5000), 1, 5).Draw(t, "sizes")
		got, err := readAll(NewReader(&pieces{r: bytes.NewReader(data), sizes: sizes}, Options{}))
		if isUTF16(data) {
			return
		}
		if diff := cmp.Diff(naiveLines(data), got, compareLines); diff != "" || err != io.EOF {
			t.Fatal(err, diff)
		}
	})
}

func ExampleReader() {
	r := NewReader(strings.NewReader("{\"a\":1}\r\n{\"b\":2}\n{\"c"), Options{})
	for {
		line, err := r.Next()
		if err != nil {
			break
		}
		fmt.Printf("%d at %d: %s %v\n", line.Number, line.Offset, line.Raw, line.Complete)
	}
	// Output:
	// 1 at 0: {"a":1} true
	// 2 at 9: {"b":2} true
	// 3 at 17: {"c false
}

// TestReset: a Reader that is used again gives what a new one gives, whatever
// it has read before.
func TestReset(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		again := NewReader(strings.NewReader(""), Options{MaxLine: 512, MaxString: 300})
		for range 3 {
			text := strings.Repeat(rapid.StringMatching(`(\{"a":"[a-z]{0,40}"\}|[a-z"\\]{0,20}|\xff\xfe)\r?\n?`).Draw(t, "text"), rapid.IntRange(0, 60).Draw(t, "times"))
			again.Reset(strings.NewReader(text))
			fresh := NewReader(strings.NewReader(text), Options{MaxLine: 512, MaxString: 300})
			for {
				want, wantErr := fresh.Next()
				got, err := again.Next()
				if diff := cmp.Diff(want, got, compareLines); diff != "" || !errors.Is(err, wantErr) {
					t.Fatalf("%q: %v, want %v: %s", text, err, wantErr, diff)
				}
				if err != nil {
					break
				}
			}
			if rapid.Bool().Draw(t, "leave") {
				again.Reset(strings.NewReader(text))
				_, _ = again.Next()
			}
		}
	})
}
