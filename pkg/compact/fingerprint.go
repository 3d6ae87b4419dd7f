package compact

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
)

// fingerprint tells whether a log still begins with the bytes that a survey
// has read. It never leaves the process and decides only whether a run reads
// the log once more or gives up, so it need not be the SHA-256 by which bytes
// are known everywhere else: that one would cost as much as the survey.
type fingerprint struct {
	seed  maphash.Seed
	sum   uint64
	size  int64
	ended bool // the log came to its end
}

// watch takes the fingerprint of what is read through the reader it returns,
// from the beginning.
func (f *fingerprint) watch(r io.ReadCloser) io.ReadCloser {
	*f = fingerprint{seed: maphash.MakeSeed()}
	w := &printed{ReadCloser: r, to: f}
	w.hash.SetSeed(f.seed)
	return w
}

type printed struct {
	io.ReadCloser
	to   *fingerprint
	hash maphash.Hash
}

// Read implements io.Reader.
func (p *printed) Read(b []byte) (int, error) {
	n, err := p.ReadCloser.Read(b)
	_, _ = p.hash.Write(b[:n]) // never fails, by its documentation
	p.to.size += int64(n)
	p.to.ended = errors.Is(err, io.EOF)
	p.to.sum = p.hash.Sum64()
	return n, err
}

// begins reports whether the bytes of r begin with those of the fingerprint.
func (f *fingerprint) begins(ctx context.Context, r io.ReaderAt) (bool, error) {
	var h maphash.Hash
	h.SetSeed(f.seed)
	source := &stoppable{ctx: ctx, r: io.NewSectionReader(r, 0, f.size)}
	n, err := io.CopyBuffer(struct{ io.Writer }{&h}, source, make([]byte, 256<<10))
	if err != nil {
		return false, fmt.Errorf("read the log: %w", err)
	}
	return n == f.size && h.Sum64() == f.sum, nil
}

// stoppable is a reader that ends with its context.
type stoppable struct {
	ctx context.Context
	r   io.Reader
}

// Read implements io.Reader.
func (s *stoppable) Read(b []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.r.Read(b)
}
