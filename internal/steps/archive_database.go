package steps

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/sqlitefile"
)

// A database that cannot be read, or not all of it, is archived as the files that it
// is: what a repair needs is there even if the disk gives less tomorrow.

// logEnd is what the name of a database's write-ahead log has at its end.
const logEnd = "-wal"

// noteDamage notes the database of a session that lies on a damaged page of it. The
// listing looks at no text, so that it may not have met that page.
func (k *Keeper) noteDamage(s *workspace.Found, err error) {
	database := s.Adapter.Capabilities().DatabaseFile
	if database == nil || !sqlitefile.IsDamaged(err) {
		return
	}
	if path := database(s.Ref); !slices.ContainsFunc(k.damaged, func(u session.Unread) bool { return u.Path == path }) {
		k.damaged = append(k.damaged, session.Unread{Runtime: s.Runtime, Path: path, Cause: session.CauseDamaged, Message: session.ReasonDatabaseUnread.Text(err)})
	}
}

// KeepDamaged archives the files of the databases of which a session met a damaged page,
// unless they were among the sessions.
func (k *Keeper) KeepDamaged(ctx context.Context, sessions []workspace.Found, doc *ArchiveDocument) {
	all := workspace.Inventory{Sessions: sessions, NotRead: k.damaged}
	for _, s := range withUnreadDatabases(k.Run, &all)[len(sessions):] {
		doc.Add(k.Keep(ctx, &s))
	}
}

// withUnreadDatabases are the sessions, and the files of the databases of which not all
// was read. A reference that stands for the sessions of such a database is one of its
// files.
func withUnreadDatabases(run *workspace.Run, all *workspace.Inventory) []workspace.Found {
	sessions := slices.Clip(all.Sessions) // there may be 100,000
	for _, u := range all.NotRead {
		if u.Cause != session.CauseDamaged && u.Cause != session.CauseNoLog && u.Cause != session.CauseTables && u.Cause != session.CauseTable {
			continue
		}
		for _, path := range []string{u.Path, u.Path + logEnd} {
			file, ok := databaseFile(run, all, u, path)
			if ok && !slices.ContainsFunc(sessions, func(s workspace.Found) bool { return s.Path == path }) {
				sessions = append(sessions, file)
			}
		}
	}
	return sessions
}

// databaseFile is a file of a database of which not all was read; false if it is not
// there, or empty, or nobody knows the store.
func databaseFile(run *workspace.Run, all *workspace.Inventory, u session.Unread, path string) (workspace.Found, bool) {
	of := workspace.Found{Ref: session.Ref{Agent: u.Runtime}} // where no session is left
	for _, s := range run.Opened {
		if s.Runtime() == u.Runtime && workspace.Below(s.Root(), path) {
			of.Adapter, of.Store = s, s.Root()
		}
	}
	if i := slices.IndexFunc(all.Sessions, func(s workspace.Found) bool { return s.Runtime == u.Runtime && workspace.Below(s.Store, path) }); i >= 0 {
		of = all.Sessions[i]
	}
	info, err := os.Lstat(path)
	if of.Adapter == nil || err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return workspace.Found{}, false
	}
	return workspace.Found{Adapter: of.Adapter, Ref: session.Ref{
		Runtime: u.Runtime, Agent: of.Agent, ID: session.CleanID(filepath.Base(path)), Store: of.Store, Path: path, Kind: session.KindDatabase,
		Bytes: info.Size(), ModTime: info.ModTime(), State: session.StateUnsupported, Reason: u.Message,
	}}, true
}
