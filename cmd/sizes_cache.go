package cmd

import (
	"context"
	"os"
	"path/filepath"
	"strconv"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/glance"
)

// openGlances opens what `sizes` remembers of logs. Without a cache it is
// remembered for this run only.
func (a *app) openGlances(cached bool) {
	o := glance.Options{Now: a.now}
	if path := a.cacheFile(); cached && a.ours(path) {
		o.File, o.Stamp = path, programStamp()
	}
	a.glances = glance.Open(o)
}

// saveGlances keeps what was seen for the next run. A cache that cannot be
// written costs that run time and nothing else.
func (a *app) saveGlances() { _ = a.glances.Save() }

func (a *app) cacheFile() string {
	return filepath.Join(a.xdg("XDG_CACHE_HOME", ".cache"), "sessctl", "sizes")
}

// ours reports whether a file may be made at path: root leaves none in another
// user's directory.
func (a *app) ours(path string) bool {
	_, info, err := nearest(filepath.Dir(path))
	if err != nil {
		return false
	}
	uid, known := durable.Owner(info)
	return !known || uid == os.Geteuid()
}

// programStamp tells builds of the program apart: another one may read a log
// in another way.
func programStamp() string {
	stamp := programVersion()
	path, err := os.Executable()
	if err != nil {
		return stamp
	}
	info, err := os.Stat(path)
	if err != nil {
		return stamp
	}
	return stamp + " " + strconv.FormatInt(info.Size(), 10) + " " + strconv.FormatInt(info.ModTime().UnixNano(), 10)
}

// glancing is a store that remembers what it sees, where it can. Where nothing
// is known yet it lists with several workers; to look again at logs that are
// known is so little work that to share it would cost more.
func (a *app) glancing(s session.Store) session.Store {
	if w, ok := s.(interface {
		WithWorkers(int) session.Store
	}); ok && a.glances != nil && a.glances.Empty() {
		s = w.WithWorkers(a.workers())
	}
	if g, ok := s.(interface {
		WithGlances(session.Glances) session.Store
	}); ok && a.glances != nil {
		return g.WithGlances(a.glances)
	}
	return s
}

// tail is what the end of a log says, from memory if nothing has changed.
func (a *app) tail(ctx context.Context, s *found) (session.Tail, error) {
	if s.Kind == session.KindStored {
		return s.store.Tail(ctx, s.Ref)
	}
	if known, ok := a.glances.Seen(s.Path); ok {
		return known.Tail, nil
	}
	before, err := os.Lstat(s.Path)
	if err != nil || !before.Mode().IsRegular() {
		return s.store.Tail(ctx, s.Ref)
	}
	if known, ok := a.glances.Glance(s.Path, before); ok {
		return known.Tail, nil
	}
	tail, err := s.store.Tail(ctx, s.Ref)
	if err == nil {
		a.keep(s.Path, before, tail)
	}
	return tail, err
}

// keep remembers what was read of a log that was before what info says, if it
// still is that.
func (a *app) keep(path string, info os.FileInfo, tail session.Tail) {
	log, err := durable.OpenRegular(path)
	if err != nil {
		return
	}
	defer log.Close()
	after, err := log.Stat()
	if err == nil && durable.Identify(after) == durable.Identify(info) && after.Size() == info.Size() && after.ModTime().Equal(info.ModTime()) {
		a.glances.Keep(path, after, log, session.Glance{Tail: tail})
	}
}
