package recall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
)

// recallEverywhere asks the memory that hosts share. While its server cannot be
// reached, or has no room for one more, the memory of this host answers, and a note says so.
func recallEverywhere(ctx context.Context, run *workspace.Run, o Options) (Document, error) {
	o.Everywhere = false
	doc, err := askShared(ctx, run, o)
	if !remote.IsLater(err) || o.On != "" {
		return doc, err
	}
	why := "the shared memory cannot be reached"
	if errors.Is(err, remote.ErrBusy) {
		why = "the server of the shared memory is busy"
	}
	if doc, err = Recall(ctx, run, o); err == nil {
		doc.Tell(why + ": this is what this host remembers")
	}
	return doc, err
}

// askShared answers from the shared memory.
func askShared(ctx context.Context, run *workspace.Run, o Options) (Document, error) {
	query, err := o.query(run.Now())
	if err != nil {
		return Document{}, err
	}
	bounded, cancel := context.WithTimeout(ctx, run.Config.Memory.Remote.Timeout)
	defer cancel()
	shared, err := workspace.OpenShared(bounded, &run.Settings, false)
	if err != nil {
		return Document{}, err
	}
	defer shared.Close()
	doc, err := askOpened(bounded, run, shared, o, query)
	if err != nil && ctx.Err() != nil {
		return doc, ctx.Err()
	}
	return doc, workspace.ExplainShared(err)
}

func askOpened(ctx context.Context, run *workspace.Run, shared workspace.SharedMemory, o Options, query memory.Query) (doc Document, err error) {
	if query.Host, err = knownHost(ctx, shared, o.On); err != nil {
		return doc, err
	}
	if query.Session, err = sharedSession(ctx, shared, o.Session); err != nil {
		return doc, err
	}
	own, err := OwnHost(&run.Settings)
	if err != nil {
		return doc, err
	}
	running := &RunningContexts{}
	if o.Elsewhere {
		running = RunningSessions(ctx, run)
	}
	behind, err := lookUnsent(ctx, run, shared)
	if err != nil {
		return doc, err
	}
	if len(running.Refs)+len(behind.forgotten) > 0 {
		query.Limit += MostNeighbors + MostHits // some may be left out
	}
	result, err := askRemote(ctx, &run.Settings, shared, query)
	if err != nil {
		return doc, err
	}
	result.Hits = slices.DeleteFunc(result.Hits, func(h memory.Hit) bool {
		return behind.forgotten[h.ID] || h.Host == own && running.has(ctx, h.Record)
	})
	result.Hits = result.Hits[:min(len(result.Hits), o.Limit)]
	doc = newRecallDocument(o.Query, result)
	for i, h := range result.Hits {
		doc.Hits[i].Host, doc.Hits[i].shared, doc.Hits[i].here = h.Host, true, h.Host == own
		doc.Hits[i].copied = run.Config.Archive.Remote != ""
		if err := doc.completeShared(ctx, shared, i, h, o.neighborsOf(h)); err != nil {
			return doc, err
		}
		doc.Hits[i].leaveOut(behind.forgotten)
	}
	doc.nameHits(ctx, run)
	doc.relocateHere(run.Moves().Path)
	if behind.records > 0 {
		doc.Tell(wording.Plural(behind.records, "record") + " of this host not sent yet: sessctl push")
	}
	return doc, nil
}

// leaveOut leaves out what stands around a hit and is forgotten.
func (h *Hit) leaveOut(forgotten map[string]bool) {
	is := func(n recallNeighbor) bool { return forgotten[n.ID] }
	h.Before, h.After = slices.DeleteFunc(h.Before, is), slices.DeleteFunc(h.After, is)
}

// relocateHere lets the sources on this host name where they are now.
func (d *Document) relocateHere(now func(string) string) {
	for i := range d.Hits {
		if h := &d.Hits[i]; h.here {
			h.Source.Path = now(h.Source.Path)
		}
	}
}

