package archive_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"github.com/sessctl/sessctl/pkg/archive"
)

// lines collects what Lines gives, by number.
func lines(s *archive.Store, e archive.Entry, first, last int) (text string, numbers []int, longest int, err error) {
	err = s.Lines(context.Background(), e, first, last, func(n int, line []byte) error {
		text += string(line)
		longest = max(longest, len(line))
		if len(numbers) == 0 || numbers[len(numbers)-1] != n {
			numbers = append(numbers, n)
		}
		return nil
	})
	return text, numbers, longest, err
}

// Any range of lines is exactly those bytes of the session.
func TestLines(t *testing.T) {
	root := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.StringMatching(`[a-z]{0,9}\r?`), 0, 8).Draw(t, "lines")
		data := strings.Join(all, "\n")
		first, last := rapid.IntRange(-1, 10).Draw(t, "first"), rapid.IntRange(-1, 10).Draw(t, "last")
		s, err := newStore(root, "none")
		if err != nil {
			t.Fatal(err)
		}
		e, err := s.Put(context.Background(), meta("s1"), strings.NewReader(data), int64(len(data)), noon)
		if err != nil {
			t.Fatal(err)
		}
		var want string
		var wantNumbers []int
		for i, line := range strings.SplitAfter(data, "\n") {
			if n := i + 1; line != "" && n >= first && (n <= last || last <= 0) {
				want += line
				wantNumbers = append(wantNumbers, n)
			}
		}
		got, numbers, _, err := lines(s, e, first, last)
		if err != nil || got != want || fmt.Sprint(numbers) != fmt.Sprint(wantNumbers) {
			t.Fatalf("lines %d to %d of %q: %q %v, %v; want %q %v", first, last, data, got, numbers, err, want, wantNumbers)
		}
	})
}

func TestLinesLong(t *testing.T) {
	s := open(t, t.TempDir(), "zstd")
	for _, length := range []int{archive.LinePiece - 1, archive.LinePiece, archive.LinePiece + 1, 5*archive.LinePiece + 7} {
		long := strings.Repeat("x", length) + "\n"
		e := put(t, s, fmt.Sprint("s", length), "first\n"+long+"last")
		text, numbers, longest, err := lines(s, e, 2, 3)
		if err != nil || text != long+"last" || fmt.Sprint(numbers) != "[2 3]" {
			t.Errorf("%d bytes: got %d bytes, lines %v, %v", length, len(text), numbers, err)
		}
		if longest > archive.LinePiece {
			t.Errorf("%d bytes: a piece of %d bytes", length, longest)
		}
	}
}

// A log that its runtime had compressed is archived as it was, and its lines
// are those of the text in it.
func TestLinesOfACompressedLog(t *testing.T) {
	for _, compression := range []string{"none", "zstd"} {
		s := open(t, t.TempDir(), compression)
		var packed bytes.Buffer
		w, err := zstd.NewWriter(&packed)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(w, "one\ntwo\nthree\n")
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		e := put(t, s, "s1", packed.String())
		text, numbers, _, err := lines(s, e, 2, 3)
		if err != nil || text != "two\nthree\n" || fmt.Sprint(numbers) != "[2 3]" {
			t.Errorf("%s: %q, lines %v, %v", compression, text, numbers, err)
		}
		if e.Bytes != int64(packed.Len()) {
			t.Errorf("%s: %d bytes archived of %d", compression, e.Bytes, packed.Len())
		}
	}
}

func TestLinesStops(t *testing.T) {
	s := open(t, t.TempDir(), "none")
	e := put(t, s, "s1", "1\n2\n3\n")
	enough := errors.New("enough")
	calls := 0
	err := s.Lines(context.Background(), e, 1, 0, func(int, []byte) error { calls++; return enough })
	if !errors.Is(err, enough) || calls != 1 {
		t.Errorf("%d calls, %v", calls, err)
	}
	change(t, e.Path, func(data []byte) []byte { return append(data, "4\n"...) })
	if _, _, _, err := lines(s, e, 1, 0); !errors.Is(err, archive.ErrCorrupt) {
		t.Errorf("a longer archive gives %v", err)
	}
}
