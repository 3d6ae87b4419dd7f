package steps

import (
	"context"
	"errors"
	"fmt"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/removal"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/summarize"
)

// compaction is a run of compact.
type compaction struct {
	run       *workspace.Run
	options   selection.CompactOptions
	policy    compact.Policy
	chosen    selection.Selection
	summaries func(compact.SummaryOrder) compact.Summarizer
	tell      func(compact.Result)
	done      []compact.Result // what was told
}

// Compact compacts the sessions that the options mean, or plans it in a dry run. It
// tells each result as soon as it is known, and returns which sessions a run over
// everything does not mean. The error is that of the run, with its exit code.
func Compact(ctx context.Context, run *workspace.Run, o selection.CompactOptions, tell func(compact.Result)) ([]selection.PassedOver, error) {
	chosen, unchosen := selection.Choose(ctx, run, o)
	if unchosen != nil && (o.DryRun || len(begun(run)) == 0) {
		return nil, unchosen
	}
	workspace.TellStores(run)
	run.Config.LLM.MaxCalls = o.MaxCalls
	summaries, err := workspace.Summarizers(run, o.Focus)
	if err := errors.Join(err, workspace.CheckEvents(&run.Settings)); err != nil {
		return nil, err
	}
	c := &compaction{run: run, options: o, policy: o.Policy(run), chosen: chosen, summaries: summaries, tell: tell}
	if o.DryRun {
		err = c.plan(ctx)
	} else {
		err = c.execute(ctx, unchosen)
	}
	selection.WarnOfPurge(ctx, run, c.chosen.About(o))
	if o.All {
		return c.chosen.PassedOver(ctx, run), err
	}
	return nil, err
}

// plan is the dry run: it says what would be done, and where texts would be sent.
func (c *compaction) plan(ctx context.Context) error {
	var end func()
	c.policy.Known, end = selection.KnownForPlan(ctx, c.run)
	defer end()
	planned, err := planAll(ctx, c.run, c.chosen.Targets, c.policy)
	c.add(append(c.chosen.None, planned...)...)
	err = errors.Join(err, workspace.ForetellLostMemory(ctx, c.run))
	if !c.policy.SkipSummary {
		err = errors.Join(err, NoteSummarizer(c.run))
	}
	return c.outcome(errors.Join(err, workspace.NoteEmbedder(c.run)))
}

// execute finishes what earlier runs began, and compacts the sessions. They are chosen
// once more where that changed what there is: a rotation that was half done is done
// now, or another sessctl has made one. So it is where nothing could be chosen before,
// because of unchosen: the only log of an agent may be put aside.
func (c *compaction) execute(ctx context.Context, unchosen error) error {
	before := begun(c.run)
	w, err := workspace.Open(ctx, c.run, workspace.Mode{
		Memory: true, Spare: true, Reason: "compact", Summaries: c.summaries, Recover: &workspace.Recovery{Sessions: c.chosen.All.Sessions, Policy: c.policy},
	})
	if err != nil {
		if errors.Is(err, durable.ErrLocked) {
			return err // the session may be what the other run has put aside for a moment
		}
		return errors.Join(unchosen, err)
	}
	defer w.Close()
	if unchosen != nil {
		tellSettled(c.run, len(before)-len(begun(c.run)))
	}
	if unchosen != nil || w.Outdated() {
		if c.chosen, err = selection.Choose(ctx, c.run, c.options); err != nil {
			return err
		}
	}
	if c.policy.Known, err = selection.KnownOrNone(ctx, c.run, w); err != nil {
		return err
	}
	c.add(c.chosen.None...)
	err = c.outcome(c.compactAll(ctx, w))
	done := c.done[len(c.chosen.None):]
	Announce(ctx, c.run, c.options, done)
	return w.Ends(err, done...)
}

// begun are the changes that earlier runs have not finished.
func begun(run *workspace.Run) []compact.Intent {
	entries, _ := run.Journal().List() // what needs the journal says that it cannot be read
	return entries
}

