package selection

import (
	"context"
	"errors"
	"slices"

	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/relocate"
	"github.com/sessctl/sessctl/pkg/session"
)

// RestorePath is where the log of an archive goes: where it came from, or, if that
// is in none of the stores that a person has named, where it would be in one of these.
// So the archives of another home can be restored here, but only where the user says.
func RestorePath(ctx context.Context, run *workspace.Run, entry archive.Entry) (string, error) {
	stores, err := run.OpenStores()
	if err != nil {
		return "", err
	}
	log := session.Ref{Runtime: entry.Runtime, Agent: entry.Agent, ID: entry.Session}
	places := append([]string{entry.Source}, underOtherNames(stores, entry)...)
	places = append(places, inOtherHomes(run.Named(stores), entry)...)
	for _, path := range places {
		log.Path = path
		if _, _, err := compact.FindPlace(ctx, stores, compact.Destination{Log: log}, run.Now()); err == nil {
			return path, nil
		} else if ctx.Err() != nil || path == entry.Source && !errors.Is(err, session.ErrElsewhere) {
			return path, ctx.Err() // what is wrong with the place is said when it is used
		}
	}
	return entry.Source, nil
}

// underOtherNames are the paths that a session of an archive has in stores of its
// runtime that had another name when it was archived.
func underOtherNames(stores []session.Store, entry archive.Entry) (all []string) {
	for _, s := range stores {
		for _, source := range entry.Sources() {
			path, ok := workspace.PathIn(s.Root(), source)
			if ok && s.Runtime() == entry.Runtime && path != entry.Source && !slices.Contains(all, path) {
				all = append(all, path)
			}
		}
	}
	return all
}

// inOtherHomes are the paths that a session of an archive would have in stores of
// its runtime, if these are laid out like the store that it came from.
func inOtherHomes(stores []session.Store, entry archive.Entry) (all []string) {
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

// DepositsInOtherHomes are the databases of the stores that a person has named into
// which rows go that came from databases of other homes.
func DepositsInOtherHomes(run *workspace.Run, stores []session.Store, entry archive.Entry) (all []Deposit) {
	for _, s := range run.Named(stores) {
		for _, source := range entry.Sources() {
			path, ok := relocate.Into(s.Root(), source)
			database := Depositable(s, entry, path)
			there := slices.ContainsFunc(all, func(d Deposit) bool { return d.Database == database })
			if ok && database != "" && !there {
				all = append(all, Deposit{s, database, source})
			}
		}
	}
	return all
}

// Depositable is the database of a session if a store can put rows of an archive
// back into it, otherwise "".
func Depositable(s session.Store, entry archive.Entry, path string) string {
	can := s.Capabilities()
	if can.Depositor == nil || can.DatabaseFile == nil || s.Runtime() != entry.Runtime {
		return ""
	}
	if database := can.DatabaseFile(session.Ref{Path: path, Kind: session.KindStored}); can.Depositor.Holds(database) {
		return database
	}
	return ""
}

// ElsewhereHint says what can be done with a session that came from no store of
// this home.
func ElsewhereHint(run *workspace.Run, entry archive.Entry) string {
	into := "sessctl restore " + entry.ID + " --to FILE writes it elsewhere"
	if session.Kind(entry.Kind) == session.KindDatabase { // nobody puts a file below a program that may have the new one open
		return into
	}
	stores, err := run.OpenStores()
	for _, s := range stores {
		if can := s.Capabilities(); s.Runtime() == entry.Runtime && can.Restorer == nil && can.Depositor == nil {
			return into
		}
		if _, ok := relocate.Into(s.Root(), entry.Source); ok && err == nil && !run.IsNamed(s) && s.Runtime() == entry.Runtime {
			return "sessctl restore " + entry.ID + " --store " + entry.Runtime + "=" + session.ShellWord(s.Root()) + " puts it into the store of this home"
		}
	}
	return "name the store with --store " + entry.Runtime + "=path, or a file with --to"
}
