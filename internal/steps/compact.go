package steps

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/removal"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/summarize"
)

// StrategyNames are the strategies a person can ask for.
func StrategyNames() []string {
	return []string{string(session.StrategyRotate), string(session.StrategyOverlay), string(session.StrategyRewrite), string(session.StrategyTrim)}
}

// ValidateCompact refuses options that contradict each other.
func ValidateCompact(o *selection.CompactOptions) error {
	const see = "see sessctl compact --help"
	switch {
	case o.Agent == "" && !o.All && o.Session == "":
		return failure.Usage("name an agent, or use --all; sessctl sizes shows the agents there are", "which session? --agent, --all or --session is needed")
	case o.All && (o.Agent != "" || o.Session != ""):
		return failure.Usage(see, "--all goes with neither --agent nor --session")
	case o.Clear && o.Strategy != string(session.StrategyRotate):
		return failure.Usage(see, "--clear goes with no other strategy")
	case o.Strategy != "" && !slices.Contains(StrategyNames(), o.Strategy):
		return failure.Usage("strategies: "+strings.Join(StrategyNames(), ", "), "--strategy: unknown strategy %q", o.Strategy)
	case !slices.Contains([]compact.GatewayUse{compact.GatewayAuto, compact.GatewayNever, compact.GatewayRequire}, compact.GatewayUse(o.Gateway)):
		return failure.Usage("auto asks a running gateway, never leaves its sessions alone, require changes nothing without one", "--gateway: unknown use of the gateway %q", o.Gateway)
	case o.MaxCalls < 0:
		return failure.Usage("0 asks none: summaries are extractive", "--max-llm-calls must not be negative")
	case o.KeepRecentTokens < 0:
		return failure.Usage(see, "--keep-recent-tokens must not be negative")
	case o.KeepAsked && o.Strategy == string(session.StrategyRotate):
		return failure.Usage("rotate starts a fresh session; its log stays in the archive", "--keep-recent-tokens does not go with the strategy rotate")
	case o.SkipSummary && session.Strategy(o.Strategy) != session.StrategyRotate && o.Strategy != "":
		return failure.Usage("the summary takes the place of what is cut away", "--skip-summary does not go with the strategy %s", o.Strategy)
	}
	return nil
}

// Recovery is the policy for what earlier runs began: the quiet period of the
// command is that of the sessions that it names.
func Recovery(o *selection.CompactOptions, run *workspace.Run) compact.Policy {
	policy := o.Policy(run)
	policy.QuietOf = workspace.QuietWhere(&run.Settings, o.Quiet, func(r session.Rotation) bool { return names(run.Global.Runtime, o, r) })
	return policy
}

// names reports whether the options mean the session that a change is of.
func names(runtime string, o *selection.CompactOptions, r session.Rotation) bool {
	ofAgent := (selection.Scope{Runtime: runtime, Agent: o.Agent}).Holds(r.Runtime, r.Agent)
	isKey := func(key string) bool { return strings.EqualFold(key, o.Session) }
	return ofAgent && (o.Session == "" || strings.HasPrefix(r.Session, o.Session) || slices.ContainsFunc(r.Keys, isKey))
}

// ChooseSettled chooses once more, where nothing could be chosen, after what earlier
// runs began was finished: the only log of an agent may be put aside, and another
// one may have its place. Without such a run it returns the error of before.
func ChooseSettled(ctx context.Context, run *workspace.Run, o selection.CompactOptions, cause error) (selection.Selection, error) {
	begun, err := run.Journal().List()
	if err != nil || len(begun) == 0 {
		return selection.Selection{}, cause
	}
	w, err := workspace.Open(ctx, run, workspace.Mode{Memory: true, Reason: "compact", Recover: &workspace.Recovery{Policy: Recovery(&o, run)}})
	if err != nil {
		return selection.Selection{}, errors.Join(cause, err)
	}
	w.Close()
	left, err := run.Journal().List()
	switch {
	case err != nil:
		return selection.Selection{}, errors.Join(cause, err)
	case len(left) < len(begun):
		run.Notice(workspace.Note{Message: "what an earlier run began was finished: " + wording.Plural(len(begun)-len(left), "change")})
	default:
		run.Notice(workspace.Note{Message: "what an earlier run began is not finished yet", Hint: "sessctl doctor says what it waits for"})
	}
	return selection.Choose(ctx, run, o)
}

