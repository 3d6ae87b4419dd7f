package tui

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/removal"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/browse"
	"github.com/sessctl/sessctl/pkg/session"
)

// ListedSessions are sessions before their contexts are measured.
func ListedSessions(listed []workspace.Found) []browse.Session {
	sessions := make([]browse.Session, len(listed))
	for i, s := range listed {
		sessions[i] = browse.Session{
			Runtime: s.Runtime, Agent: s.Agent, ID: s.ID, Name: cmp.Or(s.Key, s.ID), Store: s.Store, Path: s.Path,
			State: ListedState(s.Ref), Bytes: s.Bytes, Used: s.ModTime, Beside: !workspace.Shown(s.Kind),
		}
	}
	return sessions
}

// ListedState says in what state a session is, and what kind of log it is.
func ListedState(ref session.Ref) string {
	if ref.Kind.Closed() {
		return "closed (" + string(ref.Kind) + ")"
	}
	state := string(ref.State)
	if ref.Kind != session.KindLive {
		state += " (" + string(ref.Kind) + ")"
	}
	return state
}

// AddArchives says of which sessions there are archives, adds those that only
// archives are left of, and what all of it takes on the disk.
func AddArchives(ctx context.Context, a *workspace.Run, home *browse.Home, agent agentset.Set) error {
	entries, err := selection.Archived(ctx, a, archive.Filter{Agent: agent, Runtime: a.Global.Runtime})
	if err != nil {
		return err
	}
	use := audit.Usage{App: a}
	if err := use.Data(ctx); err != nil {
		return err
	}
	use.CountArchives(entries)
	home.Archives, home.Memory = use.Doc.Archives.Bytes, use.Doc.Memory.Bytes
	slices.SortFunc(entries, func(x, y archive.Entry) int { return x.CreatedAt.Compare(y.CreatedAt) })
	rows := archiveRows{home: home, gone: map[selection.SessionName]int{}, moved: map[selection.SessionName]bool{}, listed: map[selection.SessionName][]int{}}
	for i, s := range home.Sessions {
		name := selection.SessionName{Runtime: s.Runtime, Agent: s.Agent, Session: s.ID}
		rows.listed[name] = append(rows.listed[name], i)
		if s.Store != "" && !slices.Contains(rows.stores, s.Store) {
			rows.stores = append(rows.stores, s.Store)
		}
	}
	slices.SortFunc(rows.stores, func(x, y string) int { return cmp.Compare(len(y), len(x)) })
	for _, e := range slices.DeleteFunc(entries, rows.add) {
		rows.addElsewhere(e)
	}
	return nil
}

// NameProjects says what people call the agents.
func NameProjects(ctx context.Context, run *workspace.Run, home *browse.Home) {
	names := selection.ProjectNames(ctx, run)
	for i := range home.Sessions {
		s := &home.Sessions[i]
		s.Project = names.Of(s.Runtime, s.Agent)
	}
}

// archiveRows finds the rows of the tree that archives belong to.
type archiveRows struct {
	home   *browse.Home
	stores []string // the longest first
	listed map[selection.SessionName][]int
	gone   map[selection.SessionName]int  // rows of sessions that only archives are left of
	moved  map[selection.SessionName]bool // names whose archives come from where no store is
}

// add notes an archive at the sessions that it is a copy of, and reports whether
// there are any.
func (r *archiveRows) add(e archive.Entry) (added bool) {
	for _, i := range r.listed[selection.SessionName{Runtime: e.Runtime, Agent: e.Agent, Session: e.Session}] {
		if s := &r.home.Sessions[i]; r.isOf(e, *s) {
			s.Archive, added = e.ID, true
		}
	}
	return added
}

// addElsewhere adds an archive of no session that is listed: as one that only
// archives are left of. Where its log lay in no store that is listed, as after a
// move, and the name has one session without an archive, it is taken to be of that.
func (r *archiveRows) addElsewhere(e archive.Entry) {
	name := selection.SessionName{Runtime: e.Runtime, Agent: e.Agent, Session: e.Session}
	if listed := r.listed[name]; len(listed) == 1 && selection.PlaceOfSource(r.stores, e.Source) == e.Source {
		if s := &r.home.Sessions[listed[0]]; s.Archive == "" || r.moved[name] {
			s.Archive, r.moved[name] = e.ID, true
			return
		}
	}
	i, known := r.gone[name]
	if !known {
		i = len(r.home.Sessions)
		r.gone[name] = i
		r.home.Sessions = append(r.home.Sessions, browse.Session{Runtime: e.Runtime, Agent: e.Agent, ID: e.Session, Name: cmp.Or(e.Key, e.Session), Title: workspace.ArchivedTitle(e), State: "in the archive", Beside: true})
	}
	s := &r.home.Sessions[i]
	s.Archive, s.Used = e.ID, e.SourceModTime
	s.Bytes += e.StoredBytes
}

// isOf reports whether an archive is a copy of a session of its name: not of one in
// another store, or in another database.
func (r *archiveRows) isOf(e archive.Entry, s browse.Session) bool {
	return slices.ContainsFunc(append([]string{e.Source}, e.Others...), func(source string) bool {
		row := "#" + s.ID // of a database
		inOther := strings.HasSuffix(source, row) && strings.HasSuffix(s.Path, row) && source != s.Path
		return !inOther && selection.PlaceOfSource(r.stores, source) == s.Store
	})
}

// AddPins says which sessions are pinned.
func AddPins(ctx context.Context, a *workspace.Run, home *browse.Home) error {
	known, err := removal.ReadPinned(ctx, a)
	for i := range home.Sessions {
		s := &home.Sessions[i]
		if slices.ContainsFunc(known.Sessions, removal.PinnedSession{Runtime: s.Runtime, Agent: s.Agent, Session: s.ID}.Same) {
			s.State = "pinned, " + s.State
		}
	}
	return err
}
