package removal

import (
	"cmp"
	"context"
	"io"
	"slices"
	"time"

	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/durable"
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
	p, err := superseding(ctx, run, archives, f, logs)
	if err != nil {
		return nil, err
	}
	if err := p.Recover(ctx); err != nil {
		return nil, err
	}
	return p.Supersede(ctx, run.Now().Add(-freshArchive))
}

func superseding(ctx context.Context, run *workspace.Run, archives *archive.Store, f archive.Filter, logs []session.Ref) (*retention.Prune, error) {
	p := &retention.Prune{Archives: archives, Filter: f, Trash: run.ArchiveTrash(), Audit: run.Audit(), Now: run.Now, Rule: "archive --supersede"}
	var err error
	p.Needed, err = neededArchives(ctx, run, logs)
	return p, err
}

// Archiving is what a run is about to archive.
type Archiving struct {
	Filter archive.Filter
	Found  []workspace.Found // all that were chosen
	Due    map[int]bool      // of them, by their places, those that are not archived as they are
}

// ForeseeSuperseded returns the archives that SupersedeArchives would remove after a
// run: those of now, and those that the logs begin with that it archives. It changes
// nothing.
func ForeseeSuperseded(ctx context.Context, run *workspace.Run, archives *archive.Store, what Archiving) ([]archive.Entry, error) {
	refs := make([]session.Ref, 0, len(what.Found))
	for _, s := range what.Found {
		refs = append(refs, s.Ref)
	}
	p, err := superseding(ctx, run, archives, what.Filter, refs)
	if err != nil {
		return nil, err
	}
	going, err := p.ForeseeSuperseded(ctx, run.Now().Add(-freshArchive))
	if err != nil {
		return nil, err
	}
	entries, err := archives.List(ctx, what.Filter)
	if err != nil {
		return nil, err
	}
	for i, s := range what.Found {
		if !what.Due[i] {
			continue
		}
		older := slices.DeleteFunc(slices.Clone(entries), func(e archive.Entry) bool {
			same := e.Runtime == s.Runtime && e.Agent == s.Agent && e.Session == s.ID
			return !same || e.Bytes >= s.Bytes || !archives.Here(e) || p.Needed(e) != "" || slices.ContainsFunc(going, func(g archive.Entry) bool { return g.ID == e.ID })
		})
		some, err := beginningsOf(ctx, s, older)
		if err != nil {
			return nil, err
		}
		going = append(going, some...)
	}
	return going, nil
}

// beginningsOf are the archives that the log of a session begins with. One that cannot
// be read begins with none: that it cannot be archived is told elsewhere.
func beginningsOf(ctx context.Context, s workspace.Found, older []archive.Entry) ([]archive.Entry, error) {
	if len(older) == 0 {
		return nil, nil
	}
	log, err := openBytes(ctx, s)
	if err != nil {
		return nil, ctx.Err()
	}
	begins, err := archive.BeginningsOf(log, s.Bytes, older)
	if closed := log.Close(); err != nil || closed != nil {
		return nil, ctx.Err()
	}
	return slices.DeleteFunc(older, func(e archive.Entry) bool { return !begins[e.ID] }), nil
}

// openBytes opens what is archived of a session, as it is.
func openBytes(ctx context.Context, s workspace.Found) (io.ReadCloser, error) {
	if source := s.Adapter.Capabilities().SourceOf(s.Ref); source != nil {
		return source.OpenLog(ctx, s.Ref)
	}
	return durable.OpenRegular(s.Path)
}

// neededArchives tells why an archive may not go, or "". logs say whose sub-agent a
// session is of: an archive does not.
func neededArchives(ctx context.Context, run *workspace.Run, logs []session.Ref) (func(archive.Entry) string, error) {
	needs, err := run.Journal().Needs()
	if err != nil {
		return nil, err
	}
	pinned, err := ReadPinned(ctx, run)
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
		return cmp.Or(needs.KeepsArchive(e.ID, ref), keepsPinned(pinned, ref))
	}, nil
}
