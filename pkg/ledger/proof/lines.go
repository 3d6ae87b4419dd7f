package proof

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Version is that of the file.
const Version = 1

// mostLine bounds a line, in bytes. A piece of an archive is the longest.
const mostLine = 4 << 20

// line is one line of the file. One of its fields is set.
type line struct {
	Proof *Header `json:"proof,omitempty"`
	Head  string  `json:"head,omitempty"`
	Tree  *tree   `json:"tree,omitempty"`
	Leaf  *leaf   `json:"leaf,omitempty"`
	Bytes *piece  `json:"bytes,omitempty"`
}

// Header is the first line.
type Header struct {
	Version   int       `json:"version"`
	Key       string    `json:"key"`  // with which the heads were signed, as golang.org/x/mod/sumdb/note writes it
	Made      string    `json:"made"` // when the file was made, RFC 3339
	Selection Selection `json:"selection"`
}

// Selection says which leaves the file was asked for. It proves nothing.
type Selection struct {
	Since   string `json:"since,omitempty"` // RFC 3339
	Agent   string `json:"agent,omitempty"`
	Session string `json:"session,omitempty"`
}

// tree stands for the leaves from From to To-1.
type tree struct {
	From int64  `json:"from"`
	To   int64  `json:"to"`
	Hash []byte `json:"hash"`
}

// leaf is one entry of the ledger, word for word.
type leaf struct {
	At   int64  `json:"at"`
	Text string `json:"text"`
}

// piece is a part of the bytes of an archive. Its pieces follow each other.
type piece struct {
	Archive string `json:"archive"`
	SHA256  string `json:"sha256"` // of all of the archive
	Gzip    []byte `json:"gzip"`
}

// kinds is how many of its fields a line has.
func (l line) kinds() (n int) {
	for _, is := range []bool{l.Proof != nil, l.Head != "", l.Tree != nil, l.Leaf != nil, l.Bytes != nil} {
		if is {
			n++
		}
	}
	return n
}

// encode is the one way in which a line is written.
func (l line) encode() ([]byte, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	err := e.Encode(l)
	return text.Bytes(), err
}

var (
	errNotALine = errors.New("not a line of a proof")
)

// decode reads a line. One that is written in another way than encode does is
// refused, so that no two readers can understand it differently.
func decode(text []byte) (l line, err error) {
	if err := json.Unmarshal(text, &l); err != nil {
		return l, fmt.Errorf("%w: %w", errNotALine, err)
	}
	again, err := l.encode()
	if err != nil || l.kinds() != 1 || !bytes.Equal(again, text) {
		return l, errNotALine
	}
	return l, nil
}

// lines reads the lines of a file.
type lines struct {
	from *bufio.Reader
	n    int // lines read
}

// next is the next line, io.EOF after the last one.
func (r *lines) next() (line, error) {
	text, err := r.read()
	if err != nil {
		return line{}, err
	}
	r.n++
	l, err := decode(text)
	if err != nil {
		err = fmt.Errorf("%w: line %d: %w", ErrRefused, r.n, err)
	}
	return l, err
}

func (r *lines) read() (text []byte, err error) {
	for {
		part, err := r.from.ReadSlice('\n')
		text = append(text, part...)
		switch {
		case err == nil:
			return text, nil
		case len(text) > mostLine:
			return nil, fmt.Errorf("%w: line %d is longer than %d bytes", ErrRefused, r.n+1, mostLine)
		case errors.Is(err, io.EOF) && len(text) > 0:
			return nil, fmt.Errorf("%w: it ends in the middle of a line", ErrRefused)
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}
