package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/retention"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

type cleanOptions struct {
	MaxAge   string
	Agent    string
	Archives bool
	Grace    string
	DryRun   bool
	Yes      bool
	Force    bool
	Undelete string

	maxAge, grace time.Duration
}

func (o *cleanOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.MaxAge, "max-age", "", "only sessions that nobody has used for this `age`: 7d, 4w, 240h")
	fs.StringVar(&o.Agent, "agent", "", "only sessions of this `agent`")
	fs.BoolVar(&o.Archives, "archives", false, "old archives too, by the rules of archive prune")
	fs.StringVar(&o.Grace, "grace", "7d", "how long deleted files can be brought back, as an `age`")
	fs.BoolVar(&o.DryRun, "dry-run", false, "print the plan and change nothing")
	fs.BoolVarP(&o.Yes, "yes", "y", false, "do not ask")
	fs.BoolVar(&o.Force, "force", false, "disable the safety limit: > 50 % of an agent's sessions")
	fs.StringVar(&o.Undelete, "undelete", "", "bring back the session with this `id`, or \"all\", from the trash")
	fromConfig(fs, "max-age", "clean.max_age")
	fromConfig(fs, "grace", "clean.grace")
}

func (o *cleanOptions) validate() (err error) {
	if o.Grace == "" {
		o.Grace = "7d"
	}
	if o.Undelete != "" {
		return nil
	}
	if o.MaxAge == "" {
		return usageError("sessctl clean --max-age 7d --dry-run", "how old? --max-age is needed")
	}
	if o.maxAge, err = parseAgo(o.MaxAge); err != nil || o.maxAge < 0 {
		return usageError("write 7d, 4w or 240h", "--max-age: %q is not an age", o.MaxAge)
	}
	if o.grace, err = parseAgo(o.Grace); err != nil || o.grace < 0 {
		return usageError("write 7d or 24h", "--grace: %q is not an age", o.Grace)
	}
	if o.maxAge < retention.RecentUse {
		return usageError("a session that was used within the last day is never deleted", "--max-age %s is less than a day", o.MaxAge)
	}
	return nil
}

func newCleanCommand(a *app) *cobra.Command {
	var o cleanOptions
	c := &cobra.Command{
		Use:   "clean",
		Short: "Delete old sessions, once they are archived and remembered",
		Long: `Delete sessions that nobody has used for an age: logs that a runtime has closed,
and old sessions that it will not go on with by itself. A session goes only once
it is in the archive, the archive was read back, and memory has what it says;
what is not archived or remembered is first. The newest session of an agent
stays, and so do sessions that an index names, that are open in a program, that
changed within a day, or that only their runtime may change. Files that belong
together go together. An agent that would lose more than half of its sessions
loses none without --force; the others are cleaned, and the exit code is 3.

Deleted files stay in a .sessctl-trash directory beside them for 7 days
(--grace). Restore them with --undelete; the next clean purges older ones. Every
step is a line of audit.jsonl in the data directory. Without a terminal --yes is
needed.
` + exitHelp,
		Example: `  sessctl clean --max-age 7d --dry-run
  sessctl clean --max-age 7d --yes
  sessctl clean --max-age 30d --archives --yes
  sessctl clean --undelete 4f0c2a`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			if o.Undelete != "" {
				return runCleanUndelete(c.Context(), a, o)
			}
			return runClean(c.Context(), a, o)
		},
	}
	o.addFlags(c.Flags())
	return c
}

