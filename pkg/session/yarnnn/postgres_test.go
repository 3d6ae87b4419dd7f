//go:build unix

package yarnnn_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sessctl/sessctl/internal/postgres"
)

// startPostgres starts a PostgreSQL of the test's own and returns how to reach
// it. Where that cannot be done the test is skipped.
func startPostgres(t *testing.T) string {
	t.Helper()
	server, err := postgres.Start(t.Context())
	if errors.Is(err, postgres.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	return server.DSN
}

// schema is YARNNN's, as far as it matters, with the trigger that moves
// updated_at and the function that appends a message.
const schema = `
CREATE TABLE chat_sessions (
  id uuid PRIMARY KEY, user_id uuid NOT NULL, session_type text NOT NULL DEFAULT 'thinking_partner',
  status text NOT NULL DEFAULT 'active', started_at timestamptz NOT NULL, ended_at timestamptz,
  context_metadata jsonb DEFAULT '{}', summary text, created_at timestamptz NOT NULL, updated_at timestamptz NOT NULL);
CREATE TABLE session_messages (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(), session_id uuid NOT NULL REFERENCES chat_sessions ON DELETE CASCADE,
  role text NOT NULL, content text NOT NULL, sequence_number integer NOT NULL, metadata jsonb DEFAULT '{}',
  created_at timestamptz NOT NULL, UNIQUE (session_id, sequence_number));
CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.updated_at = now(); RETURN NEW; END $$;
CREATE TRIGGER touch BEFORE UPDATE ON chat_sessions FOR EACH ROW EXECUTE FUNCTION touch();`

// database is a connection beside the store's, as the program has one.
type database struct {
	t *testing.T
	*pgx.Conn
}

func newDatabase(t *testing.T, dsn string) database {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	d := database{t, conn}
	d.run(schema)
	return d
}

func (d database) run(sql string, args ...any) {
	d.t.Helper()
	if _, err := d.Exec(d.t.Context(), sql, args...); err != nil {
		d.t.Fatal(err)
	}
}

func sessionID(n int) string { return fmt.Sprintf("6f1f0c8e-2f5b-4a7d-8f10-%012d", n) }

// session adds a session that began at a time.
func (d database) session(n int, began time.Time) {
	d.t.Helper()
	d.run(`INSERT INTO chat_sessions (id, user_id, started_at, created_at, updated_at, context_metadata) VALUES ($1, $1, $2, $2, $2, '{"model":"m"}')`, sessionID(n), began)
}

// say adds messages, a minute after each other and the first at a time.
func (d database) say(n int, at time.Time, roles ...string) {
	d.t.Helper()
	for i, role := range roles {
		d.run(`INSERT INTO session_messages (session_id, role, content, sequence_number, created_at)
			VALUES ($1, $2, $3, (SELECT coalesce(max(sequence_number), 0) + 1 FROM session_messages WHERE session_id = $1), $4)`,
			sessionID(n), role, fmt.Sprintf("%s says %d", role, i), at.Add(time.Duration(i)*time.Minute))
	}
}

func (d database) summary(n int) (summary, metadata string) {
	d.t.Helper()
	err := d.QueryRow(d.t.Context(), "SELECT coalesce(summary, ''), context_metadata::text FROM chat_sessions WHERE id = $1", sessionID(n)).Scan(&summary, &metadata)
	if err != nil {
		d.t.Fatal(err)
	}
	return summary, metadata
}
