package cmd

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/session"
)

// factFile is the session in a file: one of a store, one of the archive, or
// one that is nobody's. The last has no agent, unless --agent names one.
func (a *app) factFile(ctx context.Context, o factsOptions) ([]found, inventory, error) {
	file, err := a.sessionFile(o.File)
	if err != nil {
		return nil, inventory{}, err
	}
	all, _, err := a.listStores(ctx)
	if err == nil {
		if i := slices.IndexFunc(all.sessions, func(s found) bool { return s.Path == file.Path }); i >= 0 {
			return all.sessions[i : i+1], all, nil
		}
	}
	entries, err := a.archivedAt(ctx, file.Path)
	if err != nil {
		return nil, all, err
	}
	for _, e := range entries {
		file.Runtime, file.Agent, file.ID, file.Key, file.archive = e.Runtime, e.Agent, e.Session, e.Key, e.ID
		return []found{file}, all, nil
	}
	file.Kind, file.Agent = session.KindOrphan, o.Agent
	if o.Agent != "" {
		file.ID = session.CleanID(strings.TrimSuffix(filepath.Base(file.Path), filepath.Ext(file.Path)))
		return []found{file}, all, nil
	}
	a.notice(note{Path: file.Path, Message: "nothing is stored: it is not known whose session this is", Hint: "--agent NAME stores the facts as those of an agent"})
	return []found{file}, all, nil
}

// factArchives are the newest archives of the sessions that are meant.
func (a *app) factArchives(ctx context.Context, o factsOptions) ([]found, inventory, error) {
	all, _, err := a.listStores(ctx)
	if f := (*failure)(nil); err != nil && !(errors.As(err, &f) && f.code == "no_store" && len(a.global.Stores) == 0) {
		return nil, all, err
	}
	store, err := a.openArchive()
	if err != nil {
		return nil, all, err
	}
	entries, err := store.List(ctx, archive.Filter{})
	if err != nil {
		return nil, all, err
	}
	var targets []found
	seen := map[memory.Source]bool{}
	for _, e := range slices.Backward(entries) {
		source := memory.Source{Runtime: e.Runtime, Agent: e.Agent, Session: e.Session}
		reader := a.readerOf(e.Runtime)
		meant := (o.Agent == "" || e.Agent == o.Agent) && (o.Session == "" || e.Session == o.Session || e.Key == o.Session) && (a.global.Runtime == "" || e.Runtime == a.global.Runtime)
		if seen[source] || !meant || reader == nil || e.Kind != "" && !shown(session.Kind(e.Kind)) {
			continue
		}
		seen[source] = true
		ref := session.Ref{Runtime: e.Runtime, Agent: e.Agent, ID: e.Session, Key: e.Key, Path: e.Path, Kind: session.KindOrphan, Bytes: e.StoredBytes, ModTime: e.CreatedAt}
		targets = append(targets, found{Ref: ref, store: reader, archive: e.ID})
	}
	slices.Reverse(targets)
	return targets, all, nil
}

// openSession opens a log, or the archive of one: that is checked as it is read.
func (a *app) openSession(ctx context.Context, t found) (io.ReadCloser, error) {
	if t.archive == "" {
		return openFound(ctx, t)
	}
	store, err := a.openArchive()
	if err != nil {
		return nil, err
	}
	e, err := store.Get(ctx, t.archive)
	if err != nil {
		return nil, err
	}
	return store.OpenEntry(ctx, e)
}

// archivedAt finds the archives whose copy lies at a path.
func (a *app) archivedAt(ctx context.Context, path string) ([]archive.Entry, error) {
	store, err := a.openArchive()
	if err != nil {
		return nil, err
	}
	entries, err := store.List(ctx, archive.Filter{})
	return slices.DeleteFunc(entries, func(e archive.Entry) bool { return e.Path != path }), err
}