func runClean(ctx context.Context, a *app, o cleanOptions) error {
	c, err := a.newCleaner(o)
	if err != nil {
		return err
	}
	if o.DryRun {
		return a.rehearseClean(ctx, c)
	}
	all, _, err := a.listStores(ctx) // the plan says what is odd in them
	if err != nil {
		return err
	}
	w, err := a.openWorkspace(ctx, mode{reason: "clean", recover: &recovery{sessions: all.sessions, policy: a.recoveryPolicy()}})
	if err != nil {
		return err
	}
	defer w.close()
	c.rules.Again = func(ctx context.Context, item retention.Item, s retention.TrashedSession) (archive.Entry, error) {
		return w.archiveAgain(ctx, a.invocation, item, s)
	}
	if err := c.rules.Recover(); err != nil {
		return err
	}
	if err := c.decide(ctx); err != nil {
		return err
	}
	if err := a.agreeToClean(c); err != nil {
		return err
	}
	if len(c.plan.Going()) > 0 {
		if err := w.needMemory(ctx, a.invocation); err != nil {
			return err // nothing goes that could not be found again
		}
	}
	c.rules.Remember = func(ctx context.Context, log retention.Session, e archive.Entry) error {
		return w.rememberOnce(ctx, a.invocation, log, e, aboutToClean)
	}
	err = errors.Join(c.execute(ctx), w.embedWaiting(ctx, w.unchanged))
	return errors.Join(err, a.renderClean(c), c.outcome())
}

// archiveAgain archives and remembers a file of the trash that was written after
// it was put there. Its archive says where the session was, not where it waits.
func (w *workspace) archiveAgain(ctx context.Context, a *invocation, item retention.Item, s retention.TrashedSession) (archive.Entry, error) {
	ref := session.Ref{Runtime: s.Runtime, Agent: s.Agent, ID: s.Session}
	if s.Archive != "" {
		before, err := w.archives.Get(ctx, s.Archive)
		if err != nil {
			return archive.Entry{}, err
		}
		ref = archivedLog(before).Ref
	}
	ref.Path = item.From
	log, err := a.pins.OpenRegular(item.To)
	if err != nil {
		return archive.Entry{}, err
	}
	defer log.Close()
	snap, err := session.TakeSnapshot(ctx, log, item.To)
	if err != nil {
		return archive.Entry{}, err
	}
	entry, err := archiver{store: w.archives, now: a.now, reason: "clean"}.put(ctx, ref, snap, io.NewSectionReader(log, 0, snap.Size))
	reader := a.readerOf(ref.Runtime)
	if err != nil || ref.Kind == session.KindOutput || s.Archive == "" || reader == nil {
		return entry, err // no log, or one that nobody here can read
	}
	if err := w.needMemory(ctx, a); err != nil {
		return entry, err
	}
	return entry, w.rememberProven(ctx, a, retention.Session{Ref: ref, Adapter: reader}, entry, aboutToClean)
}

// needMemory opens memory, unless it is open.
func (w *workspace) needMemory(ctx context.Context, a *invocation) error {
	if w.memory != nil {
		return nil
	}
	if err := w.openMemory(ctx, a, mode{memory: true}); err != nil {
		return err
	}
	return w.assemble(a, mode{reason: "clean"})
}

// cleaner is one run of `clean`. The plan is made once, and what is shown is
// what is executed.
type cleaner struct {
	app     *invocation
	options cleanOptions
	rules   retention.Clean
	plan    *retention.CleanPlan
	prune   *pruner // with --archives
	result  retention.CleanResult
	rows    []cleanRow // of what is to be done or was done
}

func (a *invocation) newCleaner(o cleanOptions) (*cleaner, error) {
	archives, err := a.openArchive()
	if err != nil {
		return nil, err
	}
	copies, err := a.offSiteCopies()
	if err != nil {
		return nil, err
	}
	if copies != nil {
		archives = archives.CountingCopies(copies.whole)
	}
	return &cleaner{app: a, options: o, plan: &retention.CleanPlan{}, rules: retention.Clean{
		Archives: archives, Trash: a.sessionTrash(), Audit: a.audit(), Now: a.now,
		MaxAge: o.maxAge, Grace: o.grace, Force: o.Force, Rule: "clean --max-age " + o.MaxAge,
		Copy: func(ctx context.Context, ref session.Ref) (archive.Entry, error) {
			return putLog(ctx, a, archives, ref, "clean")
		},
	}}, nil
}

func (a *invocation) sessionTrash() retention.Trash {
	return retention.Trash{Dir: filepath.Join(a.dataDir(), "trash", "sessions"), Moves: a.moves(), Pins: a.pins}
}

