package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/retention"
)

// The outcomes of a prune.
const (
	pruneTrash = retention.ActionTrash
	prunePurge = retention.ActionPurge
	pruneKept  = "kept"
)

func (a *app) audit() retention.Audit {
	return retention.Audit{Path: filepath.Join(a.dataDir(), "audit.jsonl")}
}

func (a *app) archiveTrash() retention.Trash {
	return retention.Trash{Dir: filepath.Join(a.dataDir(), "trash", "archives")}
}

// pruner is one `archive prune` on its way. The plan is made once, and what is
// shown is what is carried out.
type pruner struct {
	app      *app
	options  pruneOptions
	archives *archive.Store
	trash    retention.Trash
	audit    retention.Audit

	entries  []archive.Entry
	verdicts []retention.Verdict // of entries
	purge    []retention.Item
	leaving  map[string]bool // paths of logs that go in the same run
	doc      pruneDocument
}

func (a *app) newPruner(o pruneOptions) (*pruner, error) {
	archives, err := a.openArchive()
	return &pruner{app: a, options: o, archives: archives, trash: a.archiveTrash(), audit: a.audit()}, err
}

// settle finishes what a killed run began: an archive whose file is in the
// trash is not in the catalogue any more, and one whose file is not was never
// deleted.
func (p *pruner) settle(ctx context.Context) error {
	if err := durable.Sweep(p.trash.Dir, 0); err != nil {
		return err
	}
	items, err := p.trash.List()
	if err != nil {
		return err
	}
	for _, item := range items {
		if err := p.settleItem(ctx, item); err != nil {
			return fmt.Errorf("finish an earlier prune: %w", err)
		}
	}
	return nil
}

// settleItem looks how far the run came that deleted an archive, or brought one
// back. The same bytes may have been archived anew meanwhile, under the same id
// and another name: that entry stays.
func (p *pruner) settleItem(ctx context.Context, item retention.Item) error {
	e, err := trashedEntry(item)
	if err != nil {
		return err
	}
	inTrash, err := p.trash.Settle(item)
	if err != nil {
		return err
	}
	entered, err := p.archives.Get(ctx, e.ID)
	known := err == nil
	if err != nil && !errors.Is(err, archive.ErrNotFound) {
		return err
	}
	switch {
	case inTrash && known && entered.Path == item.From && !exists(item.From):
		return p.archives.Drop(ctx, e)
	case inTrash:
		return nil
	case !known && exists(item.From):
		return errors.Join(p.archives.Readmit(ctx, e), p.trash.Drop(item.ID))
	}
	return p.trash.Drop(item.ID)
}

func trashedEntry(item retention.Item) (e archive.Entry, err error) {
	if err := json.Unmarshal(item.Detail, &e); err != nil || e.ID == "" {
		return e, fmt.Errorf("the record %s of the trash is not of an archive", item.ID)
	}
	return e, nil
}

// plan decides what becomes of every archive and of what is in the trash. It
// changes nothing.
func (p *pruner) plan(ctx context.Context) (err error) {
	now := p.app.now()
	p.doc = pruneDocument{Schema: 1, DryRun: p.options.DryRun, MaxAge: p.options.MaxAge, Keep: p.options.Keep, Archives: []pruneRow{}}
	if err := p.app.checkClock(now); err != nil {
		return err
	}
	filter := archive.Filter{Agent: p.options.Agent, Runtime: p.app.global.Runtime}
	if p.entries, err = p.archives.List(ctx, filter); err != nil {
		return err
	}
	var candidates []retention.Candidate
	for _, e := range p.entries {
		candidates = append(candidates, retention.Candidate{ID: e.ID, Owner: e.Runtime + " " + e.Agent, Time: e.CreatedAt})
	}
	p.verdicts = retention.Choose(candidates, retention.Policy{MaxAge: p.options.maxAge, Keep: p.options.Keep}, now)
	f := &copyFinder{pruner: p}
	if err := f.open(ctx); err != nil {
		return err
	}
	defer f.close()
	if err := p.lookElsewhere(ctx, f); err != nil {
		return err
	}
	return p.planPurge(ctx, f)
}

// lookElsewhere lets go only what verifies and is somewhere else too.
func (p *pruner) lookElsewhere(ctx context.Context, f *copyFinder) error {
	for i := len(p.verdicts) - 1; i >= 0; i-- { // the newer ones first: older ones may lean on those that stay
		if v := &p.verdicts[i]; v.Goes {
			where, err := f.find(ctx, i)
			if err != nil {
				return err
			}
			v.Goes, v.Reason = where.found, where.reason
		}
	}
	for i, v := range p.verdicts {
		p.row(p.entries[i], v)
	}
	return nil
}

