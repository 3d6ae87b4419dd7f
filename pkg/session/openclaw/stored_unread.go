package openclaw

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session/openclaw/agentdb"
)

// keepTheirs is what to do about sessions that only the runtime has.
const keepTheirs = "they are not in any archive of sessctl: keep the runtime's own files"

// tellUnread says which sessions the runtime keeps where they are not read: in
// its cold storage, and deleted ones as copies in the database. One notice
// each, however many there are.
func (l *lister) tellUnread(ctx context.Context, db *database, open *agentdb.Database, agent string) error {
	cold, err := open.Cold(ctx)
	if err != nil {
		return err
	}
	deleted, err := open.Deleted(ctx)
	if err != nil {
		return err
	}
	var ids []string
	records := 0
	for _, c := range cold {
		ids = append(ids, fmt.Sprintf("%s (%s)", c.Session, c.Name))
		records += c.Records
	}
	if len(ids) > 0 {
		l.notice(db.path, keepTheirs, "%d records are in the runtime's cold storage and are not read, of sessions: %s", records, someOf(ids))
	}
	ids = nil
	for _, d := range deleted {
		if !l.hasLog(agent, d.Name) {
			ids = append(ids, d.Session)
		}
	}
	if len(ids) > 0 {
		l.notice(db.path, keepTheirs, "deleted sessions of which the database has a copy are not read: %s", someOf(ids))
	}
	return nil
}

// hasLog reports whether a deleted session's copy is also a file, which is
// listed by itself.
func (l *lister) hasLog(agent, name string) bool {
	if _, v := parseName(name); v != isLog || filepath.Base(name) != name {
		return false
	}
	f, err := durable.OpenRegularIn(l.root, filepath.Join(agentsName, agent, sessionsName, name))
	if err != nil {
		return false
	}
	return f.Close() == nil
}

// namedMost is how many sessions a notice names.
const namedMost = 10

// someOf is a list for people that stays short.
func someOf(names []string) string {
	if more := len(names) - namedMost; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:namedMost], ", "), more)
	}
	return strings.Join(names, ", ")
}
