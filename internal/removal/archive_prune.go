package removal

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/retention"
	"github.com/sessctl/sessctl/pkg/session"
)

// PruneOptions are the options of archives prune.
type PruneOptions struct {
	MaxAge     string
	LocalKeep  string
	Superseded bool
	Keep       int
	Agent      agentset.Set
	LastCopies bool
	Grace      string
	DryRun     bool
	Yes        bool
	Force      bool
	Undelete   string

	maxAge, KeepLocal, grace time.Duration
}

// Validate refuses options that contradict each other.
func (o *PruneOptions) Validate() (err error) {
	const see = "see sessctl archives prune --help"
	if o.Undelete != "" {
		return nil
	}
	if o.MaxAge == "" && o.LocalKeep == "" && !o.Superseded {
		return failure.Usage("sessctl archives prune --max-age 90d --dry-run; for archives that have a copy off-site, --local-keep 30d; for beginnings of later archives, --superseded", "how old? --max-age is needed")
	}
	o.maxAge = retention.Never
	if o.MaxAge != "" {
		if o.maxAge, err = workspace.ParseAgo(o.MaxAge); err != nil || o.maxAge < 0 {
			return failure.Usage("write 90d, 26w or 720h", "--max-age: %q is not an age", o.MaxAge)
		}
	}
	if o.LocalKeep != "" {
		if o.KeepLocal, err = workspace.ParseAgo(o.LocalKeep); err != nil || o.KeepLocal <= 0 {
			return failure.Usage("write 30d, 26w or 720h", "--local-keep: %q is not an age", o.LocalKeep)
		}
	}
	if o.Grace == "" {
		o.Grace = "7d"
	}
	if o.grace, err = workspace.ParseAgo(o.Grace); err != nil || o.grace < 0 {
		return failure.Usage("write 7d or 24h", "--grace: %q is not an age", o.Grace)
	}
	switch {
	case o.Keep < 0:
		return failure.Usage(see, "--keep must not be negative")
	case o.maxAge < 24*time.Hour && !o.Force:
		return failure.Usage(allowYoung, "--max-age %s is less than a day", o.MaxAge)
	case o.LocalKeep != "" && o.KeepLocal < 24*time.Hour && !o.Force:
		return failure.Usage(allowYoung, "--local-keep %s is less than a day", o.LocalKeep)
	}
	return nil
}

// allowYoung is the hint for an age below a day.
const allowYoung = "--force allows it, archives_prune.force in a profile"

// PruneDocument is `archives prune --json`.
type PruneDocument struct {
	Schema   int              `json:"schema"`
	DryRun   bool             `json:"dry_run"`
	MaxAge   string           `json:"max_age"`
	Local    string           `json:"local_keep"`
	Keep     int              `json:"keep"`
	Archives []PruneRow       `json:"archives"`
	Bytes    int64            `json:"bytes"`   // of the files that go
	Spared   []string         `json:"spared"`  // the agents, with their runtime, of which some wait for the next run
	Waiting  int              `json:"waiting"` // how many archives do
	Notes    []workspace.Note `json:"notes"`
}

// PruneRow is one archive, or one file in the trash, and what becomes of it.
type PruneRow struct {
	ID        string `json:"id"`
	Runtime   string `json:"runtime"`
	Agent     string `json:"agent"`
	Session   string `json:"session"`
	Path      string `json:"path"`
	SHA256    string `json:"sha256"`
	Bytes     int64  `json:"stored_bytes"`
	CreatedAt string `json:"created_at"`
	Outcome   string `json:"outcome"` // trash, off-site (only the file goes), purge or kept
	Reason    string `json:"reason"`  // where else its bytes are, or why it stays

	Remote      string `json:"remote"`       // the copy on object storage because of which the file goes, or ""
	RetainUntil string `json:"retain_until"` // until when the storage keeps that copy, RFC 3339, "" for not at all

	Left bool `json:"-"` // it was to be removed, and stays in the trash
}

