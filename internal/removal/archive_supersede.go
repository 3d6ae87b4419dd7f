package removal

import (
	"cmp"
	"context"
	"time"

	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/retention"
	"github.com/sessctl/sessctl/pkg/session"
)

// freshArchive is how long ago an archive was made that may supersede others: what a
// run could not look at, the next one does.
const freshArchive = 48 * time.Hour

// SupersedeArchives removes the archives that a filter picks and that a later one of
// their session, made in the last two days, begins with. What needs them, or a pin,
// keeps them. logs are the sessions that were found. It returns what went.
func SupersedeArchives(ctx context.Context, run *workspace.Run, archives *archive.Store, f archive.Filter, logs []session.Ref) ([]archive.Entry, error) {
	p := retention.Prune{Archives: archives, Filter: f, Trash: run.ArchiveTrash(), Audit: run.Audit(), Now: run.Now, Rule: "archive --supersede"}
	var err error
	if p.Needed, err = neededArchives(run, logs); err != nil {
		return nil, err
	}
	if err := p.Recover(ctx); err != nil {
		return nil, err
	}
	return p.Supersede(ctx, run.Now().Add(-freshArchive))
}

// neededArchives tells why an archive may not go, or "". logs say whose sub-agent a
// session is of: an archive does not.
func neededArchives(run *workspace.Run, logs []session.Ref) (func(archive.Entry) string, error) {
	needs, err := run.Journal().Needs()
	if err != nil {
		return nil, err
	}
	pinned, err := ReadPinned(run)
	if err != nil {
		return nil, err
	}
	parents := map[[3]string]string{}
	for _, ref := range logs {
		parents[[3]string{ref.Runtime, ref.Agent, ref.ID}] = ref.Parent
	}
	return func(e archive.Entry) string {
		if selection.IsAttachment(e) {
			return "records of archived sessions may name it"
		}
		ref := session.Ref{Runtime: e.Runtime, Agent: e.Agent, ID: e.Session, Key: e.Key, Parent: parents[[3]string{e.Runtime, e.Agent, e.Session}]}
		return cmp.Or(needs.KeepsArchive(e.ID, ref), pinned.keeps(ref))
	}, nil
}
