package cline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
	"github.com/sessctl/sessctl/pkg/session/process"
	"github.com/sessctl/sessctl/pkg/session/rowlog"
	"github.com/sessctl/sessctl/pkg/session/sqlitefile"
)

// How a hub is started (docs/dev/formats.md, "cline"), below the directory of its locks:
// the program that starts it makes the directory <channel>.json.lock with its
// owner.json, the hub takes <channel>.json.instance.lock before it opens a database,
// and writes <channel>.json, with <channel>.json.mutation.lock around that, when it
// listens.
const (
	hubFileEnd   = ".json"
	hubLockEnd   = ".instance.lock"
	startLockEnd = ".lock"
	ownerName    = "owner.json"
)

const adviseHubStop = "stop it with `cline hub stop`"

// hubDirs are the directories with the locks of hubs.
func (s *Store) hubDirs() []string {
	locks := filepath.Join(filepath.Dir(s.Base), "locks", "hub")
	return []string{locks, filepath.Join(locks, "owners")}
}

// hubsStopped returns a [*session.BusyError] if a hub says that it runs, or a program
// that it is starting one.
func (s *Store) hubsStopped() error {
	return s.eachHubFile(func(d *logfile.Dir, name string) error {
		switch {
		case filepath.Ext(name) == hubFileEnd:
			return hubRuns(d, name)
		case strings.HasSuffix(name, startLockEnd) && !strings.HasSuffix(name, hubLockEnd):
			return hubStarts(d, name)
		}
		return nil
	})
}

// eachHubFile calls look with the names in the directories of locks.
func (s *Store) eachHubFile(look func(*logfile.Dir, string) error) error {
	for _, path := range s.hubDirs() {
		err := eachName(path, look)
		var busy *session.BusyError
		if errors.As(err, &busy) {
			return err
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("look whether a hub runs: %w", err)
		}
	}
	return nil
}

func eachName(path string, look func(*logfile.Dir, string) error) error {
	d, err := logfile.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	names, err := d.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := look(d, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// hubRuns looks at what a hub has written of itself.
func hubRuns(d *logfile.Dir, name string) error {
	raw, _, err := d.ReadSmall(name)
	var hub struct {
		PID     int       `json:"pid"`
		Started time.Time `json:"startedAt"`
	}
	if errors.Is(err, logfile.ErrNoDirectory) || err == nil && json.Unmarshal(raw, &hub) != nil {
		return nil
	}
	if err == nil && hub.PID > 0 && process.Runs(hub.PID, hub.Started) {
		err = &session.BusyError{Path: d.At(name), Reason: session.ReasonHubRuns.Text(hub.PID, adviseHubStop)}
	}
	return err
}

// hubStarts looks at the directory that a program makes which starts a hub.
func hubStarts(d *logfile.Dir, name string) error {
	lock, err := d.Below(name)
	if errors.Is(err, logfile.ErrNoDirectory) {
		return nil
	}
	if err != nil {
		return err
	}
	defer lock.Close()
	raw, _, err := lock.ReadSmall(ownerName)
	var owner struct {
		PID      int       `json:"pid"`
		Acquired time.Time `json:"acquiredAt"`
	}
	if err == nil && json.Unmarshal(raw, &owner) == nil && owner.PID > 0 && process.Runs(owner.PID, owner.Acquired) {
		err = &session.BusyError{Path: lock.Path, Reason: session.ReasonHubStarts.Text(owner.PID, adviseHubStop)}
	}
	return err
}

// heldHubs are the locks of hubs that were taken in their place.
type heldHubs []io.Closer

// holdHubs takes the locks of all hubs that there were: until they are given back
// none can be started, because it takes its own before it opens a database. A
// [*session.BusyError] is returned if a hub has its lock, also one that has not said
// anywhere yet that it runs.
func (s *Store) holdHubs(ctx context.Context) (held heldHubs, err error) {
	if err := s.hubsStopped(); err != nil {
		return nil, err
	}
	err = s.eachHubFile(func(d *logfile.Dir, name string) error {
		if !strings.HasSuffix(name, hubLockEnd) {
			return nil
		}
		lock := sqlitefile.File{Base: d.Path, Name: name}
		if err := lock.InPlace(); err != nil {
			return err
		}
		w, err := rowlog.HoldLock(ctx, lock)
		if errors.Is(err, session.ErrBusy) {
			return &session.BusyError{Path: lock.Path(), Reason: session.ReasonHubLocked.Text(adviseHubStop)}
		}
		if err == nil {
			held = append(held, w)
		}
		return err
	})
	if err != nil {
		return nil, errors.Join(err, held.close())
	}
	return held, nil
}

func (h heldHubs) close() (err error) {
	for _, w := range h {
		err = errors.Join(err, w.Close())
	}
	return err
}
