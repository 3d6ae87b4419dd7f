package session

import (
	"bytes"
	"strconv"
)

// Lengths from which a run of the base64 alphabet counts as binary data
// (research/pitfalls.md 29), and the same after the head of a data URL.
const (
	binaryRun  = 512
	binaryData = 64
)

// dataURL ends the head of a data: URL.
const dataURL = ";base64,"

// base64Bytes marks the alphabets of base64 and base64url.
var base64Bytes = func() (marks [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_") {
		marks[c] = true
	}
	return marks
}()

// cutBinary replaces the binary data of dst[start:] in place by its marker,
// which is always shorter.
func cutBinary(dst []byte, start int) ([]byte, int64) {
	text := dst[start:]
	finder := binaryFinder{text: text, url: -1, runFrom: -1}
	from, to := finder.next(0)
	if from == to {
		return dst, 0
	}
	var leftOut int64
	written, read := 0, 0
	for from < to {
		written += copy(text[written:], text[read:from])
		written += len(appendMarker(text[written:written], to-from))
		leftOut += int64(to - from)
		read = to
		from, to = finder.next(read)
	}
	written += copy(text[written:], text[read:])
	return dst[:start+written], leftOut
}

func appendMarker(dst []byte, bytes int) []byte {
	dst = append(dst, "[base64 left out: "...)
	dst = strconv.AppendInt(dst, int64(bytes), 10)
	return append(dst, " bytes]"...)
}

// binaryFinder finds binary data in text. It remembers what it has found
// further on: the data of the next data: URL and the next run.
type binaryFinder struct {
	text    []byte
	url     int // -1 if not known
	runFrom int // -1 if not known
	runTo   int
}

// next returns the first binary data at or after position i: from == to if
// there is none.
func (f *binaryFinder) next(i int) (from, to int) {
	if f.runFrom < i {
		f.runFrom, f.runTo = f.run(i)
	}
	from, to = f.data(i)
	if f.runFrom < f.runTo && (from == to || f.runFrom < from) {
		return f.runFrom, f.runTo
	}
	return from, to
}

// run finds a run of the alphabet, empty at the end of the text if there is
// none. It looks at every 512th byte and goes back
// from there, so ordinary text is hardly read at all.
func (f *binaryFinder) run(i int) (from, to int) {
	for probe := i + binaryRun - 1; probe < len(f.text); probe = i + binaryRun - 1 {
		from = probe + 1
		for from > i && base64Bytes[f.text[from-1]] {
			from--
		}
		if from == i {
			return i, f.end(probe)
		}
		i = from
	}
	return len(f.text), len(f.text)
}

// end returns where the run that holds position i ends.
func (f *binaryFinder) end(i int) int {
	for i < len(f.text) && base64Bytes[f.text[i]] {
		i++
	}
	return i
}

// data finds the data of a data: URL.
func (f *binaryFinder) data(i int) (from, to int) {
	for {
		if f.url < i {
			f.url = len(f.text)
			if at := bytes.Index(f.text[i:], []byte(dataURL)); at >= 0 {
				f.url = i + at + len(dataURL)
			}
		}
		if f.url == len(f.text) {
			return 0, 0
		}
		if to = f.end(f.url); to-f.url >= binaryData {
			return f.url, to
		}
		i, f.url = to, -1
	}
}
