package selection

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/session"
)

// SessionName is what memory and pins know a session by. Several places may hold
// sessions of one name: two homes of a runtime, or two of its databases.
type SessionName struct{ Runtime, Agent, Session string }

// SessionPlaces are the stores and databases in which sessions of a name are, or
// from which archives of them come.
type SessionPlaces map[SessionName][]string

// placeOf is the database that a session is in, or else the store.
func placeOf(s workspace.Found) string {
	if database := s.Adapter.Capabilities().DatabaseFile; database != nil && !s.Kind.InFile() {
		return database(s.Ref)
	}
	return s.Store
}

// PlacesOfSessions looks where sessions are. Stores that cannot be read do not stop
// whoever asks: it is told that they were left out.
func PlacesOfSessions(ctx context.Context, run *workspace.Run) (SessionPlaces, error) {
	before := run.Incomplete
	all, notices, err := run.ListStores(ctx)
	run.Incomplete = before // the command itself has left nothing out
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if f := (*failure.Error)(nil); err != nil && !(errors.As(err, &f) && f.Code == "no_store") {
		notices = append(notices, session.Notice{Path: run.Home(), Message: err.Error(), Unread: true})
	}
	for _, n := range notices {
		if n.Unread {
			run.Notice(workspace.Note{Path: n.Path, Message: n.Message, Hint: "sessions of the same name that are there are not listed"})
		}
	}
	entries, err := Archived(ctx, run, archive.Filter{})
	if err != nil {
		return nil, err
	}
	return PlacesOf(all, entries), nil
}

// PlacesOf finds the place of each session.
func PlacesOf(all workspace.Inventory, entries []archive.Entry) SessionPlaces {
	places := SessionPlaces{}
	known := []string{} // with nothing twice
	add := func(list []string, place string) []string {
		if slices.Contains(list, place) {
			return list
		}
		return append(list, place)
	}
	for _, o := range all.Owners {
		known = add(known, o.Store)
	}
	for _, s := range all.Sessions {
		if s.Kind == session.KindDatabase {
			continue
		}
		name, place := SessionName{s.Runtime, s.Agent, s.ID}, placeOf(s)
		known = add(known, place)
		places[name] = add(places[name], place)
	}
	slices.SortFunc(known, func(x, y string) int { return cmp.Compare(len(y), len(x)) })
	now := map[string]string{} // by directory
	for _, e := range entries {
		name := SessionName{e.Runtime, e.Agent, e.Session}
		for _, source := range append([]string{e.Source}, e.Others...) {
			if source != "" {
				places[name] = add(places[name], placeOfSource(known, now, source))
			}
		}
	}
	return places
}

// PlaceOfSource is the place that a log was archived from: the smallest of the
// known ones that it lies in, else the log itself.
func PlaceOfSource(known []string, source string) string {
	for _, place := range known { // the longest first
		rest, below := strings.CutPrefix(source, place)
		if below && (rest == "" || rest[0] == filepath.Separator || rest[0] == '#') {
			return place
		}
	}
	return source
}

// placeOfSource is [PlaceOfSource] also where the place had another name then. now
// remembers what was found out of directories.
func placeOfSource(known []string, now map[string]string, source string) string {
	if place := PlaceOfSource(known, source); place != source {
		return place
	}
	dir := filepath.Dir(source)
	place, looked := now[dir]
	if !looked {
		if i := slices.IndexFunc(known, func(place string) bool { _, in := workspace.PathIn(place, source); return in }); i >= 0 {
			place = known[i]
		}
		now[dir] = place
	}
	return cmp.Or(place, source)
}

// Of are the places of a name, if there are several: of one there is nothing to
// tell apart.
func (p SessionPlaces) Of(runtime, agent, id string) []string {
	places := p[SessionName{runtime, agent, id}]
	if len(places) < 2 {
		return nil
	}
	return places
}

// DescribePlaces says where sessions of one name are, and what that means for what
// is done.
func DescribePlaces(places []string, means string) string {
	if len(places) == 0 {
		return ""
	}
	text := fmt.Sprintf("  %d places hold a session of this name; %s:\n", len(places), means)
	for _, place := range places {
		text += "    " + wording.Visible(place) + "\n"
	}
	return text
}
