package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/summarize"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

type compactOptions struct {
	Agent            string
	All              bool
	Session          string
	Threshold        int64
	DryRun           bool
	Force            bool
	Clear            bool
	Strategy         string
	SkipSummary      bool
	SkipArchive      bool
	KeepRecentTokens int64
	Focus            string
	Quiet            time.Duration
	Gateway          string
	MaxCalls         int
	Resummarize      bool

	// Whether they were given as flags: not as defaults or by the configuration.
	thresholdAsked, keepAsked bool
	agreed                    agreedSessions
}

// agreedSessions are the only sessions that a run may change, because a person has
// pointed at one or agreed to a plan. The zero value is those that the options mean.
type agreedSessions struct {
	store string   // only sessions of the store with this root
	path  string   // of the session that was pointed at: only those of its database, if it is in one
	names []string // only these, see agreedName
}

// of leaves out the sessions that nobody has agreed to.
func (g agreedSessions) of(sessions []found) []found {
	place := g.store
	if i := slices.IndexFunc(sessions, func(s found) bool { return g.path != "" && s.Path == g.path }); i >= 0 {
		place = sessions[i].place()
	}
	return slices.DeleteFunc(slices.Clone(sessions), func(s found) bool {
		return g.store != "" && s.Store != g.store || place != g.store && s.place() != place ||
			g.names != nil && !slices.Contains(g.names, agreedName(s.Runtime, s.Agent, s.ID, s.Path))
	})
}

// agreedName tells a session apart from all others: stores of one runtime may hold
// sessions of the same agent and id, as when a home was copied.
func agreedName(runtime, agent, session, path string) string {
	return strings.Join([]string{runtime, agent, session, path}, "\x00")
}

// strategyNames are the strategies a person can ask for.
func strategyNames() []string {
	return []string{string(session.StrategyRotate), string(session.StrategyOverlay), string(session.StrategyRewrite), string(session.StrategyTrim)}
}

func (o *compactOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Agent, "agent", "", "compact the main session of this `agent`")
	fs.BoolVar(&o.All, "all", false, "compact the main session of every agent, and every session of the runtimes whose agents have no main one (docs/compact.md lists them)")
	fs.StringVar(&o.Session, "session", "", "compact this session (`id` or key) instead of the main one")
	fs.Int64Var(&o.Threshold, "threshold", 0, "compact sessions of at least this many `tokens` (default 150000)")
	fs.BoolVar(&o.DryRun, "dry-run", false, "print the plan and change nothing")
	fs.BoolVar(&o.Force, "force", false, "compact below the threshold too")
	fs.BoolVar(&o.Clear, "clear", false, "clear the session: archive it and start fresh (the same as --force --strategy rotate)")
	fs.StringVar(&o.Strategy, "strategy", "", "how to make the session small: rotate, overlay, rewrite, trim (default: the runtime's own)")
	fs.BoolVar(&o.SkipSummary, "skip-summary", false, "store no summary")
	fs.BoolVar(&o.SkipArchive, "skip-archive", false, "remember only: no archive, and the session is not changed")
	fs.Int64Var(&o.KeepRecentTokens, "keep-recent-tokens", 0, "keep at least this many recent `tokens` in the session (overlay and rewrite; default 20000 with overlay, the runtime's own rule with rewrite)")
	fs.StringVar(&o.Focus, "focus", "", "what the summary should concentrate on, as `text`")
	fs.DurationVar(&o.Quiet, "quiet-period", 0, "skip sessions that changed within this `duration` (default 1m)")
	fs.StringVar(&o.Gateway, "gateway", "", "whether a running OpenClaw gateway is asked to start the session fresh: `auto`, never or require")
	fs.IntVar(&o.MaxCalls, "max-llm-calls", 0, "ask models at most this many `times` in this run (default 50)")
	fs.BoolVar(&o.Resummarize, "resummarize", false, "write the summaries again that a model should have written; with --force all that no model has written")
	fromConfig(fs, "max-llm-calls", "llm.max_calls")
	fromConfig(fs, "gateway", "compaction.gateway")
	fromConfig(fs, "threshold", "compaction.threshold")
	fromConfig(fs, "strategy", "compaction.strategy")
	fromConfig(fs, "quiet-period", "compaction.quiet_period")
	fromConfig(fs, "keep-recent-tokens", "compaction.keep_recent_tokens")
}

