package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// No lock that others need is held while a host is waited for: what changes
// something is one statement, a function of the server (schema.sql), and what asks
// is a transaction that the server ends if the host falls silent.

// readOnly is how a transaction begins that only asks: all of it is from one moment.
const readOnly = "ISOLATION LEVEL REPEATABLE READ, READ ONLY"

// transact runs f in one transaction: all of it or nothing. What holds for it is
// said with it, because a pooler may give the next one another connection. Nothing
// is found by its name but our tables and what is PostgreSQL's: in the schema of
// pgvector, which usually is public, others may put a function that fits better than
// the one that is meant.
func (m *Memory) transact(ctx context.Context, mode string, f func(tx pgx.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, m.options.Timeout)
	defer cancel()
	begin := fmt.Sprintf("BEGIN %s; SET LOCAL search_path = %s; SET LOCAL statement_timeout = %[3]d; SET LOCAL lock_timeout = %[3]d; SET LOCAL idle_in_transaction_session_timeout = %[3]d",
		mode, schemaPath, m.options.Timeout.Milliseconds())
	tx, err := m.conn.BeginTx(ctx, pgx.TxOptions{BeginQuery: begin})
	if err != nil {
		return classify(err)
	}
	// Whatever f waits for, it waits no longer.
	defer context.AfterFunc(ctx, func() { _ = m.conn.PgConn().Conn().SetDeadline(time.Now()) })()
	if err := f(tx); err != nil {
		_ = tx.Rollback(ctx) // the error says more
		return classify(err)
	}
	return classify(tx.Commit(ctx))
}

// ask is a transaction that only asks for records, when it is its turn.
func (m *Memory) ask(ctx context.Context, f func(tx pgx.Tx) error) error {
	return m.transact(ctx, readOnly, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT take_turn()"); err != nil {
			return err
		}
		return f(tx)
	})
}

// exec carries out one statement, whose names say where they are.
func (m *Memory) exec(ctx context.Context, statement string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, m.options.Timeout)
	defer cancel()
	_, err := m.conn.Exec(ctx, statement, args...)
	return classify(err)
}

// call calls a function of the server, as one statement.
func (m *Memory) call(ctx context.Context, most time.Duration, result any, function string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	return classify(m.conn.QueryRow(ctx, "SELECT "+schemaName+"."+function, args...).Scan(result))
}

// lockMoment is how long a push waits for a lock, with those that it has: others
// may need those.
const lockMoment = time.Second

// patiently tries until nobody is in the way, or until most has passed. Those
// that met wait for different times.
func patiently(ctx context.Context, most time.Duration, f func(try int) error) error {
	const first, longest = 50 * time.Millisecond, 2 * time.Second
	until := time.Now().Add(most)
	pause := first
	for try := 0; ; try++ {
		err := f(try)
		if !isCollision(err) || time.Now().After(until) {
			return err
		}
		select {
		case <-time.After(pause/2 + rand.N(pause)):
		case <-ctx.Done():
			return ctx.Err()
		}
		pause = min(2*pause, longest)
	}
}

// isCollision says whether somebody else was in the way.
func isCollision(err error) bool {
	var known *pgconn.PgError
	return errors.As(err, &known) && (known.Code == "55P03" || known.Code == "40001" || known.Code == "40P01")
}
