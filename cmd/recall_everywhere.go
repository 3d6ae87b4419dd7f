package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
)

// recallEverywhere asks the memory that hosts share. While its server cannot be
// reached, the memory of this host answers, and a note says so.
func (a *invocation) recallEverywhere(ctx context.Context, o recallOptions) (recallDocument, error) {
	o.Everywhere = false
	doc, err := a.askShared(ctx, o)
	if !errors.Is(err, remote.ErrUnreachable) {
		return doc, err
	}
	if doc, err = a.recall(ctx, o); err == nil {
		doc.tell("the shared memory cannot be reached: this is what this host remembers")
	}
	return doc, err
}

// askShared answers from the shared memory.
func (a *invocation) askShared(ctx context.Context, o recallOptions) (recallDocument, error) {
	query, err := o.query(a.now())
	if err != nil {
		return recallDocument{}, err
	}
	bounded, cancel := context.WithTimeout(ctx, a.config.Memory.Remote.Timeout)
	defer cancel()
	shared, err := a.openShared(bounded, false)
	if err != nil {
		return recallDocument{}, err
	}
	defer shared.Close()
	doc, err := a.askOpened(bounded, shared, o, query)
	if err != nil && ctx.Err() != nil {
		return doc, ctx.Err()
	}
	return doc, explainShared(err)
}

func (a *invocation) askOpened(ctx context.Context, shared sharedMemory, o recallOptions, query memory.Query) (doc recallDocument, err error) {
	if query.Session, err = sharedSession(ctx, shared, o.Session); err != nil {
		return doc, err
	}
	own, err := a.ownHost()
	if err != nil {
		return doc, err
	}
	running := &contexts{}
	if o.Elsewhere {
		running = a.runningSessions(ctx)
	}
	behind, err := a.lookUnsent(ctx, shared)
	if err != nil {
		return doc, err
	}
	if len(running.refs)+len(behind.forgotten) > 0 {
		query.Limit += mostNeighbors + mostHits // some may be left out
	}
	result, err := a.askRemote(ctx, shared, query)
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
		if err := doc.completeShared(ctx, shared, i, h, o.neighborsOf(h)); err != nil {
			return doc, err
		}
		doc.Hits[i].leaveOut(behind.forgotten)
	}
	doc.relocateHere(a.moves().Path)
	if behind.records > 0 {
		doc.tell(plural(behind.records, "record") + " of this host not sent yet: sessctl push")
	}
	return doc, nil
}

// leaveOut leaves out what stands around a hit and is forgotten.
func (h *recallHit) leaveOut(forgotten map[string]bool) {
	is := func(n recallNeighbor) bool { return forgotten[n.ID] }
	h.Before, h.After = slices.DeleteFunc(h.Before, is), slices.DeleteFunc(h.After, is)
}

// relocateHere lets the sources on this host name where they are now.
func (d *recallDocument) relocateHere(now func(string) string) {
	for i := range d.Hits {
		if h := &d.Hits[i]; h.here {
			h.Source.Path = now(h.Source.Path)
		}
	}
}

// askRemote is a recall with the embedder that is configured.
func (a *settings) askRemote(ctx context.Context, shared remote.Memory, q memory.Query) (memory.Result, error) {
	e, err := a.openEmbedder()
	if err != nil {
		return memory.Result{}, err
	}
	if q.Rank == memory.RankText {
		return shared.Recall(ctx, q, nil, e.expected)
	}
	model, down := e.identify(ctx)
	if down != nil {
		return shared.Recall(ctx, q, absent{down}, e.expected)
	}
	return shared.Recall(ctx, q, e.queries, chunked(model))
}

// completeShared adds what stands around a hit, and what it says as a fact.
func (d *recallDocument) completeShared(ctx context.Context, shared sharedMemory, i int, h memory.Hit, neighbors int) error {
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
		d.Hits[i].Before = append(d.Hits[i].Before, recallNeighbor{x.ID, x.Text, newRecallSource(x)})
	}
	for _, x := range near.After {
		d.Hits[i].After = append(d.Hits[i].After, recallNeighbor{x.ID, x.Text, newRecallSource(x)})
	}
	return err
}