func (o *compactOptions) validate() error {
	const see = "see sessctl compact --help"
	switch {
	case o.Agent == "" && !o.All && o.Session == "":
		return usageError("name an agent, or use --all; sessctl sizes shows the agents there are", "which session? --agent, --all or --session is needed")
	case o.All && (o.Agent != "" || o.Session != ""):
		return usageError(see, "--all goes with neither --agent nor --session")
	case o.Threshold <= 0:
		return usageError(see, "--threshold must be positive, not %d", o.Threshold)
	case o.Clear && o.Strategy != string(session.StrategyRotate):
		return usageError(see, "--clear goes with no other strategy")
	case o.Strategy != "" && !slices.Contains(strategyNames(), o.Strategy):
		return usageError("strategies: "+strings.Join(strategyNames(), ", "), "--strategy: unknown strategy %q", o.Strategy)
	case !slices.Contains([]compact.GatewayUse{compact.GatewayAuto, compact.GatewayNever, compact.GatewayRequire}, compact.GatewayUse(o.Gateway)):
		return usageError("auto asks a running gateway, never leaves its sessions alone, require changes nothing without one", "--gateway: unknown use of the gateway %q", o.Gateway)
	case o.MaxCalls < 0:
		return usageError("0 asks none: summaries are extractive", "--max-llm-calls must not be negative")
	case o.KeepRecentTokens < 0:
		return usageError(see, "--keep-recent-tokens must not be negative")
	case o.keepAsked && o.Strategy == string(session.StrategyRotate):
		return usageError("rotate starts a fresh session; its log stays in the archive", "--keep-recent-tokens does not go with the strategy rotate")
	case o.SkipSummary && session.Strategy(o.Strategy) != session.StrategyRotate && o.Strategy != "":
		return usageError("the summary takes the place of what is cut away", "--skip-summary does not go with the strategy %s", o.Strategy)
	}
	return nil
}

func (o *compactOptions) policy(a *invocation) compact.Policy {
	return compact.Policy{
		Pins:        a.pins,
		OutputLimit: a.outputLimit(),
		DryRun:      o.DryRun, Threshold: o.Threshold, Force: o.Force, SkipArchive: o.SkipArchive, SkipSummary: o.SkipSummary,
		Strategy: session.Strategy(o.Strategy), Quiet: o.Quiet, Asked: o.thresholdAsked, Requested: !o.All,
		Gateway: compact.GatewayUse(o.Gateway),
		Keep:    session.Keep{Tokens: o.KeepRecentTokens},
	}
}

// recovery is the policy for what earlier runs began: the quiet period of the
// command is that of the sessions that it names.
func (o *compactOptions) recovery(a *invocation) compact.Policy {
	policy := o.policy(a)
	policy.QuietOf = a.quietWhere(o.Quiet, o.names)
	return policy
}

// names reports whether the options mean the session that a change is of.
func (o *compactOptions) names(r session.Rotation) bool {
	ofAgent := o.Agent == "" || o.Agent == r.Agent
	isKey := func(key string) bool { return strings.EqualFold(key, o.Session) }
	return ofAgent && (o.Session == "" || strings.HasPrefix(r.Session, o.Session) || slices.ContainsFunc(r.Keys, isKey))
}

