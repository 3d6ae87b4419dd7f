package removal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/naming"
	"github.com/sessctl/sessctl/pkg/retention"
	"github.com/sessctl/sessctl/pkg/session"
)

// CleanOptions are the options of clean.
type CleanOptions struct {
	MaxAge   string
	Agent    agentset.Set
	Archives bool
	Grace    string
	DryRun   bool
	Yes      bool
	Force    bool
	Undelete string

	EmptyTrash bool     // only what is in the trash goes, whatever is left of its grace
	Only       []string // only these sessions go, see selection.AgreedName; nil for all

	maximum, graceTime time.Duration
}

// Validate refuses options that contradict each other.
func (o *CleanOptions) Validate() (err error) {
	if o.Grace == "" {
		o.Grace = "7d"
	}
	if o.Undelete != "" {
		return nil
	}
	if o.EmptyTrash || o.Only != nil { // somebody has pointed at what is to go
		o.MaxAge, o.Force = "1d", true
	}
	if o.MaxAge == "" {
		return failure.Usage("sessctl clean --max-age 7d --dry-run", "how old? --max-age is needed")
	}
	if o.maximum, err = workspace.ParseAgo(o.MaxAge); err != nil || o.maximum < 0 {
		return failure.Usage("write 7d, 4w or 240h", "--max-age: %q is not an age", o.MaxAge)
	}
	if o.graceTime, err = workspace.ParseAgo(o.Grace); err != nil || o.graceTime < 0 {
		return failure.Usage("write 7d or 24h", "--grace: %q is not an age", o.Grace)
	}
	if o.maximum < retention.RecentUse {
		return failure.Usage("a session that was used within the last day is never deleted", "--max-age %s is less than a day", o.MaxAge)
	}
	return nil
}

// ArchiveAgain archives and remembers a file of the trash that was written after
// it was put there. Its archive says where the session was, not where it waits.
func ArchiveAgain(ctx context.Context, w *workspace.Workspace, run *workspace.Run, item retention.Item, s retention.TrashedSession) (archive.Entry, error) {
	ref := session.Ref{Runtime: s.Runtime, Agent: s.Agent, ID: s.Session}
	if s.Archive != "" {
		before, err := w.Archives.Get(ctx, s.Archive)
		if err != nil {
			return archive.Entry{}, err
		}
		ref = workspace.ArchivedLog(before).Ref
	}
	ref.Path = item.From
	log, err := run.Pins.OpenRegular(item.To)
	if err != nil {
		return archive.Entry{}, err
	}
	defer log.Close()
	snap, err := session.TakeSnapshot(ctx, log, item.To)
	if err != nil {
		return archive.Entry{}, err
	}
	entry, err := workspace.Archiver{Store: w.Archives, Now: run.Now, Reason: "clean"}.PutEntry(ctx, ref, snap, io.NewSectionReader(log, 0, snap.Size))
	reader := workspace.ReaderOf(&run.Settings, ref.Runtime)
	if err != nil || ref.Kind == session.KindOutput || s.Archive == "" || reader == nil {
		return entry, err // no log, or one that nobody here can read
	}
	if err := NeedMemory(ctx, w, run); err != nil {
		return entry, err
	}
	return entry, w.RememberProven(ctx, run, retention.Session{Ref: ref, Adapter: reader}, entry, workspace.AboutToClean)
}

// NeedMemory opens memory, unless it is open.
func NeedMemory(ctx context.Context, w *workspace.Workspace, run *workspace.Run) error {
	if w.Memory != nil {
		return nil
	}
	if err := w.OpenMemory(ctx, run, workspace.Mode{Memory: true}); err != nil {
		return err
	}
	return w.Assemble(run, workspace.Mode{Reason: "clean"})
}

// Cleaner is one run of `clean`. The plan is made once, and what is shown is
// what is executed.
type Cleaner struct {
	App     *workspace.Run
	Options CleanOptions
	Rules   retention.Clean
	Plan    *retention.CleanPlan
	Prune   *Pruner // with --archives
	returns *audit.Returns
	result  retention.CleanResult
	Rows    []CleanRow // of what is to be done or was done
}

