package steps

import (
	"context"
	"errors"
	"os"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/removal"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// Keeper archives sessions, and remembers them if it was asked for.
type Keeper struct {
	*workspace.Run
	*workspace.Workspace
	remember bool
	policy   compact.Policy
	there    map[string]bool // ids of the archives before the run, nil until one is asked for
	settled  *archive.Unchanged
	attach   map[[2]string]bool // by runtime and store: whether it has an Attacher
	counts   bool               // what was there already is counted and not shown
	done     []compact.Result
	damaged  []session.Unread // databases of which a session met a damaged page
	lacking  int              // texts that were pasted into prompts of this run and are gone
}

// NewKeeper prepares to remember what was archived.
func NewKeeper(ctx context.Context, run *workspace.Run, w *workspace.Workspace, o ArchiveOptions) (*Keeper, error) {
	k := &Keeper{Run: run, Workspace: w, remember: o.Remember, counts: o.All && !run.JSON, attach: map[[2]string]bool{}, settled: archive.OpenUnchanged(selection.UnchangedCache(run))}
	if !k.remember {
		return k, nil
	}
	k.policy = run.RecoveryPolicy()
	k.policy.LeaveSessions = true
	var err error
	k.policy.Known, err = selection.KnownOrNone(ctx, run, w)
	return k, err
}

// Keep archives one session, and remembers what can be read of it.
func (k *Keeper) Keep(ctx context.Context, s *workspace.Found) selection.ArchiveRow {
	row := k.keepOne(ctx, s)
	if row.Outcome == "archived" && !row.Unchanged {
		k.lacking += s.Lacking
	}
	return row
}

func (k *Keeper) keepOne(ctx context.Context, s *workspace.Found) selection.ArchiveRow {
	if !k.remember {
		return k.archive(ctx, s)
	}
	read, isOutput := selection.Output(*s)
	if s.Kind == session.KindDatabase || !isOutput && s.Kind == session.KindOutput {
		return k.archive(ctx, s)
	}
	row, unremembered := k.rememberOne(ctx, read)
	if row.Outcome != "" {
		return row
	}
	row = k.archive(ctx, s)
	if unremembered != nil && row.Outcome == "archived" {
		k.tellUnremembered(*s, &row, unremembered)
	}
	return row
}

// archive archives a session that has not been as it is now, as far as its file's
// times and those of its archive's can tell.
func (k *Keeper) archive(ctx context.Context, s *workspace.Found) selection.ArchiveRow {
	ownFile := s.Kind.InFile() && (s.Kind == session.KindDatabase || !k.attaches(s))
	if ownFile {
		if row, ok := k.before(ctx, s); ok {
			selection.LogArchive(ctx, k.Run, s, &row)
			return row
		}
	}
	before, err := os.Lstat(s.Path)
	ownFile = ownFile && err == nil
	there := k.archivedBefore(ctx)
	entry, row, err := archiveOne(ctx, k.Run, k.Archives, *s)
	if row.Outcome == "failed" {
		k.Run.Failed(s.Path, err)
		k.noteDamage(s, err)
	}
	row.Unchanged = row.Outcome == "archived" && there[row.ID]
	if s.Kind == session.KindDatabase && row.Outcome == "archived" && !row.Unchanged {
		k.Run.Tell(workspace.Note{Path: s.Path, Message: "archived as a file, because not all of it is read", Hint: "sessctl restore " + row.ID + " --to FILE writes it elsewhere"})
	}
	if ownFile && row.Outcome == "archived" && row.Reason == "" {
		k.settled.Keep(k.Archives, workspace.ArchiveMeta(s.Ref), entry, before, k.Now())
	}
	selection.LogArchive(ctx, k.Run, s, &row)
	return row
}

// attaches reports whether the store of a session keeps parts of it beside its log.
func (k *Keeper) attaches(s *workspace.Found) bool {
	of := [2]string{s.Runtime, s.Store}
	attaches, known := k.attach[of]
	if !known {
		attaches = s.Adapter.Capabilities().Attacher != nil
		k.attach[of] = attaches
	}
	return attaches
}

// before returns what was archived of a session's file in an earlier run, if neither
// had changed when the sessions were listed.
func (k *Keeper) before(ctx context.Context, s *workspace.Found) (selection.ArchiveRow, bool) {
	id, ok := k.settled.Find(k.Archives, workspace.ArchiveMeta(s.Ref), listed(&s.Ref))
	if !ok {
		return selection.ArchiveRow{}, false
	}
	if k.counts {
		return selection.ArchiveRow{ID: id, Outcome: "archived", Unchanged: true}, true
	}
	entry, err := k.Archives.Get(ctx, id)
	row := NewArchiveRow(entry)
	row.Outcome, row.Unchanged = "archived", true
	return row, err == nil
}

// listed is the file of a session as the listing saw it: whether nothing has changed is
// known from one look at each of 100,000 files.
func listed(ref *session.Ref) durable.FileState {
	return durable.FileState{Device: ref.File.Device, Inode: ref.File.Inode, Size: ref.Bytes, Modified: ref.ModTime.UnixNano(), Changed: ref.File.Changed}
}

// archivedBefore are the ids of the archives that were there before this run made
// its first. Of a catalogue that cannot be read every session says so.
func (k *Keeper) archivedBefore(ctx context.Context) map[string]bool {
	if k.there != nil {
		return k.there
	}
	entries, _ := k.Archives.List(ctx, archive.Filter{})
	k.there = make(map[string]bool, len(entries))
	for _, e := range entries {
		k.there[e.ID] = true
	}
	return k.there
}

// tellUnremembered tells that a session is archived and not remembered. Where memory
// itself fails it is asked no more.
func (k *Keeper) tellUnremembered(s workspace.Found, row *selection.ArchiveRow, err error) {
	row.Outcome, row.Reason = "archived", err.Error()
	if k.LoseMemory(k.Run, err) {
		k.remember = false
		return
	}
	if !errors.As(err, new(*archive.UnenteredError)) { // that was told, once for all
		k.Run.Failed(s.Path, err)
	}
	k.Run.Incomplete++
}

// rememberOne archives and remembers a session. The row has no outcome where the
// session is still to be archived, because it says nothing, it cannot be read as a
// log, or because of the error.
func (k *Keeper) rememberOne(ctx context.Context, s workspace.Found) (selection.ArchiveRow, error) {
	policy := k.policy
	policy.SkipSummary = policy.SkipSummary || s.Kind == session.KindOutput || s.Kind == session.KindPrompts
	result, err := compactOne(ctx, k.Run, k.Workspace, s, policy)
	k.Progress.Clear()
	switch {
	case errors.Is(err, session.ErrUnknownFormat):
		k.Notice(workspace.Note{Path: s.Path, Message: "archived, not remembered: " + err.Error()})
		return selection.ArchiveRow{}, nil
	case result.Archive == nil && result.Outcome != compact.Busy && ctx.Err() == nil:
		return selection.ArchiveRow{}, err
	}
	k.done = append(k.done, result)
	row := k.rowOf(ctx, s, result)
	if err != nil && ctx.Err() == nil {
		k.tellUnremembered(s, &row, err)
	}
	return row, err
}

// rowOf is what became of a session that is archived, or busy.
func (k *Keeper) rowOf(ctx context.Context, s workspace.Found, result compact.Result) selection.ArchiveRow {
	row := selection.ArchiveRow{Runtime: s.Runtime, Agent: s.Agent, Session: s.ID, Key: s.Key, Path: s.Path, Bytes: s.Bytes}
	if result.Archive != nil {
		if e, err := k.Archives.Get(ctx, result.Archive.ID); err == nil {
			row = NewArchiveRow(e)
		}
	}
	switch row.Outcome = "archived"; result.Outcome {
	case compact.Busy:
		row.Outcome, row.Reason = "busy", result.Reason
	case compact.Failed:
		row.Outcome, row.Reason = "failed", result.Reason
	}
	row.Unchanged, row.Chunks, row.Receipt = result.Unchanged, result.Chunks, result.Receipt
	row.Remembered = row.Outcome == "archived"
	return row
}

// End embeds what an earlier run could not.
func (k *Keeper) End(ctx context.Context) error {
	if k.lacking > 0 {
		k.Notice(workspace.Note{Message: "texts that were pasted into prompts and are gone: " + wording.Count(int64(k.lacking)) + "; the prompts are archived without them"})
	}
	_ = k.settled.Save()
	if !k.remember {
		return nil
	}
	selection.TellUnknown(k.Run, k.done)
	return selection.EmbedWaiting(ctx, k.Workspace, k.done)
}

// Supersede keeps older archives that newer ones begin with only in these. That it
// could not be done is told, and makes a run that has archived all one that did part.
func (k *Keeper) Supersede(ctx context.Context, o ArchiveOptions, sessions []workspace.Found, doc *ArchiveDocument) error {
	if !o.Supersede {
		return nil
	}
	refs := make([]session.Ref, 0, len(sessions))
	for _, s := range sessions {
		refs = append(refs, s.Ref)
	}
	gone, err := removal.SupersedeArchives(ctx, k.Run, k.Archives, archive.Filter{Agent: o.Agent, Runtime: k.Global.Runtime}, refs)
	doc.TellSuperseded(k.Run, gone)
	if err != nil && ctx.Err() == nil {
		k.Tell(workspace.Note{Message: "older archives that newer ones begin with are not all removed: " + err.Error()})
		return &failure.Outcome{Exit: failure.ExitPartly}
	}
	return ctx.Err()
}

// TellSuperseded enters the older archives that newer ones begin with, and tells of them.
func (d *ArchiveDocument) TellSuperseded(run *workspace.Run, gone []archive.Entry) {
	var bytes int64
	for _, e := range gone {
		d.Superseded = append(d.Superseded, e.ID)
		bytes += e.StoredBytes
	}
	what := map[bool]string{true: "would be kept only in these", false: "kept only in these"}[d.DryRun]
	if len(gone) > 0 {
		run.Notice(workspace.Note{Message: wording.Plural(len(gone), "older archive") + " (" + wording.Bytes(bytes) + ") that newer ones begin with: " + what})
	}
}

// Add enters what became of a session. What was there before is counted where it is not
// shown: a home has 100,000 of them.
func (d *ArchiveDocument) Add(row selection.ArchiveRow) {
	if d.Counts && row.Unchanged && !row.Remembered {
		d.counted++
		return
	}
	d.Archives = append(d.Archives, row)
}

// Outcome is what the outcomes of all sessions are together.
func (d *ArchiveDocument) Outcome() error {
	outcomes := make([]compact.Outcome, 0, len(d.Archives)+1)
	for _, r := range d.Archives {
		outcomes = append(outcomes, compact.Outcome(r.Outcome))
	}
	if d.counted > 0 {
		outcomes = append(outcomes, "archived")
	}
	return OutcomeOf(outcomes)
}

// Sessions is how many sessions the document is about.
func (d *ArchiveDocument) Sessions() int { return len(d.Archives) + d.counted }

// Folded tells how many archives were there already.
func (d ArchiveDocument) Folded() string {
	var t selection.Tally
	t.Add("archived before", d.counted)
	for _, r := range d.Archives {
		switch {
		case d.Folds && r.Unchanged && r.Remembered:
			t.Add("unchanged", 1)
		case d.Folds && r.Unchanged:
			t.Add("archived before", 1)
		}
	}
	if t.Total() == 0 {
		return ""
	}
	return t.NothingToDo()
}
