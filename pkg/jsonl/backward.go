package jsonl

import (
	"bytes"
	"io"
)

// blockSize is how much a BackwardReader reads at once. The end of a session,
// with the size of its context, is nearly always in its last block.
const blockSize = 16 << 10

// smallFile is the size up to which a file is read at once: all of a small file
// is wanted, and a system call costs more than its bytes.
const smallFile = 4 * blockSize

// holdLimit is how much of one line a BackwardReader holds. Only the start of
// a longer line is looked for; then it is read forwards.
const holdLimit = 32 * blockSize

// BackwardReader yields the lines of a file from the last to the first. They
// are the lines that a [Reader] yields, but for their Number, which is 0: it
// cannot be known from the end. Its memory is bounded like that of a Reader.
type BackwardReader struct {
	source  io.ReaderAt
	options Options
	reader  *Reader // of long lines

	buf    []byte
	lo, hi int   // what was read and not delivered is buf[lo:hi]
	base   int64 // in the file, of buf[lo]
	clear  int   // bytes before hi that hold no LF, save perhaps as the last byte
	err    error // sticky
}

// NewBackwardReader returns a BackwardReader of the first size bytes of r. It
// does not read yet.
func NewBackwardReader(r io.ReaderAt, size int64, o Options) *BackwardReader {
	return &BackwardReader{
		source: r, options: o.withDefaults(), base: size,
		reader: NewReader(nil, o),
	}
}

// Reset makes b read the first size bytes of another file, into the same
// memory.
func (b *BackwardReader) Reset(r io.ReaderAt, size int64) {
	*b = BackwardReader{
		source: r, options: b.options, base: size,
		reader: b.reader, buf: b.buf, lo: len(b.buf), hi: len(b.buf),
	}
}

// Prev returns the line before the one returned last, at first the last line.
// Before the first line it returns io.EOF. If the file became shorter, it
// returns io.ErrUnexpectedEOF; if it is UTF-16, [ErrUTF16], at the latest when
// the start of the file is reached. Every error stays.
func (b *BackwardReader) Prev() (Line, error) {
	for b.err == nil {
		data := b.buf[b.lo:b.hi]
		if n := lastLF(data[:len(data)-min(len(data), max(b.clear, 1))]); n >= 0 {
			return b.deliver(n + 1)
		}
		b.clear = len(data)
		switch {
		case b.base == 0 && len(data) > 0:
			return b.deliver(0)
		case b.base == 0:
			b.err = io.EOF
		case len(data) > min(holdLimit, b.options.MaxLine+2):
			return b.long()
		default:
			b.err = b.load()
		}
	}
	return Line{}, b.err
}

// deliver returns the line that begins at byte n of what is pending.
func (b *BackwardReader) deliver(n int) (Line, error) {
	text := b.buf[b.lo+n : b.hi]
	line := Line{Offset: b.base + int64(n), Length: int64(len(text))}
	b.hi, b.clear = b.lo+n, 0
	text, line.Complete = bytes.CutSuffix(text, []byte("\n"))
	if text = withoutCR(text); len(text) > b.options.MaxLine {
		return b.forward(line.Offset, line.Length)
	}
	line.trim(text)
	return line, nil
}

// load reads the block before what is pending.
func (b *BackwardReader) load() error {
	n := int(min(blockSize, b.base))
	if b.base <= smallFile && b.lo == b.hi {
		n = int(b.base)
	}
	b.makeRoom(n)
	block := b.buf[b.lo-n : b.lo]
	if err := readFull(b.source, block, b.base-int64(n)); err != nil {
		return err
	}
	b.lo -= n
	b.base -= int64(n)
	if b.base == 0 && isUTF16(b.buf[b.lo:b.hi]) {
		return ErrUTF16
	}
	return nil
}

// makeRoom makes room for n bytes before what is pending.
func (b *BackwardReader) makeRoom(n int) {
	if b.lo >= n {
		return
	}
	pending := b.buf[b.lo:b.hi]
	need := n + len(pending)
	buf := b.buf
	switch {
	case buf == nil:
		buf = make([]byte, need)
	case len(buf) < need:
		buf = make([]byte, 2*need)
	}
	b.lo, b.hi = len(buf)-len(pending), len(buf)
	copy(buf[b.lo:], pending)
	b.buf = buf
}

// long returns the line at the end of what is pending, which is too long to be
// held: its start is looked for, and it is read forwards.
func (b *BackwardReader) long() (Line, error) {
	end := b.base + int64(b.hi-b.lo)
	b.lo, b.hi, b.clear = 0, 0, 0
	for b.base > 0 {
		n := int(min(blockSize, b.base))
		block := b.buf[:n]
		if b.err = readFull(b.source, block, b.base-int64(n)); b.err != nil {
			return Line{}, b.err
		}
		if at := lastLF(block); at >= 0 {
			b.base -= int64(n - at - 1)
			break
		}
		b.base -= int64(n)
	}
	return b.forward(b.base, end-b.base)
}

// forward reads the line of length bytes at offset with a Reader.
func (b *BackwardReader) forward(offset, length int64) (Line, error) {
	b.reader.reset(io.NewSectionReader(b.source, offset, length), offset)
	if length > int64(b.options.MaxLine) {
		b.reader.reserve()
	}
	line, err := b.reader.Next()
	if err == nil && line.Length != length || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if b.err = err; err != nil {
		return Line{}, err
	}
	line.Number = 0
	return line, nil
}

// readFull reads len(p) bytes at offset; fewer are io.ErrUnexpectedEOF.
func readFull(r io.ReaderAt, p []byte, offset int64) error {
	n, err := r.ReadAt(p, offset)
	switch {
	case n == len(p):
		return nil
	case err == nil || err == io.EOF:
		return io.ErrUnexpectedEOF
	}
	return err
}

// lastLF returns the index of the last line feed in b, or -1. It looks
// forwards through pieces from the end, because only bytes.IndexByte is fast.
func lastLF(b []byte) int {
	const piece = 1 << 10
	for end := len(b); end > 0; {
		start := max(0, end-piece)
		last := -1
		for i := start; i < end; i = last + 1 {
			n := bytes.IndexByte(b[i:end], '\n')
			if n < 0 {
				break
			}
			last = i + n
		}
		if last >= 0 {
			return last
		}
		end = start
	}
	return -1
}
