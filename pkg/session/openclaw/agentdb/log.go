package agentdb

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sort"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/sessctl/sessctl/pkg/session/rowlog"
)

// Log is a session's log as a file of the file era would have it: the records
// in the order of seq, one a line. It reads only the rows that are asked for,
// and belongs to the context that it was opened with.
type Log struct {
	ctx     context.Context
	db      *Database
	session string
	rows    []place
	size    int64

	mu    sync.Mutex
	large row // the last large record that was read
}

// place is where a record stands in the log.
type place struct {
	seq int64
	end int64 // of its line, the line feed included
}

// row is a record that was read, with its line feed.
type row struct {
	index int // in Log.rows
	line  []byte
}

// Log opens the log of a session. It returns an error that wraps
// fs.ErrNotExist if the session has no records, and one that names the row if
// a row holds none.
func (d *Database) Log(ctx context.Context, session string) (*Log, error) {
	l := &Log{ctx: ctx, db: d, session: session, large: row{index: -1}}
	if err := rowlog.WithoutIndex(l.look); err != nil {
		return nil, err
	}
	if len(l.rows) == 0 {
		return nil, fmt.Errorf("read session %s: %w", session, fs.ErrNotExist)
	}
	return l, d.Unchanged()
}

// look finds the places of all records.
func (l *Log) look(indexed string) error {
	l.size, l.rows = 0, nil
	return rowlog.Each(l.ctx, rowlog.For(l.db.conn, "read session "+l.session), func(rows *sql.Rows) error {
		var seq int64
		var packed bool
		var length sql.NullInt64
		if err := rows.Scan(&seq, &packed, &length); err != nil {
			return err
		}
		if packed && length.Int64 == 0 {
			return l.rowError(seq, errors.New("it holds no record"))
		}
		l.size += length.Int64 + 1
		l.rows = append(l.rows, place{seq, l.size})
		return nil
	}, `SELECT seq, event_json IS NULL, `+l.db.columns.eventBytes()+` FROM transcript_events`+indexed+` WHERE session_id = ? ORDER BY seq`, l.session)
}

// Size returns the length of the log in bytes.
func (l *Log) Size() int64 { return l.size }