// NewCleaner prepares a run of clean.
func NewCleaner(run *workspace.Run, o CleanOptions) (*Cleaner, error) {
	workspace.TellStores(run)
	archives, err := run.OpenArchive()
	if err != nil {
		return nil, err
	}
	copies, err := workspace.CopiesOffSite(run)
	if err != nil {
		return nil, err
	}
	if copies != nil {
		archives = archives.CountingCopies(copies.Read)
	}
	return &Cleaner{App: run, Options: o, Plan: &retention.CleanPlan{}, Rules: retention.Clean{
		Archives: archives, Trash: run.SessionTrash(), Audit: run.Audit(), Now: run.Now,
		MaxAge: o.maximum, Grace: o.graceTime, Force: o.Force, Rule: "clean --max-age " + o.MaxAge, LongestTurn: run.Config.Compaction.LongestTurn,
		Copy: func(ctx context.Context, ref session.Ref) (archive.Entry, error) {
			return putLog(ctx, run, archives, ref, "clean")
		},
	}}, nil
}

// Decide makes the plan: of every session, of what is in the trash and, with
// --archives, of every archive.
func (c *Cleaner) Decide(ctx context.Context) error {
	if err := checkClock(ctx, c.App, c.App.Now()); err != nil {
		return err
	}
	all, err := c.App.FindSessions(ctx)
	if err != nil {
		return err
	}
	if all, err = withSubAgents(all, c.Options.Agent); err != nil {
		return err
	}
	needs, err := c.App.Journal().Needs()
	if err != nil {
		return err
	}
	pinned, err := ReadPinned(ctx, c.App)
	if err != nil {
		return err
	}
	c.Rules.Needed = neededBy(needs, pinned)
	if c.Plan, err = c.Rules.Plan(ctx, retained(all)); err != nil {
		return err
	}
	if err := c.choose(); err != nil {
		return err
	}
	c.logVerdicts(ctx)
	c.makeRows(ctx)
	return c.decideArchives(ctx)
}

// choose leaves in the plan what somebody has pointed at.
func (c *Cleaner) choose() (err error) {
	switch {
	case c.Options.EmptyTrash:
		c.Plan.Sessions, c.Plan.Waiting = nil, nil
		c.Plan.Purge, err = c.Rules.Trash.List()
		c.Plan.Purge = slices.DeleteFunc(c.Plan.Purge, func(item retention.Item) bool {
			s, err := retention.SessionOf(item)
			return err != nil || c.Options.Only != nil && !slices.Contains(c.Options.Only, selection.AgreedName(s.Runtime, s.Agent, s.Session, item.From))
		})
	case c.Options.Only != nil:
		c.Plan.Purge = nil
		c.Plan.Sessions = slices.DeleteFunc(c.Plan.Sessions, func(p retention.SessionPlan) bool {
			return !slices.Contains(c.Options.Only, selection.AgreedName(p.Runtime, p.Agent, p.ID, p.Path))
		})
	}
	return err
}

func (c *Cleaner) decideArchives(ctx context.Context) (err error) {
	if !c.Options.Archives {
		return nil
	}
	o := PruneOptions{
		MaxAge: c.Options.MaxAge, Keep: 3, Agent: c.Options.Agent, DryRun: c.Options.DryRun, Yes: true, Force: c.Options.Force,
		maxAge: c.Options.maximum, grace: c.Options.graceTime,
	}
	if c.Prune, err = NewPruner(c.App, o); err != nil {
		return err
	}
	c.Prune.Rules.Leaving = map[string]bool{}
	for _, s := range c.Plan.Going() {
		for _, f := range s.Files {
			c.Prune.Rules.Leaving[f.Path] = true
		}
	}
	if !c.Options.DryRun {
		if err := c.Prune.Rules.Recover(ctx); err != nil {
			return err
		}
	}
	return c.Prune.Decide(ctx)
}

// Execute carries the plan out, and then that for the archives.
func (c *Cleaner) Execute(ctx context.Context) (err error) {
	c.result, err = c.Rules.Execute(ctx, c.Plan)
	c.tellLeft()
	if err != nil {
		return err
	}
	c.makeRows(ctx)
	if c.Prune != nil {
		if err := c.Prune.RemovePages(ctx); err != nil {
			return err
		}
		return c.Prune.Rules.Execute(ctx, c.Prune.Plan)
	}
	return nil
}

