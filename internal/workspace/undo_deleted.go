package workspace

import (
	"time"

	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/retention"
)

// deletedLogs are the archives of the logs that clean has deleted at a path since a
// time, unless one was brought back there later. What was in them is told by the
// audit log, and by the trash of those that were written to while they waited there.
func deletedLogs(run *Run, path string, since time.Time) (deleted []compact.Archived, err error) {
	lines, err := run.Audit().Lines()
	if err != nil {
		return nil, err
	}
	for _, l := range lines {
		if l.Time.Before(since) || l.Bytes == 0 || run.Moves().Path(l.Path) != path {
			continue
		}
		was := compact.Archived{ID: l.Archive, SHA256: l.SHA256, Bytes: l.Bytes}
		switch {
		case l.Action == retention.ActionTrash, l.Action == retention.ActionPurge && len(deleted) > 0:
			deleted = append(deleted, was)
		case l.Action == retention.ActionUndelete, l.Action == retention.ActionRestore:
			deleted = nil
		}
	}
	if len(deleted) == 0 {
		return nil, nil
	}
	items, err := run.SessionTrash().List()
	for _, item := range items {
		if of, err := retention.SessionOf(item); err == nil && item.From == path && !item.At.Before(since) {
			deleted = append(deleted, compact.Archived{ID: of.Archive, SHA256: item.SHA256, Bytes: item.Bytes})
		}
	}
	return deleted, err
}