// sharedSession is the whole id of a session that is named by its start.
func sharedSession(ctx context.Context, shared sharedMemory, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	ids, err := shared.Sessions(ctx, name, 5)
	switch {
	case err != nil:
		return "", err
	case len(ids) == 0:
		return "", &failure{code: "unknown_session", exit: exitFailed, err: fmt.Errorf("the shared memory has no session %q", name)}
	case len(ids) > 1 && ids[0] != name:
		return "", &failure{code: "ambiguous", exit: exitUsage, hint: "give more of the id: " + strings.Join(ids, ", "), err: fmt.Errorf("several sessions start with %q", name)}
	}
	return cmp.Or(ids[0], name), nil
}

// unsentHere is what the shared memory does not know yet of this host.
type unsentHere struct {
	records   int
	forgotten map[string]bool // ids of records: no answer has them
}

// lookUnsent looks at the memory of this host. There may be none, or none that can
// be looked at now: the question was another. What it says of forgotten records
// must be readable.
func (a *invocation) lookUnsent(ctx context.Context, shared sharedMemory) (u unsentHere, err error) {
	store, err := a.glimpseMemory(ctx)
	if err != nil || store == nil {
		return u, nil
	}
	defer store.Close()
	if n, err := unsent(ctx, store, shared.Server()); err == nil {
		u.records = n.Records
	}
	forgotten, err := store.UnsharedTombstones(ctx, shared.Server())
	u.forgotten = make(map[string]bool, len(forgotten))
	for _, f := range forgotten {
		u.forgotten[f.ID] = true
	}
	return u, err
}

func unsent(ctx context.Context, store *memory.Store, server string) (memory.Unshared, error) {
	model, err := store.VectorModel(ctx)
	if err != nil {
		return memory.Unshared{}, err
	}
	return store.CountUnshared(ctx, memory.ShareQuery{Server: server, Model: model})
}

// examineShared looks at the memory that hosts share, if one is configured.
func (d *checkup) examineShared(ctx context.Context) error {
	if !d.shares() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, d.config.Memory.Remote.Timeout)
	defer cancel()
	shared, err := d.openShared(ctx, false)
	var f *failure
	if errors.As(err, &f) {
		if errors.Is(err, remote.ErrUnreachable) {
			d.warn("", f.Error(), f.hint)
		} else {
			d.problem("", f.Error(), f.hint)
		}
		return nil
	}
	if err != nil {
		return err
	}
	defer shared.Close()
	counts, err := shared.Count(ctx)
	if err != nil {
		return err
	}
	host, err := d.ownHost()
	if err != nil {
		return err
	}
	d.ok("", "%s, %s, words by %s, tables of version %d: %s of %s, %s of %s", shared.Address(), counts.Engine, counts.Words, counts.Schema,
		plural(counts.Records(), "record"), plural(len(counts.Hosts), "host"), plural(counts.Of(host), "record"), visible(host))
	if counts.Unused != "" {
		d.note("", "the shared memory does not use "+counts.Unused, "as its owner: sessctl push --setup (docs/fleet.md)")
	}
	return d.examineSent(ctx, shared, counts.Host(host))
}

// examineSent looks at what the shared memory does not have of this host, or has
// of another one.
func (d *checkup) examineSent(ctx context.Context, shared sharedMemory, there remote.HostCount) error {
	store, err := d.glimpseMemory(ctx)
	if err != nil || store == nil {
		return nil // said elsewhere
	}
	defer store.Close()
	identity, err := store.Identity(ctx)
	if err != nil {
		return err
	}
	if there.OfOtherRole {
		d.problem("", "in the shared memory the name "+visible(there.Host)+" belongs to another role; nothing is pushed", adviseRole)
		return nil
	}
	if there.Memory != "" && there.Memory != identity {
		d.problem("", plural(there.Records, "record")+" of "+visible(there.Host)+" in the shared memory came from another memory; nothing is pushed", adviseOther)
		return nil
	}
	n, err := unsent(ctx, store, shared.Server())
	if waiting := n.Records + n.Gone + n.Tombstones; err == nil && waiting > 0 {
		d.note("", fmt.Sprintf("%s not sent yet, %d to be dropped there, %d forgotten here and not there", plural(n.Records, "record"), n.Gone, n.Tombstones), "sessctl push")
	}
	return err
}
