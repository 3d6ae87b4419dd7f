package cmd

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/retention"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

type pruneOptions struct {
	MaxAge     string
	LocalKeep  string
	Keep       int
	Agent      string
	LastCopies bool
	Grace      string
	DryRun     bool
	Yes        bool
	Force      bool
	Undelete   string

	maxAge, localKeep, grace time.Duration
}

func (o *pruneOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.MaxAge, "max-age", "", "only archives older than this `age`: 90d, 26w, 720h")
	fs.StringVar(&o.LocalKeep, "local-keep", "", "files of archives older than this `age` whose copy on object storage is whole leave this disk")
	fs.IntVar(&o.Keep, "keep", 3, "keep the newest `N` archives of every agent")
	fs.StringVar(&o.Agent, "agent", "", "only archives of this `agent`")
	fs.BoolVar(&o.LastCopies, "last-copies", false, "also archives whose bytes are nowhere else; memory must have what they say")
	fs.StringVar(&o.Grace, "grace", "7d", "how long they can be brought back, as an `age`")
	fs.BoolVar(&o.DryRun, "dry-run", false, "print the plan and change nothing")
	fs.BoolVarP(&o.Yes, "yes", "y", false, "do not ask")
	fs.BoolVar(&o.Force, "force", false, "disable the safety limits: > 50 % of an agent's archives, age < 1 day")
	fs.StringVar(&o.Undelete, "undelete", "", "bring the archive with this `id` back from the trash")
	fromConfig(fs, "local-keep", "archive.local_keep")
}

func (o *pruneOptions) validate() (err error) {
	const see = "see sessctl archive prune --help"
	if o.Undelete != "" {
		return nil
	}
	if o.MaxAge == "" && o.LocalKeep == "" {
		return usageError("sessctl archive prune --max-age 90d --dry-run; for archives that have a copy off-site, --local-keep 30d", "how old? --max-age is needed")
	}
	o.maxAge = retention.Never
	if o.MaxAge != "" {
		if o.maxAge, err = parseAgo(o.MaxAge); err != nil || o.maxAge < 0 {
			return usageError("write 90d, 26w or 720h", "--max-age: %q is not an age", o.MaxAge)
		}
	}
	if o.LocalKeep != "" {
		if o.localKeep, err = parseAgo(o.LocalKeep); err != nil || o.localKeep <= 0 {
			return usageError("write 30d, 26w or 720h", "--local-keep: %q is not an age", o.LocalKeep)
		}
	}
	if o.Grace == "" {
		o.Grace = "7d"
	}
	if o.grace, err = parseAgo(o.Grace); err != nil || o.grace < 0 {
		return usageError("write 7d or 24h", "--grace: %q is not an age", o.Grace)
	}
	switch {
	case o.Keep < 0:
		return usageError(see, "--keep must not be negative")
	case o.maxAge < 24*time.Hour && !o.Force:
		return usageError("--force allows it", "--max-age %s is less than a day", o.MaxAge)
	case o.LocalKeep != "" && o.localKeep < 24*time.Hour && !o.Force:
		return usageError("--force allows it", "--local-keep %s is less than a day", o.LocalKeep)
	}
	return nil
}

func newArchivePruneCommand(a *app) *cobra.Command {
	var o pruneOptions
	c := &cobra.Command{
		Use:   "prune",
		Short: "Delete old archives whose bytes are somewhere else too",
		Long: `Delete archives that are older than an age, with rules that keep conversations
from being lost. The newest of every agent stay. An archive goes only if it
verifies, and if its bytes are also in a newer archive of the session, which is
read to its end, in the session's log, or in a copy on object storage whose
checksum was read back. --last-copies also deletes archives that have no other
copy, if every chunk of them is in memory.

--local-keep is about room on this disk: the file of an older archive goes if its
copy on object storage is whole, and if it is encrypted, if archive.identity
opens it. The archive stays in the catalogue, is listed as off-site only, and is
fetched when it is read.

Deleted files stay in a .sessctl-trash directory beside them for 7 days
(--grace). Restore them with --undelete; the next prune purges older ones. Pages of
them that archive show --html keeps are removed at once. Every step is a line of
audit.jsonl in the data directory. Without a terminal --yes is needed.
` + exitHelp,
		Example: `  sessctl archive prune --max-age 90d --dry-run
  sessctl archive prune --max-age 90d --keep 5 --yes
  sessctl archive prune --local-keep 30d --dry-run
  sessctl archive prune --undelete 3f9a2c`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			if o.Undelete != "" {
				return runUndelete(c.Context(), a, o)
			}
			return runPrune(c.Context(), a, o)
		},
	}
	o.addFlags(c.Flags())
	return c
}