// rehearseClean is a dry run.
func (a *app) rehearseClean(ctx context.Context, c *cleaner) error {
	if err := c.decide(ctx); err != nil {
		return err
	}
	c.noteSpared()
	return a.renderClean(c)
}

// decide makes the plan: of every session, of what is in the trash and, with
// --archives, of every archive.
func (c *cleaner) decide(ctx context.Context) error {
	if err := c.app.checkClock(c.app.now()); err != nil {
		return err
	}
	all, err := c.app.findSessions(ctx)
	if err != nil {
		return err
	}
	if all, err = all.withSubAgents(c.options.Agent); err != nil {
		return err
	}
	needs, err := c.app.journal().Needs()
	if err != nil {
		return err
	}
	pinned, err := c.app.readPinned()
	if err != nil {
		return err
	}
	c.rules.Needed = neededBy(needs, pinned)
	if c.plan, err = c.rules.Plan(ctx, all.retained()); err != nil {
		return err
	}
	c.makeRows()
	return c.decideArchives(ctx)
}

func (c *cleaner) decideArchives(ctx context.Context) (err error) {
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
	c.prune.rules.Leaving = map[string]bool{}
	for _, s := range c.plan.Going() {
		for _, f := range s.Files {
			c.prune.rules.Leaving[f.Path] = true
		}
	}
	if !c.options.DryRun {
		if err := c.prune.rules.Recover(ctx); err != nil {
			return err
		}
	}
	return c.prune.decide(ctx)
}

// execute carries the plan out, and then that for the archives.
func (c *cleaner) execute(ctx context.Context) (err error) {
	c.result, err = c.rules.Execute(ctx, c.plan)
	c.tellLeft()
	if err != nil {
		return err
	}
	c.makeRows()
	if c.prune != nil {
		if err := c.prune.removePages(ctx); err != nil {
			return err
		}
		return c.prune.rules.Execute(ctx, c.prune.plan)
	}
	return nil
}

// tellLeft says what was to go and did not. What only waits is a note.
func (c *cleaner) tellLeft() {
	for _, s := range c.plan.Sessions {
		if s.Left != nil && !errors.Is(s.Left, session.ErrBusy) {
			c.app.failed(s.Path, s.Left)
		}
	}
	for _, k := range c.result.Kept {
		tell := c.app.notice
		if k.Failed {
			tell = c.app.tell
		}
		tell(note{Path: k.Item.To, Message: "stays in the trash: " + k.Err.Error()})
	}
}

// noteSpared says of which agents nothing goes.
func (c *cleaner) noteSpared() {
	c.app.noteSpared("sessions", c.plan.Spared, c.options.DryRun)
	if c.prune != nil {
		c.app.noteSpared("archives", c.prune.plan.Spared, c.options.DryRun)
	}
}

// spared are the agents of which nothing goes because too much would.
func (c *cleaner) spared() []string {
	if c.prune == nil {
		return c.plan.Spared
	}
	return append(slices.Clone(c.plan.Spared), c.prune.plan.Spared...)
}

// agreeToClean refuses a plan of which nothing is left because it deletes too much, and
// asks the user.
func (a *app) agreeToClean(c *cleaner) error {
	going := len(c.plan.Going()) + len(c.plan.Purge)
	if c.prune != nil {
		going += len(c.prune.going())
	}
	if err := refuseTooMuch("sessions", c.plan.Spared); err != nil && going == 0 {
		return err
	}
	if err := refuseTooMuch("archives", c.spared()); err != nil && going == 0 {
		return err
	}
	c.noteSpared()
	if going == 0 || c.options.Yes {
		return nil
	}
	if !a.JSON {
		if err := a.listClean(c); err != nil {
			return err
		}
	}
	return a.confirm(fmt.Sprintf("delete %s?", plural(going, "file")))
}

// retained are the sessions as package retention knows them.
func (v inventory) retained() []retention.Session {
	all := make([]retention.Session, 0, len(v.sessions))
	for _, s := range v.sessions {
		all = append(all, retention.Session{Ref: s.Ref, Adapter: s.store})
	}
	return all
}

