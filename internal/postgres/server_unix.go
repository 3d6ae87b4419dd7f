//go:build unix

package postgres

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Server is a running server. Stop it.
type Server struct {
	DSN     string // with a password that the server does not ask for
	dir     string
	process *exec.Cmd
	log     bytes.Buffer
}

// Start starts a server. It returns an error that wraps [ErrUnavailable] if
// initdb and postgres are not installed, or if it may not run them.
func Start(ctx context.Context) (*Server, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "pg") // short: a socket's path has a limit
	if err != nil {
		return nil, fmt.Errorf("make a directory: %w", err)
	}
	s := &Server{dir: dir, DSN: fmt.Sprintf("host=%s user=postgres dbname=postgres password=hunter2", dir)}
	if err := s.start(ctx, bin); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

func (s *Server) start(ctx context.Context, bin string) error {
	as, err := serverUser(s.dir)
	if err != nil {
		return err
	}
	data := filepath.Join(s.dir, "data")
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "--no-sync")
	initdb.SysProcAttr = as
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	s.process = exec.Command(filepath.Join(bin, "postgres"), "-D", data, "-k", s.dir, "-c", "listen_addresses=", "-c", "fsync=off")
	s.process.SysProcAttr = as
	s.process.Stdout, s.process.Stderr = &s.log, &s.log
	if err := s.process.Start(); err != nil {
		s.process = nil
		return fmt.Errorf("start postgres: %w", err)
	}
	return s.wait(ctx)
}

func (s *Server) wait(ctx context.Context) error {
	const tries, pause = 300, 50 * time.Millisecond
	var err error
	for range tries {
		var conn *pgx.Conn
		if conn, err = pgx.Connect(ctx, s.DSN); err == nil {
			return conn.Close(ctx)
		}
		time.Sleep(pause)
	}
	return fmt.Errorf("PostgreSQL does not answer: %w\n%s", err, s.log.String())
}

// Stop ends the server and removes what it kept.
func (s *Server) Stop() {
	if s.process != nil {
		_ = s.process.Process.Signal(syscall.SIGINT) // a fast shutdown
		_ = s.process.Wait()
	}
	_ = os.RemoveAll(s.dir) // of a test, in the temporary directory
}

// programs finds the directory of initdb and postgres.
func programs() (string, error) {
	candidates, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if path, err := exec.LookPath("initdb"); err == nil {
		candidates = append(candidates, filepath.Dir(path))
	}
	for _, dir := range candidates {
		if _, err := os.Stat(filepath.Join(dir, "initdb")); err == nil {
			return dir, nil
		}
	}
	return "", fmt.Errorf("%w: initdb is not installed", ErrUnavailable)
}

// serverUser is who runs the server: it refuses to be root.
func serverUser(dir string) (*syscall.SysProcAttr, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.Atoi(u.Uid)
		gid, err2 := strconv.Atoi(u.Gid)
		if err1 != nil || err2 != nil || os.Chown(dir, uid, gid) != nil {
			continue
		}
		return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
	}
	return nil, fmt.Errorf("%w: it refuses to run as root, and there is no other user", ErrUnavailable)
}
