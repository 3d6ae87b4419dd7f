package pi

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
	"github.com/sessctl/sessctl/pkg/session/piformat"
)

// Succeeded implements [session.Successor]: a log of the same directory that was
// begun after the rotation and has messages is what pi goes on with now.
func (s *Store) Succeeded(ctx context.Context, r session.Rotation) error {
	d, old, err := s.Directory(r.Live)
	if err != nil {
		return err
	}
	defer d.Close()
	found, err := d.Names()
	if err != nil {
		return err
	}
	for _, name := range found {
		n, ok, _ := parseName(name)
		if !ok || n.rotated || name == old {
			continue
		}
		h, err := readHead(d, name)
		if err != nil || !h.Found || !h.Time.After(r.At) {
			continue
		}
		said, err := messages(ctx, d, name)
		if err != nil {
			return err
		}
		if said > 0 {
			return &session.NewerError{Path: d.At(name), Session: session.CleanID(h.ID), Messages: said}
		}
	}
	return nil
}

// messages counts what is said in a log.
func messages(ctx context.Context, d *logfile.Dir, name string) (int, error) {
	f, _, err := d.OpenLog(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return piformat.CountMessages(ctx, f)
}

// Record implements [session.Recorder]. pi keeps no record of what is in a log
// but its modification time: it continues the one that was written last. A log
// that was put back gets a time after those of its neighbours.
func (s *Store) Record(_ context.Context, live string, _ []session.IndexEntry) error {
	d, name, err := s.Directory(live)
	if err != nil {
		return err
	}
	defer d.Close()
	own, err := d.Stat(name)
	if err != nil {
		return err
	}
	if own == nil {
		return logfile.Gone(live)
	}
	last, err := newestBeside(d, name)
	if err != nil || own.ModTime().After(last) {
		return errors.Join(err, durable.SyncDirIn(d.Root))
	}
	if err := durable.TouchIn(d.Root, filepath.Base(live), last.Add(time.Millisecond)); err != nil {
		return err
	}
	return s.Stepped("newest")
}

// newestBeside is when the newest of the other logs was changed.
func newestBeside(d *logfile.Dir, old string) (last time.Time, err error) {
	newest, err := d.Newest(func(name string) bool {
		n, ok, _ := parseName(name)
		return ok && !n.rotated && name != old
	})
	if err != nil || newest == nil {
		return last, err
	}
	return newest.ModTime(), nil
}