// tellLeft says what was to go and did not. What only waits is a note.
func (c *Cleaner) tellLeft() {
	for _, s := range c.Plan.Sessions {
		if s.Left != nil && !errors.Is(s.Left, session.ErrBusy) {
			c.App.Failed(s.Path, s.Left)
		}
	}
	for _, k := range c.result.Kept {
		tell := c.App.Notice
		if k.Failed {
			tell = c.App.Tell
		}
		tell(workspace.Note{Path: k.Item.To, Message: "stays in the trash: " + k.Err.Error()})
	}
}

// NoteWaiting says what waits for the next run.
func (c *Cleaner) NoteWaiting() {
	NoteWaiting(c.App, "session", c.Plan.Waiting)
	if c.Prune != nil {
		NoteWaiting(c.App, "archive", c.Prune.Plan.Waiting)
	}
}

// retained are the sessions as package retention knows them.
func retained(v workspace.Inventory) []retention.Session {
	all := make([]retention.Session, 0, len(v.Sessions))
	for _, s := range v.Sessions {
		all = append(all, retention.Session{Ref: s.Ref, Adapter: s.Adapter})
	}
	return all
}

// withSubAgents is of, with the sub-agents that the agent has started.
func withSubAgents(v workspace.Inventory, agent agentset.Set) (workspace.Inventory, error) {
	mine, err := selection.Of(v, agent)
	if err != nil || agent == "" {
		return mine, err
	}
	for i, s := range retained(v) {
		if parent, sub := s.CountsFor(); sub && agent.Holds(s.Ref.Runtime, parent) && !agent.Holds(s.Ref.Runtime, s.Ref.Agent) {
			mine.Sessions = append(mine.Sessions, v.Sessions[i])
		}
	}
	return mine, nil
}

// CleanDocument is `clean --json`.
type CleanDocument struct {
	Schema   int              `json:"schema"`
	DryRun   bool             `json:"dry_run"`
	MaxAge   string           `json:"max_age"`
	Sessions []CleanRow       `json:"sessions"`
	Bytes    int64            `json:"bytes"`   // of the files that go
	Spared   []string         `json:"spared"`  // the agents, with their runtime, of which some wait for the next run
	Waiting  int              `json:"waiting"` // how many sessions do
	Archives *PruneDocument   `json:"archives"`
	Notes    []workspace.Note `json:"notes"`
}

// CleanRow is one session, or one file in the trash.
type CleanRow struct {
	Runtime     string `json:"runtime"`
	Agent       string `json:"agent"`
	Session     string `json:"session"`
	Title       string `json:"title"`        // "" in the trash
	Project     string `json:"project"`      // the same
	ProjectName string `json:"project_name"` // what people call the agent, see selection.ProjectNames
	Kind        string `json:"kind"`
	Path        string `json:"path"`
	Files       int    `json:"files"` // with what belongs to it
	Bytes       int64  `json:"bytes"`
	LastUse     string `json:"last_use"` // RFC 3339, UTC
	Outcome     string `json:"outcome"`  // trash, purge, undelete or kept
	Reason      string `json:"reason"`
	// CarriedFrom is the session whose words it began with, null for its own and in the trash.
	CarriedFrom *session.CarriedFrom `json:"carried_from"`

	Left bool `json:"-"` // it was to go, and is busy or could not
}

// Why is the reason, and where the session came from.
func (r CleanRow) Why() string {
	if r.CarriedFrom == nil {
		return r.Reason
	}
	return r.Reason + ", " + r.CarriedFrom.String()
}

// Cause is why a session stays, without what is its own; "" for one that goes, and
// where each is to be told.
func (r CleanRow) Cause(each bool) string {
	if each || r.Outcome != PruneKept {
		return ""
	}
	return wording.CauseOf(r.Path, r.Reason)
}

// logVerdicts logs of every session why it stays, or that it goes.
func (c *Cleaner) logVerdicts(ctx context.Context) {
	for _, p := range c.Plan.Sessions {
		outcome := PruneKept
		if p.Verdict.Goes {
			outcome = retention.ActionTrash
		}
		workspace.Decided(ctx, c.App, workspace.Decision{
			Ref: p.Ref, Asked: "clean", Outcome: outcome, Reason: p.Verdict.Reason,
			Values: []any{"last_use", p.LastUse, "older_than", c.Options.maximum},
		})
	}
}

