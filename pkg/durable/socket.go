package durable

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"time"
)

// dialTimeout is how long the program behind a socket has to take a connection.
const dialTimeout = 2 * time.Second

// ListenSocket listens on a unix socket that only this user may use: its mode is
// 0600. [ErrLocked] is returned while another process listens on it. A socket
// that nobody listens on, which a killed process left, is replaced; anything else
// at path is [ErrExists]. The file path.lock beside it, which stays, keeps two
// starting processes apart. Closing the listener removes the socket.
func ListenSocket(ctx context.Context, path string) (net.Listener, error) {
	lock, err := Lock(path + ".lock")
	if err != nil {
		return nil, err
	}
	l, err := listenAt(ctx, path)
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	return &socket{Listener: l, lock: lock}, nil
}

func listenAt(ctx context.Context, path string) (net.Listener, error) {
	if err := removeStale(ctx, path); err != nil {
		return nil, err
	}
	config := net.ListenConfig{Control: keepPrivate}
	l, err := config.Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, bare(err))
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("set the mode of %s: %w", path, bare(err)), l.Close())
	}
	return l, nil
}

// removeStale removes a socket that nobody listens on.
func removeStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at %s: %w", path, bare(err))
	}
	if info.Mode()&fs.ModeSocket == 0 {
		return fmt.Errorf("listen on %s: it is no socket: %w", path, ErrExists)
	}
	dialer := net.Dialer{Timeout: dialTimeout}
	conn, err := dialer.DialContext(ctx, "unix", path)
	if err == nil {
		return errors.Join(fmt.Errorf("listen on %s: %w", path, ErrLocked), conn.Close())
	}
	if !isRefused(err) {
		return fmt.Errorf("listen on %s: somebody may listen there: %w", path, err)
	}
	return RemoveFile(path)
}

// socket gives up its lock when it is closed.
type socket struct {
	net.Listener
	lock *FileLock
}

// Close implements net.Listener.
func (s *socket) Close() error { return errors.Join(s.Listener.Close(), s.lock.Unlock()) }
