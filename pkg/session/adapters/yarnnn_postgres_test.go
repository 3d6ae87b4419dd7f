//go:build unix

package adapters_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sessctl/sessctl/internal/postgres"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/yarnnn"
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

// A message of any size comes in pieces, and the log is that of one statement,
// byte for byte: straight from the server and behind a pooler in transaction mode.
func TestYarnnnLogOfLongMessages(t *testing.T) {
	dsn := startPostgres(t)
	pooled, stop, err := postgres.Pooler(dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	d := newDatabase(t, dsn)
	d.session(1, time.Now().Add(-time.Hour))
	d.say(1, time.Now().Add(-time.Hour), "user")
	for i, size := range []int{1 << 20, 3<<20 + 17, 1, 1<<20 - 200} {
		d.run(`INSERT INTO session_messages (session_id, role, content, sequence_number, created_at) VALUES ($1, 'assistant', repeat('ü"x', $2::int / 4), $3, now())`, sessionID(1), size, i+2)
	}
	for i := range 40 {
		d.run(`INSERT INTO session_messages (session_id, role, content, sequence_number, created_at) VALUES ($1, 'user', 'short', $2, now())`, sessionID(1), i+10)
	}
	var want string
	if err := d.QueryRow(t.Context(), `SELECT string_agg(to_jsonb(m)::text, E'\n' ORDER BY m.sequence_number) || E'\n' FROM session_messages m WHERE session_id = $1`, sessionID(1)).Scan(&want); err != nil {
		t.Fatal(err)
	}
	for _, way := range []string{dsn, pooled} {
		store := yarnnn.Open(way, yarnnn.Options{})
		defer store.Close()
		if _, got, _ := strings.Cut(openLog(t, store, find(t, store, 1)), "\n"); got != want {
			t.Errorf("%d bytes, want %d", len(got), len(want))
		}
		log, err := store.OpenLog(t.Context(), session.Ref{ID: sessionID(1)})
		if err != nil {
			t.Fatal(err)
		}
		d.say(1, time.Now(), "user") // after it was opened: not in it
		all, err := io.ReadAll(log)
		if err != nil {
			t.Fatal(err)
		}
		if err := log.Close(); err != nil {
			t.Error(err)
		}
		if _, got, _ := strings.Cut(string(all), "\n"); got != want {
			t.Errorf("%d bytes, want %d", len(got), len(want))
		}
		d.run("DELETE FROM session_messages WHERE sequence_number = (SELECT max(sequence_number) FROM session_messages)")
		if _, err := store.OpenLog(t.Context(), session.Ref{ID: sessionID(2)}); !errors.Is(err, session.ErrBusy) {
			t.Error("a session that is gone:", err)
		}
		annotated(t, store, d)
	}
}

// annotated: a summary is written by a store, and read by another connection.
func annotated(t *testing.T, store *yarnnn.Store, d database) {
	t.Helper()
	ref := find(t, store, 1)
	if err := store.Annotate(t.Context(), annotation(t, store, ref, "what was said")); err != nil {
		t.Fatal(err)
	}
	if summary, _ := d.summary(1); !strings.Contains(summary, "what was said") {
		t.Errorf("the summary is %q", summary)
	}
	d.run("UPDATE chat_sessions SET summary = NULL, context_metadata = '{}'")
}