// Pruner is one run of `archives prune`. The plan is made once, and what is
// shown is what is executed.
type Pruner struct {
	app     *workspace.Run
	Options PruneOptions
	Rules   retention.Prune
	Plan    *retention.PrunePlan
	Doc     PruneDocument
}

// NewPruner prepares a run of archives prune.
func NewPruner(run *workspace.Run, o PruneOptions) (*Pruner, error) {
	archives, err := run.OpenArchive()
	if err != nil {
		return nil, err
	}
	p := &Pruner{app: run, Options: o, Rules: retention.Prune{
		Archives: archives, Filter: archive.Filter{Agent: o.Agent, Runtime: run.Global.Runtime}, Trash: run.ArchiveTrash(), Audit: run.Audit(), Now: run.Now,
		MaxAge: o.maxAge, LocalKeep: o.KeepLocal, Superseded: o.Superseded, Keep: o.Keep, Grace: o.grace, Force: o.Force, Rule: o.rule(), Purging: purging(),
	}}
	copies, err := workspace.CopiesOffSite(run)
	if copies != nil {
		p.Rules.OffSite, p.Rules.ReadOffSite = copies.Look, copies.Read
	}
	if err == nil && copies == nil && o.KeepLocal > 0 {
		err = workspace.ErrNoRemote()
	}
	return p, err
}

// purging are the runtimes that delete logs by themselves.
func purging() map[string]bool {
	all := map[string]bool{}
	for _, kind := range workspace.Runtimes() {
		all[kind.Name] = kind.Traits().Purges
	}
	return all
}

// rule is the command as it stands in the audit log.
func (o PruneOptions) rule() string {
	rule := "archives prune"
	if o.MaxAge != "" {
		rule += fmt.Sprintf(" --max-age %s --keep %d", o.MaxAge, o.Keep)
	}
	if o.LocalKeep != "" {
		rule += " --local-keep " + o.LocalKeep
	}
	if o.Superseded {
		rule += " --superseded"
	}
	return rule
}

// Decide makes the plan, and the document that shows it.
func (p *Pruner) Decide(ctx context.Context) (err error) {
	if err := checkClock(ctx, p.app, p.app.Now()); err != nil {
		return err
	}
	if p.Rules.Logs, err = logsInUse(ctx, p.app); err != nil {
		return err
	}
	if p.Rules.Needed, err = neededArchives(ctx, p.app, p.Rules.Logs); err != nil {
		return err
	}
	asked := &glimpse{app: p.app}
	defer asked.close()
	if p.Options.LastCopies {
		p.Rules.Remembered = func(ctx context.Context, e archive.Entry) (bool, error) {
			return lastCopyRemembered(ctx, p.app, asked.memory(ctx), p.Rules.Archives, e)
		}
	}
	p.Rules.Holds = func(ctx context.Context, e archive.Entry) (bool, error) {
		return workspace.Remembered(ctx, p.app, asked.memory(ctx), p.Rules.Archives, e)
	}
	if p.Plan, err = p.Rules.Plan(ctx); err != nil {
		return err
	}
	p.makeDocument()
	if len(p.Doc.Archives) == 0 {
		return selection.CheckAgent(ctx, p.app, nil, p.Options.Agent)
	}
	return nil
}

// glimpse is the memory for a plan. It is opened when it is asked for the first time:
// most plans do not need it.
type glimpse struct {
	app    *workspace.Run
	opened bool
	store  *memory.Store
}

// memory is nil if there is none that can be read: then nothing is remembered.
func (g *glimpse) memory(ctx context.Context) *memory.Store {
	if !g.opened {
		g.opened = true
		if store, err := workspace.GlimpseMemory(ctx, g.app); err == nil {
			g.store = store
		}
	}
	return g.store
}

