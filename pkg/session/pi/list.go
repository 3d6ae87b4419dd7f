package pi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
	"github.com/sessctl/sessctl/pkg/session/piformat"
)

// List implements [session.Store]. The sessions of a directory come together,
// in the order of their file names, which begin with a time; what could not be
// used is a notice. Of every log the header is read.
func (s *Store) List(ctx context.Context) (session.Listing, error) {
	top, err := logfile.Open(s.base)
	if err != nil {
		return session.Listing{}, fmt.Errorf("open store: %w", err)
	}
	defer top.Close()
	found, err := top.Names()
	if err != nil {
		return session.Listing{}, err
	}
	found = append([]string{"."}, found...)
	if s.workers > 1 {
		return s.listSpread(ctx, top, found)
	}
	l := s.lister(top)
	for _, name := range found {
		if err := ctx.Err(); err != nil {
			return session.Listing{}, err
		}
		l.directory(ctx, name)
	}
	return l.listing, nil
}

func (s *Store) lister(top *logfile.Dir) *lister {
	return &lister{store: s, top: top, now: time.Now(), looker: newLooker(s.tailCache)}
}

// listSpread lists several directories at a time, and puts what it found
// together in their order.
func (s *Store) listSpread(ctx context.Context, top *logfile.Dir, names []string) (whole session.Listing, err error) {
	listers := make([]*lister, s.workers)
	for worker := range listers {
		listers[worker] = s.lister(top)
	}
	parts := make([]session.Listing, len(names))
	err = session.Spread(ctx, s.workers, len(names), func(worker, i int) {
		l := listers[worker]
		l.listing = session.Listing{}
		l.directory(ctx, names[i])
		parts[i] = l.listing
	})
	if err != nil {
		return session.Listing{}, err
	}
	for _, part := range parts {
		whole.Refs = append(growing(whole.Refs, len(part.Refs)), part.Refs...)
		whole.Agents = append(whole.Agents, part.Agents...)
		whole.Notices = append(whole.Notices, part.Notices...)
	}
	return whole, nil
}

// growing has room for more sessions. They are large: room is doubled.
func growing(refs []session.Ref, more int) []session.Ref {
	if cap(refs)-len(refs) < more {
		return slices.Grow(refs, max(more, len(refs)))
	}
	return refs
}

// lister collects the sessions of one store.
type lister struct {
	store   *Store
	top     *logfile.Dir
	agent   string // of the directory that is being listed
	now     time.Time
	looker  *looker
	listing session.Listing
}

func (l *lister) notice(path, format string, args ...any) {
	l.listing.Notices = append(l.listing.Notices, session.Notice{Path: path, Message: fmt.Sprintf(format, args...)})
}

// directory lists one directory, if that is what the name is.
func (l *lister) directory(ctx context.Context, name string) {
	if strings.HasPrefix(name, ".") && name != "." {
		return
	}
	d, err := l.top.Below(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, logfile.ErrNoDirectory) {
		return // or a file of the sessions directory itself
	}
	if err != nil {
		l.notice(filepath.Join(l.store.base, name), "skipped: %v", err)
		return
	}
	defer d.Close()
	found, err := d.Names()
	if err != nil {
		l.notice(d.Path, "skipped: %v", err)
		return
	}
	if l.agent = agentOf(d); name != "." {
		l.listing.Agents = append(l.listing.Agents, l.agent)
	}
	l.logs(ctx, d, found)
}

// logs lists the logs of a directory and marks the one that pi would continue.
func (l *lister) logs(ctx context.Context, d *logfile.Dir, found []string) {
	primary := -1
	l.listing.Refs = growing(l.listing.Refs, len(found))
	for _, name := range found {
		n, ok, odd := parseName(name)
		if odd {
			l.notice(d.At(name), "skipped: not a name that is safe in a path")
		}
		if !ok {
			continue
		}
		ref, continued, ok := l.log(ctx, d, n)
		if !ok {
			continue
		}
		if i := len(l.listing.Refs); continued && (primary < 0 || !ref.ModTime.Before(l.listing.Refs[primary].ModTime)) {
			primary = i
		}
		l.listing.Refs = append(l.listing.Refs, ref)
	}
	if primary >= 0 {
		l.listing.Refs[primary].Primary = true
	}
}

