package proof

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"

	"github.com/sessctl/sessctl/pkg/ledger"
)

// pieceBytes is how much of an archive a line has at most.
const pieceBytes = 1 << 20

// errOtherBytes is returned for bytes that are not those of the archive.
var errOtherBytes = errors.New("its bytes are not those of the archive")

// errOtherBeginning is returned for an archive that does not begin with the one that its
// entry, or that of the other, says.
var errOtherBeginning = errors.New("it does not begin with the archive that its entry names")

// beginning is how an archive begins: the length and the hash of another one.
type beginning struct {
	bytes  int64
	sha256 string
}

// beginnings are what the leaves that are shown say of how archives begin.
type beginnings struct {
	known map[string]beginning   // by id: the whole of each
	of    map[string][]beginning // by id: with what each begins
}

// note notes what a leaf says of an archive. Of one that begins with another, the other
// must be known by then.
func (b *beginnings) note(text []byte) {
	var f ledger.Leaf
	if json.Unmarshal(text, &f) != nil || f.ID == "" || f.SHA256 == "" {
		return
	}
	if b.known == nil {
		b.known, b.of = map[string]beginning{}, map[string][]beginning{}
	}
	switch whole := (beginning{f.Bytes, f.SHA256}); f.Kind {
	case ledger.Made, ledger.Adopted:
		b.known[f.ID] = whole
		if first, ok := b.known[f.Archive]; ok {
			b.of[f.ID] = append(b.of[f.ID], first)
		}
	case ledger.Superseded:
		b.known[f.ID] = whole
		b.of[f.Archive] = append(b.of[f.Archive], whole)
	}
}

// pieces are the bytes of an archive, one line after the other.
type pieces struct {
	archive, sha256 string
	sum             hash.Hash
	bytes           int64       // that were taken
	begins          []beginning // with what they must begin, the shortest first
}

// write takes bytes, and compares what has passed by then with the beginnings.
func (p *pieces) write(text []byte) error {
	for len(p.begins) > 0 && p.begins[0].bytes <= p.bytes+int64(len(text)) {
		first := p.begins[0]
		n := first.bytes - p.bytes
		p.sum.Write(text[:n])
		p.bytes, text, p.begins = first.bytes, text[n:], p.begins[1:]
		if hex.EncodeToString(p.sum.Sum(nil)) != first.sha256 {
			return fmt.Errorf("archive %s: %w", p.archive, errOtherBeginning)
		}
	}
	p.bytes += int64(len(text))
	p.sum.Write(text)
	return nil
}

// take takes the next piece. The hash of an archive is noted once its last piece was
// taken.
func (p *pieces) take(next piece, known beginnings, archives map[string]string) error {
	if next.Archive == "" {
		return errNotALine
	}
	if next.Archive != p.archive {
		if err := p.end(archives); err != nil {
			return err
		}
		begins := slices.SortedFunc(slices.Values(known.of[next.Archive]), func(a, b beginning) int { return cmp.Compare(a.bytes, b.bytes) })
		begins = slices.DeleteFunc(begins, func(b beginning) bool { return b.bytes <= 0 })
		*p = pieces{archive: next.Archive, sha256: next.SHA256, sum: sha256.New(), begins: begins}
	}
	if _, twice := archives[next.Archive]; twice || next.SHA256 != p.sha256 {
		return errOrder
	}
	text, err := unzipped(next.Gzip)
	if err != nil {
		return err
	}
	return p.write(text)
}

// end compares what was taken.
func (p *pieces) end(archives map[string]string) error {
	if p.archive == "" {
		return nil
	}
	if sum := hex.EncodeToString(p.sum.Sum(nil)); sum != p.sha256 {
		return fmt.Errorf("archive %s: %w: sha256 %s, not %s", p.archive, errOtherBytes, sum, p.sha256)
	}
	if len(p.begins) > 0 { // it is shorter
		return fmt.Errorf("archive %s: %w", p.archive, errOtherBeginning)
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