// pruneDocument is `archive prune --json`.
type pruneDocument struct {
	Schema   int        `json:"schema"`
	DryRun   bool       `json:"dry_run"`
	MaxAge   string     `json:"max_age"`
	Local    string     `json:"local_keep"`
	Keep     int        `json:"keep"`
	Archives []pruneRow `json:"archives"`
	Bytes    int64      `json:"bytes"`  // of the files that go
	Spared   []string   `json:"spared"` // the agents, with their runtime, of which nothing goes because more than half would
	Notes    []note     `json:"notes"`
}

// pruneRow is one archive, or one file in the trash.
type pruneRow struct {
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

	left bool // it was to be removed, and stays in the trash
}

func runPrune(ctx context.Context, a *app, o pruneOptions) error {
	p, err := a.newPruner(o)
	if err != nil {
		return err
	}
	if o.DryRun {
		return a.rehearsePrune(ctx, p)
	}
	w, err := a.openWorkspace(ctx, mode{reason: "archive", recover: &recovery{policy: a.recoveryPolicy()}})
	if err != nil {
		return err
	}
	defer w.close()
	if err := p.rules.Recover(ctx); err != nil {
		return err
	}
	if err := p.decide(ctx); err != nil {
		return err
	}
	if err := a.agreeToPrune(p); err != nil {
		return err
	}
	if err := p.removePages(ctx); err != nil {
		return err
	}
	if err := p.rules.Execute(ctx, p.plan); err != nil {
		return err
	}
	return errors.Join(a.renderPrune(p), spareOutcome(p.plan.Spared))
}

// pruner is one run of `archive prune`. The plan is made once, and what is
// shown is what is executed.
type pruner struct {
	app     *invocation
	options pruneOptions
	rules   retention.Prune
	plan    *retention.PrunePlan
	doc     pruneDocument
}

func (a *invocation) newPruner(o pruneOptions) (*pruner, error) {
	archives, err := a.openArchive()
	if err != nil {
		return nil, err
	}
	p := &pruner{app: a, options: o, rules: retention.Prune{
		Archives: archives, Filter: archive.Filter{Agent: o.Agent, Runtime: a.global.Runtime}, Trash: a.archiveTrash(), Audit: a.audit(), Now: a.now,
		MaxAge: o.maxAge, LocalKeep: o.localKeep, Keep: o.Keep, Grace: o.grace, Force: o.Force, Rule: o.rule(), Purging: purging(),
	}}
	copies, err := a.offSiteCopies()
	if copies != nil {
		p.rules.OffSite = copies.look
	}
	if err == nil && copies == nil && o.localKeep > 0 {
		err = errNoRemote()
	}
	return p, err
}

// purging are the runtimes that delete logs by themselves.
func purging() map[string]bool {
	all := map[string]bool{}
	for _, kind := range runtimes() {
		all[kind.name] = kind.traits().Purges
	}
	return all
}

// rule is the command as it stands in the audit log.
func (o pruneOptions) rule() string {
	rule := "archive prune"
	if o.MaxAge != "" {
		rule += fmt.Sprintf(" --max-age %s --keep %d", o.MaxAge, o.Keep)
	}
	if o.LocalKeep != "" {
		rule += " --local-keep " + o.LocalKeep
	}
	return rule
}

func (a *invocation) audit() retention.Audit {
	return retention.Audit{Path: filepath.Join(a.dataDir(), "audit.jsonl"), Pins: a.pins}
}

func (a *invocation) archiveTrash() retention.Trash {
	return retention.Trash{Dir: filepath.Join(a.dataDir(), "trash", "archives"), Moves: a.moves(), Pins: a.pins}
}

// rehearsePrune is a dry run.
func (a *app) rehearsePrune(ctx context.Context, p *pruner) error {
	if err := p.decide(ctx); err != nil {
		return err
	}
	a.noteSpared("archives", p.plan.Spared, p.options.DryRun)
	return a.renderPrune(p)
}

