package audit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/chunk"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/ledger"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/secrets"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/work"
)

// ReindexOptions are the options of memory reindex.
type ReindexOptions struct {
	Agent        agentset.Set
	Model        string
	Pending      bool
	FromArchives bool
	// AllowForgotten goes on although records of what was forgotten are lost.
	AllowForgotten bool
}

// ReindexDocument is `memory reindex --json`.
type ReindexDocument struct {
	Schema   int              `json:"schema"`
	Model    string           `json:"model"`
	Agents   []string         `json:"agents"`
	Vectors  int              `json:"vectors"` // of the model, after the run
	Pending  int              `json:"pending"` // that could not be embedded
	Waiting  int              `json:"waiting"` // that nobody tried to embed: the embedder is out of service
	Archives *RebuildReport   `json:"from_archives"`
	SetAside string           `json:"set_aside"` // where the damaged memory is now, or ""
	Notes    []workspace.Note `json:"notes"`

	down bool // the embedder could not be asked: nothing is known of vectors
}

// SetMemoryAside moves a memory that is damaged out of the way. That comes after
// what it knows of what was forgotten is written down again.
func SetMemoryAside(ctx context.Context, run *workspace.Run, allowForgotten bool) (string, error) {
	lock, err := run.Lock(ctx)
	if err != nil {
		return "", err
	}
	defer lock.Unlock()
	if err := checkForgotten(ctx, run, allowForgotten); err != nil {
		return "", err
	}
	moved, problems, err := memory.SetAsideDamaged(ctx, run.Pins, run.MemoryDir(), run.Now())
	if err != nil {
		return "", fmt.Errorf("set the damaged memory aside: %w", err)
	}
	if moved != "" {
		run.Notice(workspace.Note{Path: moved, Message: "the memory was damaged (" + problems[0].Message + ") and is kept here"})
	}
	return moved, nil
}

// checkForgotten refuses to make the memory again while a record of what was
// forgotten is lost: those texts would come back. With allow they may.
func checkForgotten(ctx context.Context, run *workspace.Run, allow bool) error {
	dir := run.MemoryDir()
	if workspace.Exists(filepath.Join(dir, "memory.db")) { // one that is lost stays so until it is made again
		store, err := memory.Open(ctx, dir, memory.Options{Pins: run.Pins})
		if err == nil {
			err = errors.Join(workspace.RepairForgotten(ctx, run, store), store.Close())
		}
		if err != nil && !errors.Is(err, memory.ErrCorrupt) {
			return fmt.Errorf("open memory: %w", err)
		}
	}
	lost, unknown := memory.LostForgottenFiles(dir), error(nil)
	if len(lost) == 0 {
		unknown = lostByLedger(ctx, run)
	}
	switch {
	case len(lost) == 0 && (unknown == nil || !allow):
		return unknown
	case allow:
		workspace.Enter(run, ledger.Leaf{Kind: ledger.Rebuilt, At: run.Now().UnixMilli(), What: "memory", Why: ledger.GivenUp})
		return memory.GiveUpForgotten(run.Pins, dir)
	}
	return &failure.Error{Code: "forgotten_lost", Exit: failure.ExitIntegrity, Path: lost[0].Path, Hint: "put the file back from a backup; or use --allow-forgotten, and what it listed is remembered again",
		Err: fmt.Errorf("what was forgotten would come back: %s: %s", lost[0].Path, lost[0].Message())}
}

// EnterRebuilt enters in the ledger that the memory was made again.
func EnterRebuilt(run *workspace.Run, o ReindexOptions, doc ReindexDocument) {
	if o.FromArchives && doc.Archives != nil {
		workspace.Enter(run, ledger.Leaf{Kind: ledger.Rebuilt, At: run.Now().UnixMilli(), What: "memory", Agent: o.Agent.String(), Runtime: run.Global.Runtime})
	}
}

// lostByLedger says what the ledger knows of what was forgotten and nothing here does.
func lostByLedger(ctx context.Context, run *workspace.Run) error {
	problems, _, err := againstLedger(ctx, run)
	if err != nil {
		return err
	}
	for _, p := range problems {
		if p.OfForgotten {
			return &failure.Error{Code: "forgotten_lost", Exit: failure.ExitIntegrity, Path: p.Path, Err: fmt.Errorf("what was forgotten would come back: %s", p.Message), Hint: "put the files back from a backup; or use --allow-forgotten, and what they listed is remembered again"}
		}
	}
	return nil
}

