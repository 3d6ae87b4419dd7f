package pi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/piformat"
)

// WithGlances returns the same store, which reads the end of every log while
// it lists it, and asks glances first: a log is opened once, and one that has
// not changed not at all. [Store.List] leaves what it saw in glances.
func (s *Store) WithGlances(glances session.Glances) session.Store {
	other := *s
	other.glances = glances
	return &other
}

// looker reads the beginnings of logs and, for glances, their ends.
type looker struct {
	glances session.Glances // nil without
	reader  piformat.Reader
	start   []byte
}

func newLooker(glances session.Glances) *looker {
	return &looker{glances: glances, start: make([]byte, piformat.HeaderRoom)}
}

// listedLog is a log of a directory, and what its name led to.
type listedLog struct {
	logName
	path string
	info os.FileInfo
}

// head returns the head of one log.
func (l *looker) head(ctx context.Context, d *directory, n listedLog) (session.Head, error) {
	if l.glances != nil {
		if known, ok := l.glances.Glance(n.path, n.info); ok {
			return known.Head, nil
		}
	}
	f, err := durable.OpenListedIn(d.root, n.name, n.info)
	if err != nil {
		return session.Head{}, err
	}
	defer f.Close()
	opened, err := f.Stat()
	if err != nil {
		return session.Head{}, err
	}
	h, err := l.read(f, opened.Size())
	if err == nil && l.glances != nil && !n.rotated {
		// An error is for the one who asks for the end: he will meet it again.
		if tail, err := l.reader.Tail(ctx, f, opened.Size(), opened.ModTime()); err == nil {
			l.glances.Keep(n.path, opened, f, session.Glance{Head: h, Tail: tail})
		}
	}
	return h, err
}

// readHead returns the head of one log.
func (d *directory) readHead(name string) (session.Head, error) {
	f, err := d.open(name)
	if err != nil {
		return session.Head{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return session.Head{}, err
	}
	return newLooker(nil).read(f, info.Size())
}

func (l *looker) read(log io.ReaderAt, size int64) (session.Head, error) {
	// looked is how much pi reads to see whether a file is a session: a header
	// on the first line, within the first 512 bytes, is one that `pi -c`
	// continues (research/formats.md section 3).
	const looked = 512
	n, err := log.ReadAt(l.start, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return session.Head{}, err
	}
	header, found, err := l.reader.Header(l.start[:n], log, size)
	if err != nil {
		return session.Head{}, err
	}
	first := l.start[:min(n, looked)]
	return session.Head{
		ID: header.ID, Version: header.Version, Time: header.Time, Found: found,
		Continued: found && header.Line == 1 && (n < looked || bytes.IndexByte(first, '\n') >= 0),
	}, nil
}
