package proof

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
)

// pieceBytes is how much of an archive a line has at most.
const pieceBytes = 1 << 20

// errOtherBytes is returned for bytes that are not those of the archive.
var errOtherBytes = errors.New("its bytes are not those of the archive")

// pieces are the bytes of an archive, one line after the other.
type pieces struct {
	archive, sha256 string
	sum             hash.Hash
}

// take takes the next piece. The hash of an archive is noted once its last piece was
// taken.
func (p *pieces) take(next piece, archives map[string]string) error {
	if next.Archive == "" {
		return errNotALine
	}
	if next.Archive != p.archive {
		if err := p.end(archives); err != nil {
			return err
		}
		*p = pieces{next.Archive, next.SHA256, sha256.New()}
	}
	if _, twice := archives[next.Archive]; twice || next.SHA256 != p.sha256 {
		return errOrder
	}
	text, err := unzipped(next.Gzip)
	p.sum.Write(text)
	return err
}

// end compares what was taken.
func (p *pieces) end(archives map[string]string) error {
	if p.archive == "" {
		return nil
	}
	if sum := hex.EncodeToString(p.sum.Sum(nil)); sum != p.sha256 {
		return fmt.Errorf("archive %s: %w: sha256 %s, not %s", p.archive, errOtherBytes, sum, p.sha256)
	}
	archives[p.archive] = p.sha256
	return nil
}

// split makes pieces of the bytes of an archive, at least one.
func split(a Archive, from io.Reader, write func(line) error) error {
	sum, buffer := sha256.New(), make([]byte, pieceBytes)
	for first := true; ; first = false {
		n, err := io.ReadFull(from, buffer)
		ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !ended {
			return err
		}
		if n > 0 || first {
			sum.Write(buffer[:n])
			if err := write(line{Bytes: &piece{Archive: a.ID, SHA256: a.SHA256, Gzip: zipped(buffer[:n])}}); err != nil {
				return err
			}
		}
		if !ended {
			continue
		}
		if hex.EncodeToString(sum.Sum(nil)) != a.SHA256 {
			return errOtherBytes
		}
		return nil
	}
}

func zipped(text []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write(text) // a buffer takes everything
	_ = z.Close()
	return out.Bytes()
}

// unzipped is the text of a piece, which no line can make larger than a piece is.
func unzipped(compressed []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotALine, err)
	}
	text, err := io.ReadAll(io.LimitReader(z, pieceBytes+1))
	if err != nil || len(text) > pieceBytes {
		return nil, fmt.Errorf("%w: %w", errNotALine, errors.Join(err, errOtherBytes))
	}
	return text, nil
}