// stageReindex is what the progress bar says.
const stageReindex compact.Stage = "reindex"

// Reindex makes the vectors of a memory again.
func Reindex(ctx context.Context, w *workspace.Workspace, run *workspace.Run, o ReindexOptions, doc *ReindexDocument) error {
	embedding, err := workspace.OpenEmbedderOf(run, o.Model)
	if err != nil {
		return err
	}
	model, down, err := embedding.Model(ctx, w.Memory)
	if err != nil {
		return err
	}
	doc.Model = model.String()
	agents, err := w.Memory.Agents(ctx, run.Global.Runtime, o.Agent)
	if err != nil {
		return err
	}
	if len(agents) == 0 {
		if err := selection.CheckAgent(ctx, run, w.Memory, o.Agent); err != nil {
			return err
		}
	}
	doc.Agents = append(doc.Agents, agents...)
	if down != nil {
		return reindexLater(ctx, w, run, downed{o.Pending, model, down}, doc)
	}
	show := func(agent string, done, total int64) {
		w.Progress.Show(session.Ref{Agent: agent}, stageReindex, done, total)
	}
	watched := &workspace.Watched{Embedder: embedding.Documents}
	var result memory.ReindexResult
	switch {
	case o.FromArchives:
		result, err = w.Memory.EmbedMissing(ctx, watched, model, agents, show)
	case o.Pending:
		if err := refuseOthers(ctx, &run.Settings, w.Memory, agents, model); err != nil {
			return err
		}
		result, err = w.Memory.EmbedMissing(ctx, watched, model, agents, show)
	default:
		result, err = w.Memory.Reindex(ctx, watched, model, agents, show)
	}
	doc.Vectors, doc.Pending, doc.Waiting = result.Vectors, result.Pending, result.Waiting
	switch {
	case result.Waiting > 0 && watched.Down != nil:
		run.Notice(workspace.Note{Message: watched.Down.Error()})
	case result.Done:
		noteConfigured(run, embedding)
	}
	return err
}

// noteConfigured says how to go on with a model that is not the configured one.
func noteConfigured(run *workspace.Run, chosen *workspace.Embedding) {
	configured, err := workspace.OpenEmbedder(&run.Settings)
	if err == nil && configured.Expected == chosen.Expected {
		return
	}
	run.Notice(workspace.Note{
		Message: fmt.Sprintf("%s/%s is not the configured model: recall searches by words only until it is", chosen.Expected.Provider, chosen.Expected.Name),
		Hint:    fmt.Sprintf("set embed.provider to %s and embed.model to %s", chosen.Expected.Provider, chosen.Expected.Name),
	})
}

// downed is a reindex whose embedder cannot serve.
type downed struct {
	pending bool
	model   embed.Model // as far as it is known
	err     error
}

// reindexLater postpones a reindex: everything waits, or with --pending what
// has no vector.
func reindexLater(ctx context.Context, w *workspace.Workspace, run *workspace.Run, d downed, doc *ReindexDocument) error {
	run.Notice(workspace.Note{Message: d.err.Error()})
	doc.down = true
	for _, agent := range doc.Agents {
		count := func() (int, error) { return w.Memory.CountRecords(ctx, agent) }
		if d.pending {
			count = func() (int, error) { return workspace.Embedder{Store: w.Memory}.Waiting(ctx, d.model, agent) }
		}
		n, err := count()
		if err != nil {
			return err
		}
		doc.Waiting += n
	}
	return nil
}

// refuseOthers is an error if the vectors of an agent are of another model:
// making all of them again takes a reindex without --pending.
func refuseOthers(ctx context.Context, a *workspace.Settings, store *memory.Store, agents []string, model embed.Model) error {
	for _, agent := range agents {
		others, err := store.OtherModels(ctx, agent, model)
		if err != nil {
			return err
		}
		if len(others) > 0 {
			return &failure.Error{Code: "other_model", Exit: failure.ExitFailed, Hint: "sessctl memory reindex rebuilds all vectors; or set embed.provider and embed.model back",
				Err: fmt.Errorf("the vectors of %s are of %s, and %s is configured", agent, strings.Join(others, ", "), model)}
		}
	}
	return nil
}

