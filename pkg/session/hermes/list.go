package hermes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/hermes/statedb"
	"github.com/sessctl/sessctl/pkg/session/logfile"
	"github.com/sessctl/sessctl/pkg/session/sqlitefile"
)

// List implements [session.Store]: the sessions of the database, the one that
// was used last first, and the files that the program deletes with them. A
// session that an agent began belongs to the one that a person sees.
func (s *Store) List(ctx context.Context) (session.Listing, error) {
	l := &lister{store: s, told: map[string]bool{}, Listing: sqlitefile.Listing{Runtime: session.RuntimeHermes, Agent: s.agent(), Store: s.root, Now: time.Now()}}
	root, err := s.pin.OpenRoot(s.root)
	if err != nil {
		return l.Listing.Listing, fmt.Errorf("open store: %w", err)
	}
	defer root.Close()
	policy, err := s.retention(root)
	if err != nil {
		l.Notices = append(l.Notices, session.Notice{Path: filepath.Join(s.root, configName), Message: "when Hermes prunes is not known: " + err.Error(), Hint: "sessctl expects its defaults: every session that ended goes " + inDays(defaultRetention) + " after it was used last"})
	}
	l.retention = policy
	if err := l.sessions(ctx, root); err != nil {
		return l.Listing.Listing, err
	}
	l.files(root)
	l.NewestFirst()
	if l.alone {
		l.Notices = append(l.Notices, session.Notice{Path: s.path(), Message: session.CauseAlone.Text(1), Cause: session.CauseAlone})
	}
	l.NameAgents()
	return l.Listing.Listing, ctx.Err()
}

// lister collects the sessions of a store.
type lister struct {
	sqlitefile.Listing

	store     *Store
	retention retention
	byID      map[string]session.Ref // of the database; nil if nobody knows what is in it
	told      map[string]bool        // sessions that are transcripts
	alone     bool                   // there is no database
}

// sessions lists the database. One that cannot be read is a reference that
// stands for all of its sessions, and a notice.
func (l *lister) sessions(ctx context.Context, root *os.Root) error {
	db, sessions, err := l.read(ctx)
	err = l.Salvaged(l.store.path(), err)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, fs.ErrNotExist):
		l.alone, l.byID = l.store.lacksDatabase(), map[string]session.Ref{}
		return logfile.Unreadable(l.store.path())
	case err != nil:
		l.Unread(l.store.path(), databaseName, err, func() (fs.FileInfo, error) { return root.Lstat(databaseName) })
		return nil
	}
	l.Schema(l.store.path(), db.Schema, statedb.OldestSchema, statedb.NewestSchema, session.Notice{
		Message: ", and never changed", Hint: "look for a newer sessctl; until then compare sessctl sizes with hermes sessions list",
	})
	l.Tables(l.store.path(), db.Unread)
	expiries := l.retention.expiries(sessions, db.ByActivity())
	family := families(sessions)
	l.byID = map[string]session.Ref{}
	for _, s := range sessions {
		if !l.IsSafe(l.store.path(), s.ID) {
			continue
		}
		ref := l.ref(s, family[s.ID])
		ref.Expires = expiries[s.ID]
		l.byID[s.ID] = ref
		l.Add(ref)
	}
	return nil
}

func (l *lister) read(ctx context.Context) (*statedb.Database, []statedb.Session, error) {
	db, release, err := l.store.Databases.Fresh(ctx, l.store.file())
	if err != nil {
		return nil, nil, err
	}
	defer release()
	sessions, err := db.Sessions(ctx)
	return db, sessions, err
}

// families says of each session that an agent began which one a person sees.
func families(sessions []statedb.Session) map[string]statedb.Session {
	byID := make(map[string]statedb.Session, len(sessions))
	for _, s := range sessions {
		byID[s.ID] = s
	}
	tops := make(map[string]statedb.Session, len(sessions))
	for _, s := range sessions {
		tops[s.ID] = sqlitefile.Top(s, func(s statedb.Session) (statedb.Session, bool) {
			parent, there := byID[s.Parent]
			return parent, there && s.Delegate
		})
	}
	return tops
}

