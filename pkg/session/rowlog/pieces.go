package rowlog

import "fmt"

// Pieces hands out a log that is written piece by piece while it is read. Its
// memory grows by the longest piece, and is used again for the next one.
type Pieces struct {
	// Buffer is where the next piece is written. What is in it before the first
	// read is the first piece.
	Buffer []byte

	line   []byte // what was written and is not read yet
	failed error
}

const (
	// PieceBytes is the size of a piece from which no further row is begun.
	PieceBytes = 256 << 10
	// keptBytes is the size from which the memory of a piece is given back: of a
	// row that is far longer than others.
	keptBytes = 4 * PieceBytes
)

// Full reports whether the piece is long enough.
func (p *Pieces) Full() bool { return len(p.Buffer) >= PieceBytes }

// Read reads as [io.Reader] does. next writes the next piece; its error, io.EOF
// at the end, is returned after what it has written.
func (p *Pieces) Read(to []byte, next func() error) (int, error) {
	for len(p.line) == 0 {
		if p.failed != nil {
			return 0, p.failed
		}
		if len(p.Buffer) == 0 { // else it is the beginning
			p.failed = next()
		}
		p.line = p.Buffer
		if p.Buffer = p.Buffer[:0]; cap(p.Buffer) > keptBytes {
			p.Buffer = nil
		}
	}
	n := copy(to, p.line)
	p.line = p.line[n:]
	return n, nil
}

// Failure is the error of reading a session: busy, if check finds that the database is,
// else err with the name of the session.
func Failure(check func() error, session string, err error) error {
	if busy := check(); busy != nil {
		return busy
	}
	if err != nil {
		return fmt.Errorf("read session %s: %w", session, err)
	}
	return nil
}
