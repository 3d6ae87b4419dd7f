package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/retention"
	"github.com/sessctl/sessctl/pkg/session"
)

// recentUse is how long ago a session must have been used, whatever age was
// asked for (research/reliability.md section A6).
const recentUse = 24 * time.Hour

// cleaner is one clean on its way. The plan is made once, and what is shown is
// what is carried out.
type cleaner struct {
	app      *app
	options  cleanOptions
	archives *archive.Store
	trash    retention.Trash
	audit    retention.Audit

	all    inventory
	plans  []cleanPlan
	purge  []retention.Item
	prune  *pruner // with --archives
	failed int
	busy   int
	rows   []cleanRow // of what was done or is to be done
}

// cleanPlan is what becomes of one session and what belongs to it.
type cleanPlan struct {
	found
	verdict    retention.Verdict
	files      []cleanFile // with the log first
	lastUse    time.Time
	shortOf    string // why it stays, if the rules of age would let it go
	considered bool   // it is of a kind that may go
}

// cleanFile is one file of a family, and what it was when the plan was made.
type cleanFile struct {
	path string
	seen session.Snapshot
	log  *found // nil for a companion
}

func (a *app) sessionTrash() retention.Trash {
	return retention.Trash{Dir: filepath.Join(a.dataDir(), "trash", "sessions")}
}

func (a *app) newCleaner(o cleanOptions) (*cleaner, error) {
	archives, err := a.openArchive()
	return &cleaner{app: a, options: o, archives: archives, trash: a.sessionTrash(), audit: a.audit()}, err
}

// plan decides what becomes of every session and of what is in the trash. It
// changes nothing.
func (c *cleaner) plan(ctx context.Context) (err error) {
	now := c.app.now()
	if err := c.app.checkClock(now); err != nil {
		return err
	}
	if c.all, err = c.app.findSessions(ctx); err != nil {
		return err
	}
	if c.all, err = c.all.withSubAgents(c.options.Agent); err != nil {
		return err
	}
	for _, s := range c.all.sessions {
		if err := ctx.Err(); err != nil {
			return err
		}
		if s.Parent == "" && c.leads(s) {
			c.plans = append(c.plans, c.consider(ctx, s))
		}
	}
	c.byAge(now)
	for i := range c.plans {
		if p := &c.plans[i]; p.verdict.Goes {
			p.shortOf = c.mayGo(ctx, p, now)
			p.verdict.Goes = p.shortOf == ""
		}
	}
	if err := c.planPurge(now); err != nil {
		return err
	}
	c.makeRows()
	return c.planArchives(ctx)
}

// consider tells whether a session is of a kind that may go, and when it, or
// what belongs to it, was used last.
func (c *cleaner) consider(ctx context.Context, s found) cleanPlan {
	p := cleanPlan{found: s, lastUse: s.ModTime}
	switch {
	case s.Kind == session.KindDatabase || s.Kind == session.KindStored:
		p.shortOf = "it lies in a database of its runtime"
	case closed(s.Kind):
		p.considered = true
	case s.State == session.StateUnsupported:
		p.shortOf = "only its runtime may change it: " + s.Reason
	case s.Runtime == session.RuntimeOpenClaw && s.Kind != session.KindOrphan:
		p.shortOf = "the runtime's index names it"
	case s.Kind == session.KindOrphan, s.Runtime != session.RuntimeOpenClaw:
		p.considered = true
	}
	if p.considered {
		for _, m := range c.members(s) {
			p.lastUse = later(p.lastUse, lastUse(ctx, m))
		}
	}
	return p
}

