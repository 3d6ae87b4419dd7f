package selection

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/archive"
)

// FindArchive resolves what a person types: an archive's id, the start of one,
// or the id of a session with one archive, or the start of that.
func FindArchive(ctx context.Context, store *archive.Store, name string) (archive.Entry, error) {
	mine, err := archivesNamed(ctx, store, name)
	if err != nil || len(mine) == 1 {
		return first(mine), err
	}
	return archive.Entry{}, severalArchives(mine)
}

// FindArchiveOf is the archive in a scope that an id means: no other is named.
func FindArchiveOf(ctx context.Context, store *archive.Store, name string, of Scope) (archive.Entry, error) {
	all, err := archivesOf(ctx, store, of)
	if err != nil {
		return archive.Entry{}, err
	}
	var ids []Candidate
	for _, e := range all {
		ids = append(ids, ArchiveCandidate(e))
	}
	id, err := ArchiveIDs().Resolve(name, ids)
	if err != nil {
		return archive.Entry{}, err
	}
	return all[slices.IndexFunc(all, func(e archive.Entry) bool { return e.ID == id })], nil
}

// archivesOf are the archives in a scope, with those that are read in the file of a
// later one.
func archivesOf(ctx context.Context, store *archive.Store, of Scope) ([]archive.Entry, error) {
	all, err := store.List(ctx, archive.Filter{Runtime: of.Runtime, Agent: of.Agent})
	if err != nil {
		return nil, err
	}
	superseded, err := store.Superseded(ctx)
	return append(all, slices.DeleteFunc(superseded, func(e archive.Entry) bool { return !of.Holds(e.Runtime, e.Agent) })...), err
}

// FindWholeArchive is [FindArchive] for a person who wants all of a session: of a
// session with several archives it is the newest, if that begins with the bytes of
// every other one.
func FindWholeArchive(ctx context.Context, store *archive.Store, name string) (archive.Entry, error) {
	mine, err := archivesNamed(ctx, store, name)
	if err != nil || len(mine) == 1 {
		return first(mine), err
	}
	newest, others := mine[len(mine)-1], mine[:len(mine)-1]
	alike := !slices.ContainsFunc(others, func(e archive.Entry) bool { return !sameSession(e, newest) || e.Bytes > newest.Bytes })
	if !alike {
		return archive.Entry{}, severalArchives(mine)
	}
	begins, err := store.Beginnings(ctx, newest, others)
	switch {
	case ctx.Err() != nil:
		return archive.Entry{}, ctx.Err()
	case err != nil || len(begins) < len(others):
		return archive.Entry{}, severalArchives(mine)
	}
	return newest, nil
}

// LongerArchive is the newest archive of the same session that goes on after the bytes
// of another one, or an entry without id when there is none.
func LongerArchive(ctx context.Context, store *archive.Store, e archive.Entry) (archive.Entry, error) {
	all, err := store.List(ctx, archive.Filter{Runtime: e.Runtime, Agent: agentset.Set(e.Agent), Session: e.Session})
	if err != nil {
		return archive.Entry{}, err
	}
	for _, other := range slices.Backward(all) {
		if other.Bytes <= e.Bytes {
			continue
		}
		if begins, err := store.Begins(ctx, other, e); err == nil && begins {
			return other, nil
		}
		if ctx.Err() != nil {
			return archive.Entry{}, ctx.Err()
		}
	}
	return archive.Entry{}, nil
}

func sameSession(a, b archive.Entry) bool {
	return a.Runtime == b.Runtime && a.Agent == b.Agent && a.Session == b.Session
}

// archivesNamed are the archives that a person may mean, oldest first: one for the id
// of an archive, all of a session for the id of that. There is at least one.
func archivesNamed(ctx context.Context, store *archive.Store, name string) ([]archive.Entry, error) {
	entry, err := store.Get(ctx, name)
	if err == nil || !errors.Is(err, archive.ErrAmbiguous) && !errors.Is(err, archive.ErrNotFound) {
		return []archive.Entry{entry}, err
	}
	all, err := store.List(ctx, archive.Filter{})
	if err != nil {
		return nil, err
	}
	var ids, sessions []Candidate
	for _, e := range all {
		ids = append(ids, ArchiveCandidate(e))
		sessions = append(sessions, Candidate{e.Session, e.Agent + ", " + e.Runtime})
	}
	if fits := ArchiveIDs().Matching(name, ids); len(fits) > 1 {
		return nil, ArchiveIDs().Ambiguous(name, fits)
	}
	id, err := SessionIDs().Resolve(name, sessions)
	if f := (*failure.Error)(nil); errors.As(err, &f) && f.Code == "ambiguous" {
		return nil, err
	}
	mine := slices.DeleteFunc(all, func(e archive.Entry) bool { return err != nil || e.Session != id })
	if i := slices.IndexFunc(mine, func(e archive.Entry) bool { return IsAttachment(e) && e.Session == name }); i >= 0 {
		return mine[i : i+1], nil // a file is what its hash says, whatever else had its name
	}
	if len(mine) == 0 {
		return nil, ArchiveIDs().Unknown(name)
	}
	return mine, nil
}

func first(mine []archive.Entry) (e archive.Entry) {
	if len(mine) > 0 {
		e = mine[0]
	}
	return e
}

// severalArchives is the error for a session with several archives: it names all of
// them, the newest first, with what tells them apart.
func severalArchives(mine []archive.Entry) error {
	alone := !slices.ContainsFunc(mine, func(e archive.Entry) bool { return e.Source != mine[0].Source })
	var all []string
	for _, e := range slices.Backward(mine) {
		text := fmt.Sprintf("%s (%s, %s, %s bytes, %s", e.ID, e.Agent, atSecond(e.CreatedAt), wording.Count(e.Bytes), wording.Plural(int(e.Lines), "line"))
		if !alone {
			text += ", of " + e.Source
		}
		all = append(all, text+")")
	}
	return &failure.Error{
		Code: "ambiguous", Exit: failure.ExitUsage, Hint: "name one of them by its own id: " + strings.Join(all, ", "),
		Err: fmt.Errorf("session %q has %d archives", mine[0].Session, len(mine)),
	}
}
