//go:build unix

package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Server is a running server. Stop it.
type Server struct {
	DSN     string // with a password that the server does not ask for
	dir     string
	bin     string
	sync    bool // it survives being killed
	port    int  // 0 for the usual one, of the socket alone
	options []string
	as      *syscall.SysProcAttr
	process *exec.Cmd
	ended   chan struct{} // closed when the process has ended
	log     bytes.Buffer
}

// Start starts a server. It returns an error that wraps [ErrUnavailable] if
// initdb and postgres are not installed, or if it may not run them.
func Start(ctx context.Context) (*Server, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	return start(ctx, &Server{bin: bin})
}

// StartVector starts a server that has pgvector, and that may be killed and
// started again. It returns an error that wraps [ErrUnavailable] if there is
// none: testdata/postgresql/install.sh installs one. Settings are those of
// postgresql.conf, as NAME=VALUE.
func StartVector(ctx context.Context, settings ...string) (*Server, error) {
	bin, err := vectorPrograms()
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin, sync: true}
	s.Set(settings...)
	return start(ctx, s)
}

// Listening starts a server with pgvector on a port of loopback, as one is right after it
// was installed: whoever comes over the network needs a password. Its socket is in
// Directory. It returns an error that wraps [ErrUnavailable] as [StartVector] does.
func Listening(ctx context.Context) (s *Server, port int, err error) {
	bin, err := vectorPrograms()
	if err != nil {
		return nil, 0, err
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, 0, fmt.Errorf("look for a free port: %w", err)
	}
	port = free.Addr().(*net.TCPAddr).Port
	if err := free.Close(); err != nil {
		return nil, 0, err
	}
	s = &Server{bin: bin, port: port}
	s.Set("listen_addresses=127.0.0.1", fmt.Sprintf("port=%d", port))
	s, err = start(ctx, s)
	return s, port, err
}

// Available reports whether a server with pgvector is installed.
func Available() bool {
	_, err := vectorPrograms()
	return err == nil
}

// Exec carries out a statement on a server.
func Exec(ctx context.Context, dsn, statement string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, statement)
	return err
}

// Directory is where the socket of the server is.
func (s *Server) Directory() string { return s.dir }

// Set gives the server other settings from its next start on.
func (s *Server) Set(settings ...string) {
	s.options = nil
	for _, setting := range settings {
		if setting != "" {
			s.options = append(s.options, "-c", setting)
		}
	}
}

func start(ctx context.Context, s *Server) (*Server, error) {
	dir, err := os.MkdirTemp("", "pg") // short: a socket's path has a limit
	if err != nil {
		return nil, fmt.Errorf("make a directory: %w", err)
	}
	s.dir, s.DSN = dir, fmt.Sprintf("host=%s user=postgres dbname=postgres password=hunter2", dir)
	if s.port != 0 {
		s.DSN += fmt.Sprintf(" port=%d", s.port)
	}
	if err := s.start(ctx); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

func (s *Server) start(ctx context.Context) (err error) {
	if s.as, err = serverUser(s.dir); err != nil {
		return err
	}
	initdb := exec.CommandContext(ctx, filepath.Join(s.bin, "initdb"), "-D", s.data(), "-U", "postgres", "--auth-local", "trust", "--auth-host", "scram-sha-256", "--no-sync", "--encoding", "UTF8", "--locale", "C")
	initdb.SysProcAttr = s.as
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return s.Restart(ctx)
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// Kill kills the server at once (-9), as a machine that loses power does to it: all of
// its processes, for one that waits for a lock of another does not see that it is alone.
func (s *Server) Kill() {
	pid := s.process.Process.Pid
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid)) // of Linux; elsewhere they end by themselves, nearly always
	_ = s.process.Process.Kill()                                                 // nobody else started it
	for _, child := range strings.Fields(string(children)) {
		if pid, err := strconv.Atoi(child); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
	}
	<-s.ended
	s.process = nil
}

