package cline

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// readTail reads a session as a whole. What its compaction put in the place of the
// first messages counts in their place, if it is one of this session as it is.
func (s *Store) readTail(ctx context.Context, log *os.File, info os.FileInfo, ref session.Ref) (session.Tail, error) {
	d, name, err := s.Directory(ref.Path)
	if err != nil {
		return session.Tail{}, err
	}
	defer d.Close()
	whole := func() io.Reader { return io.NewSectionReader(log, 0, info.Size()) }
	scan, release, err := s.contextOf(ctx, d, name, whole())
	if err != nil {
		return session.Tail{}, err
	}
	defer release()
	tail, err := session.TailScan(ctx, whole(), info.ModTime(), scan)
	if err == nil && !tail.Answered && stopped(d, name) {
		tail.Answered = true // what was asked last was broken off
	}
	return tail, err
}

// scan is what reads the document of a session.
type scan func(context.Context, io.Reader, session.ScanOptions, func(*session.Message) error) (session.Scan, error)

// contextOf returns what reads a session as Cline sends it, and what gives its
// compaction back. log is the whole session.
func (s *Store) contextOf(ctx context.Context, d *logfile.Dir, name string, log io.Reader) (read scan, release func(), err error) {
	instead, compaction, err := compactionOf(d, name)
	if err != nil || compaction == nil {
		return s.Scan, func() {}, err
	}
	release = func() { _ = compaction.Close() } // it was only read
	stands, err := instead.stands(ctx, log)
	if err != nil && !errors.Is(err, errUnusable) {
		release()
		return nil, nil, err
	}
	if stands {
		return instead.scan(compaction), release, nil
	}
	return s.Scan, release, nil
}

// ScanContext implements [session.ContextScanner]: what the compaction beside a
// session put in the place of its first messages comes in their place.
func (s *Store) ScanContext(ctx context.Context, ref session.Ref, log io.Reader, o session.ScanOptions, emit func(*session.Message) error) (session.Scan, error) {
	d, err := logfile.Open(filepath.Dir(ref.Path))
	if err != nil {
		return session.Scan{}, err
	}
	defer d.Close()
	name := filepath.Base(ref.Path)
	if !strings.HasSuffix(name, messagesEnd) {
		return s.Scan(ctx, log, o, emit)
	}
	whole, info, err := d.OpenLog(name)
	if err != nil {
		return session.Scan{}, err
	}
	defer whole.Close()
	read, release, err := s.contextOf(ctx, d, name, io.NewSectionReader(whole, 0, info.Size()))
	if err != nil {
		return session.Scan{}, err
	}
	defer release()
	return read(ctx, log, o, emit)
}

// compactionOf opens the compaction beside a session; nil if there is none that
// Cline would take for one of it.
func compactionOf(d *logfile.Dir, name string) (head compactionHead, file *os.File, err error) {
	id := strings.TrimSuffix(name, messagesEnd)
	file, _, err = d.OpenLog(id + compactionEnd)
	if errors.Is(err, fs.ErrNotExist) {
		return head, nil, nil
	}
	if err != nil {
		return head, nil, err
	}
	if json.NewDecoder(io.LimitReader(file, maxCompaction)).Decode(&head) != nil || !head.valid(id) {
		return head, nil, file.Close()
	}
	head.Messages = nil
	_, err = file.Seek(0, io.SeekStart)
	return head, file, err
}

// maxCompaction bounds what is read of a compaction, in bytes.
const maxCompaction = 256 << 20

// scan returns a scan of a session whose first messages are those of its
// compaction. What model calls counted before it says nothing of the context any
// more.
func (c compactionHead) scan(compaction io.Reader) scan {
	return func(ctx context.Context, log io.Reader, o session.ScanOptions, emit func(*session.Message) error) (session.Scan, error) {
		_, err := newScanner(o).run(ctx, compaction, func(m *session.Message) error {
			m.HasUsage = false
			return emit(m)
		})
		if errors.Is(err, session.ErrUnknownFormat) { // of a compaction that says nothing
			return newScanner(o).run(ctx, log, emit)
		}
		if err != nil {
			return session.Scan{}, err
		}
		s := newScanner(o)
		return s.run(ctx, log, func(m *session.Message) error {
			if s.elements <= *c.Count {
				return nil
			}
			return emit(m)
		})
	}
}

// manifest is what sessctl needs of a session's own file.
type manifest struct {
	Directory string `json:"cwd"`
	Status    string `json:"status"`
}

func manifestOf(d *logfile.Dir, name string) (m manifest) {
	raw, _, err := d.ReadSmall(strings.TrimSuffix(name, messagesEnd) + manifestEnd)
	if err != nil || json.Unmarshal(raw, &m) != nil {
		return manifest{}
	}
	return m
}

// stopped reports whether the manifest says that the session waits for nothing.
func stopped(d *logfile.Dir, name string) bool {
	switch manifestOf(d, name).Status {
	case "completed", "idle", "failed", "cancelled":
		return true
	}
	return false
}
