package objects

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// headsName is the directory of heads below the prefix.
const headsName = "heads"

// mostLedgerHead bounds a head, in bytes.
const mostLedgerHead = 64 << 10

// Heads are the signed heads of a ledger in a bucket: an object each, which nothing
// replaces and which object lock keeps where archive.retain asks for it. They are not
// encrypted, since whoever has one is to compare it.
type Heads struct {
	Bucket *Bucket
	As     string // name of the ledger
}

func (h Heads) dir() string { return path.Join(headsName, h.As) }

// Last is the head with the most entries. It is fs.ErrNotExist if there is none.
func (h Heads) Last(ctx context.Context) ([]byte, error) {
	last := ""
	for found, err := range h.Bucket.list(ctx, h.dir()) {
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(found.Key, ".head") {
			last = max(last, found.Key) // sizes are written with all their digits
		}
	}
	if last == "" {
		return nil, fmt.Errorf("%s/%s: %w", h.Bucket.URL(), h.dir(), fs.ErrNotExist)
	}
	var text bytes.Buffer
	_, err := h.Bucket.get(ctx, last, &atMost{&text, mostLedgerHead})
	return text.Bytes(), err
}

// Put puts the head of a ledger of so many entries, and reads its checksum back.
func (h Heads) Put(ctx context.Context, size int64, text []byte) error {
	sum := sha256.Sum256(text)
	name := fmt.Sprintf("%016d.%s.head", size, hex.EncodeToString(sum[:8]))
	_, err := h.Bucket.put(ctx, object{
		key: h.Bucket.key(path.Join(h.dir(), name)), body: bytes.NewReader(text), bytes: int64(len(text)),
		sha256: hex.EncodeToString(sum[:]), kind: "text/plain; charset=utf-8",
	})
	return err
}