// makeRows shows what goes, and of what is old enough why it stays.
func (c *Cleaner) makeRows(ctx context.Context) {
	c.Rows = nil
	now := c.App.Now()
	for _, p := range c.Plan.Sessions {
		if c.Options.Only == nil && !p.Verdict.Goes && now.Sub(p.LastUse) <= c.Options.maximum {
			continue
		}
		name := naming.Of(ctx, p.Adapter, p.Ref)
		row := CleanRow{
			Runtime: p.Runtime, Agent: p.Agent, Session: p.ID, Title: name.Title, Project: name.Project, Kind: string(p.Kind), Path: p.Path, Files: len(p.Files), Bytes: p.Bytes,
			LastUse: p.LastUse.UTC().Format(time.RFC3339), Outcome: PruneKept, Reason: p.Verdict.Reason, Left: p.Left != nil, CarriedFrom: name.From.Document(),
		}
		if p.Verdict.Goes {
			row.Outcome, row.Reason, row.Bytes = retention.ActionTrash, "unused for "+wording.Days(now.Sub(p.LastUse)), p.Size()
		}
		c.Rows = append(c.Rows, row)
	}
	for _, item := range c.Plan.Purge {
		of, _ := retention.SessionOf(item) // of another record the path says enough
		c.Rows = append(c.Rows, CleanRow{
			Runtime: of.Runtime, Agent: of.Agent, Session: of.Session,
			Path: item.From, Files: 1, Bytes: item.Bytes, Outcome: retention.ActionPurge,
			LastUse: item.At.UTC().Format(time.RFC3339), Reason: "in the trash since " + item.At.UTC().Format(time.RFC3339),
		})
	}
}

// NameProjects says what people call the agents.
func (c *Cleaner) NameProjects(names selection.Projects) {
	for i := range c.Rows {
		c.Rows[i].ProjectName = names.Of(c.Rows[i].Runtime, c.Rows[i].Agent)
	}
}

// CountedNothing is what [Cleaner.Counted] says where nothing goes.
const CountedNothing = "nothing"

// Counted is how much goes or comes back, with its units: "34 sessions with 39 files".
func (c *Cleaner) Counted() string {
	sessions, files, trashed := 0, 0, 0
	for _, r := range c.Rows {
		switch r.Outcome {
		case PruneKept:
		case retention.ActionTrash:
			sessions, files = sessions+1, files+r.Files
		default:
			trashed++
		}
	}
	var parts []string
	if sessions > 0 {
		parts = append(parts, wording.Plural(sessions, "session")+" with "+wording.Plural(files, "file"))
	}
	if trashed > 0 {
		parts = append(parts, wording.Plural(trashed, "file")+" of the trash")
	}
	if c.Prune != nil && len(c.Prune.Going()) > 0 {
		parts = append(parts, wording.Plural(len(c.Prune.Going()), "archive"))
	}
	if parts == nil {
		return CountedNothing
	}
	return strings.Join(parts, ", ")
}

// NewDocument is the plan, or what was done, as JSON; without bytes and archives.
func (c *Cleaner) NewDocument() CleanDocument {
	doc := CleanDocument{Schema: 1, DryRun: c.Options.DryRun, MaxAge: c.Options.MaxAge, Sessions: append([]CleanRow{}, c.Rows...), Notes: c.App.Notes}
	doc.Spared, doc.Waiting = countWaiting(c.Plan.Waiting)
	return doc
}

// Outcome decides the exit code.
func (c *Cleaner) Outcome() error {
	done := 0
	for _, r := range c.Rows {
		if r.Outcome != PruneKept {
			done++
		}
	}
	switch {
	case c.result.Failed > 0 && done > 0:
		return &failure.Outcome{Exit: failure.ExitPartly}
	case c.result.Failed > 0:
		return &failure.Outcome{Exit: failure.ExitFailed}
	case c.result.Busy > 0:
		return &failure.Outcome{Exit: failure.ExitBusy}
	}
	return nil
}

// TrashedSession is the whole id of a session in the trash; what is none is
// looked for among the records of the trash.
func (c *Cleaner) TrashedSession(name string) (string, error) {
	items, err := c.Rules.Trash.List()
	if err != nil {
		return name, err
	}
	var all []selection.Candidate
	for _, item := range items {
		if s, err := retention.SessionOf(item); err == nil {
			all = append(all, selection.Candidate{ID: s.Session, What: s.Agent + ", " + s.Runtime})
		}
	}
	switch fits := selection.SessionIDs().Matching(name, all); len(fits) {
	case 0:
		return name, nil
	case 1:
		return fits[0].ID, nil
	default:
		return name, selection.SessionIDs().Ambiguous(name, fits)
	}
}

