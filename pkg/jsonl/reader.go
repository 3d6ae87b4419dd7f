package jsonl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// Options bound the memory of a reader. The zero value has the defaults.
type Options struct {
	// MaxLine is the longest line, in bytes without its ending, that is
	// delivered as it is. A longer line is shrunk: its structure is kept and
	// its long strings are cut. Default 4 MiB.
	MaxLine int
	// MaxString is how many bytes of its raw JSON text are kept of one string
	// of a shrunk line. It is halved, at least to 256 bytes, for a line that
	// would still be longer than MaxLine. Default 1 MiB.
	MaxString int
}

const (
	defaultMaxLine   = 4 << 20
	defaultMaxString = 1 << 20

	// minString is how short the strings of a line that will not fit are cut,
	// unless Options.MaxString is shorter: names, ids and roles survive.
	minString = 256
	// lineSlack is how many bytes a shrunk line may be longer than MaxLine
	// before it is given up.
	lineSlack = 64 << 10
)

// withDefaults returns o with its zero fields filled in.
func (o Options) withDefaults() Options {
	if o.MaxLine <= 0 {
		o.MaxLine = defaultMaxLine
	}
	if o.MaxString <= 0 {
		o.MaxString = defaultMaxString
	}
	return o
}

// Line is one line of a stream. Length is len(Raw) + CutBytes + NULBytes + the
// line ending + 3 for a byte order mark.
type Line struct {
	Number   int    // 1-based; 0 from a [BackwardReader]
	Offset   int64  // of the line's first byte in the stream
	Length   int64  // bytes in the stream, line ending included
	Raw      []byte // without line ending, NULs at both ends and the byte order mark of the stream; valid until the next call
	Complete bool   // ended by LF
	CutBytes int64  // bytes left out by shrinking
	NULBytes int64  // NULs trimmed at both ends
	// TooLong says that not even shrinking made the line short enough. Raw is
	// only its beginning.
	TooLong bool

	lead int64 // bytes of the stream before Raw
}

// ErrUTF16 is returned when the stream is UTF-16, as PowerShell's redirection
// writes it. Nothing of it is delivered.
var ErrUTF16 = errors.New("the text is UTF-16, not UTF-8")

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

// Each hands every line to each, until that or ctx fails. It returns their
// error as it is, and wraps one of the source.
func (r *Reader) Each(ctx context.Context, each func(Line) error) error {
	for n := 0; ; n++ {
		if n%contextEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		line, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read at byte %d: %w", r.offset, err)
		}
		if err := each(line); err != nil {
			return err
		}
	}
}

const (
	// readSize is how much is asked of the source at once: reading is as fast
	// with 64 KiB as with 4 MiB, and this stays in the processor's cache
	// (docs/dev/decisions.md D1).
	readSize = 256 << 10
	// firstRead is the size of the first read. Most stores hold thousands of
	// small logs, and clearing a large buffer would cost more than reading.
	firstRead = 32 << 10
)

// reset makes r read source, which begins at offset of a stream, into the same
// memory.
func (r *Reader) reset(source io.Reader, offset int64) {
	*r = Reader{source: source, options: r.options, buf: r.buf, offset: offset}
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

// byteOrderMark may begin a UTF-8 stream. JSON does not allow it.
const byteOrderMark = "\xef\xbb\xbf"

// trim sets Raw to text, which has no line ending, without what does not
// belong to the JSON: the byte order mark of the stream, and NULs at both ends,
// which are what a power cut leaves of pages that were never written.
func (l *Line) trim(text []byte) {
	if l.Offset == 0 && bytes.HasPrefix(text, []byte(byteOrderMark)) {
		text = text[len(byteOrderMark):]
		l.lead += int64(len(byteOrderMark))
	}
	if n := len(text); n > 0 && (text[0] == 0 || text[n-1] == 0) {
		text = l.trimNULs(text)
	}
	l.Raw = text
}

// withoutCR returns text without the CR that its line ends with, if it does.
func withoutCR(text []byte) []byte {
	if n := len(text); n > 0 && text[n-1] == '\r' {
		return text[:n-1]
	}
	return text
}

func (l *Line) trimNULs(text []byte) []byte {
	tail := bytes.TrimLeft(text, "\x00")
	l.lead += int64(len(text) - len(tail))
	middle := bytes.TrimRight(tail, "\x00")
	l.NULBytes += int64(len(text) - len(middle))
	return middle
}

// isUTF16 tells whether a stream that begins with head is UTF-16: by its byte
// order mark, or by a brace and another character each with a NUL.
func isUTF16(head []byte) bool {
	if len(head) < 2 {
		return false
	}
	if s := string(head[:2]); s == "\xff\xfe" || s == "\xfe\xff" {
		return true
	}
	if len(head) < 4 {
		return false
	}
	little := head[0] == '{' && head[1] == 0 && head[2] != 0 && head[3] == 0
	big := head[0] == 0 && head[1] == '{' && head[2] == 0 && head[3] != 0
	return little || big
}

// openings are the ways records of this log begin, as far as they were seen.
// They tell a record from an object inside of a record: both may begin with
// {"type":, but not with the same type.
type openings struct {
	last []byte // the one seen last, which most records have too
	all  [][]byte
}

// maxOpenings bounds what is remembered and compared.
const maxOpenings = 16

// maxOpening is how many bytes of a record are looked at.
const maxOpening = 64

// opening returns the first key of the object that text begins with, and its
// value if the key is type and the value a string: `{"type":"message"`. It is
// empty if text begins with nothing of the kind.
func opening(text []byte) []byte {
	text = text[:min(len(text), maxOpening)]
	if len(text) < 2 || text[0] != '{' || text[1] != '"' {
		return nil
	}
	key := bytes.IndexByte(text[2:], '"') + 3
	if key < 3 {
		return nil
	}
	if value := bytes.TrimPrefix(text[key:], []byte(`:"`)); string(text[:key]) == `{"type"` && len(value) < len(text)-key {
		if n := bytes.IndexByte(value, '"'); n >= 0 {
			return text[:len(text)-len(value)+n+1]
		}
	}
	return text[:key]
}

// add remembers how the record text begins.
func (o *openings) add(text []byte) {
	if len(o.last) > 0 && bytes.HasPrefix(text, o.last) {
		return
	}
	head := opening(text)
	for _, known := range o.all {
		if bytes.Equal(known, head) {
			o.last = known
			return
		}
	}
	if len(head) > 0 && len(o.all) < maxOpenings {
		o.last = bytes.Clone(head)
		o.all = append(o.all, o.last)
	}
}

// has tells whether a record that began like text was seen.
func (o *openings) has(text []byte) bool {
	head := opening(text)
	for _, known := range o.all {
		if len(head) > 0 && bytes.Equal(known, head) {
			return true
		}
	}
	return false
}