func (g *glimpse) close() {
	if g.store != nil {
		_ = g.store.Close() // it was only read
	}
}

// logsInUse are the sessions that an agent may still be using. What cannot be
// listed has no copy that could be counted on.
func logsInUse(ctx context.Context, run *workspace.Run) (refs []session.Ref, err error) {
	stores, err := run.OpenStores()
	if err != nil {
		return nil, err
	}
	for _, s := range stores {
		listing, err := run.List(ctx, s)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err == nil {
			refs = append(refs, listing.Refs...)
		}
	}
	return slices.DeleteFunc(refs, func(r session.Ref) bool { return !workspace.Shown(r.Kind) }), nil
}

// Leaving counts the archives of which only the file goes.
func (p *Pruner) Leaving() (files int, bytes int64) {
	for _, r := range p.Doc.Archives {
		if r.Outcome == workspace.OutcomeOffSite {
			files, bytes = files+1, bytes+r.Bytes
		}
	}
	return files, bytes
}

// Question asks whether to go on.
func (p *Pruner) Question() string {
	files, _ := p.Leaving()
	deleted := len(p.Going()) - files
	switch {
	case files == 0:
		return fmt.Sprintf("delete %s?", wording.Plural(deleted, "archive"))
	case deleted == 0:
		return fmt.Sprintf("keep %s only off-site?", wording.Plural(files, "archive"))
	}
	return fmt.Sprintf("delete %s, and keep %s only off-site?", wording.Plural(deleted, "archive"), wording.Plural(files, "archive"))
}

// RemovePages removes the kept pages of the archives that go, before they do, and
// those whose archive is gone.
func (p *Pruner) RemovePages(ctx context.Context) error {
	entries, err := p.Rules.Archives.List(ctx, archive.Filter{})
	if err != nil {
		return err
	}
	stays := map[string]bool{}
	for _, e := range entries {
		stays[e.ID] = true
	}
	for _, row := range p.Going() {
		if row.Outcome != workspace.OutcomeOffSite { // that archive is there to be read
			stays[row.ID] = false
		}
	}
	return RemovePagesOf(p.app, func(id string) bool { return !stays[id] })
}

// PruneKept is the outcome of what stays; the others are the actions of the
// audit log.
const PruneKept = "kept"

// makeDocument shows what goes, and what is old enough and stays all the same.
func (p *Pruner) makeDocument() {
	p.Doc = PruneDocument{Schema: 1, DryRun: p.Options.DryRun, MaxAge: p.Options.MaxAge, Local: p.Options.LocalKeep, Keep: p.Options.Keep, Archives: []PruneRow{}}
	p.Doc.Spared, p.Doc.Waiting = countWaiting(p.Plan.Waiting)
	for _, a := range p.Plan.Archives {
		if !a.Verdict.Goes && (p.young(a.Entry) || workspace.Place(a.Entry) == "only") {
			continue
		}
		row := newPruneRow(a.Entry)
		row.Outcome, row.Reason = PruneKept, a.Verdict.Reason
		if a.Verdict.Goes {
			row.Outcome = retention.ActionTrash
		}
		if a.OffSite != nil {
			row.Outcome, row.Remote, row.RetainUntil = workspace.OutcomeOffSite, a.OffSite.URL, workspace.Retained(*a.OffSite)
		}
		p.addRow(row)
	}
	for _, purge := range p.Plan.Purge {
		row := newPruneRow(purge.Entry)
		row.Path, row.SHA256, row.Bytes = purge.Item.To, purge.Item.SHA256, purge.Item.Bytes
		row.Outcome, row.Reason = retention.ActionPurge, "in the trash since "+purge.Item.At.UTC().Format(time.RFC3339)
		if !purge.Goes {
			row.Outcome, row.Reason = PruneKept, "stays in the trash: "+purge.Reason+"; --undelete brings it back"
			row.Left = true
		}
		p.addRow(row)
	}
}