// Restart starts the server again, on what it had.
func (s *Server) Restart(ctx context.Context) error {
	const tries, pause = 50, 100 * time.Millisecond
	var err error
	for range tries { // those that the one before left may still be there
		if err = s.run(ctx); err == nil {
			return nil
		}
		time.Sleep(pause)
	}
	return err
}

func (s *Server) run(ctx context.Context) error {
	fsync := "fsync=off"
	if s.sync {
		fsync = "synchronous_commit=on"
	}
	options := append([]string{"-D", s.data(), "-k", s.dir, "-c", "listen_addresses=", "-c", fsync, "-c", "full_page_writes=on"}, s.options...)
	s.process = exec.Command(filepath.Join(s.bin, "postgres"), options...)
	s.process.SysProcAttr = s.as
	s.process.Stdout, s.process.Stderr = &s.log, &s.log
	if err := s.process.Start(); err != nil {
		s.process = nil
		return fmt.Errorf("start postgres: %w", err)
	}
	s.ended = make(chan struct{})
	go func(process *exec.Cmd, ended chan struct{}) {
		_ = process.Wait() // whether it answers is what counts
		close(ended)
	}(s.process, s.ended)
	return s.wait(ctx)
}

func (s *Server) wait(ctx context.Context) error {
	const tries, pause = 300, 50 * time.Millisecond
	var err error
	for range tries {
		select {
		case <-s.ended:
			return fmt.Errorf("PostgreSQL ended\n%s", s.log.String())
		default:
		}
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
		<-s.ended
	}
	_ = os.RemoveAll(s.dir) // of a test, in the temporary directory
}

// Run runs a program that came with the server (pg_dump, say), as the user that
// the server runs as, and returns what it printed. It returns an error that wraps
// [ErrUnavailable] if the program did not come with it.
func (s *Server) Run(ctx context.Context, program string, arguments ...string) ([]byte, error) {
	path := filepath.Join(s.bin, program)
	if !exists(path) {
		return nil, fmt.Errorf("%w: %s is not installed; testdata/postgresql/install.sh installs it", ErrUnavailable, program)
	}
	c := exec.CommandContext(ctx, path, arguments...)
	c.SysProcAttr = s.as
	out, err := c.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return out, fmt.Errorf("%s: %w\n%s", program, err, failed.Stderr)
	}
	return out, err
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

// cacheVariable names where a PostgreSQL with pgvector was installed for tests.
const cacheVariable = "SESSCTL_TEST_POSTGRES"

// vectorPrograms finds the directory of initdb and postgres of a server that has
// pgvector.
func vectorPrograms() (string, error) {
	places := []string{os.Getenv(cacheVariable), "/var/cache/sessctl-test/postgresql"}
	if cache, err := os.UserCacheDir(); err == nil {
		places = append(places, filepath.Join(cache, "sessctl-test", "postgresql"))
	}
	for _, place := range places {
		if _, err := os.Stat(filepath.Join(place, "bin", "initdb")); place != "" && err == nil {
			return filepath.EvalSymlinks(filepath.Join(place, "bin"))
		}
	}
	controls, _ := filepath.Glob("/usr/share/postgresql/*/extension/vector.control")
	for _, control := range controls {
		version := filepath.Base(filepath.Dir(filepath.Dir(control)))
		if bin := filepath.Join("/usr/lib/postgresql", version, "bin"); exists(filepath.Join(bin, "initdb")) {
			return bin, nil
		}
	}
	return "", fmt.Errorf("%w: no server with pgvector is installed; testdata/postgresql/install.sh installs one", ErrUnavailable)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TextSearch is the setting with which the server of [StartVector] loads
// pg_textsearch, or "" if that is not installed.
func TextSearch() string {
	bin, err := vectorPrograms()
	if err != nil || !exists(filepath.Join(bin, "..", "lib", "pg_textsearch.so")) {
		return ""
	}
	return "shared_preload_libraries=pg_textsearch"
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
