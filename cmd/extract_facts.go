package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/facts"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/summarize"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func addFactsFlags(o *steps.FactsOptions, fs *pflag.FlagSet) {
	fs.StringVar((*string)(&o.Agent), "agent", "", "the sessions of this `agent` or runtime/agent")
	fs.BoolVar(&o.All, "all", false, "the sessions of every agent that is found")
	fs.StringVar(&o.Session, "session", "", "only this session (`id` or key)")
	fs.StringVar(&o.File, "file", "", "any session `file` of any runtime; its facts are stored if it is known whose it is, or with --agent")
	fs.BoolVar(&o.Archived, "archived", false, "look at archives instead: the newest of each session that is meant")
	fs.IntVar(&o.Max, "max", facts.DefaultMost, "store at most `n` new facts of a session, the surest (0: no limit)")
	fs.IntVar(&o.Last, "last", facts.DefaultMessages, "look at the last `n` messages of a session (0: all)")
	fs.Float64Var(&o.MinConfidence, "min-confidence", facts.DefaultConfidence, "store facts of at least this `confidence`, 0 to 1")
	fs.DurationVar(&o.Idle, "idle", 5*time.Minute, "skip sessions that changed within this `duration`")
	fs.IntVar(&o.MaxCalls, "max-llm-calls", 0, "ask models at most this many `times` in this run (default 50)")
	fs.BoolVar(&o.DryRun, "dry-run", false, "print what would be stored and change nothing; no model is asked")
	fs.BoolVar(&o.Force, "force", false, "look again at sessions that were looked at")
	fs.BoolVar(&o.Lines, "jsonl", false, "print one JSON object a fact and nothing else")
	fs.BoolVar(&o.List, "list", false, "print the facts that are known")
	fs.StringVar(&o.Kind, "kind", "", "with --list: only facts of this `kind`: "+recall.KindNames())
	fs.BoolVar(&o.Superseded, "superseded", false, "with --list: also facts that newer ones have superseded")
	fromConfig(fs, "max-llm-calls", "llm.max_calls")
}

func newExtractFactsCommand(a *app) *cobra.Command {
	var o steps.FactsOptions
	c := &cobra.Command{
		Use:   "extract-facts",
		Short: "Remember what people asked to keep, and what commands proved",
		Long: fmt.Sprintf(`Find facts in what was said and store them in memory. Without a model these are
what a person asks to keep ("remember that ...", "always ...", "from now on ...",
"my name is ..."), and what a command that succeeded proves (the repository,
versions). With facts.provider a model finds decisions, preferences, people,
projects and deadlines too, and each of its facts is compared with the
conversation. Each fact has the line of the log and the words that say so. What
looks like a secret is never a fact.

The last %d messages of a session are looked at once it has been idle for five
minutes, and again when it has gone on. What is known is not stored again; what
has changed supersedes the older fact, which is kept. Sessions are only read.
Facts are found with "sessctl recall --category fact" and listed with --list.`, facts.DefaultMessages),
		Example: `  sessctl extract-facts --agent coordinator --dry-run
  sessctl extract-facts --all
  sessctl extract-facts --file session.jsonl --last 0 --max 0 --dry-run
  sessctl extract-facts --list --kind contact --jsonl
  sessctl recall --category fact "where does the user live"`,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.Validate(); err != nil {
				return err
			}
			if o.List {
				return runListFacts(c.Context(), a, o)
			}
			return runExtractFacts(c.Context(), a, o)
		},
	}
	addFactsFlags(&o, c.Flags())
	return c
}

// factsRun is one run of extract-facts.
type factsRun struct {
	*app
	options  steps.FactsOptions
	endpoint summarize.Endpoint
	memory   *memory.Store // nil in a dry run without a memory
}

func runExtractFacts(ctx context.Context, a *app, o steps.FactsOptions) error {
	a.Config.LLM.MaxCalls = o.MaxCalls
	endpoint, err := workspace.Endpoint(a.Run, "facts", a.Config.Facts)
	if err != nil {
		return err
	}
	targets, all, err := steps.FactTargets(ctx, a.Run, o)
	if err != nil {
		return err
	}
	r := &factsRun{app: a, options: o, endpoint: endpoint}
	if o.DryRun || len(targets) == 1 && targets[0].Agent == "" {
		return r.rehearse(ctx, targets)
	}
	w, err := workspace.Open(ctx, a.Run, workspace.Mode{Memory: true, Reason: "compact", Recover: &workspace.Recovery{Sessions: all.Sessions}})
	if err != nil {
		return err
	}
	defer w.Close()
	if w.Outdated() {
		if targets, _, err = steps.FactTargets(ctx, a.Run, o); err != nil {
			return err
		}
	}
	r.memory = w.Memory
	doc, err := r.each(ctx, targets)
	if err == nil {
		err = steps.EmbedFacts(ctx, w, targets, doc)
	}
	w.Progress.Clear()
	return finishFacts(a, o, doc, err)
}