// withSubAgents is of, with the sub-agents that the agent has started.
func (v inventory) withSubAgents(agent string) (inventory, error) {
	mine, err := v.of(agent)
	if err != nil || agent == "" {
		return mine, err
	}
	for i, s := range v.retained() {
		if parent, sub := s.CountsFor(); sub && parent == agent {
			mine.sessions = append(mine.sessions, v.sessions[i])
		}
	}
	return mine, nil
}

// cleanDocument is `clean --json`.
type cleanDocument struct {
	Schema   int            `json:"schema"`
	DryRun   bool           `json:"dry_run"`
	MaxAge   string         `json:"max_age"`
	Sessions []cleanRow     `json:"sessions"`
	Bytes    int64          `json:"bytes"`  // of the files that go
	Spared   []string       `json:"spared"` // the agents, with their runtime, of which nothing goes because more than half would
	Archives *pruneDocument `json:"archives"`
	Notes    []note         `json:"notes"`
}

// cleanRow is one session, or one file in the trash.
type cleanRow struct {
	Runtime string `json:"runtime"`
	Agent   string `json:"agent"`
	Session string `json:"session"`
	Kind    string `json:"kind"`
	Path    string `json:"path"`
	Files   int    `json:"files"` // with what belongs to it
	Bytes   int64  `json:"bytes"`
	LastUse string `json:"last_use"` // RFC 3339, UTC
	Outcome string `json:"outcome"`  // trash, purge, undelete or kept
	Reason  string `json:"reason"`

	left bool // it was to go, and is busy or could not
}

// makeRows shows what goes, and of what is old enough why it stays.
func (c *cleaner) makeRows() {
	c.rows = nil
	now := c.app.now()
	for _, p := range c.plan.Sessions {
		if !p.Verdict.Goes && now.Sub(p.LastUse) <= c.options.maxAge {
			continue
		}
		row := cleanRow{
			Runtime: p.Runtime, Agent: p.Agent, Session: p.ID, Kind: string(p.Kind), Path: p.Path, Files: len(p.Files), Bytes: p.Bytes,
			LastUse: p.LastUse.UTC().Format(time.RFC3339), Outcome: pruneKept, Reason: p.Verdict.Reason, left: p.Left != nil,
		}
		if p.Verdict.Goes {
			row.Outcome, row.Reason, row.Bytes = retention.ActionTrash, "unused for "+days(now.Sub(p.LastUse)), p.Size()
		}
		c.rows = append(c.rows, row)
	}
	for _, item := range c.plan.Purge {
		of, _ := retention.SessionOf(item) // of another record the path says enough
		c.rows = append(c.rows, cleanRow{
			Runtime: of.Runtime, Agent: of.Agent, Session: of.Session,
			Path: item.From, Files: 1, Bytes: item.Bytes, Outcome: retention.ActionPurge,
			LastUse: item.At.UTC().Format(time.RFC3339), Reason: "in the trash since " + item.At.UTC().Format(time.RFC3339),
		})
	}
}

func days(d time.Duration) string { return plural(int(d/(24*time.Hour)), "day") }

func (a *app) renderClean(c *cleaner) error {
	doc := cleanDocument{Schema: 1, DryRun: c.options.DryRun, MaxAge: c.options.MaxAge, Sessions: append([]cleanRow{}, c.rows...), Spared: append([]string{}, c.plan.Spared...), Notes: a.notes}
	going := 0
	for _, r := range c.rows {
		if r.Outcome != pruneKept {
			going++
			doc.Bytes += r.Bytes
		}
	}
	if c.prune != nil {
		c.prune.doc.Notes = []note{}
		doc.Archives = &c.prune.doc
	}
	if a.JSON {
		return a.printJSON(doc)
	}
	if err := a.listClean(c); err != nil {
		return err
	}
	what := "deleted"
	switch {
	case c.options.DryRun && c.options.MaxAge == "":
		what = "would be brought back"
	case c.options.DryRun:
		what = "would be deleted"
	case c.options.MaxAge == "":
		what = "brought back"
	}
	if c.prune != nil {
		going += len(c.prune.going())
		doc.Bytes += c.prune.doc.Bytes
	}
	if going == 0 && a.Quiet {
		return nil
	}
	if a.OutTTY {
		_, err := fmt.Fprintf(a.Out, "%s %s (%s)\n", formatCount(int64(going)), what, formatBytes(doc.Bytes))
		return err
	}
	return a.printRows([][]string{{strconv.Itoa(going), what, formatBytes(doc.Bytes)}})
}

