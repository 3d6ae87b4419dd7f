package omp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
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

// Unnamed implements [session.Attacher]. What omp's gc counts are the logs that
// it has put away and all others; so it is here.
func (s *Store) Unnamed(ctx context.Context) (session.UnnamedFiles, error) {
	found := session.UnnamedFiles{Dir: filepath.Join(s.Base, blobsName), Command: "omp gc --blobs --apply"}
	sizes, err := s.blobs(ctx)
	if err != nil || len(sizes) == 0 {
		return found, err
	}
	listing, err := s.List(ctx)
	if err != nil {
		return found, err
	}
	if at := slices.IndexFunc(listing.Notices, func(n session.Notice) bool { return n.Unread }); at >= 0 {
		return found, fmt.Errorf("%s may name them, and was not read", listing.Notices[at].Path)
	}
	for _, ref := range listing.Refs {
		if ref.Kind == session.KindOutput {
			continue
		}
		named, err := s.namedIn(ctx, ref)
		if err != nil {
			return found, fmt.Errorf("read %s: %w", ref.Path, err)
		}
		for _, hash := range named {
			delete(sizes, hash)
		}
		if len(sizes) == 0 {
			break
		}
	}
	for _, hash := range slices.Sorted(maps.Keys(sizes)) {
		found.Files = append(found.Files, session.UnnamedFile{Hash: hash, Bytes: sizes[hash]})
	}
	return found, nil
}

// blobs are the sizes of all blobs, by their hash.
func (s *Store) blobs(ctx context.Context) (map[string]int64, error) {
	l, sizes := s.NewLister(), map[string]int64{}
	err := l.Base(ctx, func(base *logfile.Dir, name string) {
		if name != blobsName {
			return
		}
		d := l.Below(base, name)
		if d == nil {
			return
		}
		defer d.Close()
		l.Each(d, func(name string) {
			if info, err := d.Stat(name); isHash(name) && err == nil && info != nil && info.Mode().IsRegular() {
				sizes[name] = info.Size()
			}
		})
	})
	return sizes, err
}

// namedIn lists the hashes of the blobs that a log of the store names; none if it
// is gone since it was listed.
func (s *Store) namedIn(ctx context.Context, ref session.Ref) ([]string, error) {
	log, _, err := s.OpenLog(ref)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer log.Close()
	return attached(ctx, log)
}
