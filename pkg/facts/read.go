package facts

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/sessctl/sessctl/pkg/session"
)

// Scanner reads a log: a [session.Store].
type Scanner interface {
	Scan(ctx context.Context, r io.Reader, o session.ScanOptions, emit func(*session.Message) error) (session.Scan, error)
}

// Read returns the last most messages of a log (all for 0) and what the scan of
// it saw. open is called twice if the log has forks: only the active branch is
// read. An error that wraps [session.ErrUnknownFormat] is returned for a log of
// another format.
func Read(ctx context.Context, scanner Scanner, most int, open func() (io.ReadCloser, error)) (*Window, session.Scan, error) {
	w, scan, err := readPass(ctx, scanner, session.ScanOptions{}, NewWindow(most), open)
	if err == nil && scan.Tree != nil && scan.Tree.Forked() {
		w, scan, err = readPass(ctx, scanner, session.ScanOptions{Tree: scan.Tree}, NewWindow(most), open)
	}
	if err != nil {
		return nil, scan, fmt.Errorf("read the log: %w", err)
	}
	return w, scan, nil
}

func readPass(ctx context.Context, scanner Scanner, o session.ScanOptions, w *Window, open func() (io.ReadCloser, error)) (*Window, session.Scan, error) {
	log, err := open()
	if err != nil {
		return w, session.Scan{}, err
	}
	scan, err := scanner.Scan(ctx, log, o, w.Add)
	return w, scan, errors.Join(err, log.Close())
}
