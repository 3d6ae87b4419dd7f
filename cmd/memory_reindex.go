package cmd

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

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/chunk"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/work"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

type reindexOptions struct {
	Agent        string
	Model        string
	Pending      bool
	FromArchives bool
	// AllowForgotten goes on although records of what was forgotten are lost.
	AllowForgotten bool
}

func (o *reindexOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Agent, "agent", "", "only records of this `agent`")
	fs.StringVar(&o.Model, "model", "", "with this model, `provider/name` or a name of the configured provider (default the configured one)")
	fs.BoolVar(&o.Pending, "pending", false, "only make the vectors that are missing")
	fs.BoolVar(&o.FromArchives, "from-archives", false, "make the records themselves again from the archives")
	fs.BoolVar(&o.AllowForgotten, "allow-forgotten", false, "with --from-archives: also if what was forgotten comes back, because the record of it is lost")
}

func newMemoryReindexCommand(a *app) *cobra.Command {
	var o reindexOptions
	c := &cobra.Command{
		Use:   "reindex",
		Short: "Rebuild the vectors, or the whole memory",
		Long: `Rebuild every vector with the configured embedding model. Recall uses the old
vectors until all new ones are there. A reindex that is killed continues where
it stopped. --model uses another model than the configured one; set it in the
configuration afterwards.

--pending only makes the vectors that are missing. --from-archives rebuilds the
records themselves from every archive that verifies; a damaged memory is moved
aside first, never deleted. Forgotten records are not restored. If the record of
what was forgotten is lost or damaged (exit code 4), put it back from a backup,
or say --allow-forgotten: then it is remembered again.
` + exitHelp,
		Example: `  sessctl memory reindex --pending
  sessctl memory reindex --agent coordinator
  sessctl memory reindex --model ollama/nomic-embed-text
  sessctl memory reindex --from-archives`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if o.Pending && o.FromArchives {
				return usageError("--from-archives also makes the vectors that are missing", "--pending and --from-archives exclude each other")
			}
			if o.AllowForgotten && !o.FromArchives {
				return usageError("without --from-archives nothing that was forgotten can come back", "--allow-forgotten needs --from-archives")
			}
			return runMemoryReindex(c.Context(), a, o)
		},
	}
	o.addFlags(c.Flags())
	return c
}

// reindexDocument is `memory reindex --json`.
type reindexDocument struct {
	Schema   int            `json:"schema"`
	Model    string         `json:"model"`
	Agents   []string       `json:"agents"`
	Vectors  int            `json:"vectors"` // of the model, after the run
	Pending  int            `json:"pending"` // that could not be embedded
	Waiting  int            `json:"waiting"` // that nobody tried to embed: the embedder is out of service
	Archives *rebuildReport `json:"from_archives"`
	SetAside string         `json:"set_aside"` // where the damaged memory is now, or ""
	Notes    []note         `json:"notes"`

	down bool // the embedder could not be asked: nothing is known of vectors
}

func runMemoryReindex(ctx context.Context, a *app, o reindexOptions) error {
	doc := reindexDocument{Schema: 1, Agents: []string{}}
	if o.FromArchives {
		var err error
		if doc.SetAside, err = a.setMemoryAside(ctx, o.AllowForgotten); err != nil {
			return err
		}
	}
	w, err := a.openRecovered(ctx, o.FromArchives)
	if err != nil {
		return err
	}
	defer w.close()
	if o.FromArchives {
		if doc.Archives, err = w.rebuild(ctx, a, o.Agent); err != nil {
			return err
		}
	}
	if err := w.reindex(ctx, a.invocation, o, &doc); err != nil {
		return err
	}
	if o.FromArchives && o.Agent == "" && a.global.Runtime == "" {
		if err := w.memory.Complete(ctx); err != nil {
			return err
		}
	}
	w.progress.clear()
	return finishReindex(a, doc)
}

