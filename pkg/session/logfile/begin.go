package logfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// Begin implements [session.Beginner]: the log is made whole under another name and
// linked into its place, with mode 0600. What a killed
// run left in the directory is removed: the caller holds the lock of the data directory.
func (l *Logs) Begin(_ context.Context, b session.Begun) (err error) {
	below, err := filepath.Rel(l.Base, b.Path)
	if err != nil || !filepath.IsLocal(below) {
		return fmt.Errorf("begin %s: %w", b.Path, session.ErrElsewhere)
	}
	if err := durable.MakeDir(l.Base, 0o700); err != nil {
		return fmt.Errorf("begin a session: %w", err)
	}
	top, err := l.Top()
	if err != nil {
		return fmt.Errorf("begin a session: %w", err)
	}
	defer top.Close()
	dir := filepath.Dir(below)
	if err := durable.MakeDirIn(top.Root, dir, 0o700); err != nil {
		return fmt.Errorf("begin a session: %w", err)
	}
	in, err := top.Root.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("begin a session: %w", err)
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	if err := durable.SweepIn(in, 0); err != nil { // what a killed run left; the caller has the lock
		return fmt.Errorf("begin a session: %w", err)
	}
	write := func(w io.Writer) error { _, err := w.Write(b.Log); return err }
	if err := durable.CreateCheckedIn(in, filepath.Base(below), nil, write, nil); err != nil {
		return fmt.Errorf("begin %s: %w", b.Path, err)
	}
	return nil
}