// finishFacts prints what there is to say and decides the exit code.
func finishFacts(a *app, o steps.FactsOptions, doc steps.FactsDocument, err error) error {
	if err = errors.Join(err, renderFacts(a, o, doc)); err != nil {
		return err
	}
	return steps.OutcomeOfFacts(doc)
}

// rehearse is a dry run: no model is asked and nothing is stored.
func (r *factsRun) rehearse(ctx context.Context, targets []workspace.Found) error {
	if r.endpoint.Provider != summarize.ProviderExtractive {
		client, err := summarize.NewClient(r.endpoint)
		if err != nil {
			return err
		}
		r.Notice(workspace.Note{Message: fmt.Sprintf("conversations, without what looks like a secret, would be sent to %s, where %s would look for facts; what follows is what is found without it", client.Address(), client.Name())})
	}
	r.endpoint.Provider = summarize.ProviderExtractive
	if store, err := workspace.GlimpseMemory(ctx, r.app.Run); err == nil {
		defer store.Close()
		r.memory = store
	}
	doc, err := r.each(ctx, targets)
	return finishFacts(r.app, r.options, doc, err)
}

// each extracts the facts of sessions, one after the other. A failure is
// reported, and the others go on.
func (r *factsRun) each(ctx context.Context, targets []workspace.Found) (steps.FactsDocument, error) {
	doc := steps.FactsDocument{Schema: 1, DryRun: r.options.DryRun, Sessions: []steps.FactsSession{}}
	for _, t := range targets {
		row, err := r.one(ctx, t)
		if ctx.Err() != nil {
			return doc, ctx.Err()
		}
		if err != nil {
			row.Outcome, row.Reason, row.Damaged = steps.FactsFailed, err.Error(), failure.ExitCode(err) == failure.ExitIntegrity
			r.app.Failed(t.Path, err)
		}
		doc.Sessions = append(doc.Sessions, row)
	}
	return doc, nil
}

// one extracts the facts of one session.
func (r *factsRun) one(ctx context.Context, t workspace.Found) (steps.FactsSession, error) {
	l := &steps.Look{Found: t, Row: steps.NewFactsSession(t)}
	if r.options.File == "" && t.Archive == "" && r.Now().Sub(t.ModTime) < r.options.Idle {
		l.Row.Outcome, l.Row.Reason = steps.FactsNotIdle, session.ReasonRecentlyIdle.Text(r.options.Idle)
		return l.Row, nil
	}
	if err := r.remember(ctx, l); err != nil {
		return l.Row, err
	}
	l.Now.Said, l.Now.Last = l.Before.Said, l.Before.Last
	if !r.options.Force && l.Before.Bytes == t.Bytes && l.Before.Modified == l.Now.Modified && steps.Same(l.Before, l.Now) {
		l.Row.Outcome, l.Row.Messages = steps.FactsUnchanged, l.Before.Said
		return l.Row, nil
	}
	err := r.read(ctx, l)
	return l.Row, err
}

// read reads the log, and looks for facts if there is something new in it.
func (r *factsRun) read(ctx context.Context, l *steps.Look) error {
	window, scan, err := facts.Read(ctx, l.Adapter, r.options.Last, func() (io.ReadCloser, error) { return steps.OpenSession(ctx, r.app.Run, l.Found) })
	if err != nil {
		return err
	}
	if l.ID == "" && scan.SessionID != "" {
		l.Now.Session, l.Row.Session = scan.SessionID, scan.SessionID
	}
	l.Now.Said, l.Now.Last, l.Row.Messages = window.Said(), window.Last(), window.Said()
	switch {
	case l.Now.Said < facts.LeastMessages:
		l.Row.Outcome, l.Row.Reason = steps.FactsTooShort, session.ReasonTooShort.Text(wording.Plural(l.Now.Said, "message"), facts.LeastMessages)
		return nil
	case !r.options.Force && steps.Same(l.Before, l.Now):
		l.Row.Outcome = steps.FactsUnchanged
		return r.keep(ctx, l, facts.Merged{})
	}
	return r.extract(ctx, l, window)
}