// decide makes the plan, and the document that shows it.
func (p *pruner) decide(ctx context.Context) (err error) {
	if err := p.app.checkClock(p.app.now()); err != nil {
		return err
	}
	if p.rules.Logs, err = p.app.logsInUse(ctx); err != nil {
		return err
	}
	needs, err := p.app.journal().Needs()
	if err != nil {
		return err
	}
	pinned, err := p.app.readPinned()
	if err != nil {
		return err
	}
	parents := map[[3]string]string{} // an archive does not say whose sub-agent it is of
	for _, ref := range p.rules.Logs {
		parents[[3]string{ref.Runtime, ref.Agent, ref.ID}] = ref.Parent
	}
	p.rules.Needed = func(e archive.Entry) string {
		if isAttachment(e) {
			return "records of archived sessions may name it"
		}
		ref := session.Ref{Runtime: e.Runtime, Agent: e.Agent, ID: e.Session, Key: e.Key, Parent: parents[[3]string{e.Runtime, e.Agent, e.Session}]}
		return cmp.Or(needs.KeepsArchive(e.ID, ref), pinned.keeps(ref))
	}
	asked := &glimpse{app: p.app}
	defer asked.close()
	if p.options.LastCopies {
		p.rules.Remembered = func(ctx context.Context, e archive.Entry) (bool, error) {
			return p.app.lastCopyRemembered(ctx, asked.memory(ctx), p.rules.Archives, e)
		}
	}
	p.rules.Holds = func(ctx context.Context, e archive.Entry) (bool, error) {
		return p.app.remembered(ctx, asked.memory(ctx), p.rules.Archives, e)
	}
	if p.plan, err = p.rules.Plan(ctx); err != nil {
		return err
	}
	p.makeDocument()
	if len(p.doc.Archives) == 0 {
		return p.app.checkAgent(ctx, nil, p.options.Agent)
	}
	return nil
}

// glimpse is the memory for a plan. It is opened when it is asked for the first time:
// most plans do not need it.
type glimpse struct {
	app    *invocation
	opened bool
	store  *memory.Store
}