// young reports whether no rule is about an archive of this age.
func (p *Pruner) young(e archive.Entry) bool {
	age := p.app.Now().Sub(e.CreatedAt)
	return age <= p.Options.maxAge && (p.Options.KeepLocal == 0 || age <= p.Options.KeepLocal)
}

func newPruneRow(e archive.Entry) PruneRow {
	return PruneRow{
		ID: e.ID, Runtime: e.Runtime, Agent: e.Agent, Session: e.Session, Path: e.Path, SHA256: e.SHA256, Bytes: e.StoredBytes,
		CreatedAt: e.CreatedAt.UTC().Format(time.RFC3339),
	}
}

func (p *Pruner) addRow(row PruneRow) {
	p.Doc.Archives = append(p.Doc.Archives, row)
	if row.Outcome != PruneKept {
		p.Doc.Bytes += row.Bytes
	}
}

// Going are the rows of what is to be deleted.
func (p *Pruner) Going() []PruneRow {
	var rows []PruneRow
	for _, r := range p.Doc.Archives {
		if r.Outcome != PruneKept {
			rows = append(rows, r)
		}
	}
	return rows
}

// Waits returns an archive that waits in the trash, if its file there is whole and is
// what the ledger and the receipts say.
func (p *Pruner) Waits(ctx context.Context, name string) (retention.Item, archive.Entry, error) {
	id, err := p.TrashedArchive(name)
	if err != nil {
		return retention.Item{}, archive.Entry{}, err
	}
	item, e, err := p.Rules.Waits(ctx, id)
	if err != nil {
		return item, e, err
	}
	returns, err := audit.NewReturns(ctx, p.app)
	if err == nil {
		err = errors.Join(returns.Archive(e.ID, e.SHA256), returns.Record(item))
	}
	return item, e, err
}

// TrashedArchive is the whole id of an archive in the trash.
func (p *Pruner) TrashedArchive(name string) (string, error) {
	items, err := p.Rules.Trash.List()
	if err != nil {
		return "", err
	}
	var all []selection.Candidate
	for _, item := range items {
		all = append(all, selection.Candidate{ID: item.ID, What: p.app.Tilde(item.From)})
	}
	switch fits := selection.ArchiveIDs().Matching(name, all); len(fits) {
	case 0:
		return "", &failure.Error{Code: "unknown_archive", Exit: failure.ExitUsage, Hint: "sessctl log --limit 0 shows what was deleted", Err: fmt.Errorf("%q: %w", name, retention.ErrNotInTrash)}
	case 1:
		return fits[0].ID, nil
	default:
		return "", selection.ArchiveIDs().Ambiguous(name, fits)
	}
}

// lastCopyRemembered is remembered for an archive whose bytes are nowhere else. One
// that says nothing memory takes is not remembered, for there was nothing to
// compare: what it holds would be gone, and so would what was forgotten. The journal of a session is none of the
// conversation, so memory has nothing of it, whatever a reader makes of it.
func lastCopyRemembered(ctx context.Context, run *workspace.Run, memories *memory.Store, archives *archive.Store, e archive.Entry) (bool, error) {
	if strings.HasSuffix(e.Session, JournalEnd) || strings.HasSuffix(e.Source, JournalEnd) {
		return false, retention.ErrNotRemembered
	}
	survey, in, err := workspace.SurveyRemembered(ctx, run, memories, archives, e)
	if err == nil && survey.Chunks == 0 {
		return false, retention.ErrNotRemembered
	}
	if err == nil && in.Forgotten > 0 {
		return false, retention.ErrForgotten
	}
	if err != nil || workspace.HoldsAll(survey, in) {
		return err == nil, err
	}
	missing, forgotten, err := workspace.MissingPieces(ctx, run, memories, archives, e)
	if err == nil && forgotten > 0 {
		return false, retention.ErrForgotten
	}
	return err == nil && missing == 0, err
}
