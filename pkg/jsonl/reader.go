package jsonl

import (
	"bytes"
	"errors"
	"io"
)

// ErrUTF16 is returned when the stream is UTF-16, as PowerShell's redirection
// writes it. Nothing of it is delivered.
var ErrUTF16 = errors.New("the text is UTF-16, not UTF-8")

const (
	// readSize is how much is asked of the source at once: reading is as fast
	// with 64 KiB as with 4 MiB, and this stays in the processor's cache
	// (research/performance.md section 1).
	readSize = 256 << 10
	// firstRead is the size of the first read. Most stores hold thousands of
	// small logs, and clearing a large buffer would cost more than reading.
	firstRead = 32 << 10
)

// Reader yields the lines of a stream, whatever their length, in a memory that
// Options bound: about MaxLine + 0.5 MiB.
type Reader struct {
	source  io.Reader
	options Options

	buf        []byte
	start, end int  // what was read and not delivered is buf[start:end]
	seen       int  // bytes of it that are known to hold no LF
	more       bool // the last read filled the buffer
	idle       int  // reads in a row that brought nothing

	number int
	offset int64 // in the stream, of buf[start]
	err    error // of the source; it is returned when the buffer is empty
}

// NewReader returns a Reader of r. It does not read yet.
func NewReader(r io.Reader, o Options) *Reader {
	return &Reader{source: r, options: o.withDefaults()}
}

// Reset makes r read another stream from its beginning, as a new Reader would,
// into the memory that it has. Options stay.
func (r *Reader) Reset(source io.Reader) { r.reset(source, 0) }

// reset makes r read source, which begins at offset of a stream, into the same
// memory.
func (r *Reader) reset(source io.Reader, offset int64) {
	*r = Reader{source: source, options: r.options, buf: r.buf, offset: offset}
}

// Next returns the next line. At the end of the stream it returns io.EOF; if
// reading fails, it first delivers what was read, the last line of it as not
// Complete, and then returns the error of the source. UTF-16 is [ErrUTF16].
// Every error stays.
func (r *Reader) Next() (Line, error) {
	if r.offset == 0 {
		if err := r.begin(); err != nil {
			return Line{}, err
		}
	}
	for {
		pending := r.buf[r.start:r.end]
		if n := bytes.IndexByte(pending[r.seen:], '\n'); n >= 0 {
			return r.take(r.seen+n, true)
		}
		r.seen = len(pending)
		switch {
		case r.seen > r.options.MaxLine+1:
			return r.shrunk()
		case r.err == nil:
			r.fill()
		case r.seen > 0:
			return r.take(r.seen, false)
		default:
			return Line{}, r.err
		}
	}
}

// begin looks at the first bytes of the stream.
func (r *Reader) begin() error {
	for r.err == nil && r.end < 4 {
		r.fill()
	}
	if isUTF16(r.buf[:r.end]) {
		r.start, r.end, r.err = 0, 0, ErrUTF16
	}
	if r.end == 0 {
		return r.err
	}
	return nil
}

// take delivers the next n bytes and the LF after them if there is one.
func (r *Reader) take(n int, complete bool) (Line, error) {
	text := withoutCR(r.buf[r.start : r.start+n])
	if len(text) > r.options.MaxLine {
		return r.shrunk()
	}
	length := n
	if complete {
		length++
	}
	line := r.line(int64(length), complete)
	line.trim(text)
	r.start += length
	return line, nil
}

// line returns the next line without its text, and counts it.
func (r *Reader) line(length int64, complete bool) Line {
	r.number++
	r.seen = 0
	line := Line{Number: r.number, Offset: r.offset, Length: length, Complete: complete}
	r.offset += length
	return line
}

// fill reads once more into the buffer, behind what is pending.
func (r *Reader) fill() {
	if r.start > 0 {
		r.end = copy(r.buf, r.buf[r.start:r.end])
		r.start = 0
	}
	r.grow()
	r.read(r.end)
}

// reserve makes room for the longest line at once, for a reader that holds
// nothing: to grow step by step would leave as much again behind.
func (r *Reader) reserve() {
	if size := r.options.MaxLine + lineSlack + readSize; len(r.buf) < size {
		r.buf = make([]byte, size)
	}
}

// grow makes room behind the pending bytes: at first little, then for whole
// reads, then for long lines.
func (r *Reader) grow() {
	size := len(r.buf)
	limit := r.options.MaxLine + lineSlack + readSize
	switch {
	case size == 0:
		size = firstRead
	case size < readSize+lineSlack && r.more:
		size = readSize + lineSlack
	case size-r.end < size/2:
		size *= 2
	}
	if size = min(size, limit); size > len(r.buf) {
		buf := make([]byte, size)
		copy(buf, r.buf[:r.end])
		r.buf = buf
	}
}

// read reads once into the buffer at position at, which becomes end.
func (r *Reader) read(at int) {
	free := r.buf[at:min(len(r.buf), at+readSize)]
	n, err := r.source.Read(free)
	if n < 0 || n > len(free) {
		n, err = 0, errors.New("the source returned an impossible count")
	}
	r.end = at + n
	r.more = n == len(free)
	r.err = err
	if r.idle++; n > 0 {
		r.idle = 0
	}
	if err == nil && r.idle >= 100 {
		r.err = io.ErrNoProgress
	}
}

// shrunk delivers the next line, which is too long, through a shrinker. The
// line is shrunk in place, at the start of the buffer, and the rest of it is
// read behind what was kept.
func (r *Reader) shrunk() (Line, error) {
	s := shrinker{buf: r.buf, options: r.options, limit: r.options.MaxString}
	length, complete := int64(0), false
	for !complete {
		text := r.buf[r.start:r.end]
		n := bytes.IndexByte(text, '\n')
		if complete = n >= 0; complete {
			text = text[:n]
			length++
			r.start++
		}
		s.feed(text)
		length += int64(len(text))
		if r.start += len(text); complete || r.err != nil {
			break
		}
		s.fit()
		r.start, r.end = s.kept, s.kept
		r.grow()
		s.buf = r.buf
		r.read(r.end)
	}
	s.fit()
	line := r.line(length, complete)
	s.finish(&line)
	return line, nil
}