// setMemoryAside moves a memory that is damaged out of the way. That comes after
// what it knows of what was forgotten is written down again.
func (a *invocation) setMemoryAside(ctx context.Context, allowForgotten bool) (string, error) {
	lock, err := a.lock(ctx)
	if err != nil {
		return "", err
	}
	defer lock.Unlock()
	if err := a.checkForgotten(ctx, allowForgotten); err != nil {
		return "", err
	}
	moved, problems, err := memory.SetAsideDamaged(ctx, a.pins, a.memoryDir(), a.now())
	if err != nil {
		return "", fmt.Errorf("set the damaged memory aside: %w", err)
	}
	if moved != "" {
		a.notice(note{Path: moved, Message: "the memory was damaged (" + problems[0].Message + ") and is kept here"})
	}
	return moved, nil
}

// checkForgotten refuses to make the memory again while a record of what was
// forgotten is lost: those texts would come back. With allow they may.
func (a *invocation) checkForgotten(ctx context.Context, allow bool) error {
	dir := a.memoryDir()
	if exists(filepath.Join(dir, "memory.db")) { // one that is lost stays so until it is made again
		store, err := memory.Open(ctx, dir, memory.Options{Pins: a.pins})
		if err == nil {
			err = errors.Join(a.repairForgotten(ctx, store), store.Close())
		}
		if err != nil && !errors.Is(err, memory.ErrCorrupt) {
			return fmt.Errorf("open memory: %w", err)
		}
	}
	lost := memory.LostForgottenFiles(dir)
	switch {
	case len(lost) == 0:
		return nil
	case allow:
		return memory.GiveUpForgotten(a.pins, dir)
	}
	return &failure{code: "forgotten_lost", exit: exitIntegrity, path: lost[0].Path, hint: "put the file back from a backup; or use --allow-forgotten, and what it listed is remembered again",
		err: fmt.Errorf("what was forgotten would come back: %s: %s", lost[0].Path, lost[0].Message())}
}

// stageReindex is what the progress bar says.
const stageReindex compact.Stage = "reindex"

func (w *workspace) reindex(ctx context.Context, a *invocation, o reindexOptions, doc *reindexDocument) error {
	embedding, err := a.openEmbedderOf(o.Model)
	if err != nil {
		return err
	}
	model, down, err := embedding.model(ctx, w.memory)
	if err != nil {
		return err
	}
	doc.Model = model.String()
	agents, err := w.memory.Agents(ctx, a.global.Runtime, o.Agent)
	if err != nil {
		return err
	}
	if len(agents) == 0 {
		if err := a.checkAgent(ctx, w.memory, o.Agent); err != nil {
			return err
		}
	}
	doc.Agents = append(doc.Agents, agents...)
	if down != nil {
		return w.reindexLater(ctx, a, downed{o.Pending, model, down}, doc)
	}
	show := func(agent string, done, total int64) {
		w.progress.show(session.Ref{Agent: agent}, stageReindex, done, total)
	}
	watched := &watched{Embedder: embedding.documents}
	var result memory.ReindexResult
	switch {
	case o.FromArchives:
		result, err = w.memory.EmbedMissing(ctx, watched, model, agents, show)
	case o.Pending:
		if err := a.refuseOthers(ctx, w.memory, agents, model); err != nil {
			return err
		}
		result, err = w.memory.EmbedMissing(ctx, watched, model, agents, show)
	default:
		result, err = w.memory.Reindex(ctx, watched, model, agents, show)
	}
	doc.Vectors, doc.Pending, doc.Waiting = result.Vectors, result.Pending, result.Waiting
	switch {
	case result.Waiting > 0 && watched.down != nil:
		a.notice(note{Message: watched.down.Error()})
	case result.Done:
		a.noteConfigured(embedding)
	}
	return err
}