// tellSettled says that n changes of earlier runs were finished before the sessions
// were chosen.
func tellSettled(run *workspace.Run, n int) {
	if n > 0 {
		run.Notice(workspace.Note{Message: "what an earlier run began was finished: " + wording.Plural(n, "change")})
		return
	}
	run.Notice(workspace.Note{Message: "what an earlier run began is not finished yet", Hint: "sessctl doctor says what it waits for"})
}

// compactAll compacts one session after the other.
func (c *compaction) compactAll(ctx context.Context, w *workspace.Workspace) error {
	for i, t := range c.chosen.Targets {
		w.Progress.Of(i+1, len(c.chosen.Targets))
		w.Progress.Show(t.Ref, removal.StageRead, 0, 1)
		result, err := compactOne(ctx, c.run, w, t, c.policy)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		w.Progress.Clear()
		if err != nil && !w.LoseMemory(c.run, err) {
			c.run.Failed(t.Path, err)
		}
		c.add(result)
		trimmed := result.Outcome == compact.Compacted && result.Strategy == session.StrategyTrim
		if result.Outcome == compact.Partial || result.Unchanged || trimmed {
			family := compactFamily(ctx, c.run, w, t, c.policy)
			w.Progress.Clear()
			c.add(family...)
		}
	}
	w.Progress.End(wording.Plural(len(c.chosen.Targets), "session"))
	return errors.Join(ctx.Err(), selection.EmbedWaiting(ctx, w, c.done))
}

// add tells results.
func (c *compaction) add(results ...compact.Result) {
	for _, r := range results {
		c.done = append(c.done, r)
		c.tell(r)
	}
}

// outcome is the error of the run, or what its results say of it.
func (c *compaction) outcome(err error) error {
	if err != nil {
		return err
	}
	outcomes := make([]compact.Outcome, 0, len(c.done))
	for _, r := range c.done {
		outcomes = append(outcomes, r.Outcome)
	}
	return OutcomeOf(outcomes)
}

// compactOne compacts one session, and logs what became of it.
func compactOne(ctx context.Context, run *workspace.Run, w *workspace.Workspace, t workspace.Found, policy compact.Policy) (compact.Result, error) {
	result, err := planAndExecute(ctx, run, w, t, policy)
	logResult(ctx, run, t.Ref, result, policy)
	return result, err
}

func planAndExecute(ctx context.Context, run *workspace.Run, w *workspace.Workspace, t workspace.Found, policy compact.Policy) (compact.Result, error) {
	plan, err := compact.NewPlan(ctx, t.Adapter, t.Ref, policy, run.Now())
	if err != nil {
		return failedResult(t, err), err
	}
	if plan.Outcome != compact.Planned {
		return plan.Result(), noteSource(ctx, w, t.Ref, plan.Remembered)
	}
	if plan.NextStart != "" {
		w.Progress.Clear()
		run.Notice(workspace.Note{Path: t.Path, Message: plan.NextStart, Hint: "sessctl undo RECEIPT brings the session back"})
	}
	result, err := w.Compactor.Execute(ctx, t.Adapter, plan, policy)
	if len(result.Missing) > 0 {
		err = errors.Join(err, removal.TellMissing(ctx, run, w.Archives, t.Path, result.Missing))
	}
	return result, err
}

// logResult logs what became of a session that was to be compacted, and what was
// compared.
func logResult(ctx context.Context, run *workspace.Run, ref session.Ref, r compact.Result, policy compact.Policy) {
	asked := "compact"
	if policy.LeaveSessions {
		asked = "archive"
	}
	workspace.Decided(ctx, run, workspace.Decision{
		Ref: ref, Asked: asked, Outcome: string(r.Outcome), Reason: r.Reason,
		Values: []any{"tokens", r.TokensBefore, "threshold", policy.Limits.For(ref), "quiet", policy.Quiet, "strategy", string(r.Strategy), "modified", ref.ModTime},
	})
}

// noteSource notes that a session that is archived already lies in another
// database than the one it was archived from.
func noteSource(ctx context.Context, w *workspace.Workspace, ref session.Ref, before *compact.Receipt) error {
	if before == nil || ref.Kind != session.KindStored || before.Source.Path == ref.Path {
		return nil
	}
	e, err := w.Archives.Get(ctx, before.Archive.ID)
	if err == nil {
		_, err = w.Archives.NoteSource(ctx, e, ref.Path)
	}
	return err
}

