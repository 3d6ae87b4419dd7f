package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func addReindexFlags(o *audit.ReindexOptions, fs *pflag.FlagSet) {
	fs.StringVar((*string)(&o.Agent), "agent", "", "only records of this `agent` or runtime/agent")
	fs.StringVar(&o.Model, "model", "", "with this model, `provider/name` or a name of the configured provider (default the configured one)")
	fs.BoolVar(&o.Pending, "pending", false, "only make the vectors that are missing")
	fs.BoolVar(&o.FromArchives, "from-archives", false, "make the records themselves again from the archives")
	fs.BoolVar(&o.AllowForgotten, "allow-forgotten", false, "with --from-archives: also if what was forgotten comes back, because the record of it is lost")
}

func newMemoryReindexCommand(a *app) *cobra.Command {
	var o audit.ReindexOptions
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
or say --allow-forgotten: then it is remembered again.`,
		Example: `  sessctl memory reindex --pending
  sessctl memory reindex --agent coordinator
  sessctl memory reindex --model ollama/nomic-embed-text
  sessctl memory reindex --from-archives`,
		RunE: func(c *cobra.Command, _ []string) error {
			if o.Pending && o.FromArchives {
				return failure.Usage("--from-archives also makes the vectors that are missing", "--pending and --from-archives exclude each other")
			}
			if o.AllowForgotten && !o.FromArchives {
				return failure.Usage("without --from-archives nothing that was forgotten can come back", "--allow-forgotten needs --from-archives")
			}
			return runMemoryReindex(c.Context(), a, o)
		},
	}
	addReindexFlags(&o, c.Flags())
	return c
}

func runMemoryReindex(ctx context.Context, a *app, o audit.ReindexOptions) error {
	doc := audit.ReindexDocument{Schema: 1, Agents: []string{}}
	if o.FromArchives {
		var err error
		if doc.SetAside, err = audit.SetMemoryAside(ctx, a.Run, o.AllowForgotten); err != nil {
			return err
		}
	}
	w, err := recall.OpenRecovered(ctx, a.Run, o.FromArchives)
	if err != nil {
		return err
	}
	defer w.Close()
	if o.FromArchives {
		if doc.Archives, err = rebuild(ctx, w, a, o.Agent); err != nil {
			return err
		}
	}
	if err := audit.Reindex(ctx, w, a.Run, o, &doc); err != nil {
		return err
	}
	if o.FromArchives && o.Agent == "" && a.Global.Runtime == "" {
		if err := w.Memory.Complete(ctx); err != nil {
			return err
		}
	}
	w.Progress.End(wording.Plural(doc.Vectors, "vector"))
	audit.EnterRebuilt(a.Run, o, doc)
	return finishReindex(a, doc)
}

// finishReindex says what was done and what was not.
func finishReindex(a *app, doc audit.ReindexDocument) error {
	if doc.Waiting > 0 {
		a.Notice(workspace.Note{Message: fmt.Sprintf("%s wait: the embedder cannot serve; the old vectors stay in use", wording.Plural(doc.Waiting, "record")), Hint: "sessctl doctor says whether the embedder serves; run this again then, it goes on where it stopped"})
	}
	doc.Notes = a.Notes
	var err error
	if a.JSON {
		err = a.printJSON(doc)
	} else {
		_, err = fmt.Fprint(a.Out, audit.DescribeReindex(doc))
	}
	switch {
	case err != nil:
		return err
	case doc.Archives != nil && doc.Archives.Damaged():
		return &failure.Outcome{Exit: failure.ExitIntegrity}
	case doc.Waiting > 0, doc.Archives != nil && len(doc.Archives.Problems) > 0:
		return &failure.Outcome{Exit: failure.ExitPartly}
	}
	return nil
}

// rebuild makes the records of every archived session again. A session that an
// earlier, killed run has finished is not read again.
func rebuild(ctx context.Context, w *workspace.Workspace, a *app, agent agentset.Set) (*audit.RebuildReport, error) {
	report := &audit.RebuildReport{Problems: []audit.RebuildProblem{}}
	if _, err := w.Memory.BeginRebuild(ctx); err != nil {
		return nil, err
	}
	sessions, err := audit.ArchivedSessions(ctx, w, a.Run, agent)
	if err != nil {
		return nil, err
	}
	for i, s := range sessions {
		w.Progress.Of(i+1, len(sessions))
		w.Progress.Show(session.Ref{Agent: s.Source.Agent}, audit.StageRebuild, 0, 1)
		if err := rebuildSession(ctx, w, a, s, report); err != nil {
			return nil, fmt.Errorf("session %s of %s: %w", s.Source.Session, s.Source.Agent, err)
		}
	}
	w.Progress.Of(1, 1)
	if err := report.AddUnlisted(ctx, w, a.Run, agent); err != nil {
		return nil, err
	}
	return report, workspace.TellUnwiped(a.Run, w.Memory.EndRebuild(ctx))
}

func rebuildSession(ctx context.Context, w *workspace.Workspace, a *app, s audit.ArchivedSession, report *audit.RebuildReport) error {
	report.Sessions++
	ids := make([]string, 0, len(s.Entries))
	logs := make([]compact.ArchivedLog, 0, len(s.Entries))
	for _, e := range s.Entries {
		ids = append(ids, e.ID)
		logs = append(logs, workspace.ArchivedLog(e))
	}
	done, err := w.Memory.Rebuilt(ctx, s.Source)
	if err != nil || done == audit.RebuildMark(ids) {
		report.Archives += len(s.Entries)
		return err
	}
	store := workspace.ArchiveReader(&a.Run.Settings, s.Entries[0])
	if store == nil {
		for _, e := range s.Entries {
			report.Fail(e.ID, e.Path, fmt.Errorf("no runtime %q is known", e.Runtime))
		}
		return nil
	}
	policy, isOutput := a.RecoveryPolicy(), session.Kind(s.Entries[0].Kind) == session.KindOutput
	policy.SkipSummary = policy.SkipSummary || isOutput
	keeper := audit.NewRebuilder(w, a.Run)
	result, err := w.Compactor.Rebuild(ctx, store, logs, policy, keeper)
	for _, d := range result.Damaged {
		if isOutput && errors.Is(d.Err, session.ErrUnknownFormat) {
			continue // it is no text: only archived
		}
		report.Fail(d.Archived.ID, d.Archived.Path, d.Err)
	}
	report.Archives += result.Archives
	report.Stored += keeper.Result.Stored
	report.Existing += keeper.Result.Existing
	report.Removed += keeper.Result.Removed
	report.Buried += keeper.Result.Buried
	report.Repaired += keeper.Result.Repaired
	return err
}