func newCompactCommand(a *app) *cobra.Command {
	var o compactOptions
	var undo undoOptions
	var shrink shrinkOptions
	c := &cobra.Command{
		Use:   "compact",
		Short: "Archive a session, remember it, and make its context small",
		Long: `Put a verified copy of a session's log in the archive, cut it into searchable
memory, write a summary, and make the session small: a new session begins
(rotate), or a summary record is appended after which the runtime sends only the
summary and the recent messages (overlay), or the older turns are replaced by a
summary (rewrite), or what the runtime does not need to go on is left out of its
log (trim: the context stays). Each runtime has its default. A session that
another program may be writing is skipped: exit code 75, try again later.

Sessions below the threshold are skipped too. --agent means the agent's main
session; sessions of cron jobs, groups and threads are only compacted with
--session.

--shrink says what a database of OpenCode, Kilo or Hermes would be without old
sessions, without the superseded part of its journal, and without free pages;
with --shrink=sessions,journal,vacuum that is archived, remembered, checked, and
then removed, while the program does not run; of Hermes by its own program.
Without vacuum the file stays as large as it is, and its free pages are used again.
--shrink=deleted,vacuum does so with what Cline's own delete left in the
databases of its hub. archive restore brings it back.

--undo reverses a compaction: the log is byte for byte what it was, the runtime
continues it, and memory drops what the compaction stored. --resummarize writes
the summaries of archived sessions again that a model should have written;
sessions are not changed.
` + exitHelp,
		Example: `  sessctl compact --agent coordinator --dry-run
  sessctl compact --agent coordinator
  sessctl compact --all --threshold 120000
  sessctl compact --agent coordinator --skip-archive
  sessctl compact --shrink
  sessctl compact --shrink=sessions,journal,vacuum --older-than 30d`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return runCompactOf(c, a, o, undo, shrink) },
	}
	o.addFlags(c.Flags())
	undo.addFlags(c.Flags())
	shrink.addFlags(c.Flags())
	return c
}

// runCompactOf runs what the flags of compact ask for.
func runCompactOf(c *cobra.Command, a *app, o compactOptions, undo undoOptions, shrink shrinkOptions) error {
	o.thresholdAsked, o.keepAsked = c.Flags().Changed("threshold"), c.Flags().Changed("keep-recent-tokens")
	if shrink.asked(c) {
		shrink.DryRun, shrink.Quiet = o.DryRun, o.Quiet
		if err := shrink.validate(c.Flags()); err != nil {
			return err
		}
		return runShrink(c.Context(), a, shrink)
	}
	if undo.asked(c) {
		return runUndo(c.Context(), a, undo, c.Flags())
	}
	if o.Resummarize {
		if err := checkResummarize(o, c.Flags()); err != nil {
			return err
		}
		return runResummarize(c.Context(), a, o)
	}
	if o.Clear && !c.Flags().Changed("strategy") {
		o.Strategy, o.Force = string(session.StrategyRotate), true
	}
	if err := o.validate(); err != nil {
		return err
	}
	return a.pushAfter(c.Context(), runCompact(c.Context(), a, o), o.DryRun)
}

// compactDocument is `compact --json` (docs/json.md).
type compactDocument struct {
	Schema   int              `json:"schema"`
	DryRun   bool             `json:"dry_run"`
	Sessions []compact.Result `json:"sessions"`
	Late     []lateLines      `json:"late_lines,omitempty"`
	// PassedOver are the sessions that a run over everything does not mean.
	PassedOver []passedOver `json:"passed_over,omitempty"`
	Notes      []note       `json:"notes"`

	printed int   // of Sessions, when each was done
	idle    tally // of Sessions that are counted and not printed
}

