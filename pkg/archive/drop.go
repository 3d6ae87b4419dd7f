package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/sessctl/sessctl/pkg/durable"
)

// Drop takes an entry out of the catalogue. Its file is the caller's to have
// moved away before, or to remove.
func (s *Store) Drop(ctx context.Context, e Entry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !isID(e.ID) || len(e.ID) != idDigits {
		return fmt.Errorf("archive %q: %w", e.ID, ErrNotFound)
	}
	return durable.RemoveFile(s.entryPath(e.ID))
}

// Readmit enters an archive into the catalogue again whose file is back at its
// place, once it verifies. An entry that is there already stays as it is.
func (s *Store) Readmit(ctx context.Context, e Entry) error {
	if _, err := parseEntry(e.ID, mustEncode(e)); err != nil {
		return err
	}
	if err := verify(ctx, e); err != nil {
		return err
	}
	if err := durable.MakeDir(s.catalogue, 0o700); err != nil {
		return err
	}
	_, err := s.enter(ctx, e)
	return err
}

// Begins reads an archive to its end, where it is checked, and reports whether
// its session begins with the bytes of another one.
func (s *Store) Begins(ctx context.Context, e, with Entry) (bool, error) {
	if e.Bytes < with.Bytes {
		return false, nil
	}
	r, err := openEntry(ctx, e)
	if err != nil {
		return false, err
	}
	defer r.Close()
	sum := sha256.New()
	if _, err := io.CopyN(sum, r, with.Bytes); err != nil {
		return false, err
	}
	if _, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, r, make([]byte, bufferSize)); err != nil {
		return false, err
	}
	if err := r.stored.check(e); err != nil {
		return false, err
	}
	return hex.EncodeToString(sum.Sum(nil)) == with.SHA256, nil
}

// mustEncode is an entry's text, empty if it has none.
func mustEncode(e Entry) []byte {
	var text encoded
	if err := encodeEntry(e)(&text); err != nil {
		return nil
	}
	return text
}

// encoded collects what is written.
type encoded []byte

// Write implements io.Writer.
func (b *encoded) Write(p []byte) (int, error) {
	*b = append(*b, p...)
	return len(p), nil
}
