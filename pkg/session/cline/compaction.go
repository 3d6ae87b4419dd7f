package cline

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// compactionHead is what a compaction says beside its messages: how many messages
// of the session it stands for, and which is the last of them.
type compactionHead struct {
	Count int    `json:"source_message_count"`
	Last  string `json:"source_last_message_key"`
}

// readTail reads a session as a whole. What its compaction put in the place of the
// first messages counts in their place, if it is one of this session as it is.
func (s *Store) readTail(ctx context.Context, log *os.File, info os.FileInfo, ref session.Ref) (session.Tail, error) {
	d, name, err := s.Directory(ref.Path)
	if err != nil {
		return session.Tail{}, err
	}
	defer d.Close()
	whole := func() io.Reader { return io.NewSectionReader(log, 0, info.Size()) }
	scan := s.Scan
	instead, compaction, err := compactionOf(d, name)
	if err != nil {
		return session.Tail{}, err
	}
	if compaction != nil {
		defer compaction.Close()
		if stands, err := instead.stands(ctx, whole()); err != nil {
			return session.Tail{}, err
		} else if stands {
			scan = instead.scan(compaction)
		}
	}
	tail, err := session.TailScan(ctx, whole(), info.ModTime(), scan)
	if err == nil && !tail.Answered && stopped(d, name) {
		tail.Answered = true // what was asked last was broken off
	}
	return tail, err
}

// compactionOf opens the compaction beside a session; nil if there is none that
// can be read.
func compactionOf(d *logfile.Dir, name string) (head compactionHead, file *os.File, err error) {
	file, _, err = d.OpenLog(strings.TrimSuffix(name, messagesEnd) + compactionEnd)
	if errors.Is(err, fs.ErrNotExist) {
		return head, nil, nil
	}
	if err != nil {
		return head, nil, err
	}
	if json.NewDecoder(io.LimitReader(file, maxCompaction)).Decode(&head) != nil || head.Count <= 0 {
		return head, nil, file.Close()
	}
	_, err = file.Seek(0, io.SeekStart)
	return head, file, err
}

// maxCompaction bounds what is read of a compaction, in bytes.
const maxCompaction = 256 << 20

// stands reports whether the message that the compaction names as the last it
// stands for is at that place in the session.
func (c compactionHead) stands(ctx context.Context, log io.Reader) (bool, error) {
	s, last := newScanner(session.ScanOptions{}), ""
	_, err := s.run(ctx, log, func(m *session.Message) error {
		if s.elements == c.Count {
			last = string(m.ID)
		}
		return nil
	})
	id, byID := strings.CutPrefix(c.Last, "id:")
	return s.elements >= c.Count && (!byID || id == last), err
}

// scan returns a scan of a session whose first messages are those of its
// compaction. What model calls counted before it says nothing of the context any
// more.
func (c compactionHead) scan(compaction io.Reader) func(context.Context, io.Reader, session.ScanOptions, func(*session.Message) error) (session.Scan, error) {
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
			if s.elements <= c.Count {
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