func runCompact(ctx context.Context, a *app, o compactOptions) error {
	if err := a.endMoves(ctx, o.DryRun); err != nil {
		return err
	}
	chosen, err := a.choose(ctx, o)
	if err != nil && !o.DryRun {
		chosen, err = a.chooseSettled(ctx, o, err)
	}
	if err != nil {
		return err
	}
	a.config.LLM.MaxCalls = o.MaxCalls
	summaries, err := a.summarizers(o.Focus)
	if err := errors.Join(err, a.checkEvents()); err != nil {
		return err
	}
	if o.DryRun {
		return dryRun(ctx, a, o, chosen)
	}
	w, err := a.openWorkspace(ctx, mode{
		memory: true, reason: "compact", summaries: summaries, recover: &recovery{sessions: chosen.all.sessions, policy: o.recovery(a.invocation)},
	})
	if err != nil {
		return err
	}
	defer w.close()
	if w.outdated() { // a rotation that was half done is done now, or another sessctl has made one
		if chosen, err = a.choose(ctx, o); err != nil {
			return err
		}
	}
	policy := o.policy(a.invocation)
	if policy.Known, err = a.known(ctx, w.memory, w.archives); err != nil {
		return err
	}
	all := results{app: a, progress: w.progress, folds: o.All}
	if o.All {
		all.passed = chosen.passedOver()
	}
	all.add(chosen.none...)
	err = all.compactAll(ctx, w, chosen.targets, policy)
	done := all.sessions[len(chosen.none):]
	a.announce(ctx, o, done)
	a.warnOfPurge(ctx, chosen.meant(o))
	return a.finish(all.document(), err)
}

// chooseSettled chooses once more, where nothing could be chosen, after what earlier
// runs began was finished: the only log of an agent may be put aside, and another
// one may have its place. Without such a run it returns the error of before.
func (a *invocation) chooseSettled(ctx context.Context, o compactOptions, cause error) (selection, error) {
	begun, err := a.journal().List()
	if err != nil || len(begun) == 0 {
		return selection{}, cause
	}
	w, err := a.openWorkspace(ctx, mode{memory: true, reason: "compact", recover: &recovery{policy: o.recovery(a)}})
	if err != nil {
		return selection{}, errors.Join(cause, err)
	}
	w.close()
	left, err := a.journal().List()
	switch {
	case err != nil:
		return selection{}, errors.Join(cause, err)
	case len(left) < len(begun):
		a.notice(note{Message: "what an earlier run began was finished: " + plural(len(begun)-len(left), "change")})
	default:
		a.notice(note{Message: "what an earlier run began is not finished yet", Hint: "sessctl doctor says what it waits for"})
	}
	return a.choose(ctx, o)
}

// finish prints what there is to say and decides the exit code.
func (a *app) finish(doc compactDocument, err error) error {
	if err != nil {
		return errors.Join(err, a.renderUnlessEmpty(doc))
	}
	if err := renderCompact(a, doc); err != nil {
		return err
	}
	return outcomeOf(doc.Sessions)
}

func (a *app) renderUnlessEmpty(doc compactDocument) error {
	if len(doc.Sessions) == 0 {
		return nil
	}
	return renderCompact(a, doc)
}

// results are what a run has done so far. For people each is printed when it is
// done, so that nothing of it is lost when the run is stopped.
type results struct {
	*app
	progress *progress
	sessions []compact.Result
	printed  int  // of sessions
	folds    bool // sessions that nothing was done with are counted and not printed
	idle     tally
	passed   []passedOver
	err      error
}

func (r *results) add(done ...compact.Result) {
	r.sessions = append(r.sessions, done...)
	if r.JSON {
		return // one document at the end
	}
	r.progress.clear()
	for _, result := range r.sessions[r.printed:] {
		if why := idleReason(result); why != "" && (r.folds || r.Quiet) {
			r.idle.add(why, 1)
			r.printed++
			continue
		}
		if _, err := fmt.Fprint(r.Out, describeResult(result)); r.err == nil {
			r.err = err
		}
		r.printed++
	}
}

func (r *results) document() compactDocument {
	r.tellUnknown(r.sessions)
	return compactDocument{Schema: 1, Sessions: r.sessions, printed: r.printed, idle: r.idle, PassedOver: r.passed}
}