// CompactOne compacts one session.
func CompactOne(ctx context.Context, run *workspace.Run, w *workspace.Workspace, t workspace.Found, policy compact.Policy) (compact.Result, error) {
	plan, err := compact.NewPlan(ctx, t.Adapter, t.Ref, policy, run.Now())
	if err != nil {
		result := failedResult(t, err)
		logResult(ctx, run, t.Ref, result, policy)
		return result, err
	}
	if plan.Outcome != compact.Planned {
		logResult(ctx, run, t.Ref, plan.Result(), policy)
		return plan.Result(), noteSource(ctx, w, t.Ref, plan.Remembered)
	}
	result, err := w.Compactor.Execute(ctx, t.Adapter, plan, policy)
	logResult(ctx, run, t.Ref, result, policy)
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

// PlanAll is the dry run: it makes no mutating call. Sessions are read several
// at a time.
func PlanAll(ctx context.Context, run *workspace.Run, targets []workspace.Found, policy compact.Policy) ([]compact.Result, error) {
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

// DescribeResult is one session for people.
func DescribeResult(r selection.CompactedSession) string {
	var b strings.Builder
	name := r.Key
	if name == "" {
		name = strings.Trim(r.Agent+" "+r.Session, " ")
	}
	fmt.Fprintf(&b, "%s: %s", wording.Visible(name), strings.ReplaceAll(string(r.Outcome), "-", " "))
	if r.Reason != "" {
		fmt.Fprintf(&b, " (%s)", wording.Visible(r.Reason))
	}
	b.WriteByte('\n')
	if selection.Uncut(r) {
		fmt.Fprintf(&b, "  as it is: sessctl archive --session %s --remember archives and remembers it\n", wording.Visible(r.Session))
	}
	if r.Outcome != compact.Planned && r.Outcome != compact.Compacted && r.Outcome != compact.Partial && r.Outcome != compact.Resummarized {
		return b.String()
	}
	for _, line := range details(r) {
		fmt.Fprintf(&b, "  %-9s %s\n", line[0], line[1])
	}
	return b.String()
}

func details(r selection.CompactedSession) [][2]string {
	lines := [][2]string{
		{"session", wording.Visible(r.Session)},
		{"log", fmt.Sprintf("%s, %s messages, %s tokens (%s)", wording.Bytes(r.Bytes), wording.Count(int64(r.Messages)), wording.Count(r.TokensBefore), r.TokenSource)},
	}
	if r.LinesSkipped > 0 {
		lines = append(lines, [2]string{"skipped", wording.Plural(r.LinesSkipped, "unreadable line") + "; the archive has every byte"})
	}
	if r.Outcome != compact.Resummarized {
		lines = append(lines, [2]string{"memory", memoryLine(r)})
	}
	if r.Outcome == compact.Planned && r.Summary == nil {
		return append(lines, [2]string{"then", thenLine(r)})
	}
	if r.BytesAfter > 0 {
		lines = append(lines, [2]string{"trimmed", fmt.Sprintf("%s stay; the context is as it was", wording.Bytes(r.BytesAfter))})
	}
	if r.Summary != nil {
		text := fmt.Sprintf("%s, %s characters", wording.Visible(cmp.Or(r.Summary.Model, r.Summary.Kind)), wording.Count(int64(r.Summary.Chars)))
		if r.Summary.Forgotten {
			text += ", not stored in memory: it was forgotten earlier"
		}
		lines = append(lines, [2]string{"summary", text})
		if r.Summary.Degraded {
			lines = append(lines, [2]string{"", "degraded: " + wording.Visible(r.Summary.Reason)})
		}
	}
	if r.SummaryEmpty {
		lines = append(lines, [2]string{"summary", "none: there was nothing to summarise"})
	}
	if r.Archive != nil {
		lines = append(lines, [2]string{"archive", r.Archive.ID + "  " + wording.Visible(r.Archive.Path)}, [2]string{"", "sha256 " + r.Archive.SHA256 + ", verified"})
	}
	if r.Receipt == "" {
		return lines
	}
	lines = append(lines, [2]string{"receipt", wording.Visible(r.Receipt)})
	if r.Outcome == compact.Compacted {
		lines = append(lines, [2]string{"undo", audit.UndoCommand(strings.TrimSuffix(filepath.Base(r.Receipt), ".json"))})
	}
	return lines
}

func thenLine(r selection.CompactedSession) string {
	if r.Via == session.ViaGateway {
		return "archive, remember, and ask the running gateway for a fresh session (" + string(r.Strategy) + ")"
	}
	switch r.Strategy {
	case session.StrategyNone:
		return "archive and remember; the session is not changed"
	case session.StrategyOverlay:
		return "archive, remember, and append a summary that stands for the older messages (overlay)"
	case session.StrategyRewrite:
		if r.Cleared {
			return "archive, remember, and clear the session: nobody uses it (rewrite)"
		}
		return "archive, remember, and put a summary in the place of the older messages (rewrite)"
	case session.StrategyTrim:
		return fmt.Sprintf("archive, remember, and leave out of the log what its runtime does not need: %s of %s stay (trim)", wording.Bytes(r.BytesAfter), wording.Bytes(r.Bytes))
	case session.StrategyAnnotate:
		return "archive, remember, and write a summary beside the messages (annotate)"
	}
	return "archive, remember, and start a fresh session (" + string(r.Strategy) + ")"
}

func memoryLine(r selection.CompactedSession) string {
	s := wording.Plural(r.Chunks, "chunk")
	switch {
	case r.Forgotten > 0 && r.Forgotten == r.Chunks:
		return "none of " + s + ": they were forgotten earlier and are not stored again"
	case r.Forgotten > 0:
		s += fmt.Sprintf(", %s of them forgotten earlier and not stored again", wording.Count(int64(r.Forgotten)))
	}
	if r.ChunksPending > 0 {
		s += fmt.Sprintf(", %s of this agent wait for an embedding (found by text until then)", wording.Count(int64(r.ChunksPending)))
	}
	return s
}

// ResolveSession puts whole ids in the place of what was typed.
func ResolveSession(ctx context.Context, run *workspace.Run, o *selection.CompactOptions, receipts []compact.Receipt) (err error) {
	if err := selection.CheckAgent(ctx, run, nil, o.Agent); err != nil {
		return err
	}
	sessions := make([]archive.Meta, 0, len(receipts))
	for _, r := range receipts {
		sessions = append(sessions, archive.Meta{Runtime: r.Runtime, Agent: r.Agent, Session: r.Session, Key: r.Key})
	}
	o.Session, err = selection.KnownSession(sessions, o.Session, selection.Scope{Runtime: run.Global.Runtime, Agent: o.Agent})
	return err
}

// Wants reports whether a receipt is about a session that the options mean.
func Wants(a *workspace.Settings, o selection.CompactOptions, r compact.Receipt) bool {
	return (o.Agent == "" || r.Agent == o.Agent) && (a.Global.Runtime == "" || r.Runtime == a.Global.Runtime) &&
		(o.Session == "" || r.Session == o.Session || r.Key == o.Session)
}
