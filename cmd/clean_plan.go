package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/durable"
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
	case s.store.Capabilities().Indexed && s.Kind != session.KindOrphan:
		p.shortOf = "the runtime's index names it"
	default:
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
		if liveness := m.store.Capabilities().Liveness; liveness != nil && !closed(m.Kind) {
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
		if err := c.prune.recover(ctx); err != nil {
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

// parentOf returns the agent that a session counts for: the one that started
// its agent, if that is a sub-agent, else its own.
func parentOf(s found) (agent string, sub bool) {
	if parents := s.store.Capabilities().Parents; parents != nil {
		if parent, ok := parents.ParentOf(s.Agent); ok {
			return parent, true
		}
	}
	return s.Agent, false
}

// withSubAgents is of, with the sub-agents that the agent has started.
func (v inventory) withSubAgents(agent string) (inventory, error) {
	mine, err := v.of(agent)
	if err != nil || agent == "" {
		return mine, err
	}
	for _, s := range v.sessions {
		if parent, sub := parentOf(s); sub && parent == agent {
			mine.sessions = append(mine.sessions, s)
		}
	}
	return mine, nil
}

// leads reports whether a session stands for all that goes with it. Of a
// sub-agent that is the first.
func (c *cleaner) leads(s found) bool {
	if _, sub := parentOf(s); !sub {
		return true
	}
	for _, x := range c.all.sessions {
		if x.owner() == s.owner() {
			return x.Path == s.Path
		}
	}
	return true
}

// members are a session and the logs that go with it, or stay with it: its
// family, and all of a sub-agent's sessions.
func (c *cleaner) members(s found) []found {
	all := append([]found{s}, c.all.family(s)...)
	if _, sub := parentOf(s); !sub {
		return all
	}
	for _, x := range c.all.sessions {
		if x.owner() == s.owner() && x.Path != s.Path {
			all = append(all, x)
		}
	}
	return all
}

// companions are the paths of the other files that go with a session. Of a
// sub-agent they are all that its directory has: what is not a file keeps it.
func companions(ctx context.Context, s found) (paths []string, err error) {
	if family := s.store.Capabilities().Companion; family != nil {
		return family.Companions(ctx, s.Ref)
	}
	if _, sub := parentOf(s); !sub {
		return nil, nil
	}
	dir := filepath.Dir(s.Path)
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.Name() != retention.DirName {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths, err
}

// trashedSession is what a record of the trash says of its session.
type trashedSession struct {
	Runtime string `json:"runtime"`
	Agent   string `json:"agent"`
	Session string `json:"session"`
	Archive string `json:"archive"` // id of the archive with its bytes
}

// recover finishes what a killed run began: a file that is still, or again, at
// its place was not deleted.
func (c *cleaner) recover() error {
	if !exists(c.trash.Dir) {
		return nil
	}
	if err := durable.Sweep(c.trash.Dir, 0); err != nil {
		return err
	}
	items, err := c.trash.List()
	if err != nil {
		return err
	}
	for _, item := range items {
		moved, err := c.trash.Recover(item)
		if err == nil && !moved {
			err = c.trash.Drop(item.ID)
		}
		if err != nil {
			return fmt.Errorf("finish an earlier clean: %w", err)
		}
	}
	return nil
}

// carryOut does what the plan says, one session after the other. What changed
// since the plan was made stays.
func (c *cleaner) carryOut(ctx context.Context) error {
	for _, p := range c.going() {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := c.discard(ctx, p)
		switch {
		case err == nil:
			continue
		case errors.Is(err, session.ErrBusy):
			c.busy++
			p.verdict.Reason = busyText(err)
		default:
			c.failed++
			p.verdict.Reason = err.Error()
		}
		p.verdict.Goes = false
	}
	for _, item := range c.purge {
		if err := c.remove(ctx, item); err != nil {
			return fmt.Errorf("empty the trash: %w", err)
		}
	}
	c.makeRows()
	if c.prune != nil {
		return c.prune.carryOut(ctx)
	}
	return nil
}

// discard archives a session and what belongs to it, reads the copies back,
// and only then moves the files into the trash, the log last: what is left of
// a family after a kill goes with it in the next run.
func (c *cleaner) discard(ctx context.Context, p *cleanPlan) error {
	entries := make([]archive.Entry, len(p.files))
	for i, f := range p.files {
		e, err := c.secured(ctx, p, f)
		if err != nil {
			return err
		}
		entries[i] = e
	}
	for i := len(p.files) - 1; i >= 0; i-- {
		if err := c.put(p, p.files[i], entries[i]); err != nil {
			return err
		}
	}
	return nil
}

// secured archives a file, unless its bytes are there already, and reads the
// copy back.
func (c *cleaner) secured(ctx context.Context, p *cleanPlan, f cleanFile) (archive.Entry, error) {
	member := p.found
	if f.log != nil {
		member = *f.log
	} else {
		member.Path, member.Kind, member.Bytes = f.path, session.KindOutput, f.seen.Size
	}
	if f.seen.Size == 0 {
		return archive.Entry{}, nil // nothing could be lost
	}
	e, err := putLog(ctx, c.app, c.archives, member, "clean")
	if err == nil {
		err = c.archives.Verify(ctx, e)
	}
	return e, err
}

// put moves a file into the trash: first the line that says so, then the
// record, then the file. A lease proves that nobody has it open, and it must
// still be what the plan saw.
func (c *cleaner) put(p *cleanPlan, f cleanFile, e archive.Entry) error {
	log, err := durable.OpenRegular(f.path)
	if err != nil {
		return err
	}
	defer log.Close()
	lease, err := durable.WriteLease(log)
	if errors.Is(err, durable.ErrHeld) {
		return &session.BusyError{Path: f.path, Reason: "another process has it open"}
	}
	if err != nil && !errors.Is(err, durable.ErrUnsupported) {
		return err
	}
	if lease != nil {
		defer func() { _ = lease.Release() }() // closing does it too
	}
	named, err := os.Lstat(f.path)
	if err != nil {
		return err
	}
	if err := f.seen.Matches(named); err != nil {
		return err
	}
	detail, err := json.Marshal(trashedSession{p.Runtime, p.Agent, p.ID, e.ID})
	if err != nil {
		return err
	}
	now := c.app.now().UTC()
	rule := "clean --max-age " + c.options.MaxAge
	id := fmt.Sprintf("%s-%s", fileID(f.path), now.Format("20060102T150405Z"))
	line := retention.Line{Time: now, Action: retention.ActionTrash, Kind: "session", Path: f.path, SHA256: e.SHA256, Bytes: f.seen.Size, Archive: e.ID, Rule: rule}
	if err := c.audit.Append(line); err != nil {
		return err
	}
	return c.trash.Put(retention.Item{
		ID: id, Kind: "session", From: f.path, To: retention.Place(f.path, id), SHA256: e.SHA256, Bytes: f.seen.Size,
		At: now, Until: now.Add(c.options.grace), Rule: rule, Detail: detail,
	})
}

// remove removes a file from the trash for good, if its archive still
// verifies.
func (c *cleaner) remove(ctx context.Context, item retention.Item) error {
	var s trashedSession
	if err := json.Unmarshal(item.Detail, &s); err != nil {
		return fmt.Errorf("the record %s of the trash is not of a session", item.ID)
	}
	if item.Bytes > 0 {
		e, err := c.archives.Get(ctx, s.Archive)
		if err == nil {
			err = c.archives.Verify(ctx, e)
		}
		if err != nil {
			c.app.notice(note{Path: item.To, Message: "stays in the trash, because its archive does not verify: " + err.Error()})
			c.failed++
			return ctx.Err()
		}
	}
	line := retention.Line{
		Time: c.app.now().UTC(), Action: retention.ActionPurge, Kind: item.Kind, Path: item.From,
		SHA256: item.SHA256, Bytes: item.Bytes, Archive: s.Archive, Rule: item.Rule,
	}
	return errors.Join(c.audit.Append(line), c.trash.Remove(item))
}

// checkClock refuses to tell ages while the clock is behind the last thing that
// was deleted, or behind the last run (research/reliability.md A4 row 14).
func (a *app) checkClock(now time.Time) error {
	audit := a.audit()
	if err := audit.CheckClock(now); err != nil {
		return &failure{code: "clock", exit: exitFailed, path: audit.Path, hint: "nothing is deleted by age until the clock is right", err: err}
	}
	receipts := a.receipts()
	ids, err := receipts.IDs()
	if err != nil {
		return err
	}
	for _, text := range ids {
		id, err := ulid.ParseStrict(text)
		if at := ulid.Time(id.Time()); err == nil && at.After(now.Add(time.Minute)) {
			return &failure{
				code: "clock", exit: exitFailed, path: receipts.Path(text), hint: "nothing is deleted by age until the clock is right",
				err: fmt.Errorf("%w: it is %s, and there is a receipt of %s", errClock, now.UTC().Format(time.RFC3339), at.UTC().Format(time.RFC3339)),
			}
		}
	}
	return nil
}

var errClock = errors.New("the clock runs behind the last run")

// refuseTooMuch is the error for a plan that takes more than half of what an
// owner has, or nil. what is "sessions" or "archives".
func refuseTooMuch(what string, verdicts []retention.Verdict) *failure {
	owners := retention.MoreThanHalf(verdicts)
	if len(owners) == 0 {
		return nil
	}
	return &failure{
		code: "too_much", exit: exitFailed, hint: "see the plan with --dry-run; --force allows it",
		err: fmt.Errorf("more than half of the %s of %s would go; nothing was done", what, strings.Join(owners, ", ")),
	}
}

// noteTooMuch says in a dry run what the real run would refuse.
func (a *app) noteTooMuch(what string, verdicts []retention.Verdict) {
	if owners := retention.MoreThanHalf(verdicts); len(owners) > 0 {
		a.notice(note{Message: fmt.Sprintf("more than half of the %s of %s would go: without --force nothing is done", what, strings.Join(owners, ", "))})
	}
}