// stageRead is what the progress bar says while a session is planned.
const stageRead compact.Stage = "read"

// compactAll compacts one session after the other.
func (r *results) compactAll(ctx context.Context, w *workspace, targets []found, policy compact.Policy) error {
	for i, t := range targets {
		w.progress.of(i+1, len(targets))
		w.progress.show(t.Ref, stageRead, 0, 1)
		result, err := compactOne(ctx, r.app.invocation, w, t, policy)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			w.progress.clear()
			r.app.failed(t.Path, err)
		}
		r.add(result)
		trimmed := result.Outcome == compact.Compacted && result.Strategy == session.StrategyTrim
		if result.Outcome == compact.Partial || result.Unchanged || trimmed {
			r.add(compactFamily(ctx, r.app.invocation, w, t, policy)...)
		}
	}
	return errors.Join(ctx.Err(), r.err, w.embedWaiting(ctx, r.sessions))
}

func compactOne(ctx context.Context, a *invocation, w *workspace, t found, policy compact.Policy) (compact.Result, error) {
	plan, err := compact.NewPlan(ctx, t.store, t.Ref, policy, a.now())
	if err != nil {
		return failedResult(t, err), err
	}
	if plan.Outcome != compact.Planned {
		return plan.Result(), w.noteSource(ctx, t.Ref, plan.Remembered)
	}
	result, err := w.compactor.Execute(ctx, t.store, plan, policy)
	if len(result.Missing) > 0 {
		err = errors.Join(err, a.tellMissing(ctx, w.archives, t.Path, result.Missing))
	}
	return result, err
}

// noteSource notes that a session that is archived already lies in another
// database than the one it was archived from.
func (w *workspace) noteSource(ctx context.Context, ref session.Ref, before *compact.Receipt) error {
	if before == nil || ref.Kind != session.KindStored || before.Source.Path == ref.Path {
		return nil
	}
	e, err := w.archives.Get(ctx, before.Archive.ID)
	if err == nil {
		_, err = w.archives.NoteSource(ctx, e, ref.Path)
	}
	return err
}

func failedResult(t found, err error) compact.Result {
	return compact.NewResult(t.Ref, compact.Failed, err.Error())
}

// outcomeOf decides the exit code of a run: failures before busy sessions
// before everything else.
func outcomeOf(results []compact.Result) error {
	count := map[compact.Outcome]int{}
	for _, r := range results {
		count[r.Outcome]++
	}
	switch failed := count[compact.Failed]; {
	case failed > 0 && failed < len(results):
		return &outcomeError{exit: exitPartly}
	case failed > 0:
		return &outcomeError{exit: exitFailed}
	case count[compact.Busy] > 0:
		return &outcomeError{exit: exitBusy}
	case count[compact.Unsupported] > 0 && count[compact.Unsupported] == len(results):
		return &outcomeError{exit: exitFailed}
	}
	return nil
}

// dryRun says what would be done, and where texts would be sent.
func dryRun(ctx context.Context, a *app, o compactOptions, chosen selection) error {
	policy := o.policy(a.invocation)
	var end func()
	policy.Known, end = a.knownForPlan(ctx)
	defer end()
	planned, err := planAll(ctx, a.invocation, chosen.targets, policy)
	err = errors.Join(err, a.foretellLostMemory(ctx))
	a.warnOfPurge(ctx, chosen.meant(o))
	if !policy.SkipSummary {
		err = errors.Join(err, a.noteSummarizer())
	}
	all := results{app: a, progress: newProgress(a.invocation), folds: o.All}
	all.add(append(chosen.none, planned...)...)
	doc := all.document()
	doc.DryRun = true
	if o.All {
		doc.PassedOver = chosen.passedOver()
	}
	return a.finish(doc, errors.Join(err, a.noteEmbedder()))
}

