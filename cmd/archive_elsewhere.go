package cmd

import (
	"context"
	"errors"
	"slices"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/relocate"
	"github.com/sessctl/sessctl/pkg/session"
)

// restorePath is where the log of an archive goes: where it came from, or, if that
// is in none of the stores that --store names, where it would be in one of these.
// So the archives of another home can be restored here, but only where the user says.
func (a *invocation) restorePath(ctx context.Context, entry archive.Entry) (string, error) {
	if len(a.global.Stores) == 0 {
		return entry.Source, nil
	}
	stores, err := a.openStores()
	if err != nil {
		return "", err
	}
	log := session.Ref{Runtime: entry.Runtime, Agent: entry.Agent, ID: entry.Session}
	for _, path := range append([]string{entry.Source}, a.inOtherHomes(stores, entry)...) {
		log.Path = path
		if _, _, err := compact.FindPlace(ctx, stores, compact.Destination{Log: log}, a.now()); err == nil {
			return path, nil
		} else if ctx.Err() != nil || path == entry.Source && !errors.Is(err, session.ErrElsewhere) {
			return path, ctx.Err() // what is wrong with the place is said when it is used
		}
	}
	return entry.Source, nil
}

// inOtherHomes are the paths that a session of an archive would have in stores of
// its runtime, if these are laid out like the store that it came from.
func (a *settings) inOtherHomes(stores []session.Store, entry archive.Entry) (all []string) {
	for _, s := range stores {
		for _, source := range entry.Sources() {
			path, ok := relocate.Into(s.Root(), source)
			if ok && s.Runtime() == entry.Runtime && !slices.Contains(all, path) {
				all = append(all, path)
			}
		}
	}
	return all
}

// depositsInOtherHomes are the databases of the stores that --store names into
// which rows go that came from databases of other homes.
func (a *settings) depositsInOtherHomes(stores []session.Store, entry archive.Entry) (all []deposit) {
	if len(a.global.Stores) == 0 {
		return nil
	}
	for _, s := range stores {
		for _, source := range entry.Sources() {
			path, ok := relocate.Into(s.Root(), source)
			database := depositable(s, entry, path)
			there := slices.ContainsFunc(all, func(d deposit) bool { return d.database == database })
			if ok && database != "" && !there {
				all = append(all, deposit{s, database, source})
			}
		}
	}
	return all
}

// depositable is the database of a session if a store can put rows of an archive
// back into it, otherwise "".
func depositable(s session.Store, entry archive.Entry, path string) string {
	can := s.Capabilities()
	if can.Depositor == nil || can.DatabaseFile == nil || s.Runtime() != entry.Runtime {
		return ""
	}
	if database := can.DatabaseFile(session.Ref{Path: path, Kind: session.KindStored}); can.Depositor.Holds(database) {
		return database
	}
	return ""
}

// elsewhereHint says what can be done with a session that came from no store of
// this home.
func (a *invocation) elsewhereHint(entry archive.Entry) string {
	stores, err := a.openStores()
	for _, s := range stores {
		if _, ok := relocate.Into(s.Root(), entry.Source); ok && err == nil && len(a.global.Stores) == 0 && s.Runtime() == entry.Runtime {
			return "sessctl archive restore " + entry.ID + " --store " + entry.Runtime + "=" + session.ShellWord(s.Root()) + " puts it into the store of this home"
		}
	}
	return "name the store with --store " + entry.Runtime + "=path, or a file with --to"
}