// row shows an archive that goes, or that is old enough and stays all the same.
func (p *pruner) row(e archive.Entry, v retention.Verdict) {
	if !v.Goes && p.app.now().Sub(e.CreatedAt) <= p.options.maxAge {
		return
	}
	outcome := pruneKept
	if v.Goes {
		outcome = pruneTrash
		p.doc.Bytes += e.StoredBytes
	}
	p.doc.Archives = append(p.doc.Archives, pruneRow{
		ID: e.ID, Runtime: e.Runtime, Agent: e.Agent, Session: e.Session, Path: e.Path, SHA256: e.SHA256, Bytes: e.StoredBytes,
		CreatedAt: e.CreatedAt.UTC().Format(time.RFC3339), Outcome: outcome, Reason: v.Reason,
	})
}

// planPurge finds what has been in the trash for long enough, and whose bytes
// still are somewhere else.
func (p *pruner) planPurge(ctx context.Context, f *copyFinder) error {
	now := p.app.now()
	items, err := p.trash.List()
	if err != nil {
		return err
	}
	for _, item := range items {
		if now.Before(item.Until) {
			continue
		}
		e, err := trashedEntry(item)
		if err != nil {
			return err
		}
		row := pruneRow{
			ID: e.ID, Runtime: e.Runtime, Agent: e.Agent, Session: e.Session, Path: item.To, SHA256: item.SHA256, Bytes: item.Bytes,
			CreatedAt: e.CreatedAt.UTC().Format(time.RFC3339), Outcome: prunePurge,
			Reason: "in the trash since " + item.At.UTC().Format(time.RFC3339),
		}
		still, err := f.still(ctx, item, e)
		if err != nil {
			return err
		}
		if still {
			p.purge = append(p.purge, item)
			p.doc.Bytes += item.Bytes
		} else {
			row.Outcome, row.Reason = pruneKept, "stays in the trash: its bytes are nowhere else any more; --undelete brings it back"
		}
		p.doc.Archives = append(p.doc.Archives, row)
	}
	return nil
}

// going are the rows of what goes.
func (p *pruner) going() []pruneRow {
	var rows []pruneRow
	for _, r := range p.doc.Archives {
		if r.Outcome != pruneKept {
			rows = append(rows, r)
		}
	}
	return rows
}

// carryOut does what the plan says. Each archive is looked at once more.
func (p *pruner) carryOut(ctx context.Context) error {
	for i, v := range p.verdicts {
		if err := ctx.Err(); err != nil {
			return err
		}
		if v.Goes {
			if err := p.discard(ctx, p.entries[i], v.Reason); err != nil {
				return fmt.Errorf("delete archive %s: %w", v.ID, err)
			}
		}
	}
	for _, item := range p.purge {
		line := retention.Line{
			Time: p.app.now().UTC(), Action: retention.ActionPurge, Kind: item.Kind, Path: item.From,
			SHA256: item.SHA256, Bytes: item.Bytes, Archive: archiveOf(item), Rule: item.Rule,
		}
		if err := errors.Join(p.audit.Append(line), p.trash.Remove(item)); err != nil {
			return fmt.Errorf("empty the trash: %w", err)
		}
	}
	return nil
}

// discard moves one archive into the trash: first the line that says so, then
// the record, the file, and the catalogue's entry.
func (p *pruner) discard(ctx context.Context, e archive.Entry, where string) error {
	if err := p.archives.Look(e); err != nil {
		return err
	}
	detail, err := json.Marshal(e)
	if err != nil {
		return err
	}
	now := p.app.now().UTC()
	rule := fmt.Sprintf("archive prune --max-age %s --keep %d: %s", p.options.MaxAge, p.options.Keep, where)
	id := e.ID + "-" + now.Format("20060102T150405Z") // the same bytes may be archived and deleted again
	item := retention.Item{
		ID: id, Kind: "archive", From: e.Path, To: retention.Place(e.Path, id), SHA256: e.SHA256, Bytes: e.StoredBytes,
		At: now, Until: now.Add(p.options.grace), Rule: rule, Detail: detail,
	}
	line := retention.Line{Time: now, Action: retention.ActionTrash, Kind: "archive", Path: e.Path, SHA256: e.SHA256, Bytes: e.StoredBytes, Archive: e.ID, Rule: rule}
	if err := p.audit.Append(line); err != nil {
		return err
	}
	if err := p.trash.Put(item); err != nil {
		return err
	}
	return p.archives.Drop(ctx, e)
}

// archiveOf is the id of the archive that a record of the trash is about.
func archiveOf(item retention.Item) string {
	e, err := trashedEntry(item)
	if err != nil {
		return ""
	}
	return e.ID
}

// prunedArchives are the ids of archives that were deleted on purpose.
func (a *app) prunedArchives() (map[string]bool, error) {
	lines, err := a.audit().Lines()
	if err != nil {
		return nil, err
	}
	pruned := map[string]bool{}
	for _, l := range lines {
		if l.Kind == "archive" {
			pruned[l.Archive] = l.Action != retention.ActionUndelete
		}
	}
	return pruned, nil
}