// askRemote is a recall with the embedder that is configured.
func askRemote(ctx context.Context, a *workspace.Settings, shared remote.Memory, q memory.Query) (memory.Result, error) {
	e, err := workspace.OpenEmbedder(a)
	if err != nil {
		return memory.Result{}, err
	}
	if q.Rank == memory.RankText {
		return shared.Recall(ctx, q, nil, e.Expected)
	}
	model, down := e.Identify(ctx)
	if down != nil {
		return shared.Recall(ctx, q, workspace.Absent{Err: down}, e.Expected)
	}
	return shared.Recall(ctx, q, e.Queries, workspace.Chunked(model))
}

// completeShared adds what stands around a hit, and what it says as a fact.
func (d *Document) completeShared(ctx context.Context, shared workspace.SharedMemory, i int, h memory.Hit, neighbors int) error {
	if h.Category == memory.CategoryFact {
		f, err := shared.Fact(ctx, h)
		if err != nil {
			return err
		}
		if f.Kind != "" {
			d.Hits[i].Fact = &recallFact{Kind: f.Kind, Confidence: f.Confidence, Quote: f.Quote, SupersededBy: f.Successor}
		}
	}
	near, err := shared.Neighbors(ctx, h, neighbors)
	for _, x := range near.Before {
		d.Hits[i].Before = append(d.Hits[i].Before, recallNeighbor{x.ID, x.Text, audit.NewRecallSource(x)})
	}
	for _, x := range near.After {
		d.Hits[i].After = append(d.Hits[i].After, recallNeighbor{x.ID, x.Text, audit.NewRecallSource(x)})
	}
	return err
}

// sharedSession is the whole id of a session that is named by its start.
func sharedSession(ctx context.Context, shared workspace.SharedMemory, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	ids, err := shared.Sessions(ctx, name, 5)
	switch {
	case err != nil:
		return "", err
	case len(ids) == 0:
		return "", &failure.Error{Code: "unknown_session", Exit: failure.ExitFailed, Err: fmt.Errorf("the shared memory has no session %q", name)}
	case len(ids) > 1 && ids[0] != name:
		return "", &failure.Error{Code: "ambiguous", Exit: failure.ExitUsage, Hint: "give more of the id: " + strings.Join(ids, ", "), Err: fmt.Errorf("several sessions start with %q", name)}
	}
	return cmp.Or(ids[0], name), nil
}

// knownHost is a host that has records there, "" if none was named.
func knownHost(ctx context.Context, shared workspace.SharedMemory, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	counts, err := shared.Count(ctx)
	if err == nil && counts.Of(name) == 0 {
		err = &failure.Error{Code: "unknown_host", Exit: failure.ExitFailed, Hint: "sessctl fleet hosts lists those that it has", Err: fmt.Errorf("the shared memory has no records of a host %q", name)}
	}
	return name, err
}

// unsentHere is what the shared memory does not know yet of this host.
type unsentHere struct {
	records   int
	forgotten map[string]bool // ids of records: no answer has them
}

// lookUnsent looks at the memory of this host. There may be none, or none that can
// be looked at now: the question was another. What it says of forgotten records
// must be readable.
func lookUnsent(ctx context.Context, run *workspace.Run, shared workspace.SharedMemory) (u unsentHere, err error) {
	store, err := workspace.GlimpseMemory(ctx, run)
	if err != nil || store == nil {
		return u, nil
	}
	defer store.Close()
	if n, err := Unsent(ctx, run, store, shared.Server()); err == nil {
		u.records = n.Records
	}
	forgotten, err := store.UnsharedTombstones(ctx, shared.Server())
	u.forgotten = make(map[string]bool, len(forgotten))
	for _, f := range forgotten {
		u.forgotten[f.ID] = true
	}
	return u, err
}

// Unsent counts what a shared memory lacks.
func Unsent(ctx context.Context, run *workspace.Run, store *memory.Store, server string) (n memory.Unshared, err error) {
	q := memory.ShareQuery{Server: server}
	if q.Only, _, err = selection.Shareable(ctx, run, store); err != nil {
		return n, err
	}
	if q.Model, err = store.VectorModel(ctx); err != nil {
		return n, err
	}
	return store.CountUnshared(ctx, q)
}
