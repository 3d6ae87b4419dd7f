package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/session"
)

// sessionName is what memory and pins know a session by. Several places may hold
// sessions of one name: two homes of a runtime, or two of its databases.
type sessionName struct{ runtime, agent, session string }

// sessionPlaces are the stores and databases in which sessions of a name are, or
// from which archives of them come.
type sessionPlaces map[sessionName][]string

// place is the database that a session is in, or else the store.
func (s found) place() string {
	if database := s.store.Capabilities().DatabaseFile; database != nil && !s.Kind.InFile() {
		return database(s.Ref)
	}
	return s.Store
}

// sessionPlaces looks where sessions are. Stores that cannot be read do not stop
// whoever asks: it is told that they were left out.
func (a *invocation) sessionPlaces(ctx context.Context) (sessionPlaces, error) {
	before := a.incomplete
	all, notices, err := a.listStores(ctx)
	a.incomplete = before // the command itself has left nothing out
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if f := (*failure)(nil); err != nil && !(errors.As(err, &f) && f.code == "no_store") {
		notices = append(notices, session.Notice{Path: a.home(), Message: err.Error(), Unread: true})
	}
	for _, n := range notices {
		if n.Unread {
			a.notice(note{Path: n.Path, Message: n.Message, Hint: "sessions of the same name that are there are not listed"})
		}
	}
	entries, err := a.archived(ctx, archive.Filter{})
	if err != nil {
		return nil, err
	}
	return placesOf(all, entries), nil
}

func placesOf(all inventory, entries []archive.Entry) sessionPlaces {
	places := sessionPlaces{}
	known := []string{} // with nothing twice
	add := func(list []string, place string) []string {
		if slices.Contains(list, place) {
			return list
		}
		return append(list, place)
	}
	for _, o := range all.owners {
		known = add(known, o.store)
	}
	for _, s := range all.sessions {
		if s.Kind == session.KindDatabase {
			continue
		}
		name, place := sessionName{s.Runtime, s.Agent, s.ID}, s.place()
		known = add(known, place)
		places[name] = add(places[name], place)
	}
	slices.SortFunc(known, func(x, y string) int { return cmp.Compare(len(y), len(x)) })
	for _, e := range entries {
		name := sessionName{e.Runtime, e.Agent, e.Session}
		for _, source := range append([]string{e.Source}, e.Others...) {
			if source != "" {
				places[name] = add(places[name], placeOfSource(known, source))
			}
		}
	}
	return places
}

// placeOfSource is the place that a log was archived from: the smallest of the
// known ones that it lies in, else the log itself.
func placeOfSource(known []string, source string) string {
	for _, place := range known { // the longest first
		rest, below := strings.CutPrefix(source, place)
		if below && (rest == "" || rest[0] == filepath.Separator || rest[0] == '#') {
			return place
		}
	}
	return source
}

// of are the places of a name, if there are several: of one there is nothing to
// tell apart.
func (p sessionPlaces) of(runtime, agent, id string) []string {
	places := p[sessionName{runtime, agent, id}]
	if len(places) < 2 {
		return nil
	}
	return places
}

// describePlaces says where sessions of one name are, and what that means for what
// is done.
func describePlaces(places []string, means string) string {
	if len(places) == 0 {
		return ""
	}
	text := fmt.Sprintf("  %d places hold a session of this name; %s:\n", len(places), means)
	for _, place := range places {
		text += "    " + visible(place) + "\n"
	}
	return text
}
