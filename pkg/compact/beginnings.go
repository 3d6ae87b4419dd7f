package compact

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
)

// beginnings hashes what is read and notes the SHA-256 of its first bytes at
// each of some lengths: which other logs this one begins with.
type beginnings struct {
	lengths []int64 // sorted
	sums    map[int64]string
}

// watch returns a reader that notes the sums of what is read through it.
func (b *beginnings) watch(r io.ReadCloser) io.ReadCloser {
	b.sums = map[int64]string{}
	return &watched{ReadCloser: r, to: b, hash: sha256.New(), left: b.lengths}
}

type watched struct {
	io.ReadCloser
	to   *beginnings
	hash hash.Hash
	at   int64
	left []int64
}

// Read implements io.Reader.
func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	for done := p[:n]; len(w.left) > 0 && len(done) > 0; {
		piece := done[:min(int64(len(done)), w.left[0]-w.at)]
		w.hash.Write(piece)
		w.at += int64(len(piece))
		done = done[len(piece):]
		for len(w.left) > 0 && w.left[0] == w.at {
			w.to.sums[w.at] = hex.EncodeToString(w.hash.Sum(nil))
			w.left = w.left[1:]
		}
	}
	return n, err
}
