package codex

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/directory"
)

// List implements [session.Store]: the threads of sessions/ and then those of
// archived_sessions/, in the order of their names, which begin with a time. Of
// every rollout the first record is read. Every thread is primary: Codex goes
// on with whichever it is told to.
func (s *Store) List(ctx context.Context) (session.Listing, error) {
	top, err := directory.Open(s.root)
	if err != nil {
		return session.Listing{}, fmt.Errorf("open store: %w", err)
	}
	defer top.Close()
	l := &lister{store: s, top: top, now: time.Now()}
	for _, area := range l.areas() {
		if err := l.area(ctx, area); err != nil {
			return session.Listing{}, err
		}
	}
	for _, ref := range l.listing.Refs {
		if !slices.Contains(l.listing.Agents, ref.Agent) {
			l.listing.Agents = append(l.listing.Agents, ref.Agent)
		}
	}
	return l.listing, nil
}

// lister collects the threads of one store.
type lister struct {
	store   *Store
	top     *directory.Directory
	now     time.Time
	listing session.Listing
}

// areas are the directories that hold rollouts; "." for a directory that is
// not a Codex home.
func (l *lister) areas() (names []string) {
	for _, name := range []string{sessionsName, archivedName} {
		if info, err := l.top.Root.Stat(name); err == nil && info.IsDir() {
			names = append(names, name)
		}
	}
	if names == nil {
		return []string{"."}
	}
	return names
}

func (l *lister) notice(path, format string, args ...any) {
	l.listing.Notices = append(l.listing.Notices, session.Notice{Path: path, Message: fmt.Sprintf(format, args...)})
}

// area lists the rollouts of one directory and those below it. Links are not
// followed.
func (l *lister) area(ctx context.Context, area string) error {
	return fs.WalkDir(l.top.Root.FS(), area, func(name string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		below := strings.Count(name, "/")
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // gone since its directory was read
		case err != nil:
			l.notice(l.top.At(filepath.FromSlash(name)), "skipped: %v", err)
			return fs.SkipDir
		case !entry.IsDir():
			l.file(area, name)
		case name != area && (below >= deepest || strings.HasPrefix(entry.Name(), ".")):
			return fs.SkipDir
		}
		return nil
	})
}

// file lists a file, if it is a rollout.
func (l *lister) file(area, name string) {
	at := l.top.At(filepath.FromSlash(name))
	id, ok := threadOf(path.Base(name))
	if !ok {
		if rolloutDocument().MatchString(path.Base(name)) {
			l.notice(at, "skipped: a session of the first Codex, one JSON document; this tool reads rollouts")
		}
		return
	}
	if plain, cold := strings.CutSuffix(name, coldEnd); cold {
		if _, err := l.top.Root.Lstat(filepath.FromSlash(plain + plainEnd)); err == nil {
			return // Codex reads the plain one
		}
	}
	ref, err := l.thread(filepath.FromSlash(name), id)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		l.notice(at, "skipped: %v", err)
		return
	}
	if area == archivedName {
		ref.Kind = session.KindArchived
	}
	l.listing.Refs = append(l.listing.Refs, ref)
}

// thread makes the ref of one rollout. Its header names it; a rollout without
// one goes by its file name.
func (l *lister) thread(name, id string) (session.Ref, error) {
	found, err := l.top.Root.Lstat(name)
	if err != nil {
		return session.Ref{}, err
	}
	if reason := directory.Unusable(found); reason != "" {
		return session.Ref{}, errors.New(reason)
	}
	log, info, err := l.top.OpenLog(name)
	if err != nil {
		return session.Ref{}, err
	}
	defer log.Close()
	h, err := readHeader(log, info.Size())
	if err != nil {
		return session.Ref{}, err
	}
	if h.id == "" {
		h.id = id
	}
	ref := session.Ref{
		Runtime: session.RuntimeCodex, Agent: agentOf(h.cwd), ID: session.CleanID(h.id), Store: l.store.root,
		Path: l.top.At(name), Kind: session.KindLive, Primary: true, Bytes: info.Size(), ModTime: info.ModTime(),
	}
	directory.State(&ref, info, l.now)
	if lock := l.store.lockOf(ref.ID); lock != "" {
		ref.State, ref.Reason = session.StateBusy, heldBy(lock)
	}
	return ref, nil
}
