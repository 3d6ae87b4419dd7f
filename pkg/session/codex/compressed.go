package codex

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// isCompressed looks at the first bytes of a log: names lie.
func isCompressed(log *os.File) (bool, error) {
	plain, compression, err := jsonl.Decompress(io.NewSectionReader(log, 0, 8), 8)
	if err != nil {
		return false, err
	}
	return compression != jsonl.CompressionNone, plain.Close()
}

// endSize is how much of the end of a compressed rollout is kept to be read
// backwards, in bytes.
const endSize = 1 << 20

// textEnd is the end of a plain text, and how many bytes stand before it.
type textEnd struct {
	text *bytes.Reader
	base int64
}

// readEnd decompresses a rollout and keeps the whole lines of its last bytes.
func readEnd(ctx context.Context, log io.Reader, size int64) (textEnd, error) {
	plain, _, err := jsonl.Decompress(log, size)
	if err != nil {
		return textEnd{}, fmt.Errorf("read the end of the log: %w", err)
	}
	defer plain.Close()
	buf := make([]byte, 0, 2*endSize)
	var base int64
	for err == nil {
		if len(buf) == cap(buf) {
			base += int64(len(buf) - endSize)
			buf = append(buf[:0], buf[len(buf)-endSize:]...)
		}
		var n int
		n, err = plain.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if err == nil {
			err = ctx.Err()
		}
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return textEnd{}, fmt.Errorf("read the end of the log: %w", err)
	}
	if base > 0 { // the first line is cut
		if n := bytes.IndexByte(buf, '\n'); n >= 0 {
			buf, base = buf[n+1:], base+int64(n)+1
		}
	}
	return textEnd{bytes.NewReader(buf), base}, nil
}

// header is what the first record of a rollout says.
type header struct{ id, cwd string }

var errFound = errors.New("found")

// readHeader returns what the first session_meta of a rollout says, an empty
// header if there is none in its first 256 KiB.
func readHeader(log io.Reader, size int64) (h header, err error) {
	plain, _, err := jsonl.Decompress(log, size)
	if err != nil {
		return h, err
	}
	defer plain.Close()
	var d decoder
	_, err = jsonl.Scan(context.Background(), io.LimitReader(plain, session.HeadSize), jsonl.Options{}, func(r *jsonl.Record) error {
		if err := d.decode(r.Raw); err != nil {
			return err
		}
		if d.record.kind != meta {
			return nil
		}
		h = header{id: string(d.record.item.id), cwd: string(d.record.item.cwd)}
		return errFound
	})
	if errors.Is(err, errFound) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, jsonl.ErrUTF16) {
		err = nil
	}
	return h, err
}