// memory is nil if there is none that can be read: then nothing is remembered.
func (g *glimpse) memory(ctx context.Context) *memory.Store {
	if !g.opened {
		g.opened = true
		if store, err := g.app.glimpseMemory(ctx); err == nil {
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
func (a *invocation) logsInUse(ctx context.Context) (refs []session.Ref, err error) {
	stores, err := a.openStores()
	if err != nil {
		return nil, err
	}
	for _, s := range stores {
		listing, err := s.List(ctx)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err == nil {
			refs = append(refs, listing.Refs...)
		}
	}
	return slices.DeleteFunc(refs, func(r session.Ref) bool { return !shown(r.Kind) }), nil
}

// agreeToPrune refuses a plan of which nothing is left because it deletes too much, and
// asks the user.
func (a *app) agreeToPrune(p *pruner) error {
	going := p.going()
	if err := refuseTooMuch("archives", p.plan.Spared); err != nil && len(going) == 0 {
		return err
	}
	a.noteSpared("archives", p.plan.Spared, p.options.DryRun)
	if len(going) == 0 || p.options.Yes {
		return nil
	}
	if !a.JSON {
		if err := a.listPrune(p); err != nil {
			return err
		}
	}
	return a.confirm(p.question())
}

func (a *app) renderPrune(p *pruner) error {
	p.doc.Notes = a.notes
	if a.JSON {
		return a.printJSON(p.doc)
	}
	if err := a.listPrune(p); err != nil {
		return err
	}
	if len(p.going()) == 0 && a.Quiet {
		return nil
	}
	what := map[bool]string{true: "would be deleted", false: "deleted"}[p.doc.DryRun]
	files, bytes := p.leaving()
	text := fmt.Sprintf("%s (%s) %s", plural(len(p.going())-files, "archive"), formatBytes(p.doc.Bytes-bytes), what)
	if files > 0 {
		what = map[bool]string{true: "would be", false: "now"}[p.doc.DryRun]
		text += fmt.Sprintf("; %s (%s) %s only off-site", plural(files, "archive"), formatBytes(bytes), what)
	}
	_, err := fmt.Fprintln(a.Out, text)
	return err
}

// leaving counts the archives of which only the file goes.
func (p *pruner) leaving() (files int, bytes int64) {
	for _, r := range p.doc.Archives {
		if r.Outcome == outcomeOffSite {
			files, bytes = files+1, bytes+r.Bytes
		}
	}
	return files, bytes
}

// question asks whether to go on.
func (p *pruner) question() string {
	files, _ := p.leaving()
	deleted := len(p.going()) - files
	switch {
	case files == 0:
		return fmt.Sprintf("delete %s?", plural(deleted, "archive"))
	case deleted == 0:
		return fmt.Sprintf("keep %s only off-site?", plural(files, "archive"))
	}
	return fmt.Sprintf("delete %s, and keep %s only off-site?", plural(deleted, "archive"), plural(files, "archive"))
}

// removePages removes the kept pages of the archives that go, before they do, and
// those whose archive is gone.
func (p *pruner) removePages(ctx context.Context) error {
	entries, err := p.rules.Archives.List(ctx, archive.Filter{})
	if err != nil {
		return err
	}
	stays := map[string]bool{}
	for _, e := range entries {
		stays[e.ID] = true
	}
	for _, row := range p.going() {
		if row.Outcome != outcomeOffSite { // that archive is there to be read
			stays[row.ID] = false
		}
	}
	return p.app.removePagesOf(func(id string) bool { return !stays[id] })
}

// listPrune shows what goes, and of what is old enough why it stays: with --quiet
// only of what was to go.
func (a *app) listPrune(p *pruner) error {
	var rows [][]string
	t := table{empty: "no old archives", columns: []column{
		{name: "WHAT"}, {name: "ID"}, {name: "RUNTIME", drop: 2}, {name: "AGENT", least: 8}, {name: "SESSION", least: 12}, {name: "MADE", drop: 1},
		{name: "STORED", right: true, drop: 3}, {name: "WHY", least: 16},
	}}
	for _, r := range p.doc.Archives {
		if a.Quiet && r.Outcome == pruneKept && !r.left {
			continue
		}
		rows = append(rows, []string{r.Outcome, r.ID, visible(r.Agent), visible(r.Session), r.CreatedAt, visible(r.Reason)})
		t.rows = append(t.rows, []string{r.Outcome, r.ID, r.Runtime, r.Agent, r.Session, shownTime(r.CreatedAt), formatBytes(r.Bytes), r.Reason})
	}
	return a.printPlan(t, rows)
}

// printPlan is printList for a plan of deletions: with --quiet an empty one is
// no line.
func (a *app) printPlan(t table, rows [][]string) error {
	if a.Quiet && len(rows) == 0 {
		return nil
	}
	return a.printList(t, rows)
}

// pruneKept is the outcome of what stays; the others are the actions of the
// audit log.
const pruneKept = "kept"

// makeDocument shows what goes, and what is old enough and stays all the same.
func (p *pruner) makeDocument() {
	p.doc = pruneDocument{Schema: 1, DryRun: p.options.DryRun, MaxAge: p.options.MaxAge, Local: p.options.LocalKeep, Keep: p.options.Keep, Archives: []pruneRow{}, Spared: append([]string{}, p.plan.Spared...)}
	for _, a := range p.plan.Archives {
		if !a.Verdict.Goes && (p.young(a.Entry) || place(a.Entry) == "only") {
			continue
		}
		row := newPruneRow(a.Entry)
		row.Outcome, row.Reason = pruneKept, a.Verdict.Reason
		if a.Verdict.Goes {
			row.Outcome = retention.ActionTrash
		}
		if a.OffSite != nil {
			row.Outcome, row.Remote, row.RetainUntil = outcomeOffSite, a.OffSite.URL, retained(*a.OffSite)
		}
		p.addRow(row)
	}
	for _, purge := range p.plan.Purge {
		row := newPruneRow(purge.Entry)
		row.Path, row.SHA256, row.Bytes = purge.Item.To, purge.Item.SHA256, purge.Item.Bytes
		row.Outcome, row.Reason = retention.ActionPurge, "in the trash since "+purge.Item.At.UTC().Format(time.RFC3339)
		if !purge.Goes {
			row.Outcome, row.Reason = pruneKept, "stays in the trash: no other copy counts any more; --undelete brings it back"
			row.left = true
		}
		p.addRow(row)
	}
}

// young reports whether no rule is about an archive of this age.
func (p *pruner) young(e archive.Entry) bool {
	age := p.app.now().Sub(e.CreatedAt)
	return age <= p.options.maxAge && (p.options.localKeep == 0 || age <= p.options.localKeep)
}

func newPruneRow(e archive.Entry) pruneRow {
	return pruneRow{
		ID: e.ID, Runtime: e.Runtime, Agent: e.Agent, Session: e.Session, Path: e.Path, SHA256: e.SHA256, Bytes: e.StoredBytes,
		CreatedAt: e.CreatedAt.UTC().Format(time.RFC3339),
	}
}

func (p *pruner) addRow(row pruneRow) {
	p.doc.Archives = append(p.doc.Archives, row)
	if row.Outcome != pruneKept {
		p.doc.Bytes += row.Bytes
	}
}

// going are the rows of what is to be deleted.
func (p *pruner) going() []pruneRow {
	var rows []pruneRow
	for _, r := range p.doc.Archives {
		if r.Outcome != pruneKept {
			rows = append(rows, r)
		}
	}
	return rows
}

// runUndelete restores an archive from the trash.
func runUndelete(ctx context.Context, a *app, o pruneOptions) error {
	p, err := a.newPruner(pruneOptions{})
	if err != nil {
		return err
	}
	if o.DryRun {
		return a.rehearseUndelete(p, o.Undelete)
	}
	w, err := a.openWorkspace(ctx, mode{reason: "archive"})
	if err != nil {
		return err
	}
	defer w.close()
	if err := p.rules.Recover(ctx); err != nil {
		return err
	}
	id, err := p.trashedArchive(o.Undelete)
	if err != nil {
		return err
	}
	entry, err := p.rules.Undelete(ctx, id)
	if err != nil {
		return err
	}
	return renderArchives(a, archiveDocument{Schema: 1, Archives: []archiveRow{newArchiveRow(entry)}})
}

// rehearseUndelete prints which archive would come back.
func (a *app) rehearseUndelete(p *pruner, name string) error {
	id, err := p.trashedArchive(name)
	if err != nil {
		return err
	}
	item, err := p.rules.Trash.Get(id)
	if err != nil {
		return err
	}
	entry, err := retention.ArchiveOf(item)
	if err != nil {
		return err
	}
	if err := retention.PlaceFree(item); err != nil {
		return err
	}
	return renderArchives(a, archiveDocument{Schema: 1, DryRun: true, Archives: []archiveRow{newArchiveRow(entry)}})
}

// trashedArchive is the whole id of an archive in the trash.
func (p *pruner) trashedArchive(name string) (string, error) {
	items, err := p.rules.Trash.List()
	if err != nil {
		return "", err
	}
	var all []candidate
	for _, item := range items {
		all = append(all, candidate{item.ID, p.app.tilde(item.From)})
	}
	switch fits := archiveIDs().matching(name, all); len(fits) {
	case 0:
		return "", &failure{code: "unknown_archive", exit: exitUsage, hint: "sessctl log --limit 0 shows what was deleted", err: fmt.Errorf("%q: %w", name, retention.ErrNotInTrash)}
	case 1:
		return fits[0].id, nil
	default:
		return "", archiveIDs().ambiguous(name, fits)
	}
}

// lastCopyRemembered is remembered for an archive whose bytes are nowhere else. One
// that says nothing memory takes is not remembered, for there was nothing to
// compare: what it holds would be gone, and so would what was forgotten. The journal of a session is none of the
// conversation, so memory has nothing of it, whatever a reader makes of it.
func (a *invocation) lastCopyRemembered(ctx context.Context, memories *memory.Store, archives *archive.Store, e archive.Entry) (bool, error) {
	if strings.HasSuffix(e.Session, journalEnd) || strings.HasSuffix(e.Source, journalEnd) {
		return false, retention.ErrNotRemembered
	}
	survey, in, err := a.surveyRemembered(ctx, memories, archives, e)
	if err == nil && survey.Chunks == 0 {
		return false, retention.ErrNotRemembered
	}
	if err == nil && in.Forgotten > 0 {
		return false, retention.ErrForgotten
	}
	if err != nil || holdsAll(survey, in) {
		return err == nil, err
	}
	missing, forgotten, err := a.missingPieces(ctx, memories, archives, e)
	if err == nil && forgotten > 0 {
		return false, retention.ErrForgotten
	}
	return err == nil && missing == 0, err
}

// remembered reports whether memory, nil if there is none, has all that an archive
// says, or has forgotten it.
func (a *invocation) remembered(ctx context.Context, memories *memory.Store, archives *archive.Store, e archive.Entry) (bool, error) {
	survey, in, err := a.surveyRemembered(ctx, memories, archives, e)
	if err != nil || holdsAll(survey, in) {
		return err == nil, err
	}
	missing, _, err := a.missingPieces(ctx, memories, archives, e)
	return err == nil && missing == 0, err
}

// missingPieces counts what memory lacks of the pieces of an archive, and what it has
// forgotten of them. A piece that another log of the session has too, at the same
// place, is there once, and names the archive that was remembered last.
func (a *invocation) missingPieces(ctx context.Context, memories *memory.Store, archives *archive.Store, e archive.Entry) (missing, forgotten int, err error) {
	compactor := &compact.Compactor{Archiver: oneArchive{archiver{store: archives, now: a.now}, e}}
	log, source := archivedLog(e), memory.Source{Agent: e.Agent, Session: e.Session}
	var ids []string
	for r, err := range compactor.Pieces(ctx, a.archiveReader(e), log.Ref, log.Archived, a.recoveryPolicy()) {
		if err != nil {
			return 0, 0, err
		}
		ids = append(ids, memoryRecord(source, r).ID)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	records, forgotten, err := memories.Count(ctx, ids)
	return len(ids) - records - forgotten, forgotten, err
}

// holdsAll reports whether memory has all that was surveyed, or has forgotten it.
func holdsAll(survey compact.Survey, in memory.Coverage) bool {
	return in.Missing(survey.Chunks) == 0 && in.Bytes >= survey.Covered && (in.Forgotten > 0 || in.Characters >= survey.Runes)
}

// oneArchive opens one archive, also one in the trash, which no catalogue has.
type oneArchive struct {
	archiver
	entry archive.Entry
}

// Open implements compact.Archiver.
func (r oneArchive) Open(ctx context.Context, _ compact.Archived) (io.ReadCloser, error) {
	return r.store.OpenEntry(ctx, r.entry)
}

// surveyRemembered reads an archive again, as a compaction would, and compares what
// that would store with what memory has of these bytes: of another log of the session,
// as its runtime cut it or began it anew, it may have more.
func (a *invocation) surveyRemembered(ctx context.Context, memories *memory.Store, archives *archive.Store, e archive.Entry) (survey compact.Survey, in memory.Coverage, err error) {
	store := a.archiveReader(e)
	if memories == nil || store == nil {
		return survey, in, retention.ErrNotRemembered
	}
	compactor := &compact.Compactor{Archiver: oneArchive{archiver{store: archives, now: a.now}, e}}
	if survey, err = compactor.Survey(ctx, store, archivedOf(e), a.recoveryPolicy()); err != nil {
		return survey, in, err
	}
	source := memory.Source{Runtime: e.Runtime, Agent: e.Agent, Session: e.Session}
	from, err := memories.ArchivesOf(ctx, source, compact.CategoryHistory)
	if err == nil {
		from, err = a.sharingBytes(ctx, archives, e, from)
	}
	if err != nil {
		return survey, in, err
	}
	in, err = memories.Coverage(ctx, source, compact.CategoryHistory, []string{e.ID}, from...)
	return survey, in, err
}

// sharingBytes are an archive and those of some others of its session with whose bytes
// it begins, or that begin with its own.
func (a *invocation) sharingBytes(ctx context.Context, archives *archive.Store, e archive.Entry, others []string) ([]string, error) {
	rest := map[string]bool{}
	for _, id := range others {
		rest[id] = true
	}
	if delete(rest, e.ID); len(rest) == 0 {
		return []string{e.ID}, nil
	}
	begins := beginnings{of: e.Meta, lost: rest, read: sha256.New()}
	log, err := archives.OpenEntry(ctx, e)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	if _, err := io.Copy(&begins, log); err != nil {
		return nil, err
	}
	same := append(begins.found, e.ID)
	for id := range rest {
		longer, err := a.wherever(ctx, archives, id)
		if err != nil || longer.Bytes <= e.Bytes {
			continue
		}
		if begun, err := archives.Begins(ctx, longer, e); err == nil && begun {
			same = append(same, id)
		}
	}
	return same, ctx.Err()
}

// wherever is the entry of an archive, also of one in the trash.
func (a *invocation) wherever(ctx context.Context, archives *archive.Store, id string) (archive.Entry, error) {
	e, err := archives.Get(ctx, id)
	if !errors.Is(err, archive.ErrNotFound) {
		return e, err
	}
	items, listErr := a.archiveTrash().List()
	for _, item := range items {
		if trashed, err := retention.ArchiveOf(item); err == nil && trashed.ID == id {
			trashed.Path = item.To
			return trashed, nil
		}
	}
	return e, errors.Join(err, listErr)
}