// listClean prints the plan; with --quiet without what was to stay.
func (a *app) listClean(c *cleaner) error {
	var rows [][]string
	t := table{empty: "no old sessions", columns: []column{
		{name: "WHAT"}, {name: "RUNTIME", drop: 1}, {name: "AGENT", least: 8}, {name: "SESSION", least: 12}, {name: "LAST USE", drop: 2}, {name: "SIZE", right: true}, {name: "WHY", least: 16},
	}}
	for _, r := range c.rows {
		if a.Quiet && r.Outcome == pruneKept && !r.left {
			continue
		}
		rows = append(rows, []string{r.Outcome, r.Runtime, visible(r.Agent), visible(r.Session), r.LastUse, formatBytes(r.Bytes), visible(r.Reason)})
		t.rows = append(t.rows, []string{r.Outcome, r.Runtime, r.Agent, cmp.Or(r.Session, a.tilde(r.Path)), shownTime(r.LastUse), formatBytes(r.Bytes), r.Reason})
	}
	if err := a.printPlan(t, rows); err != nil || c.prune == nil {
		return err
	}
	return a.listPrune(c.prune)
}

// outcome decides the exit code.
func (c *cleaner) outcome() error {
	done := 0
	for _, r := range c.rows {
		if r.Outcome != pruneKept {
			done++
		}
	}
	switch {
	case c.result.Failed > 0 && done > 0:
		return &outcomeError{exit: exitPartly}
	case c.result.Failed > 0:
		return &outcomeError{exit: exitFailed}
	case len(c.spared()) > 0:
		return spareOutcome(c.spared())
	case c.result.Busy > 0:
		return &outcomeError{exit: exitBusy}
	}
	return nil
}

// runCleanUndelete restores sessions from the trash.
func runCleanUndelete(ctx context.Context, a *app, o cleanOptions) error {
	c, err := a.newCleaner(cleanOptions{DryRun: o.DryRun})
	if err != nil {
		return err
	}
	if o.DryRun {
		return a.bringBack(ctx, c, o.Undelete)
	}
	w, err := a.openWorkspace(ctx, mode{reason: "clean"})
	if err != nil {
		return err
	}
	defer w.close()
	if err := c.rules.Recover(); err != nil {
		return err
	}
	return a.bringBack(ctx, c, o.Undelete)
}

// bringBack restores what the trash has of a session, or of all.
func (a *app) bringBack(ctx context.Context, c *cleaner, name string) error {
	id, err := c.trashedSession(name)
	if err != nil {
		return err
	}
	items, err := c.rules.Trashed(id)
	if errors.Is(err, retention.ErrNotInTrash) && id == "all" {
		return a.renderClean(c) // the trash is empty: all of it is back
	}
	if errors.Is(err, retention.ErrNotInTrash) {
		return &failure{code: "unknown_session", exit: exitUsage, hint: "sessctl log --limit 0 shows what was deleted", err: fmt.Errorf("%q is not in the trash", id)}
	}
	if err != nil {
		return err
	}
	stores, err := c.app.openStores()
	if err != nil {
		return err
	}
	for _, item := range items {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := c.undelete(stores, item); err != nil {
			return err
		}
	}
	return errors.Join(a.renderClean(c), c.outcome())
}

// trashedSession is the whole id of a session in the trash; what is none is
// looked for among the records of the trash.
func (c *cleaner) trashedSession(name string) (string, error) {
	items, err := c.rules.Trash.List()
	if err != nil {
		return name, err
	}
	var all []candidate
	for _, item := range items {
		if s, err := retention.SessionOf(item); err == nil {
			all = append(all, candidate{s.Session, s.Agent + ", " + s.Runtime})
		}
	}
	switch fits := sessionIDs().matching(name, all); len(fits) {
	case 0:
		return name, nil
	case 1:
		return fits[0].id, nil
	default:
		return name, sessionIDs().ambiguous(name, fits)
	}
}

