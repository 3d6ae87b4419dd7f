package openclaw

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// gateway is a running gateway of a state directory.
type gateway struct {
	process int
	// config is the path of its configuration and port the one it listens on,
	// as it says itself; "" and 0 if it was only seen to have its state open.
	config string
	port   int
}

// unserved returns a [*session.BusyError] with Served set while a gateway runs
// for this store.
func (s *Store) unserved(path string) error {
	g, err := s.gateway()
	if err != nil || g == nil {
		return err
	}
	return &session.BusyError{Path: path, Served: true, Reason: fmt.Sprintf("its gateway is running (process %d), and the files are the gateway's", g.process)}
}

// gateway returns the gateway that runs for this store, nil if none is seen.
//
// A gateway of 2026.7.1 keeps, as long as it runs,
// <temporary directory>/openclaw-<uid>/gateway.<hash>.lock with its process,
// its configuration's path and its port, and <state dir>/state/openclaw.sqlite
// open. The first is found on every system; the second, on Linux, also finds
// a gateway with another temporary directory, and tells whose state a gateway
// is that has its configuration elsewhere. One in a container or on another
// machine is not seen.
func (s *Store) gateway() (*gateway, error) {
	for _, name := range s.gatewayLocks() {
		lock, err := readGatewayLock(name)
		if err != nil {
			return nil, err
		}
		if lock.alive() && s.served(lock) {
			return &gateway{process: lock.pid, config: lock.config, port: lock.port}, nil
		}
	}
	if pid := gatewayWithOpen(s.stateFile()); pid != 0 {
		return &gateway{process: pid}, nil
	}
	return nil, nil
}

// stateFile is the database that a gateway keeps open.
func (s *Store) stateFile() string { return filepath.Join(s.root, "state", "openclaw.sqlite") }

// gatewayLocks are the lock files of all gateways, whosever they are.
func (s *Store) gatewayLocks() []string {
	dirs := s.options.LockDirs
	if dirs == nil {
		dirs = []string{os.TempDir()}
		if runtime.GOOS != "windows" {
			dirs = append(dirs, "/tmp")
		}
	}
	var found []string
	for _, dir := range dirs {
		names, _ := filepath.Glob(filepath.Join(dir, "openclaw*", "gateway.*"+lockEnd)) // the pattern is right
		found = append(found, names...)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// gatewayLock is what a gateway's lock says: {"pid", "createdAt",
// "configPath", "port", "startTime"}.
type gatewayLock struct {
	lockFile
	config string
	port   int
}

// readGatewayLock reads a lock. One that is gone, that somebody else may not
// read, or that holds something else is nobody's.
func readGatewayLock(path string) (gatewayLock, error) {
	f, err := durable.OpenRegular(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission), errors.Is(err, durable.ErrNotRegular), errors.Is(err, durable.ErrHeld):
		return gatewayLock{}, nil
	case err != nil:
		return gatewayLock{}, fmt.Errorf("look for a gateway: %w", err)
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxLock))
	if err != nil {
		return gatewayLock{}, fmt.Errorf("look for a gateway: %w", err)
	}
	return parseGatewayLock(raw), nil
}

func parseGatewayLock(raw []byte) gatewayLock {
	l := gatewayLock{lockFile: parseLock(raw)}
	var fields struct {
		Config string          `json:"configPath"`
		Port   json.RawMessage `json:"port"`
		Start  json.RawMessage `json:"startTime"`
	}
	if json.Unmarshal(raw, &fields) != nil {
		return gatewayLock{}
	}
	l.config, l.start = fields.Config, uint64(count(fields.Start))
	if port := count(fields.Port); port < 1<<16 {
		l.port = int(port)
	}
	return l
}

// alive reports whether there is a lock and its gateway runs.
func (l gatewayLock) alive() bool { return l.pid != 0 && l.lockFile.alive() }

// served reports whether a running gateway is this store's: by the state that
// it has open, or, where that cannot be seen, by where its configuration lies.
func (s *Store) served(l gatewayLock) bool {
	if open, known := stateOpen(l.pid, s.stateFile()); known {
		return open
	}
	mine, err := os.Stat(s.root)
	if err != nil {
		return false
	}
	its, err := os.Stat(filepath.Dir(l.config))
	return err == nil && os.SameFile(mine, its)
}
