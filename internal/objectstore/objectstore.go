package objectstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// ErrUnavailable is returned, wrapped with the reason, when no server can be
// started here.
var ErrUnavailable = errors.New("an S3 server cannot be started here")

// Keys of the server.
const (
	AccessKey = "sessctl-test"
	SecretKey = "hunter2-hunter2"
)

// Server is a running server. Stop it.
type Server struct {
	Address string // host:port

	dir     string
	program string
	process *exec.Cmd
	log     bytes.Buffer
}

// Start starts a server whose objects are below dir.
func Start(ctx context.Context, dir string) (*Server, error) {
	program, err := find()
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, program: program}
	return s, s.Run(ctx)
}

// Available reports whether a server can be started here.
func Available() bool {
	_, err := find()
	return err == nil
}

// find looks for the program in the PATH and where install.sh puts it.
func find() (string, error) {
	if path, err := exec.LookPath("versitygw"); err == nil {
		return path, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	path := filepath.Join(cache, "sessctl-accept", "versitygw", "versitygw")
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%w: versitygw is not installed (testdata/objectstore/install.sh)", ErrUnavailable)
	}
	return path, nil
}

// Run starts the server again, after [Server.Kill] on the same address.
func (s *Server) Run(ctx context.Context) error {
	if s.Address == "" {
		free, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		s.Address = free.Addr().String()
		if err := free.Close(); err != nil {
			return err
		}
	}
	for _, dir := range []string{"objects", "versions"} {
		if err := os.MkdirAll(filepath.Join(s.dir, dir), 0o700); err != nil {
			return err
		}
	}
	s.process = exec.Command(s.program, "--access", AccessKey, "--secret", SecretKey, "--port", s.Address, "--quiet",
		"posix", "--versioning-dir", filepath.Join(s.dir, "versions"), filepath.Join(s.dir, "objects"))
	s.process.Stdout, s.process.Stderr = &s.log, &s.log
	if err := s.process.Start(); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	for range 200 {
		if to, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.Address); err == nil {
			return to.Close()
		}
		time.Sleep(20 * time.Millisecond)
	}
	s.Kill()
	return fmt.Errorf("%w: it does not answer: %s", ErrUnavailable, s.log.String())
}

// Kill ends the server at once (SIGKILL).
func (s *Server) Kill() {
	_ = s.process.Process.Kill() // it may have ended
	_ = s.process.Wait()
}

// Client is a client of the server itself.
func (s *Server) Client() (*minio.Client, error) {
	return minio.New(s.Address, &minio.Options{Creds: credentials.NewStaticV4(AccessKey, SecretKey, "")})
}

// MakeBucket makes a bucket, with lock one that can keep objects from being
// deleted.
func (s *Server) MakeBucket(ctx context.Context, name string, lock bool) error {
	client, err := s.Client()
	if err != nil {
		return err
	}
	return client.MakeBucket(ctx, name, minio.MakeBucketOptions{ObjectLocking: lock})
}
