package yarnnn

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sessctl/sessctl/pkg/session"
)

// The log of a session: its row without what a summary changes, and its
// messages in order. jsonb gives the keys an order, so the same rows are
// always the same bytes. No metadata are shown as empty ones: a summary makes
// them so. A message of any size is read in pieces: a row is at most what the
// server can hold, and that is more than a program may.
const (
	selectHead = `SELECT (to_jsonb(s) - 'summary' - 'updated_at' - 'ended_at' - 'status' || jsonb_build_object('context_metadata', CASE WHEN jsonb_typeof(s.context_metadata) = 'object' THEN s.context_metadata - 'summary_through' ELSE coalesce(nullif(s.context_metadata, 'null'), '{}') END))::text FROM chat_sessions s WHERE s.id::text = $1`
	// a line that is too long is null, and read by its id.
	declareMessages = `DECLARE sessctl_log NO SCROLL CURSOR FOR
SELECT l.id, CASE WHEN octet_length(l.line) <= $2 THEN l.line END
FROM (SELECT m.id::text AS id, to_jsonb(m)::text AS line FROM session_messages m WHERE m.session_id::text = $1 ORDER BY m.sequence_number, m.id) l`
	fetchMessages = `FETCH FORWARD 16 FROM sessctl_log`
	closeMessages = `CLOSE sessctl_log`
	// The pieces come in the order of their numbers, which is checked. OFFSET 0
	// lets the line be made once.
	selectPieces = `SELECT i, substring(l.line FROM 1 + i * $2::int FOR $2::int)
FROM (SELECT convert_to(to_jsonb(m)::text, 'UTF8') AS line FROM session_messages m WHERE m.session_id::text = $3 AND m.id::text = $1 OFFSET 0) l,
     generate_series(0, (length(l.line) - 1) / $2::int) i`
)

// pieceSize is how many bytes of a message are read at a time.
const pieceSize = 1 << 20

// querier is a transaction.
type querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// OpenLog implements [session.LogSource]. The log is read as it is asked for, in
// one transaction on a connection of its own, so that it is of one moment.
func (s *Store) OpenLog(ctx context.Context, ref session.Ref) (io.ReadCloser, error) {
	conn, err := s.dial(ctx)
	if err != nil {
		return nil, err
	}
	log := &openLog{ctx: ctx, conn: conn}
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read session: %w", err), log.Close())
	}
	if log.rowLog, err = newRowLog(ctx, tx, ref); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return log, nil
}

// openLog is a log with the connection that it is read on.
type openLog struct {
	*rowLog
	ctx  context.Context
	conn *pgx.Conn
}

// Close ends the connection, and with it the transaction, which has only read.
func (l *openLog) Close() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.ctx), closeTimeout)
	defer cancel()
	return l.conn.Close(ctx)
}

// rowLog reads the rows of a session as a log: an io.Reader.
type rowLog struct {
	ctx     context.Context
	q       querier
	session string
	ready   []byte // what was read of the rows and not asked for yet
	fetched []fetchedRow
	pieces  pgx.Rows // of a long line, or nil
	piece   int      // the number of the next one
	done    bool
}

// fetchedRow is one message; line is nil for one that is read in pieces.
type fetchedRow struct {
	id   string
	line *string
}

func newRowLog(ctx context.Context, q querier, ref session.Ref) (*rowLog, error) {
	var head string
	err := q.QueryRow(ctx, selectHead, ref.ID).Scan(&head)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, &session.BusyError{Path: ref.Path, Reason: session.ReasonGoneDatabase.Text()}
	}
	if err != nil {
		return nil, fmt.Errorf("read session: %w", err)
	}
	// Statements of this kind take no parameters from the driver's usual protocol.
	if _, err := q.Exec(ctx, declareMessages, pgx.QueryExecModeSimpleProtocol, ref.ID, pieceSize); err != nil {
		return nil, fmt.Errorf("read messages: %w", err)
	}
	return &rowLog{ctx: ctx, q: q, session: ref.ID, ready: append([]byte(head), '\n')}, nil
}

// Read implements io.Reader.
func (l *rowLog) Read(p []byte) (int, error) {
	for len(l.ready) == 0 {
		if l.done {
			return 0, io.EOF
		}
		if err := l.more(); err != nil {
			return 0, fmt.Errorf("read messages: %w", err)
		}
	}
	n := copy(p, l.ready)
	l.ready = l.ready[n:]
	return n, nil
}

// more makes the next bytes ready: a piece of a long line, or a line.
func (l *rowLog) more() error {
	if l.pieces != nil {
		return l.nextPiece()
	}
	if len(l.fetched) == 0 {
		if err := l.fetch(); err != nil || l.done {
			return err
		}
	}
	row := l.fetched[0]
	l.fetched = l.fetched[1:]
	if row.line != nil {
		l.ready = append(append(l.ready[:0], *row.line...), '\n')
		return nil
	}
	var err error
	l.pieces, err = l.q.Query(l.ctx, selectPieces, row.id, pieceSize, l.session)
	l.piece = 0
	return err
}

// fetch takes the next rows from the cursor, which is closed behind the last.
func (l *rowLog) fetch() error {
	rows, err := l.q.Query(l.ctx, fetchMessages, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		return err
	}
	l.fetched, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (row fetchedRow, err error) {
		err = r.Scan(&row.id, &row.line)
		return row, err
	})
	if err != nil || len(l.fetched) > 0 {
		return err
	}
	l.done = true
	_, err = l.q.Exec(l.ctx, closeMessages)
	return err
}

// nextPiece reads a piece of a long line.
func (l *rowLog) nextPiece() error {
	if l.pieces.Next() {
		var number int
		var text []byte
		if err := l.pieces.Scan(&number, &text); err != nil {
			return err
		}
		if number != l.piece {
			return fmt.Errorf("piece %d of a message came where %d was due", number, l.piece)
		}
		l.piece++
		l.ready = text
		return nil
	}
	err := l.pieces.Err()
	if err == nil && l.piece == 0 {
		err = errors.New("a message is gone")
	}
	l.pieces = nil
	l.ready = append(l.ready[:0], '\n')
	return err
}

// proofOf is the proof of a log that is read to its end.
func proofOf(log io.Reader) (session.LogProof, error) {
	sum := sha256.New()
	n, err := io.Copy(sum, log)
	return session.LogProof{Size: n, SHA256: hex.EncodeToString(sum.Sum(nil))}, err
}
