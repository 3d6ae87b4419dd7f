package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/retention"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

type pruneOptions struct {
	MaxAge     string
	Keep       int
	Agent      string
	LastCopies bool
	Grace      string
	DryRun     bool
	Yes        bool
	Force      bool
	Undelete   string

	maxAge, grace time.Duration
}

func (o *pruneOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.MaxAge, "max-age", "", "only archives older than this `age`: 90d, 26w, 720h")
	fs.IntVar(&o.Keep, "keep", 3, "keep the newest `N` archives of every agent")
	fs.StringVar(&o.Agent, "agent", "", "only archives of this `agent`")
	fs.BoolVar(&o.LastCopies, "last-copies", false, "also archives whose bytes are nowhere else; memory must have what they say")
	fs.StringVar(&o.Grace, "grace", "7d", "how long they can be brought back, as an `age`")
	fs.BoolVar(&o.DryRun, "dry-run", false, "print the plan and change nothing")
	fs.BoolVarP(&o.Yes, "yes", "y", false, "do not ask")
	fs.BoolVar(&o.Force, "force", false, "allow more than half of an agent's archives, and an age under a day")
	fs.StringVar(&o.Undelete, "undelete", "", "bring the archive with this `id` back from the trash")
}

func (o *pruneOptions) validate() (err error) {
	const see = "see sessctl archive prune --help"
	if o.Undelete != "" {
		return nil
	}
	if o.MaxAge == "" {
		return usageError("sessctl archive prune --max-age 90d --dry-run", "how old? --max-age is needed")
	}
	if o.maxAge, err = parseAgo(o.MaxAge); err != nil || o.maxAge < 0 {
		return usageError("write 90d, 26w or 720h", "--max-age: %q is no age", o.MaxAge)
	}
	if o.Grace == "" {
		o.Grace = "7d"
	}
	if o.grace, err = parseAgo(o.Grace); err != nil || o.grace < 0 {
		return usageError("write 7d or 24h", "--grace: %q is no age", o.Grace)
	}
	switch {
	case o.Keep < 0:
		return usageError(see, "--keep must not be negative")
	case o.maxAge < 24*time.Hour && !o.Force:
		return usageError("--force allows it", "--max-age %s is less than a day", o.MaxAge)
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
read to its end, or in the session's log. With --last-copies others go too, if
memory has all that they say.

What goes waits in a trash beside it for seven days and can be brought back with
--undelete; what has waited longer is removed for good. Every step has a line in
audit.jsonl under the data directory. Without a terminal --yes is needed.
` + exitHelp,
		Example: `  sessctl archive prune --max-age 90d --dry-run
  sessctl archive prune --max-age 90d --keep 5 --yes
  sessctl archive prune --undelete 3f9a2c`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			if o.Undelete != "" {
				return runUndelete(c.Context(), a, o.Undelete)
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
	Keep     int        `json:"keep"`
	Archives []pruneRow `json:"archives"`
	Bytes    int64      `json:"bytes"` // of the files that go
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
	Outcome   string `json:"outcome"` // trash, purge or kept
	Reason    string `json:"reason"`  // where else its bytes are, or why it stays
}

func runPrune(ctx context.Context, a *app, o pruneOptions) error {
	p, err := a.newPruner(o)
	if err != nil {
		return err
	}
	if o.DryRun {
		if err := p.plan(ctx); err != nil {
			return err
		}
		if !o.Force {
			a.noteTooMuch("archives", p.verdicts)
		}
		return p.render()
	}
	w, err := a.openWorkspace(ctx, mode{reason: "archive", recover: &recovery{policy: recoveryPolicy()}})
	if err != nil {
		return err
	}
	defer w.close()
	if err := p.recover(ctx); err != nil {
		return err
	}
	if err := p.plan(ctx); err != nil {
		return err
	}
	if err := p.agreed(); err != nil {
		return err
	}
	if err := p.carryOut(ctx); err != nil {
		return err
	}
	return p.render()
}

// agreed refuses what is too much, and asks.
func (p *pruner) agreed() error {
	if err := refuseTooMuch("archives", p.verdicts); err != nil && !p.options.Force {
		return err
	}
	going := p.going()
	if len(going) == 0 || p.options.Yes {
		return nil
	}
	if !p.app.global.JSON {
		if err := p.list(); err != nil {
			return err
		}
	}
	return p.app.confirm(fmt.Sprintf("delete %s?", plural(len(going), "archive")))
}

func (p *pruner) render() error {
	p.doc.Notes = p.app.notes
	if p.app.global.JSON {
		return p.app.printJSON(p.doc)
	}
	if err := p.list(); err != nil {
		return err
	}
	what := map[bool]string{true: "would be deleted", false: "deleted"}[p.doc.DryRun]
	_, err := fmt.Fprintf(p.app.Out, "%s (%s) %s\n", plural(len(p.going()), "archive"), formatBytes(p.doc.Bytes), what)
	return err
}

// list shows what goes, and of what is old enough why it stays.
func (p *pruner) list() error {
	var rows [][]string
	for _, r := range p.doc.Archives {
		rows = append(rows, []string{r.Outcome, r.ID, visible(r.Agent), visible(r.Session), r.CreatedAt, visible(r.Reason)})
	}
	return p.app.printRows(rows)
}

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

// recover finishes what a killed run began: an archive whose file is in the
// trash is not in the catalogue any more, and one whose file is not was never
// deleted.
func (p *pruner) recover(ctx context.Context) error {
	if err := durable.Sweep(p.trash.Dir, 0); err != nil {
		return err
	}
	items, err := p.trash.List()
	if err != nil {
		return err
	}
	for _, item := range items {
		if err := p.recoverItem(ctx, item); err != nil {
			return fmt.Errorf("finish an earlier prune: %w", err)
		}
	}
	return nil
}

// recoverItem looks how far the run came that deleted an archive, or brought one
// back. The same bytes may have been archived anew meanwhile, under the same id
// and another name: that entry stays.
func (p *pruner) recoverItem(ctx context.Context, item retention.Item) error {
	e, err := trashedEntry(item)
	if err != nil {
		return err
	}
	inTrash, err := p.trash.Recover(item)
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

// runUndelete brings an archive back.
func runUndelete(ctx context.Context, a *app, id string) error {
	p, err := a.newPruner(pruneOptions{})
	if err != nil {
		return err
	}
	w, err := a.openWorkspace(ctx, mode{reason: "archive"})
	if err != nil {
		return err
	}
	defer w.close()
	if err := p.recover(ctx); err != nil {
		return err
	}
	item, err := p.trash.Get(id)
	if errors.Is(err, retention.ErrNotInTrash) {
		return &failure{code: "unknown_archive", exit: exitUsage, hint: "audit.jsonl under the data directory says what was deleted", err: err}
	}
	if err != nil {
		return err
	}
	e, err := trashedEntry(item)
	if err != nil {
		return err
	}
	line := retention.Line{
		Time: a.now().UTC(), Action: retention.ActionUndelete, Kind: item.Kind, Path: item.From,
		SHA256: item.SHA256, Bytes: item.Bytes, Archive: e.ID, Rule: "archive prune --undelete",
	}
	for _, step := range []func() error{
		func() error { return p.trash.TakeBack(item) },
		func() error { return p.archives.Readmit(ctx, e) },
		func() error { return p.audit.Append(line) },
		func() error { return p.trash.Drop(item.ID) },
	} {
		if err := step(); err != nil {
			return fmt.Errorf("bring archive %s back: %w", item.ID, err)
		}
	}
	return renderArchives(a, archiveDocument{Schema: 1, Archives: []archiveRow{newArchiveRow(e)}})
}

// otherCopy is where the bytes of an archive are beside it, or why it stays.
type otherCopy struct {
	found  bool
	reason string
}

// copyFinder looks for other copies of what archives hold.
type copyFinder struct {
	*pruner
	logs   []session.Ref
	memory *memory.Store // nil if there is none
}

func (f *copyFinder) open(ctx context.Context) error {
	stores, err := f.app.openStores()
	if err != nil {
		return err
	}
	for _, s := range stores {
		listing, err := s.List(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			continue // what cannot be listed has no copy that could be counted on
		}
		f.logs = append(f.logs, listing.Refs...)
	}
	if !f.options.LastCopies {
		return nil
	}
	if f.memory, err = f.app.glimpseMemory(ctx); err != nil {
		f.memory = nil // then nothing is covered
	}
	return nil
}

func (f *copyFinder) close() {
	if f.memory != nil {
		_ = f.memory.Close() // it was only read
	}
}

// find verifies an archive and looks for its bytes elsewhere.
func (f *copyFinder) find(ctx context.Context, i int) (otherCopy, error) {
	e := f.entries[i]
	if err := f.archives.Verify(ctx, e); err != nil {
		return otherCopy{reason: "does not verify: " + err.Error()}, ctx.Err()
	}
	for j := len(f.entries) - 1; j > i; j-- {
		other := f.entries[j]
		if other.Runtime != e.Runtime || other.Agent != e.Agent || other.Session != e.Session || f.verdicts[j].Goes {
			continue
		}
		if same, err := f.archives.Begins(ctx, other, e); err == nil && same {
			return otherCopy{true, "archive " + other.ID + " begins with its bytes"}, nil
		}
		if ctx.Err() != nil {
			return otherCopy{}, ctx.Err()
		}
	}
	if path := f.inLog(ctx, e); path != "" {
		return otherCopy{true, "its bytes are in " + path}, nil
	}
	return f.lastCopy(ctx, e)
}

// inLog is the path of a log that begins with an archive's bytes, or "". Logs
// that the runtime has closed do not count: it removes them in its own time.
func (f *copyFinder) inLog(ctx context.Context, e archive.Entry) string {
	for _, ref := range f.logs {
		if f.leaving[ref.Path] || !shown(ref.Kind) || ref.Runtime != e.Runtime || ref.Agent != e.Agent || ref.ID != e.Session || ref.Bytes < e.Bytes {
			continue
		}
		log, err := durable.OpenRegular(ref.Path)
		if err != nil {
			continue
		}
		same, err := session.Snapshot{Size: e.Bytes, SHA256: e.SHA256}.Begins(ctx, log)
		_ = log.Close() // it was only read
		if err == nil && same {
			return ref.Path
		}
	}
	return ""
}

// lastCopy decides about bytes that are nowhere else: they stay, unless that was
// asked for and memory has what they say.
func (f *copyFinder) lastCopy(ctx context.Context, e archive.Entry) (otherCopy, error) {
	if !f.options.LastCopies {
		return otherCopy{reason: "the only copy; --last-copies takes it if memory has what it says"}, nil
	}
	store := f.app.readerOf(e.Runtime)
	if f.memory == nil || store == nil {
		return otherCopy{reason: "the only copy, and memory does not have what it says"}, nil
	}
	covered, err := f.app.covered(ctx, coverageQuestion{f.archives, f.memory, store, e})
	if err != nil || !covered {
		return otherCopy{reason: "the only copy, and memory does not have all that it says"}, ctx.Err()
	}
	return otherCopy{true, lastCopyReason}, nil
}

// lastCopyReason is why an archive goes whose bytes are nowhere else.
const lastCopyReason = "the last copy; memory has what it says"

// still reports whether the bytes of an archive in the trash are somewhere else
// as they were when it went there, so that it may be removed for good.
func (f *copyFinder) still(ctx context.Context, item retention.Item, e archive.Entry) (bool, error) {
	if strings.HasSuffix(item.Rule, lastCopyReason) || f.inLog(ctx, e) != "" {
		return true, ctx.Err()
	}
	others, err := f.archives.List(ctx, archive.Filter{Runtime: e.Runtime, Agent: e.Agent})
	if err != nil {
		return false, err
	}
	going := map[string]bool{}
	for _, v := range f.verdicts {
		going[v.ID] = v.Goes
	}
	for _, other := range others {
		if other.Session != e.Session || going[other.ID] {
			continue
		}
		if same, err := f.archives.Begins(ctx, other, e); err == nil && same {
			return true, nil
		}
	}
	return false, ctx.Err()
}

// coverageQuestion asks whether memory has what an archive says.
type coverageQuestion struct {
	archives *archive.Store
	memory   *memory.Store
	store    session.Store
	entry    archive.Entry
}

// covered reads an archive again, as a compaction would, and compares what that
// would store with what is there.
func (a *app) covered(ctx context.Context, q coverageQuestion) (bool, error) {
	compactor := &compact.Compactor{Archiver: archiver{store: q.archives, now: a.now}}
	e := q.entry
	survey, err := compactor.Survey(ctx, q.store, compact.Archived{ID: e.ID, Path: e.Path, SHA256: e.SHA256, Bytes: e.Bytes})
	if err != nil {
		return false, err
	}
	source := memory.Source{Runtime: e.Runtime, Agent: e.Agent, Session: e.Session}
	c, err := q.memory.Coverage(ctx, source, compact.CategoryHistory, []string{e.ID})
	if err != nil {
		return false, err
	}
	return c.Missing(survey.Chunks) == 0 && c.Bytes >= survey.Covered && (c.Forgotten > 0 || c.Characters >= survey.Runes), nil
}
