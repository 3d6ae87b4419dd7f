package proof

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Beside is an archive that lies in the directory of a proof.
type Beside struct {
	ID   string
	Path string
	Same bool // it has the bytes that the proof says
}

// CompareBeside looks in a directory for files of archives, by the ids or the hashes in
// their names, and compares what they hold with the hashes that a proof has (sums, by
// id).
func CompareBeside(ctx context.Context, dir string, sums map[string]string) (all []Beside, err error) {
	names, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		id := namedIn(name.Name(), sums)
		if id == "" || !name.Type().IsRegular() {
			continue
		}
		found := Beside{ID: id, Path: filepath.Join(dir, name.Name())}
		if found.Same, err = holds(ctx, found.Path, sums[id]); err != nil {
			return all, err
		}
		all = append(all, found)
	}
	return all, nil
}

// leastDigits are the digits of a hash that the name of an archive's file has at least.
const leastDigits = 8

// namedIn is the id of the archive whose file has such a name, "" for none.
func namedIn(name string, sums map[string]string) string {
	for part := range strings.SplitSeq(name, ".") {
		if sums[part] != "" {
			return part
		}
		for id, sum := range sums {
			if len(part) >= leastDigits && strings.HasPrefix(sum, part) {
				return id
			}
		}
	}
	return ""
}

// holds reports whether a file has bytes of such a hash, as it is or unpacked.
func holds(ctx context.Context, path, want string) (bool, error) {
	file, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer file.Close()
	from := readerOf(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return file.Read(p)
	})
	sum, err := sumOf(from)
	if err != nil || sum == want || !strings.HasSuffix(path, ".zst") {
		return sum == want, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return false, err
	}
	unpacked, err := zstd.NewReader(from, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return false, err
	}
	defer unpacked.Close()
	sum, err = sumOf(unpacked)
	var failed *fs.PathError
	if err != nil && ctx.Err() == nil && !errors.As(err, &failed) {
		return false, nil // what cannot be unpacked holds other bytes
	}
	return sum == want, err
}

func sumOf(from io.Reader) (string, error) {
	sum := sha256.New()
	_, err := io.Copy(sum, from)
	return hex.EncodeToString(sum.Sum(nil)), err
}

// readerOf is a function as a reader.
type readerOf func([]byte) (int, error)

// Read implements io.Reader.
func (r readerOf) Read(p []byte) (int, error) { return r(p) }