// DescribeReindex says what a reindex did.
func DescribeReindex(doc ReindexDocument) string {
	var b strings.Builder
	if r := doc.Archives; r != nil {
		for _, p := range r.Problems {
			fmt.Fprintf(&b, "not remembered\t%s\t%s\t%s\n", wording.Visible(p.ID), wording.Visible(p.Path), wording.Visible(p.Message))
		}
		fmt.Fprintf(&b, "%s of %s read: %s new, %s there already, %s replaced, %s forgotten and not restored\n", wording.Plural(r.Archives, "archive"), wording.Plural(r.Sessions, "session"),
			wording.Plural(r.Stored, "record"), wording.Count(int64(r.Existing)), wording.Count(int64(r.Removed)), wording.Count(int64(r.Buried)))
	}
	if r := doc.Archives; r != nil && r.Repaired > 0 {
		fmt.Fprintf(&b, "%s damaged and stored again\n", wording.Plural(r.Repaired, "record"))
	}
	if doc.down {
		return b.String()
	}
	fmt.Fprintf(&b, "%s of %s (%s)\n", wording.Plural(doc.Vectors, "vector"), wording.Plural(len(doc.Agents), "agent"), wording.Visible(doc.Model))
	if doc.Pending > 0 {
		fmt.Fprintf(&b, "%s could not be embedded; they are found by their words\n", wording.Plural(doc.Pending, "record"))
	}
	return b.String()
}

// RebuildReport is what `memory reindex --from-archives` did with the records.
type RebuildReport struct {
	Sessions int              `json:"sessions"`
	Archives int              `json:"archives"` // that verified
	Stored   int              `json:"stored"`
	Existing int              `json:"existing"`
	Removed  int              `json:"removed"`  // cut by an earlier rule
	Buried   int              `json:"buried"`   // stay forgotten
	Repaired int              `json:"repaired"` // were damaged, and are stored anew
	Problems []RebuildProblem `json:"problems"`
}

// RebuildProblem is an archive whose text is not in the records that were made.
type RebuildProblem struct {
	Problem
	Damaged bool `json:"damaged"` // it does not verify; else it is of a kind that is not read
}

// Damaged counts an archive that is damaged.
func (r *RebuildReport) Damaged() bool {
	return slices.ContainsFunc(r.Problems, func(p RebuildProblem) bool { return p.Damaged })
}

// Fail counts an archive that could not be read.
func (r *RebuildReport) Fail(id, path string, err error) {
	damaged := errors.Is(err, archive.ErrCorrupt) || errors.Is(err, archive.ErrMissing)
	r.Problems = append(r.Problems, RebuildProblem{Problem{ID: id, Path: path, Message: err.Error()}, damaged})
}

// AddUnlisted adds the archives whose entry cannot be read, and those that the ledger has
// and the catalogue has not.
func (r *RebuildReport) AddUnlisted(ctx context.Context, w *workspace.Workspace, run *workspace.Run, agent agentset.Set) error {
	damaged, err := w.Archives.Damaged(ctx)
	if err != nil {
		return err
	}
	unreadable := map[string]bool{}
	for _, d := range damaged {
		unreadable[idOf(d.Path)] = true
		r.Problems = append(r.Problems, RebuildProblem{Problem{Path: d.Path, Message: d.Err.Error()}, true})
	}
	lost, err := lostArchives(ctx, run, w.Archives)
	if err != nil && ctx.Err() == nil {
		run.Notice(workspace.Note{Path: run.LedgerDir(), Message: "archives are not compared with the ledger: " + err.Error()})
	}
	for _, l := range lost {
		id := archive.ID(l.Meta, l.SHA256)
		if unreadable[id] || !agent.Holds(l.Runtime, l.Agent) || run.Global.Runtime != "" && run.Global.Runtime != l.Runtime {
			continue
		}
		r.Problems = append(r.Problems, RebuildProblem{Problem{ID: id, Path: filepath.Join(run.CatalogueDir(), id+".json"), Message: "the ledger has it, and the catalogue does not: sessctl archives adopt looks for its file"}, true})
	}
	return ctx.Err()
}

// ArchivedSession is all archives of one session.
type ArchivedSession struct {
	Source  memory.Source
	Entries []archive.Entry
}

// StageRebuild is what the progress bar says.
const StageRebuild compact.Stage = "rebuild"

