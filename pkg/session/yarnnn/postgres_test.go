//go:build unix

package yarnnn_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// startPostgres starts a PostgreSQL of the test's own on a socket in a
// temporary directory and returns how to reach it. Without the server's
// programs the test is skipped.
func startPostgres(t *testing.T) string {
	t.Helper()
	bin := postgresPrograms(t)
	dir, err := os.MkdirTemp("", "pg") // short: a socket's path has a limit
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	as := serverUser(t, dir)
	data := filepath.Join(dir, "data")
	initdb := exec.Command(filepath.Join(bin, "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "--no-sync")
	initdb.SysProcAttr = as
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	server := exec.Command(filepath.Join(bin, "postgres"), "-D", data, "-k", dir, "-c", "listen_addresses=", "-c", "fsync=off")
	server.SysProcAttr = as
	var log bytes.Buffer
	server.Stdout, server.Stderr = &log, &log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGINT)
		_ = server.Wait()
	})
	dsn := fmt.Sprintf("host=%s user=postgres dbname=postgres password=hunter2", dir)
	waitFor(t, dsn, &log)
	return dsn
}

func waitFor(t *testing.T, dsn string, log *bytes.Buffer) {
	t.Helper()
	var err error
	for range 300 {
		var conn *pgx.Conn
		if conn, err = pgx.Connect(t.Context(), dsn); err == nil {
			_ = conn.Close(t.Context())
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("PostgreSQL does not answer: %v\n%s", err, log)
}

// postgresPrograms finds initdb and postgres.
func postgresPrograms(t *testing.T) string {
	t.Helper()
	candidates, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if path, err := exec.LookPath("initdb"); err == nil {
		candidates = append(candidates, filepath.Dir(path))
	}
	for _, dir := range candidates {
		if _, err := os.Stat(filepath.Join(dir, "initdb")); err == nil {
			return dir
		}
	}
	t.Skip("initdb of PostgreSQL is not installed")
	return ""
}

// serverUser is who runs the server: it refuses to be root.
func serverUser(t *testing.T, dir string) *syscall.SysProcAttr {
	t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.Atoi(u.Uid)
		gid, err2 := strconv.Atoi(u.Gid)
		if err := errors.Join(err1, err2, os.Chown(dir, uid, gid)); err != nil {
			t.Skipf("cannot run PostgreSQL as %s: %v", name, err)
		}
		return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}
	t.Skip("PostgreSQL refuses to run as root, and there is no other user")
	return nil
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