// remember gets the last extraction of a session, and what is known of its
// agent.
func (r *factsRun) remember(ctx context.Context, l *steps.Look) error {
	l.Now = memory.Extraction{
		Runtime: l.Runtime, Agent: l.Agent, Session: l.ID, At: r.app.Now().UnixMilli(), Bytes: l.Bytes, Modified: l.ModTime.UnixNano(),
		MadeBy: facts.Version + " " + facts.Options{Client: r.clientOf(l.Found)}.Maker(),
	}
	if r.memory == nil {
		return nil
	}
	var err error
	if l.Before, _, err = r.memory.Extraction(ctx, memory.Source{Runtime: l.Runtime, Agent: l.Agent, Session: l.ID}); err != nil {
		return err
	}
	stored, err := r.memory.Facts(ctx, memory.FactFilter{Runtime: l.Runtime, Agent: agentset.Set(l.Agent), Superseded: true})
	for _, f := range stored {
		l.Known = append(l.Known, facts.Known{ID: f.ID, Session: f.Session, Superseded: f.Successor != "", Fact: facts.Fact{
			Kind: facts.Kind(f.Kind), Text: f.Text, Confidence: f.Confidence, Quote: f.Quote, Line: f.FirstLine, Time: f.CreatedAt,
			Topic: f.Topic, Value: f.Value,
		}})
	}
	return err
}

func (r *factsRun) extract(ctx context.Context, l *steps.Look, window *facts.Window) error {
	o := facts.Options{Client: r.clientOf(l.Found), Confidence: r.options.MinConfidence, Once: r.endpoint.Provider == summarize.ProviderHermes}
	made, err := facts.Extract(ctx, window.Messages(), l.Known, o)
	if err != nil {
		return err
	}
	l.Now.Degraded = made.Degraded
	l.Row.Outcome, l.Row.MadeBy, l.Row.Degraded, l.Row.Reason = steps.FactsExtracted, made.MadeBy, made.Degraded, made.Reason
	l.Row.Calls, l.Row.Tokens, l.Row.Refused = made.Calls, made.Tokens, steps.Refusals(made.Refused)
	for i := range made.Facts {
		if made.Facts[i].Time == 0 { // a log without times has that of its file
			made.Facts[i].Time = l.ModTime.UnixMilli()
		}
	}
	return r.keep(ctx, l, facts.Merge(made.Facts, l.Known, r.options.Most()))
}

// clientOf is the client that asks the model about a session, nil for none.
func (r *factsRun) clientOf(t workspace.Found) *summarize.Client {
	if r.endpoint.Provider == summarize.ProviderExtractive {
		return nil
	}
	of := r.endpoint
	of.Agent = t.Agent
	client, err := summarize.NewClient(of)
	if err != nil {
		return nil // the same endpoint was checked before
	}
	return client
}

// keep stores what is new, in one transaction, and then writes the receipt.
func (r *factsRun) keep(ctx context.Context, l *steps.Look, m facts.Merged) error {
	ids := make([]string, len(m.Facts))
	records := make([]memory.Fact, len(m.Facts))
	for i, f := range m.Facts {
		records[i] = l.Record(f)
		ids[i] = records[i].ID
	}
	over := steps.Supersessions(m, ids)
	l.Row.Repeated, l.Row.LeftOut = m.Repeated, m.LeftOut
	l.Row.List(records, over, l.Known)
	if r.options.DryRun || r.memory == nil || l.Agent == "" {
		if l.Row.Outcome == steps.FactsExtracted {
			l.Row.Outcome = steps.FactsPlanned
		}
		return nil
	}
	result, err := r.memory.PutFacts(ctx, l.Now, records, over)
	if err != nil {
		return fmt.Errorf("store facts: %w", err)
	}
	l.Row.Stored, l.Row.Forgotten = result.Stored, result.Buried
	if l.Row.Stored+l.Row.Calls == 0 && len(over) == 0 {
		return nil
	}
	return r.writeFactsReceipt(l.Found, &l.Row, ulid.Make().String())
}