// ReadAt implements io.ReaderAt. An error names the row that cannot be read.
func (l *Log) ReadAt(p []byte, offset int64) (int, error) {
	if offset < 0 {
		return 0, errors.New("read the log: negative offset")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	want := int(min(int64(len(p)), max(l.size-offset, 0)))
	if want > 0 {
		if err := l.fill(p[:want], offset); err != nil {
			return 0, err
		}
	}
	if want < len(p) {
		return want, io.EOF
	}
	return want, nil
}

// fill reads bytes that are all inside the log.
func (l *Log) fill(p []byte, offset int64) error {
	first := sort.Search(len(l.rows), func(i int) bool { return l.rows[i].end > offset })
	last := sort.Search(len(l.rows), func(i int) bool { return l.rows[i].end >= offset+int64(len(p)) })
	if first == last && first == l.large.index {
		copy(p, l.large.line[offset-l.start(first):])
		return nil
	}
	return rowlog.WithoutIndex(func(indexed string) error { return l.copy(p, offset, [2]int{first, last}, indexed) })
}

// copy reads the rows of a range.
func (l *Log) copy(p []byte, offset int64, of [2]int, indexed string) error {
	first, last := of[0], of[1]
	query := `SELECT seq, CAST(event_json AS BLOB), NULL FROM transcript_events`
	if l.db.columns.zstd {
		query = `SELECT seq, CAST(event_json AS BLOB), event_zstd FROM transcript_events`
	}
	rows, err := l.db.conn.QueryContext(l.ctx, query+indexed+` WHERE session_id = ? AND seq BETWEEN ? AND ? ORDER BY seq`,
		l.session, l.rows[first].seq, l.rows[last].seq)
	if err != nil {
		return fmt.Errorf("read session %s: %w", l.session, err)
	}
	defer rows.Close()
	index := first
	for ; rows.Next() && index <= last; index++ {
		if err := l.take(rows, index, p, offset); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read session %s: %w", l.session, err)
	}
	if index <= last {
		return errors.Join(l.db.Unchanged(), l.rowError(l.rows[index].seq, errors.New("it is gone")))
	}
	return l.db.Unchanged()
}

// take copies what one row has of the bytes from offset on into p.
func (l *Log) take(rows *sql.Rows, index int, p []byte, offset int64) error {
	var seq int64
	var plain, packed sql.RawBytes
	if err := rows.Scan(&seq, &plain, &packed); err != nil {
		return fmt.Errorf("read session %s: %w", l.session, err)
	}
	start, end := l.start(index), l.rows[index].end
	if seq != l.rows[index].seq {
		return errors.Join(l.db.Unchanged(), l.rowError(l.rows[index].seq, errors.New("it is gone")))
	}
	line, err := eventLine(plain, packed, int(end-start)-1)
	if err != nil {
		return errors.Join(l.db.Unchanged(), l.rowError(seq, err))
	}
	if len(line) > largeLine {
		l.large = row{index, line}
	}
	if start >= offset {
		copy(p[start-offset:], line)
	} else {
		copy(p, line[offset-start:])
	}
	return nil
}

// largeLine is the length in bytes from which a record is kept until another
// large one is read: a reader takes it in pieces.
const largeLine = 32 << 10

// start is where the line of a row begins.
func (l *Log) start(index int) int64 {
	if index == 0 {
		return 0
	}
	return l.rows[index-1].end
}

func (l *Log) rowError(seq int64, err error) error {
	return fmt.Errorf("row %d of session %s: %w", seq, l.session, err)
}

// maxEvent is the length in bytes that a compressed record may have once it is
// decompressed: the schema's own bound of transcript_events.event_utf8_bytes.
const maxEvent = 4 << 20

// maxWindow bounds the memory that a compressed record can ask for, in bytes.
const maxWindow = 8 << 20

var (
	// ErrLength is returned when a record does not have the length that its row
	// says.
	ErrLength = errors.New("its record does not have the length that the row says")
	// ErrCompression is returned when a compressed record cannot be
	// decompressed.
	ErrCompression = errors.New("its record cannot be decompressed")
)

// eventLine is the line of a record: its text as it is stored, or
// decompressed, and a line feed. length is what the row says, in bytes.
func eventLine(plain, packed []byte, length int) ([]byte, error) {
	line := make([]byte, 0, length+1)
	switch {
	case plain != nil && len(plain) != length:
		return nil, fmt.Errorf("%w (%d bytes, not %d)", ErrLength, len(plain), length)
	case plain != nil:
		line = append(line, plain...)
	default:
		var err error
		if line, err = decompress(line[:length], packed); err != nil {
			return nil, err
		}
	}
	return append(oneLine(line), '\n'), nil
}

// decompress fills text, no less and no more.
func decompress(text, packed []byte) ([]byte, error) {
	decoder, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCompression, err)
	}
	defer decoder.Close()
	n, err := io.ReadFull(decoder, text)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("%w (%d bytes, not %d)", ErrLength, n, len(text))
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrCompression, err)
	}
	switch n, err := io.ReadFull(decoder, make([]byte, 1)); {
	case n > 0:
		return nil, fmt.Errorf("%w (more than %d bytes)", ErrLength, len(text))
	case !errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%w: %w", ErrCompression, err)
	}
	return text, nil
}

// oneLine puts a record on one line. A line feed between the parts of a JSON
// text says as much as a space; what is not JSON stays as it is.
func oneLine(text []byte) []byte {
	if bytes.IndexByte(text, '\n') < 0 || !json.Valid(text) {
		return text
	}
	return bytes.ReplaceAll(text, []byte("\n"), []byte(" "))
}
