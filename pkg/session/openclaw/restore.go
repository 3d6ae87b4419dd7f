package openclaw

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// Place implements [session.Restorer]. Every name of the runtime's sessions
// directory that is a log, open or closed, can be put back; an open one that no
// entry of the index means is an orphan. Beside a database none can.
func (s *Store) Place(ctx context.Context, path string, now time.Time) (session.Place, error) {
	n, agent, err := s.placeName(path)
	if err == nil {
		err = s.Untouchable(path)
	}
	if err != nil {
		return session.Place{}, err
	}
	p := session.Place{Path: path, Orphan: n.open(), Ref: session.Ref{
		Runtime: session.RuntimeOpenClaw, Agent: agent, ID: n.id, Store: s.root, Path: path, Kind: n.kind,
	}}
	d, err := s.openDirectory(agent)
	if errors.Is(err, fs.ErrNotExist) {
		p.Note = "the agent has no sessions.json: the runtime does not know this session"
		p.Kept, p.SecondKept = keptNames(path, n, now)
		return p, nil
	}
	if err != nil {
		return p, fmt.Errorf("open the directory of %s: %w", path, err)
	}
	defer d.Close()
	if err := d.InPlace(); err != nil {
		return p, err
	}
	if p.In, err = d.Root.Stat("."); err != nil {
		return p, err
	}
	v, err := s.lookAgain(ctx, d)
	if err != nil {
		return p, err
	}
	return p, v.place(&p, n, now)
}

// placeName reads the path of a log that is to be put back.
func (at *stateDir) placeName(path string) (n logName, agent string, err error) {
	if below, err := filepath.Rel(at.root, path); err != nil || !filepath.IsLocal(below) {
		return n, "", fmt.Errorf("%s: %w", path, session.ErrElsewhere)
	}
	if database, _, ok := cutLast(path, storedMark); ok && filepath.Base(database) == databaseName {
		return n, "", logfile.Unsupported(path, session.ReasonGatewayDatabase.Text())
	}
	agent, name, err := at.split(path)
	if err != nil {
		return n, "", logfile.Unsupported(path, session.ReasonNoPlace.Text())
	}
	n, v := parseName(name)
	if v != isLog {
		return n, "", logfile.Unsupported(path, session.ReasonNoName.Text())
	}
	return n, agent, nil
}

// Untouchable returns an error that wraps [session.ErrUnsupported] for a path
// in the sessions directory of an agent whose sessions are, or may be, in a
// database: nothing there is taken away, and nothing is put there. One log too
// many keeps the runtime's own doctor from finishing, and with it the update.
func (s *Store) Untouchable(path string) error {
	if _, _, imported := s.splitImported(path); imported {
		return logfile.Unsupported(path, session.ReasonOnlyCopy.Text())
	}
	agent, _, err := s.split(path)
	if err != nil {
		return nil // nothing of a session
	}
	root, err := s.pin.OpenRoot(s.root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open store: %w", err)
	}
	defer root.Close()
	db, unknown, err := s.era(root, agent)
	switch {
	case err != nil:
		return logfile.Unsupported(path, unknown)
	case db != nil:
		return logfile.Unsupported(path, session.ReasonBesideDatabase.Text(session.ReasonGatewayDatabase.Text()))
	}
	return nil
}

// keptNames are two names for the log that is at the place now. The second is
// needed only where the system cannot exchange two files.
func keptNames(path string, n logName, now time.Time) (aside, spare string) {
	now = now.UTC().Truncate(time.Millisecond)
	base := filepath.Join(filepath.Dir(path), n.live) + ".reset."
	return base + now.Format(stampForm), base + now.Add(time.Second).Format(stampForm)
}

// place completes what the directory tells.
func (v *view) place(p *session.Place, n logName, now time.Time) (err error) {
	now = now.UTC().Truncate(time.Millisecond)
	live := n
	live.name = n.live
	if p.Kept, err = v.freeName(live, now); err != nil {
		return err
	}
	if p.SecondKept, err = v.freeName(live, now.Add(time.Second)); err != nil {
		return err
	}
	if err := v.whatIsThere(p, n); err != nil {
		return err
	}
	v.placeInIndex(p, n)
	return nil
}

// whatIsThere looks at the file at the place and at its neighbours.
func (v *view) whatIsThere(p *session.Place, n logName) error {
	info, err := v.Root.Lstat(n.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p.Like = v.neighbour()
		return nil
	case err != nil:
		return fmt.Errorf("look at %s: %w", p.Path, err)
	}
	if reason := logfile.Unusable(info); reason != "" {
		return logfile.Unsupported(p.Path, reason)
	}
	p.There, p.Like = true, info
	p.Ref.Bytes, p.Ref.ModTime = info.Size(), info.ModTime()
	return nil
}

// neighbour is the log that was changed last, nil if there is none.
func (v *view) neighbour() (last os.FileInfo) {
	for name := range v.all.byName {
		info, err := v.Root.Lstat(name)
		if err != nil || logfile.Unusable(info) != "" {
			continue
		}
		if last == nil || info.ModTime().After(last.ModTime()) || info.ModTime().Equal(last.ModTime()) && info.Name() > last.Name() {
			last = info
		}
	}
	return last
}

// placeInIndex finds out whether an entry of the index means the log, or would
// if it were there.
func (v *view) placeInIndex(p *session.Place, n logName) {
	switch {
	case v.index == nil:
		p.Note = "sessions.json cannot be read, so it is not known whether the runtime uses this session"
		return
	case !n.open():
		return
	}
	owners := v.owners[n.name]
	if !p.There {
		names := []string{n.name}
		for name := range v.all.byName {
			names = append(names, name)
		}
		owners = ownersOf(v.index, sortLogs(names), v.agent)[n.name]
	}
	if len(owners) == 0 {
		p.Ref.Kind = session.KindOrphan
		p.Note = "the runtime's index (sessions.json) does not name this log: the runtime will not continue it"
		return
	}
	p.Orphan, p.Ref.Key = false, owners[0].key
	if i := slices.IndexFunc(owners, func(e *entry) bool { return e == v.main }); i >= 0 {
		p.Ref.Key, p.Ref.Primary = owners[i].key, true
	}
}

// Unused implements [session.Restorer].
func (s *Store) Unused(ctx context.Context, path string, now time.Time, quiet time.Duration) error {
	d, name, err := s.directoryOf(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.locked(ctx, name, now); err != nil {
		return err
	}
	if err := s.unserved(path); err != nil {
		return err
	}
	info, err := d.Root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at log: %w", err)
	}
	return session.CheckQuiet(path, info, now, quiet)
}
