package archive

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"
)

// Begins reads an archive to its end, where it is checked, and reports whether
// its session begins with the bytes of another one.
func (sf *storedFiles) Begins(ctx context.Context, e, with Entry) (bool, error) {
	if e.Bytes < with.Bytes {
		return false, nil
	}
	found, err := sf.Beginnings(ctx, e, []Entry{with})
	return found[with.ID], err
}

// Beginnings reads an archive once and to its end, where it is checked, and returns
// the ids of those of others with whose bytes its session begins.
func (sf *storedFiles) Beginnings(ctx context.Context, e Entry, others []Entry) (map[string]bool, error) {
	r, err := sf.openEntry(ctx, e)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	found, err := BeginningsOf(r, e.Bytes, others)
	if err != nil {
		return nil, err
	}
	if _, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, r, make([]byte, bufferSize)); err != nil {
		return nil, err
	}
	return found, r.checkFile()
}

// BeginningsOf reads from a log of so many bytes and returns the ids of those archives
// with whose bytes it begins. It reads no further than the longest that fits.
func BeginningsOf(log io.Reader, bytes int64, others []Entry) (map[string]bool, error) {
	found := map[string]bool{}
	sum, read := sha256.New(), int64(0)
	for _, other := range slices.SortedFunc(slices.Values(others), func(a, b Entry) int { return cmp.Compare(a.Bytes, b.Bytes) }) {
		if other.Bytes > bytes {
			break
		}
		if _, err := io.CopyN(sum, log, other.Bytes-read); err != nil {
			return nil, err
		}
		if read = other.Bytes; hex.EncodeToString(sum.Sum(nil)) == other.SHA256 {
			found[other.ID] = true
		}
	}
	return found, nil
}