func failedResult(t workspace.Found, err error) compact.Result {
	return compact.NewResult(t.Ref, compact.Failed, err.Error())
}

// compactFamily archives what belongs to a session that was archived and
// remembered, and remembers what its sub-agents said.
func compactFamily(ctx context.Context, run *workspace.Run, w *workspace.Workspace, s workspace.Found, policy compact.Policy) (results []compact.Result) {
	policy.Force = true
	for _, member := range s.Family {
		result, err := compactMember(ctx, run, w, member, policy)
		if ctx.Err() != nil {
			return results
		}
		if err != nil {
			w.Progress.Clear()
			run.Failed(member.Path, err)
		}
		if err != nil || member.Kind != session.KindOutput {
			results = append(results, result)
		}
	}
	return results
}

// compactMember archives and remembers what belongs to a session. An output that
// is no text is only archived, and none has a summary.
func compactMember(ctx context.Context, run *workspace.Run, w *workspace.Workspace, member workspace.Found, policy compact.Policy) (compact.Result, error) {
	if member.Kind != session.KindOutput {
		return compactOne(ctx, run, w, member, policy)
	}
	if policy.SkipArchive || member.Bytes == 0 {
		return compact.Result{}, nil
	}
	if output, ok := selection.Output(member); ok {
		policy.SkipSummary = true
		result, err := compactOne(ctx, run, w, output, policy)
		if result.Archive != nil || ctx.Err() != nil || err != nil && !errors.Is(err, session.ErrUnknownFormat) {
			return result, err
		}
	}
	if _, same, err := selection.FileKnown(ctx, w, member); err == nil && same {
		return compact.Result{}, nil
	}
	if _, err := removal.PutArchive(ctx, run, w.Archives, member); err != nil {
		return failedResult(member, err), err
	}
	return compact.Result{}, nil
}

// planAll is the dry run: it makes no mutating call. Sessions are read several
// at a time.
func planAll(ctx context.Context, run *workspace.Run, targets []workspace.Found, policy compact.Policy) ([]compact.Result, error) {
	results := make([]compact.Result, len(targets))
	err := session.Spread(ctx, run.Workers(), len(targets), func(_, i int) {
		t := targets[i]
		plan, err := compact.NewPlan(ctx, t.Adapter, t.Ref, policy, run.Now())
		if err != nil {
			results[i] = failedResult(t, err)
		} else {
			results[i] = plan.Result()
		}
		logResult(ctx, run, t.Ref, results[i], policy)
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// NoteSummarizer says where conversations would be sent to be summed up.
func NoteSummarizer(run *workspace.Run) error {
	endpoint, err := workspace.Endpoint(run, "summarize", run.Config.Summarize)
	if err != nil || endpoint.Provider == summarize.ProviderExtractive {
		return err
	}
	client, err := summarize.NewClient(endpoint)
	if err == nil {
		run.Notice(workspace.Note{Message: fmt.Sprintf("conversations, without what looks like a secret, would be sent to %s to be summed up by %s", client.Address(), client.Name())})
	}
	return err
}

// OutcomeOf decides the exit code of a run: failures before busy sessions
// before everything else.
func OutcomeOf(outcomes []compact.Outcome) error {
	count := map[compact.Outcome]int{}
	for _, outcome := range outcomes {
		count[outcome]++
	}
	switch failed := count[compact.Failed]; {
	case failed > 0 && failed < len(outcomes):
		return &failure.Outcome{Exit: failure.ExitPartly}
	case failed > 0:
		return &failure.Outcome{Exit: failure.ExitFailed}
	case count[compact.Busy] > 0:
		return &failure.Outcome{Exit: failure.ExitBusy}
	case count[compact.Unsupported] > 0 && count[compact.Unsupported] == len(outcomes):
		return &failure.Outcome{Exit: failure.ExitFailed}
	}
	return nil
}
