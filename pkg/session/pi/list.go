package pi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
	"github.com/sessctl/sessctl/pkg/session/piformat"
)

// List implements [session.Store]. The sessions of a directory come together,
// in the order of their file names, which begin with a time; what could not be
// used is a notice. Of every log the header is read.
func (s *Store) List(ctx context.Context) (session.Listing, error) {
	top, err := s.Top()
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
	return l.Listing, nil
}

func (s *Store) lister(top *logfile.Dir) *lister {
	return &lister{Lister: s.NewLister(), store: s, top: top, looker: newLooker(s.tailCache)}
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
		l.Listing = session.Listing{}
		l.directory(ctx, names[i])
		parts[i] = l.Listing
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
	*logfile.Lister
	store  *Store
	top    *logfile.Dir
	agent  string // of the directory that is being listed
	looker *looker
}

// directory lists one directory, if that is what the name is and not a file of
// the sessions directory itself.
func (l *lister) directory(ctx context.Context, name string) {
	if strings.HasPrefix(name, ".") && name != "." {
		return
	}
	d := l.Below(l.top, name)
	if d == nil {
		return
	}
	defer d.Close()
	found, err := d.Names()
	if err != nil {
		l.Skip(d.Path, err)
		return
	}
	l.agent = agentOf(d)
	if l.logs(ctx, d, found); name != "." || len(l.Listing.Refs) > 0 {
		l.Listing.Agents = append(l.Listing.Agents, l.agent)
	}
}

// logs lists the logs of a directory and marks the one that pi would continue.
func (l *lister) logs(ctx context.Context, d *logfile.Dir, found []string) {
	primary, first := -1, len(l.Listing.Refs)
	l.Listing.Refs = growing(l.Listing.Refs, len(found))
	for _, name := range found {
		n, ok, odd := parseName(name)
		if odd {
			l.Skip(d.At(name), errors.New("its name has characters that are not safe in a path"))
		}
		if !ok {
			continue
		}
		ref, continued, ok := l.log(ctx, d, n)
		if !ok {
			continue
		}
		if i := len(l.Listing.Refs); continued && (primary < 0 || !ref.ModTime.Before(l.Listing.Refs[primary].ModTime)) {
			primary = i
		}
		l.Listing.Refs = append(l.Listing.Refs, ref)
	}
	if primary >= 0 {
		l.Listing.Refs[primary].Primary = true
	}
	l.markHeld(l.Listing.Refs[first:])
}

// markHeld shows sessions as busy that a pi which runs may have in its memory.
func (l *lister) markHeld(refs []session.Ref) {
	for i := range refs {
		ref := &refs[i]
		if ref.Kind != session.KindLive || ref.State != session.StateIdle {
			continue
		}
		if r, ok := l.store.mayHold(*ref, ref.ModTime); ok {
			ref.State, ref.Reason = session.StateBusy, r.reason()
		}
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
		ref, err = l.RefOf(path, info)
	}
	var h session.Head
	if err == nil {
		h, err = l.looker.head(ctx, d, listedLog{n, path, info})
	}
	if err != nil {
		l.Skip(path, err)
		return session.Ref{}, false, false
	}
	ref.Agent, ref.ID = l.agent, n.id()
	if h.Found && h.ID != ref.ID {
		ref.ID = session.CleanID(h.ID)
	}
	l.classify(&ref, n, h)
	return ref, h.Continued && !n.rotated, true
}

// classify sets kind and state.
func (l *lister) classify(ref *session.Ref, n logName, h session.Head) {
	if n.rotated {
		logfile.MarkKept(ref, session.ReasonRotated.Text())
		return
	}
	if h.Found && h.Version > maxVersion {
		ref.State, ref.Reason = session.StateUnsupported, newer(h.Version)
	}
	if h.Found {
		return
	}
	ref.Kind, ref.Fragment = session.KindOrphan, h.Fragment
	switch {
	case h.Fragment:
		l.Notice(ref.Path, "no session header: a pi that ran on made it after the log was moved away; pi never continues it and overwrites it when it is opened by name; sessctl compact carries it into the session that followed")
	case ref.Bytes > 0:
		l.Notice(ref.Path, "no session header: a fragment, or no session; pi never continues it and overwrites it when it is opened by name")
	}
}

func newer(version int) string {
	return session.ReasonNewer.Text(version, maxVersion)
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
		Fragment:  !found && piformat.IsEntry(l.start[:n]),
	}, nil
}