// noteConfigured says how to go on with a model that is not the configured one.
func (a *invocation) noteConfigured(chosen *embedding) {
	configured, err := a.openEmbedder()
	if err == nil && configured.expected == chosen.expected {
		return
	}
	a.notice(note{
		Message: fmt.Sprintf("%s/%s is not the configured model: recall searches by words only until it is", chosen.expected.Provider, chosen.expected.Name),
		Hint:    fmt.Sprintf("set embed.provider to %s and embed.model to %s", chosen.expected.Provider, chosen.expected.Name),
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
func (w *workspace) reindexLater(ctx context.Context, a *invocation, d downed, doc *reindexDocument) error {
	a.notice(note{Message: d.err.Error()})
	doc.down = true
	for _, agent := range doc.Agents {
		count := func() (int, error) { return w.memory.CountRecords(ctx, agent) }
		if d.pending {
			count = func() (int, error) { return embedder{store: w.memory}.waiting(ctx, d.model, agent) }
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
func (a *invocation) refuseOthers(ctx context.Context, store *memory.Store, agents []string, model embed.Model) error {
	for _, agent := range agents {
		others, err := store.OtherModels(ctx, agent, model)
		if err != nil {
			return err
		}
		if len(others) > 0 {
			return &failure{code: "other_model", exit: exitFailed, hint: "sessctl memory reindex rebuilds all vectors; or set embed.provider and embed.model back",
				err: fmt.Errorf("the vectors of %s are of %s, and %s is configured", agent, strings.Join(others, ", "), model)}
		}
	}
	return nil
}

// finishReindex says what was done and what was not.
func finishReindex(a *app, doc reindexDocument) error {
	if doc.Waiting > 0 {
		a.notice(note{Message: fmt.Sprintf("%s wait: the embedder cannot serve; the old vectors stay in use", plural(doc.Waiting, "record")), Hint: "run sessctl memory reindex again; it goes on where it stopped"})
	}
	doc.Notes = a.notes
	var err error
	if a.JSON {
		err = a.printJSON(doc)
	} else {
		_, err = fmt.Fprint(a.Out, describeReindex(doc))
	}
	switch {
	case err != nil:
		return err
	case doc.Archives != nil && doc.Archives.damaged():
		return &outcomeError{exit: exitIntegrity}
	case doc.Waiting > 0, doc.Archives != nil && len(doc.Archives.Problems) > 0:
		return &outcomeError{exit: exitPartly}
	}
	return nil
}

func describeReindex(doc reindexDocument) string {
	var b strings.Builder
	if r := doc.Archives; r != nil {
		for _, p := range r.Problems {
			fmt.Fprintf(&b, "not remembered\t%s\t%s\t%s\n", visible(p.ID), visible(p.Path), visible(p.Message))
		}
		fmt.Fprintf(&b, "%s of %s read: %s new, %s there already, %s replaced, %s forgotten and not restored\n", plural(r.Archives, "archive"), plural(r.Sessions, "session"),
			plural(r.Stored, "record"), formatCount(int64(r.Existing)), formatCount(int64(r.Removed)), formatCount(int64(r.Buried)))
	}
	if r := doc.Archives; r != nil && r.Repaired > 0 {
		fmt.Fprintf(&b, "%s damaged and stored again\n", plural(r.Repaired, "record"))
	}
	if doc.down {
		return b.String()
	}
	fmt.Fprintf(&b, "%s of %s (%s)\n", plural(doc.Vectors, "vector"), plural(len(doc.Agents), "agent"), visible(doc.Model))
	if doc.Pending > 0 {
		fmt.Fprintf(&b, "%s could not be embedded; they are found by their words\n", plural(doc.Pending, "record"))
	}
	return b.String()
}

// rebuildReport is what `memory reindex --from-archives` did with the records.
type rebuildReport struct {
	Sessions int              `json:"sessions"`
	Archives int              `json:"archives"` // that verified
	Stored   int              `json:"stored"`
	Existing int              `json:"existing"`
	Removed  int              `json:"removed"`  // cut by an earlier rule
	Buried   int              `json:"buried"`   // stay forgotten
	Repaired int              `json:"repaired"` // were damaged, and are stored anew
	Problems []rebuildProblem `json:"problems"`
}

// rebuildProblem is an archive whose text is not in the records that were made.
type rebuildProblem struct {
	problem
	Damaged bool `json:"damaged"` // it does not verify; else it is of a kind that is not read
}

func (r *rebuildReport) damaged() bool {
	return slices.ContainsFunc(r.Problems, func(p rebuildProblem) bool { return p.Damaged })
}

func (r *rebuildReport) fail(id, path string, err error) {
	damaged := errors.Is(err, archive.ErrCorrupt) || errors.Is(err, archive.ErrMissing)
	r.Problems = append(r.Problems, rebuildProblem{problem{ID: id, Path: path, Message: err.Error()}, damaged})
}

// archivedSession is all archives of one session.
type archivedSession struct {
	source  memory.Source
	entries []archive.Entry
}

// stageRebuild is what the progress bar says.
const stageRebuild compact.Stage = "rebuild"

// rebuild makes the records of every archived session again. A session that an
// earlier, killed run has finished is not read again.
func (w *workspace) rebuild(ctx context.Context, a *app, agent string) (*rebuildReport, error) {
	report := &rebuildReport{Problems: []rebuildProblem{}}
	if _, err := w.memory.BeginRebuild(ctx); err != nil {
		return nil, err
	}
	sessions, err := w.archivedSessions(ctx, a.invocation, agent)
	if err != nil {
		return nil, err
	}
	for i, s := range sessions {
		w.progress.show(session.Ref{Agent: s.source.Agent}, stageRebuild, int64(i), int64(len(sessions)))
		if err := w.rebuildSession(ctx, a, s, report); err != nil {
			return nil, fmt.Errorf("session %s of %s: %w", s.source.Session, s.source.Agent, err)
		}
	}
	damaged, err := w.archives.Damaged(ctx)
	if err != nil {
		return nil, err
	}
	for _, d := range damaged {
		report.Problems = append(report.Problems, rebuildProblem{problem{Path: d.Path, Message: d.Err.Error()}, true})
	}
	return report, a.tellUnwiped(w.memory.EndRebuild(ctx))
}

func (w *workspace) archivedSessions(ctx context.Context, a *invocation, agent string) ([]archivedSession, error) {
	entries, err := w.archives.List(ctx, archive.Filter{Agent: agent, Runtime: a.global.Runtime})
	if err != nil {
		return nil, err
	}
	var sessions []archivedSession
	at := map[memory.Source]int{}
	for _, e := range entries {
		if session.Kind(e.Kind) == session.KindOutput && !traitsOf(e.Runtime).Outputs {
			continue // kept as it is, never read
		}
		source := memory.Source{Runtime: e.Runtime, Agent: e.Agent, Session: e.Session}
		i, known := at[source]
		if !known {
			i = len(sessions)
			at[source] = i
			sessions = append(sessions, archivedSession{source: source})
		}
		sessions[i].entries = append(sessions[i].entries, e)
	}
	return sessions, nil
}

func (w *workspace) rebuildSession(ctx context.Context, a *app, s archivedSession, report *rebuildReport) error {
	report.Sessions++
	ids := make([]string, 0, len(s.entries))
	logs := make([]compact.ArchivedLog, 0, len(s.entries))
	for _, e := range s.entries {
		ids = append(ids, e.ID)
		logs = append(logs, archivedLog(e))
	}
	done, err := w.memory.Rebuilt(ctx, s.source)
	if err != nil || done == rebuildMark(ids) {
		report.Archives += len(s.entries)
		return err
	}
	store := a.archiveReader(s.entries[0])
	if store == nil {
		for _, e := range s.entries {
			report.fail(e.ID, e.Path, fmt.Errorf("no runtime %q is known", e.Runtime))
		}
		return nil
	}
	policy, isOutput := a.recoveryPolicy(), session.Kind(s.entries[0].Kind) == session.KindOutput
	policy.SkipSummary = policy.SkipSummary || isOutput
	keeper := &rebuilder{store: w.memory, archives: w.archives, lengths: w.lengths}
	result, err := w.compactor.Rebuild(ctx, store, logs, policy, keeper)
	for _, d := range result.Damaged {
		if isOutput && errors.Is(d.Err, session.ErrUnknownFormat) {
			continue // it is no text: only archived
		}
		report.fail(d.Archived.ID, d.Archived.Path, d.Err)
	}
	report.Archives += result.Archives
	report.Stored += keeper.result.Stored
	report.Existing += keeper.result.Existing
	report.Removed += keeper.result.Removed
	report.Buried += keeper.result.Buried
	report.Repaired += keeper.result.Repaired
	return err
}

func archivedLog(e archive.Entry) compact.ArchivedLog {
	return compact.ArchivedLog{
		Ref:       session.Ref{Runtime: e.Runtime, Agent: e.Agent, ID: e.Session, Key: e.Key, Path: e.Path, Kind: session.Kind(e.Kind), ModTime: e.SourceModTime},
		Archived:  archivedOf(e),
		CreatedAt: e.CreatedAt,
	}
}

// readerOf returns a store that can read a runtime's archived logs; nil if
// there is none. The store itself need not exist any more.
func (a *invocation) readerOf(runtime string) session.Store {
	for _, kind := range runtimes() {
		if kind.name == runtime {
			return kind.open(a.dataDir(), a.config)
		}
	}
	return nil
}

// archiveReader is readerOf for an archive, which may be that of a tool's output.
func (a *invocation) archiveReader(e archive.Entry) session.Store {
	store := a.readerOf(e.Runtime)
	if store != nil && session.Kind(e.Kind) == session.KindOutput && store.Capabilities().Outputs {
		return session.ReadOutput(store)
	}
	return store
}

// rebuildMark names the archives that a session was rebuilt from, and the rule.
func rebuildMark(ids []string) string {
	slices.Sort(ids)
	sum := sha256.Sum256([]byte(strings.Join(ids, " ")))
	return chunk.Version + " " + work.Version + " " + hex.EncodeToString(sum[:8])
}

// rebuilder is a compact.Rebuilder over a memory.Store.
type rebuilder struct {
	store    *memory.Store
	archives *archive.Store
	lengths  func() (map[string]int64, error) // see app.archivedLengths
	result   memory.RebuildResult
}

// asKept is a summary in the words of the model that wrote one of the same
// archive, if that was kept.
func (b *rebuilder) asKept(r memory.Record) memory.Record {
	if r.Category == compact.CategorySummary {
		if kept, found := b.store.KeptSummary(r.ID); found && kept.Archive == r.Archive {
			r.Text = kept.Text
		}
	}
	return r
}

// Rebuild implements compact.Rebuilder.
func (b *rebuilder) Rebuild(ctx context.Context, ref session.Ref, archives []compact.Origin, records iter.Seq2[compact.ArchivedRecord, error]) (compact.Remembered, error) {
	source := memory.Source{Runtime: ref.Runtime, Agent: ref.Agent, Session: ref.ID, Key: ref.Key}
	begun, err := (memoryAdapter{store: b.store, archives: b.archives, lengths: b.lengths}).begunAndLost(ctx, ref, archives)
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
	what := memory.Rebuild{Source: source, Archives: ids, Category: compact.CategoryHistory, Mark: rebuildMark(slices.Clone(ids)), Begun: begun}
	b.result, err = b.store.Rebuild(ctx, what, func(yield func(memory.Record, error) bool) {
		var ids *memory.ActionIDs
		archive := ""
		for r, err := range records {
			from := source
			from.Archive, from.ArchivePath = r.From.ID, r.From.Path
			if ids == nil || archive != r.From.ID { // what an archive says of the work, it says from its beginning
				ids, archive = memory.NewActionIDs(from.Agent, from.Session), r.From.ID
			}
			if !yield(withAction(ids, b.asKept(memoryRecord(from, r.Record)), r.Action), err) {
				return
			}
		}
	})
	return compact.Remembered{Stored: b.result.Stored, Existing: b.result.Existing, Forgotten: b.result.Buried}, err
}
