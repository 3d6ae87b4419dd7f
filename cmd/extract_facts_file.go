package cmd

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/archive"
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

// archivedAt finds the archives whose copy lies at a path.
func (a *app) archivedAt(ctx context.Context, path string) ([]archive.Entry, error) {
	store, err := a.openArchive()
	if err != nil {
		return nil, err
	}
	entries, err := store.List(ctx, archive.Filter{})
	return slices.DeleteFunc(entries, func(e archive.Entry) bool { return e.Path != path }), err
}