// ArchivedSessions are the sessions of which there are archives.
func ArchivedSessions(ctx context.Context, w *workspace.Workspace, run *workspace.Run, agent agentset.Set) ([]ArchivedSession, error) {
	entries, err := w.Archives.List(ctx, archive.Filter{Agent: agent, Runtime: run.Global.Runtime})
	if err != nil {
		return nil, err
	}
	var sessions []ArchivedSession
	at := map[memory.Source]int{}
	for _, e := range entries {
		if kind := session.Kind(e.Kind); kind == session.KindDatabase || kind == session.KindOutput && !workspace.TraitsOf(e.Runtime).Outputs {
			continue // kept as it is, never read
		}
		source := memory.Source{Runtime: e.Runtime, Agent: e.Agent, Session: e.Session}
		i, known := at[source]
		if !known {
			i = len(sessions)
			at[source] = i
			sessions = append(sessions, ArchivedSession{Source: source})
		}
		sessions[i].Entries = append(sessions[i].Entries, e)
	}
	return sessions, nil
}

// RebuildMark names the archives that a session was rebuilt from, and the rule.
func RebuildMark(ids []string) string {
	slices.Sort(ids)
	sum := sha256.Sum256([]byte(strings.Join(ids, " ")))
	return chunk.Version + " " + work.Version + " " + secrets.Version + " " + hex.EncodeToString(sum[:8])
}

// Rebuilder is a compact.Rebuilder over a memory.Store.
type Rebuilder struct {
	Store    *memory.Store
	Archives *archive.Store
	Lengths  func() (map[string]int64, error) // see archivedLengths
	Remade   memory.Remade                    // is noted of each session
	Result   memory.RebuildResult
}

// NewRebuilder keeps what a run makes again.
func NewRebuilder(w *workspace.Workspace, run *workspace.Run) *Rebuilder {
	remade := memory.Remade{At: run.Now().UnixMilli(), OutputLimit: max(run.OutputLimit(), 0), Redaction: secrets.Version}
	return &Rebuilder{Store: w.Memory, Archives: w.Archives, Lengths: w.Lengths, Remade: remade}
}

// asKept is a summary in the words of the model that wrote one of the same
// archive, if that was kept.
func (b *Rebuilder) asKept(r memory.Record) memory.Record {
	if r.Category == compact.CategorySummary {
		if kept, found := b.Store.KeptSummary(r.ID); found && kept.Archive == r.Archive {
			r.Text = kept.Text
		}
	}
	return r
}

// Rebuild implements compact.Rebuilder.
func (b *Rebuilder) Rebuild(ctx context.Context, ref session.Ref, archives []compact.Origin, records iter.Seq2[compact.ArchivedRecord, error]) (compact.Remembered, error) {
	source := memory.Source{Runtime: ref.Runtime, Agent: ref.Agent, Session: ref.ID, Key: ref.Key}
	begun, err := (workspace.MemoryAdapter{Store: b.Store, Archives: b.Archives, Lengths: b.Lengths}).BegunAndLost(ctx, ref, archives)
	if err != nil {
		return compact.Remembered{}, err
	}
	var ids []string
	for _, x := range archives {
		if x.In.ID != "" {
			begun[x.In.ID] = append(begun[x.In.ID], x.ID)
		}
		ids = append(ids, x.ID)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	what := memory.Rebuild{Source: source, Archives: ids, Category: compact.CategoryHistory, Mark: RebuildMark(slices.Clone(ids)), Begun: begun, Remade: b.Remade}
	b.Result, err = b.Store.Rebuild(ctx, what, func(yield func(memory.Record, error) bool) {
		var ids *memory.ActionIDs
		archive := ""
		for r, err := range records {
			from := source
			from.Archive, from.ArchivePath = r.From.ID, r.From.Path
			if ids == nil || archive != r.From.ID { // what an archive says of the work, it says from its beginning
				ids, archive = memory.NewActionIDs(from.Agent, from.Session), r.From.ID
			}
			if !yield(workspace.WithAction(ids, b.asKept(workspace.MemoryRecord(from, r.Record)), r.Action), err) {
				return
			}
		}
	})
	return compact.Remembered{Stored: b.Result.Stored, Existing: b.Result.Existing, Forgotten: b.Result.Buried}, err
}