// log makes the ref of one log. continued says whether `pi -c` would take it.
func (l *lister) log(ctx context.Context, d *logfile.Dir, n logName) (ref session.Ref, continued, ok bool) {
	path := d.At(n.name)
	info, err := d.Stat(n.name)
	if err == nil && info == nil {
		return session.Ref{}, false, false // gone since the directory was read
	}
	if err == nil {
		if reason := logfile.Unusable(info); reason != "" {
			err = errors.New(reason)
		}
	}
	var h session.Head
	if err == nil {
		h, err = l.looker.head(ctx, d, listedLog{n, path, info})
	}
	if err != nil {
		l.notice(path, "skipped: %v", err)
		return session.Ref{}, false, false
	}
	ref = session.Ref{
		Runtime: session.RuntimePi, Agent: l.agent, ID: n.id(), Store: l.store.root,
		Path: path, Kind: session.KindLive, Bytes: info.Size(), ModTime: info.ModTime(),
	}
	if h.Found && h.ID != ref.ID {
		ref.ID = session.CleanID(h.ID)
	}
	l.judge(&ref, n, h, info)
	return ref, h.Continued && !n.rotated, true
}

// judge sets kind and state.
func (l *lister) judge(ref *session.Ref, n logName, h session.Head, info os.FileInfo) {
	ref.State = session.StateIdle
	var busy *session.BusyError
	switch {
	case n.rotated:
		ref.Kind = session.KindReset
		ref.State, ref.Reason = session.StateUnsupported, "a rotated log: it is kept until nobody can write it any more"
		return
	case h.Found && h.Version > maxVersion:
		ref.State, ref.Reason = session.StateUnsupported, newer(h.Version)
	case errors.As(session.CheckQuiet(ref.Path, info, l.now, session.RecentChange), &busy):
		ref.State, ref.Reason = session.StateBusy, busy.Reason
	}
	if h.Found {
		return
	}
	ref.Kind = session.KindOrphan
	if info.Size() > 0 {
		l.notice(ref.Path, "no session header: a fragment, or no session; pi never continues it and overwrites it when it is opened by name")
	}
}

func newer(version int) string {
	return fmt.Sprintf("its format has version %d, this tool knows up to %d", version, maxVersion)
}

// WithTailCache returns the same store, which reads the end of every log while
// it lists it, and asks tailCache first: a log is opened once, and one that has
// not changed not at all. [Store.List] leaves what it saw in tailCache.
func (s *Store) WithTailCache(tailCache session.TailCache) session.Store {
	other := *s
	other.tailCache = tailCache
	return &other
}

// looker reads the beginnings of logs and, for tailCache, their ends.
type looker struct {
	tailCache session.TailCache // nil without
	reader    piformat.Reader
	start     []byte
}

func newLooker(tailCache session.TailCache) *looker {
	return &looker{tailCache: tailCache, start: make([]byte, piformat.HeaderRoom)}
}

// listedLog is a log of a directory, and what its name led to.
type listedLog struct {
	logName
	path string
	info os.FileInfo
}

// head returns the head of one log.
func (l *looker) head(ctx context.Context, d *logfile.Dir, n listedLog) (session.Head, error) {
	if l.tailCache != nil {
		if known, ok := l.tailCache.Find(n.path, n.info); ok {
			return known.Head, nil
		}
	}
	f, err := durable.OpenListedIn(d.Root, n.name, n.info)
	if err != nil {
		return session.Head{}, err
	}
	defer f.Close()
	opened, err := f.Stat()
	if err != nil {
		return session.Head{}, err
	}
	h, err := l.read(f, opened.Size())
	if err == nil && l.tailCache != nil && !n.rotated {
		// An error is for the one who asks for the end: he will meet it again.
		if tail, err := l.reader.Tail(ctx, f, opened.Size(), opened.ModTime()); err == nil {
			l.tailCache.Keep(n.path, opened, f, session.CachedTail{Head: h, Tail: tail})
		}
	}
	return h, err
}

// readHead returns the head of one log.
func readHead(d *logfile.Dir, name string) (session.Head, error) {
	f, info, err := d.OpenLog(name)
	if err != nil {
		return session.Head{}, err
	}
	defer f.Close()
	return newLooker(nil).read(f, info.Size())
}

func (l *looker) read(log io.ReaderAt, size int64) (session.Head, error) {
	// looked is how much pi reads to see whether a file is a session: a header
	// on the first line, within the first 512 bytes, is one that `pi -c` continues.
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