// Undelete restores one file. A file whose place is taken, or that may not
// return, stays in the trash, which is reported and is no error.
func (c *Cleaner) Undelete(ctx context.Context, stores []session.Store, item retention.Item) error {
	s, err := retention.SessionOf(item)
	if err != nil {
		return err
	}
	if c.returns == nil {
		if c.returns, err = audit.NewReturns(ctx, c.App); err != nil {
			return err
		}
	}
	err = retention.MayReturn(stores, item)
	if err == nil {
		err = c.returns.Trashed(ctx, c.Rules.Archives, item)
	}
	if err == nil {
		err = c.Rules.Trash.Whole(ctx, item)
	}
	if err != nil && ctx.Err() == nil {
		hint := ""
		if s.Archive != "" {
			hint = "sessctl restore " + s.Archive + " --to FILE puts its bytes into a file elsewhere"
		}
		c.leaveInTrash(item, err.Error(), hint)
		return nil
	}
	if c.Options.DryRun {
		err = retention.PlaceFree(item)
	} else {
		err = c.Rules.Undelete(item)
	}
	if errors.Is(err, fs.ErrExist) {
		c.leaveInTrash(item, "another file is at "+item.From, "move it away first")
		return nil
	}
	if err != nil {
		return err
	}
	c.Rows = append(c.Rows, CleanRow{
		Runtime: s.Runtime, Agent: s.Agent, Session: s.Session, Path: item.From, Bytes: item.Bytes,
		LastUse: item.At.UTC().Format(time.RFC3339), Outcome: retention.ActionUndelete, Reason: "back from the trash",
	})
	return nil
}

func (c *Cleaner) leaveInTrash(item retention.Item, cause, hint string) {
	c.result.Failed++
	c.App.Tell(workspace.Note{Path: item.To, Message: "stays in the trash: " + cause, Hint: hint})
}

// checkClock refuses to tell ages while the clock is behind the last thing that
// was deleted, or behind the last run, and while the log of that has lost lines.
func checkClock(ctx context.Context, run *workspace.Run, now time.Time) error {
	known, err := workspace.LedgerOf(run).State(ctx)
	if err != nil {
		return nil // ReadPinned says so, and nothing is deleted
	}
	if lost, err := audit.LostLines(run, known); err != nil || len(lost) > 0 {
		if err == nil {
			err = fmt.Errorf("the audit log lacks %s that the ledger has", wording.Plural(len(lost), "line"))
		}
		return &failure.Error{Code: "damaged", Exit: failure.ExitIntegrity, Path: run.Audit().Path, Hint: audit.AdviseLines, Err: err}
	}
	recorded, err := audit.Recorded(run)
	if err != nil {
		return err
	}
	wrong, err := audit.Clock(run).Check(now, recorded)
	if wrong == nil {
		return err
	}
	return &failure.Error{Code: "clock", Exit: failure.ExitFailed, Path: wrong.Path, Hint: AdviseClock, Err: err}
}

// AdviseClock says what to do about a time in the future.
const AdviseClock = "nothing is deleted by age until the clock is right; if it is right and that time is not: sessctl doctor --trust-clock"

// NoteWaiting says how much of what agents have waits for the next run. what is
// "session" or "archive".
func NoteWaiting(run *workspace.Run, what string, waiting []retention.Waiting) {
	var all []string
	for _, w := range waiting {
		all = append(all, wording.Plural(w.Count, what)+" of "+w.Owner)
	}
	if len(all) == 0 {
		return
	}
	run.Notice(workspace.Note{
		Message: "left for the next run: " + strings.Join(all, ", ") + ", as one run deletes at most half of what an agent has",
		Hint:    "--force deletes all now",
	})
}

// countWaiting returns the agents of which something waits, and how much does in all.
func countWaiting(waiting []retention.Waiting) (owners []string, count int) {
	owners = []string{}
	for _, w := range waiting {
		owners, count = append(owners, w.Owner), count+w.Count
	}
	return owners, count
}