// ref is one session.
func (l *lister) ref(s, top statedb.Session) session.Ref {
	ref := l.Ref(l.store.path(), s.ID, top.Directory)
	ref.Key, ref.Bytes, ref.ModTime, ref.Model, ref.Title = s.Key, s.Bytes, s.Active, s.Model, s.Title
	switch {
	case s.Doubt != "":
		ref.Reason = s.Doubt.Text()
	case top.ID != s.ID && session.SafeID(top.ID):
		ref.Parent, ref.Primary = top.ID, false
		ref.Reason = session.ReasonBegunByAgent.Text(top.ID)
	case s.EndReason == "compression":
		ref.Reason = session.ReasonCompressed.Text()
	}
	return ref
}

// fileNames are the names of files that the program deletes with a session: a
// dump ends in the time at which it was made.
var fileNames = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`^request_dump_(.+?)_\d{8}_\d{6}(?:_\d+)?\.json$`),
		regexp.MustCompile(`^(?:session_)?(\d{8}_\d{6}_[0-9a-f]{4,16})\.jsonl?$`),
	}
})

// files lists the dumps and the transcripts beside the database. A transcript of a
// session that the database does not have is its only text, and is listed as the
// session; of a database that cannot be read nobody knows.
func (l *lister) files(root *os.Root) {
	entries, err := fs.ReadDir(root.FS(), sessionsName)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			l.Notices = append(l.Notices, session.Skipped(filepath.Join(l.store.root, sessionsName), err))
		}
		return
	}
	for _, e := range entries {
		id, dump, ok := l.fileOf(e.Name())
		if alone := !dump && l.byID != nil && !l.knows(id); !(alone && l.transcript(root, e)) && ok {
			l.file(e, id, dump)
		}
	}
}

// dumpStart begins the name of a dump.
const dumpStart = "request_dump_"

// fileOf says of which session a file is. The program deletes with a session every
// file whose name begins as that of a dump of it, so what follows the id of one
// that is known does not matter.
func (l *lister) fileOf(name string) (id string, dump, ok bool) {
	stem, isJSON := strings.CutSuffix(name, ".json")
	if rest, isDump := strings.CutPrefix(stem, dumpStart); isDump && isJSON {
		for i := range len(rest) {
			if rest[i] == '_' && l.knows(rest[:i]) {
				return rest[:i], true, true
			}
		}
	}
	if !isJSON {
		stem = strings.TrimSuffix(name, ".jsonl")
	}
	for _, id := range []string{stem, strings.TrimPrefix(stem, "session_")} {
		if stem != name && l.knows(id) {
			return id, false, true
		}
	}
	for i, names := range fileNames() {
		if m := names.FindStringSubmatch(name); m != nil && session.SafeID(m[1]) {
			return m[1], i == 0, true
		}
	}
	return "", false, false
}

// knows reports whether there is a session of this id.
func (l *lister) knows(id string) bool {
	_, known := l.byID[id]
	return known
}

// file lists one. It goes when its session does.
func (l *lister) file(e fs.DirEntry, id string, dump bool) {
	path := filepath.Join(l.store.root, sessionsName, e.Name())
	info, err := e.Info()
	if err == nil && !info.Mode().IsRegular() {
		return
	}
	if err != nil {
		l.Notices = append(l.Notices, session.Skipped(path, err))
		return
	}
	of := l.byID[id]
	ref := session.Ref{
		Runtime: session.RuntimeHermes, Agent: of.Agent, ID: session.CleanID(e.Name()), Key: id + "/" + e.Name(), Store: l.store.root, Path: path,
		Kind: session.KindOutput, Parent: id, Bytes: info.Size(), ModTime: info.ModTime(), Expires: of.Expires, State: session.StateUnsupported,
		Reason: session.ReasonEarlierTranscript.Text(),
	}
	if ref.Agent == "" {
		ref.Agent = l.store.agent()
	}
	if of.Parent != "" {
		ref.Parent = of.Parent
	}
	if dump {
		ref.Reason = session.ReasonRequestDump.Text()
	}
	l.Refs = append(l.Refs, ref)
}

// inDays is a span of time in whole days.
func inDays(d time.Duration) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", d.Hours()/24), ".0") + " days"
}