// undelete restores one file. A file whose place is taken, or that may not
// return, stays in the trash, which is reported and is no error.
func (c *cleaner) undelete(stores []session.Store, item retention.Item) error {
	s, err := retention.SessionOf(item)
	if err != nil {
		return err
	}
	if err := retention.MayReturn(stores, item); err != nil {
		hint := ""
		if s.Archive != "" {
			hint = "sessctl archive restore " + s.Archive + " --to FILE puts its bytes into a file elsewhere"
		}
		c.leaveInTrash(item, err.Error(), hint)
		return nil
	}
	if c.options.DryRun {
		err = retention.PlaceFree(item)
	} else {
		err = c.rules.Undelete(item)
	}
	if errors.Is(err, fs.ErrExist) {
		c.leaveInTrash(item, "another file is at "+item.From, "move it away first")
		return nil
	}
	if err != nil {
		return err
	}
	c.rows = append(c.rows, cleanRow{
		Runtime: s.Runtime, Agent: s.Agent, Session: s.Session, Path: item.From, Bytes: item.Bytes,
		LastUse: item.At.UTC().Format(time.RFC3339), Outcome: retention.ActionUndelete, Reason: "back from the trash",
	})
	return nil
}

func (c *cleaner) leaveInTrash(item retention.Item, cause, hint string) {
	c.result.Failed++
	c.app.tell(note{Path: item.To, Message: "stays in the trash: " + cause, Hint: hint})
}

// checkClock refuses to tell ages while the clock is behind the last thing that
// was deleted, or behind the last run.
func (a *invocation) checkClock(now time.Time) error {
	recorded, err := a.recorded()
	if err != nil {
		return err
	}
	wrong, err := a.clock().Check(now, recorded)
	if wrong == nil {
		return err
	}
	return &failure{code: "clock", exit: exitFailed, path: wrong.Path, hint: adviseClock, err: err}
}

// adviseClock says what to do about a time in the future.
const adviseClock = "nothing is deleted by age until the clock is right; if it is right and that time is not: sessctl doctor --trust-clock"

func (a *invocation) clock() retention.Clock {
	return retention.Clock{Path: filepath.Join(a.dataDir(), "clock.json"), Pins: a.pins}
}

// recorded are the times of everything that was deleted, and of every run.
func (a *invocation) recorded() ([]retention.Recorded, error) {
	all, err := a.audit().Recorded()
	if err != nil {
		return nil, err
	}
	receipts := a.receipts()
	ids, err := receipts.IDs()
	for _, text := range ids {
		if id, err := ulid.ParseStrict(text); err == nil {
			all = append(all, retention.Recorded{At: ulid.Time(id.Time()), Path: receipts.Path(text), What: "the last run"})
		}
	}
	return all, err
}

// refuseTooMuch is the error for a plan that would take more than half of what
// owners have, nil without owners. what is "sessions" or "archives".
func refuseTooMuch(what string, owners []string) *failure {
	if len(owners) == 0 {
		return nil
	}
	return &failure{
		code: "too_much", exit: exitFailed, hint: "see the plan with --dry-run; --force allows it",
		err: fmt.Errorf("more than half of the %s of %s would be deleted; nothing was done", what, strings.Join(owners, ", ")),
	}
}

// noteSpared names the owners of whom nothing goes because more than half of
// what they have would. It is said with --quiet too: the run does not do all
// that it was asked for.
func (a *invocation) noteSpared(what string, owners []string, dryRun bool) {
	if len(owners) == 0 {
		return
	}
	text := fmt.Sprintf("more than half of the %s of %s would be deleted: they are kept", what, strings.Join(owners, ", "))
	hint := "see the plan with --dry-run; --force deletes them too"
	if dryRun {
		hint = "--force deletes them too"
	}
	a.tell(note{Message: text, Hint: hint})
}

// spareOutcome is the exit code of a run that left owners alone.
func spareOutcome(owners []string) error {
	if len(owners) == 0 {
		return nil
	}
	return &outcomeError{exit: exitPartly}
}