// lastUse is the later of a log's time and its last record's: one that was
// copied or restored may have an old file's time, or a new one.
func lastUse(ctx context.Context, s found) time.Time {
	if s.Kind == session.KindOutput {
		return s.ModTime // it has no records
	}
	tail, err := s.store.Tail(ctx, s.Ref)
	if err != nil {
		return s.ModTime
	}
	return later(s.ModTime, tail.LastRecord)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// closed reports a log that its runtime has closed or copied.
func closed(k session.Kind) bool {
	switch k {
	case session.KindReset, session.KindDeleted, session.KindBackup, session.KindCheckpoint, session.KindArchived:
		return true
	}
	return false
}

// byAge applies the rules of age. The newest session of an agent stays, and so
// every session counts, also those that may not go.
func (c *cleaner) byAge(now time.Time) {
	candidates := make([]retention.Candidate, 0, len(c.plans))
	for _, p := range c.plans {
		parent, sub := parentOf(p.found)
		candidates = append(candidates, retention.Candidate{ID: p.Path, Owner: p.Runtime + " " + parent, Time: p.lastUse, Temporary: sub})
	}
	policy := retention.Policy{MaxAge: max(c.options.maxAge, 0), Keep: 1}
	for i, v := range retention.Choose(candidates, policy, now) {
		if !c.plans[i].considered {
			v.Goes, v.Reason = false, c.plans[i].shortOf
		}
		c.plans[i].verdict = v
	}
}

// mayGo looks at a session that is old enough. It returns why it stays, or "".
func (c *cleaner) mayGo(ctx context.Context, p *cleanPlan, now time.Time) string {
	for _, m := range c.members(p.found) {
		if err := untouchable(m.store, m.Path); err != nil {
			return err.Error()
		}
		if liveness, ok := m.store.(session.Liveness); ok && !closed(m.Kind) {
			if err := liveness.Busy(ctx, m.Ref, now, 0); err != nil {
				return busyText(err)
			}
		}
		if reason := c.add(p, m.Path, &m); reason != "" {
			return reason
		}
	}
	companions, err := companions(ctx, p.found)
	if err != nil {
		return "what belongs to it cannot be told: " + err.Error()
	}
	for _, path := range companions {
		if slices.ContainsFunc(p.files, func(f cleanFile) bool { return f.path == path }) {
			continue
		}
		if reason := c.add(p, path, nil); reason != "" {
			return reason
		}
	}
	return ""
}

func busyText(err error) string {
	var busy *session.BusyError
	if errors.As(err, &busy) {
		return "busy: " + busy.Reason
	}
	return err.Error()
}

// add takes a file into the family. It returns why it cannot go, or "".
func (c *cleaner) add(p *cleanPlan, path string, log *found) string {
	info, err := os.Lstat(path)
	if err != nil {
		return "it cannot be looked at: " + err.Error()
	}
	if !info.Mode().IsRegular() {
		return fmt.Sprintf("%s is not a regular file", filepath.Base(path))
	}
	if c.app.now().Sub(info.ModTime()) < recentUse && !c.options.Force {
		return filepath.Base(path) + " was changed within a day"
	}
	p.files = append(p.files, cleanFile{path: path, seen: session.Observe(path, info), log: log})
	return ""
}

// planPurge finds what has been in the trash for long enough.
func (c *cleaner) planPurge(now time.Time) error {
	items, err := c.trash.List()
	if err != nil {
		return err
	}
	for _, item := range items {
		if !now.Before(item.Until) {
			c.purge = append(c.purge, item)
		}
	}
	return nil
}

func (c *cleaner) planArchives(ctx context.Context) (err error) {
	if !c.options.Archives {
		return nil
	}
	o := pruneOptions{
		MaxAge: c.options.MaxAge, Keep: 3, Agent: c.options.Agent, DryRun: c.options.DryRun, Yes: true, Force: c.options.Force,
		maxAge: c.options.maxAge, grace: c.options.grace,
	}
	if c.prune, err = c.app.newPruner(o); err != nil {
		return err
	}
	c.prune.leaving = map[string]bool{}
	for _, p := range c.going() {
		for _, f := range p.files {
			c.prune.leaving[f.path] = true
		}
	}
	if !c.options.DryRun {
		if err := c.prune.settle(ctx); err != nil {
			return err
		}
	}
	return c.prune.plan(ctx)
}

func (c *cleaner) verdicts() []retention.Verdict {
	var all []retention.Verdict
	for _, p := range c.plans {
		all = append(all, p.verdict)
	}
	return all
}

// going are the plans of what goes.
func (c *cleaner) going() []*cleanPlan {
	var all []*cleanPlan
	for i := range c.plans {
		if c.plans[i].verdict.Goes {
			all = append(all, &c.plans[i])
		}
	}
	return all
}
