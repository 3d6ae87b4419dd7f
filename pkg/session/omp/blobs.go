package omp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// blobMark stands before the hash of a blob in a record.
const blobMark = "blob:sha256:"

const hashLength = 64

// isHash reports whether a name is a SHA-256 as omp writes it.
func isHash(name string) bool {
	return len(name) == hashLength && !slices.ContainsFunc([]byte(name), func(c byte) bool {
		return c-'0' > 9 && c-'a' > 5
	})
}

// attached lists the hashes of the blobs that a log names, each once, in the
// order in which they are named. Wherever a record says so it counts: a blob
// that nobody needs costs room, and one that is missing is lost.
func attached(ctx context.Context, log io.Reader) (hashes []string, err error) {
	plain, _, err := jsonl.Decompress(log, jsonl.Unsized)
	if err != nil {
		return nil, fmt.Errorf("look for blobs: %w", err)
	}
	defer plain.Close()
	buffer, held := make([]byte, 256<<10), 0
	const longest = len(blobMark) + hashLength
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, err := plain.Read(buffer[held:])
		n += held
		for rest := buffer[:n]; ; {
			at := bytes.Index(rest, []byte(blobMark))
			if at < 0 || len(rest)-at < longest {
				break
			}
			if hash := string(rest[at+len(blobMark) : at+longest]); isHash(hash) && !slices.Contains(hashes, hash) {
				hashes = append(hashes, hash)
			}
			rest = rest[at+len(blobMark):]
		}
		if err == io.EOF { //nolint:errorlint // a reader returns it as it is
			return hashes, nil
		}
		if err != nil {
			return nil, fmt.Errorf("look for blobs: %w", err)
		}
		held = copy(buffer, buffer[max(0, n-longest+1):n])
	}
}

// Attachment implements [session.Attacher].
func (s *Store) Attachment(hash string) session.Ref {
	ref, _ := locate(blobsName + "/" + hash)
	ref.Runtime, ref.Store, ref.Path = s.Runtime(), s.Root(), filepath.Join(s.Base, blobsName, hash)
	return ref
}