// noteSummarizer says where conversations would be sent to be summed up.
func (a *invocation) noteSummarizer() error {
	endpoint, err := a.endpoint("summarize", a.config.Summarize)
	if err != nil || endpoint.Provider == summarize.ProviderExtractive {
		return err
	}
	client, err := summarize.NewClient(endpoint)
	if err == nil {
		a.notice(note{Message: fmt.Sprintf("conversations, without what looks like a secret, would be sent to %s to be summed up by %s", client.Address(), client.Name())})
	}
	return err
}

// planAll is the dry run: it makes no mutating call. Sessions are read several
// at a time.
func planAll(ctx context.Context, a *invocation, targets []found, policy compact.Policy) ([]compact.Result, error) {
	results := make([]compact.Result, len(targets))
	err := session.Spread(ctx, a.workers(), len(targets), func(_, i int) {
		t := targets[i]
		plan, err := compact.NewPlan(ctx, t.store, t.Ref, policy, a.now())
		if err != nil {
			results[i] = failedResult(t, err)
			return
		}
		results[i] = plan.Result()
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// renderCompact prints the results: the document, or a few lines a session.
func renderCompact(a *app, doc compactDocument) error {
	if doc.Sessions == nil {
		doc.Sessions = []compact.Result{}
	}
	doc.Notes, doc.Late = a.notes, a.late
	if a.JSON {
		return a.printJSON(doc)
	}
	for _, r := range doc.Sessions[doc.printed:] {
		if _, err := fmt.Fprint(a.Out, describeResult(r)); err != nil {
			return err
		}
	}
	if a.Quiet {
		return nil
	}
	_, err := fmt.Fprint(a.Out, doc.leftAlone())
	return err
}

// describeResult is one session for people.
func describeResult(r compact.Result) string {
	var b strings.Builder
	name := r.Key
	if name == "" {
		name = strings.Trim(r.Agent+" "+r.Session, " ")
	}
	fmt.Fprintf(&b, "%s: %s", visible(name), strings.ReplaceAll(string(r.Outcome), "-", " "))
	if r.Reason != "" {
		fmt.Fprintf(&b, " (%s)", visible(r.Reason))
	}
	b.WriteByte('\n')
	if uncut(r) {
		fmt.Fprintf(&b, "  as it is: sessctl archive --session %s --remember archives and remembers it\n", visible(r.Session))
	}
	if r.Outcome != compact.Planned && r.Outcome != compact.Compacted && r.Outcome != compact.Partial && r.Outcome != compact.Resummarized {
		return b.String()
	}
	for _, line := range details(r) {
		fmt.Fprintf(&b, "  %-9s %s\n", line[0], line[1])
	}
	return b.String()
}

func details(r compact.Result) [][2]string {
	lines := [][2]string{
		{"session", visible(r.Session)},
		{"log", fmt.Sprintf("%s, %s messages, %s tokens (%s)", formatBytes(r.Bytes), formatCount(int64(r.Messages)), formatCount(r.TokensBefore), r.TokenSource)},
	}
	if r.LinesSkipped > 0 {
		lines = append(lines, [2]string{"skipped", plural(r.LinesSkipped, "unreadable line") + "; the archive has every byte"})
	}
	if r.Outcome != compact.Resummarized {
		lines = append(lines, [2]string{"memory", memoryLine(r)})
	}
	if r.Outcome == compact.Planned && r.Summary == nil {
		return append(lines, [2]string{"then", thenLine(r)})
	}
	if r.BytesAfter > 0 {
		lines = append(lines, [2]string{"trimmed", fmt.Sprintf("%s stay; the context is as it was", formatBytes(r.BytesAfter))})
	}
	if r.Summary != nil {
		text := fmt.Sprintf("%s, %s characters", visible(cmp.Or(r.Summary.Model, r.Summary.Kind)), formatCount(int64(r.Summary.Chars)))
		if r.Summary.Forgotten {
			text += ", not stored in memory: it was forgotten earlier"
		}
		lines = append(lines, [2]string{"summary", text})
		if r.Summary.Degraded {
			lines = append(lines, [2]string{"", "degraded: " + visible(r.Summary.Reason)})
		}
	}
	if r.SummaryEmpty {
		lines = append(lines, [2]string{"summary", "none: there was nothing to summarise"})
	}
	if r.Archive != nil {
		lines = append(lines, [2]string{"archive", r.Archive.ID + "  " + visible(r.Archive.Path)}, [2]string{"", "sha256 " + r.Archive.SHA256 + ", verified"})
	}
	if r.Receipt == "" {
		return lines
	}
	lines = append(lines, [2]string{"receipt", visible(r.Receipt)})
	if r.Outcome == compact.Compacted {
		lines = append(lines, [2]string{"undo", undoCommand(strings.TrimSuffix(filepath.Base(r.Receipt), ".json"))})
	}
	return lines
}

// undoCommand is what reverses the compaction of a receipt.
func undoCommand(receipt string) string { return "sessctl compact --undo " + shortReceipt(receipt) }

func thenLine(r compact.Result) string {
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
		return fmt.Sprintf("archive, remember, and leave out of the log what its runtime does not need: %s of %s stay (trim)", formatBytes(r.BytesAfter), formatBytes(r.Bytes))
	case session.StrategyAnnotate:
		return "archive, remember, and write a summary beside the messages (annotate)"
	}
	return "archive, remember, and start a fresh session (" + string(r.Strategy) + ")"
}

// plural is a count and its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return formatCount(int64(n)) + " " + noun + "s"
}

func memoryLine(r compact.Result) string {
	s := plural(r.Chunks, "chunk")
	switch {
	case r.Forgotten > 0 && r.Forgotten == r.Chunks:
		return "none of " + s + ": they were forgotten earlier and are not stored again"
	case r.Forgotten > 0:
		s += fmt.Sprintf(", %s of them forgotten earlier and not stored again", formatCount(int64(r.Forgotten)))
	}
	if r.ChunksPending > 0 {
		s += fmt.Sprintf(", %s of this agent wait for an embedding (found by text until then)", formatCount(int64(r.ChunksPending)))
	}
	return s
}

// checkResummarize refuses the flags of compact that say nothing to summaries
// that are made again.
func checkResummarize(o compactOptions, fs *pflag.FlagSet) error {
	var err error
	fs.Visit(func(f *pflag.Flag) {
		known := []string{"resummarize", "agent", "all", "session", "dry-run", "force", "focus", "max-llm-calls"}
		if !slices.Contains(known, f.Name) && !isGlobal(f.Name) && err == nil {
			err = usageError("it works on what is archived", "--%s does not go with --resummarize", f.Name)
		}
	})
	if err == nil && o.Agent == "" && o.Session == "" && !o.All {
		err = usageError("sessctl compact --resummarize --agent NAME, or --all", "which summaries should be written again?")
	}
	return err
}

// runResummarize is compact --resummarize: summaries that a model was to write
// and did not are written now.
func runResummarize(ctx context.Context, a *app, o compactOptions) error {
	a.config.LLM.MaxCalls = o.MaxCalls
	if a.config.Summarize.Provider == summarize.ProviderExtractive {
		return usageError("set summarize.provider, see docs/summaries.md", "no model is configured that could write summaries")
	}
	summaries, err := a.summarizers(o.Focus)
	if err != nil {
		return err
	}
	receipts, unreadable, err := a.receipts().Examine()
	if err != nil {
		return err
	}
	for _, u := range unreadable {
		a.notice(note{Path: u.Path, Message: u.Err.Error(), Hint: "sessctl doctor says more"})
	}
	if err := a.resolveSession(ctx, &o, receipts); err != nil {
		return err
	}
	wanted := slices.DeleteFunc(compact.Upgradable(receipts, o.Force), func(r compact.Receipt) bool { return !a.wants(o, r) })
	doc := compactDocument{Schema: 1, DryRun: o.DryRun}
	if o.DryRun {
		for _, r := range wanted {
			result := r.Result
			result.Outcome, result.Reason, result.Receipt = compact.Planned, "its summary would be made again", ""
			doc.Sessions = append(doc.Sessions, result)
		}
		return a.finish(doc, a.noteSummarizer())
	}
	w, err := a.openWorkspace(ctx, mode{memory: true, reason: "compact", summaries: summaries})
	if err != nil {
		return err
	}
	defer w.close()
	all := results{app: a, progress: w.progress}
	err = w.resummarize(ctx, a, wanted, &all)
	return a.finish(all.document(), err)
}

// resolveSession puts whole ids in the place of what was typed.
func (a *invocation) resolveSession(ctx context.Context, o *compactOptions, receipts []compact.Receipt) (err error) {
	if err := a.checkAgent(ctx, nil, o.Agent); err != nil {
		return err
	}
	sessions := make([]archive.Meta, 0, len(receipts))
	for _, r := range receipts {
		sessions = append(sessions, archive.Meta{Runtime: r.Runtime, Agent: r.Agent, Session: r.Session, Key: r.Key})
	}
	o.Session, err = knownSession(sessions, o.Session, scope{a.global.Runtime, o.Agent})
	return err
}

// wants reports whether a receipt is about a session that the options mean.
func (a *settings) wants(o compactOptions, r compact.Receipt) bool {
	return (o.Agent == "" || r.Agent == o.Agent) && (a.global.Runtime == "" || r.Runtime == a.global.Runtime) &&
		(o.Session == "" || r.Session == o.Session || r.Key == o.Session)
}

func (w *workspace) resummarize(ctx context.Context, a *app, wanted []compact.Receipt, all *results) error {
	for i, r := range wanted {
		w.progress.of(i+1, len(wanted))
		store := a.readerOf(r.Runtime)
		if store == nil {
			return fmt.Errorf("no runtime %q is known", r.Runtime)
		}
		result, err := w.compactor.Resummarize(ctx, store, r, compact.Policy{Pins: a.pins})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && !a.JSON {
			w.progress.clear()
			_, _ = fmt.Fprintf(a.Err, "sessctl: %s: %s\n", visible(r.Path), visibleText(err.Error()))
		}
		all.add(result)
	}
	return all.err
}

// lateLines is what a run found out about lines that reached an old log after
// it was put aside (docs/json.md).
type lateLines struct {
	Runtime string `json:"runtime"`
	Agent   string `json:"agent"`
	Session string `json:"session"` // that was compacted
	compact.LateProof
}

// tellLate says what became of lines that an agent wrote to a log after it was
// moved aside.
func (a *invocation) tellLate(old session.Rotation, l compact.LateProof) {
	a.late = append(a.late, lateLines{Runtime: old.Runtime, Agent: old.Agent, Session: old.Session, LateProof: l})
	if l.Carried > 0 {
		a.notice(note{Path: l.Into, Message: fmt.Sprintf("%s that session %s got after it was closed %s appended here",
			english.Plural(l.Carried, "record", ""), old.Session, were(l.Carried))})
	}
	const safe = "what was added after it was closed is archived and remembered"
	switch {
	case l.Waiting:
		a.notice(note{Path: old.Kept, Message: safe + ", and waits to be carried into the session that followed: " + l.Reason})
	case l.Reason != "":
		a.notice(note{Path: old.Kept, Message: safe + ", but not in the session that followed: " + l.Reason})
	case l.LeftOut > 0:
		a.notice(note{Path: old.Kept, Message: safe + "; the session that followed lacks " + english.Plural(l.LeftOut, "line", "") + " of it, which cannot be there"})
	}
}

func were(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}
