package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/facts"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/summarize"
)

// The outcomes of a session.
const (
	factsExtracted = "extracted"
	factsPlanned   = "planned"
	factsUnchanged = "unchanged" // nothing was said since the last extraction
	factsTooShort  = "too-short"
	factsNotIdle   = "not-idle"
	factsFailed    = "failed"
)

// factsRun is one run of extract-facts.
type factsRun struct {
	*app
	options  factsOptions
	endpoint summarize.Endpoint
	memory   *memory.Store // nil in a dry run without a memory
}

func runExtractFacts(ctx context.Context, a *app, o factsOptions) error {
	a.config.LLM.MaxCalls = o.MaxCalls
	endpoint, err := a.endpoint("facts", a.config.Facts)
	if err != nil {
		return err
	}
	targets, all, err := a.factTargets(ctx, o)
	if err != nil {
		return err
	}
	r := &factsRun{app: a, options: o, endpoint: endpoint}
	if o.DryRun || len(targets) == 1 && targets[0].Agent == "" {
		return r.rehearse(ctx, targets)
	}
	h, err := a.openHouse(ctx, "")
	if err != nil {
		return err
	}
	defer h.close()
	settled, err := h.settle(ctx, a, all.sessions, compact.Policy{})
	if err == nil && settled > 0 {
		targets, _, err = a.factTargets(ctx, o)
	}
	if err != nil {
		return err
	}
	r.memory = h.memory
	doc, err := r.each(ctx, targets)
	if err == nil {
		err = h.embedFacts(ctx, targets, doc)
	}
	h.progress.clear()
	return a.finishFacts(o, doc, err)
}

// finishFacts prints what there is to say and decides the exit code.
func (a *app) finishFacts(o factsOptions, doc factsDocument, err error) error {
	if err = errors.Join(err, a.renderFacts(o, doc)); err != nil {
		return err
	}
	return outcomeOfFacts(doc)
}

// rehearse is a dry run: no model is asked and nothing is stored.
func (r *factsRun) rehearse(ctx context.Context, targets []found) error {
	if r.endpoint.Provider != summarize.ProviderExtractive {
		client, err := summarize.NewClient(r.endpoint)
		if err != nil {
			return err
		}
		r.notice(note{Message: fmt.Sprintf("conversations, without what looks like a secret, would be sent to %s, where %s would look for facts; what follows is what the rules find", client.Address(), client.Name())})
	}
	r.endpoint.Provider = summarize.ProviderExtractive
	if store, err := memory.Open(ctx, r.memoryDir(), memory.Options{ReadOnly: true}); err == nil {
		defer store.Close()
		r.memory = store
	}
	doc, err := r.each(ctx, targets)
	return r.finishFacts(r.options, doc, err)
}

// factTargets are the sessions that are meant: what agents said to each other,
// and copies that a runtime made, are not.
func (a *app) factTargets(ctx context.Context, o factsOptions) ([]found, inventory, error) {
	if o.File != "" {
		return a.factFile(ctx, o)
	}
	all, err := a.findSessions(ctx)
	if err != nil {
		return nil, all, err
	}
	mine, err := all.of(o.Agent)
	if err != nil {
		return nil, all, err
	}
	if o.Session != "" {
		targets, err := named(mine.sessions, o.Session)
		return targets, all, err
	}
	targets := slices.DeleteFunc(slices.Clone(mine.sessions), func(s found) bool {
		return !shown(s.Kind) || s.Kind == session.KindDatabase || s.Parent != ""
	})
	return targets, all, nil
}

// each extracts the facts of sessions, one after the other. What fails is told,
// and the others go on.
func (r *factsRun) each(ctx context.Context, targets []found) (factsDocument, error) {
	doc := factsDocument{Schema: 1, DryRun: r.options.DryRun, Sessions: []factsSession{}}
	for _, t := range targets {
		row, err := r.one(ctx, t)
		if ctx.Err() != nil {
			return doc, ctx.Err()
		}
		if err != nil {
			row.Outcome, row.Reason = factsFailed, err.Error()
			if !r.global.JSON {
				_, _ = fmt.Fprintf(r.Err, "sessctl: %s: %s\n", visible(t.Path), visibleText(err.Error()))
			}
		}
		doc.Sessions = append(doc.Sessions, row)
	}
	return doc, nil
}

// one extracts the facts of one session.
func (r *factsRun) one(ctx context.Context, t found) (factsSession, error) {
	row := newFactsSession(t)
	if r.options.File == "" && r.now().Sub(t.ModTime) < r.options.Idle {
		row.Outcome, row.Reason = factsNotIdle, fmt.Sprintf("it changed within %s", r.options.Idle)
		return row, nil
	}
	before, known, err := r.before(ctx, t)
	if err != nil {
		return row, err
	}
	x := memory.Extraction{
		Runtime: t.Runtime, Agent: t.Agent, Session: t.ID, At: r.now().UnixMilli(), Bytes: t.Bytes, Modified: t.ModTime.UnixNano(),
		MadeBy: facts.Version + " " + r.maker(t), Said: before.Said, Last: before.Last,
	}
	if !r.options.Force && before.Bytes == x.Bytes && before.Modified == x.Modified && same(before, x) {
		row.Outcome, row.Messages = factsUnchanged, before.Said
		return row, nil
	}
	window, scan, err := facts.Read(ctx, t.store, r.options.Last, func() (io.ReadCloser, error) { return openFound(ctx, t) })
	if err != nil {
		return row, err
	}
	if t.ID == "" && scan.SessionID != "" {
		x.Session, row.Session = scan.SessionID, scan.SessionID
	}
	x.Said, x.Last, row.Messages = window.Said(), window.Last(), window.Said()
	if x.Said < facts.LeastMessages {
		row.Outcome, row.Reason = factsTooShort, fmt.Sprintf("%d messages, %d are needed", x.Said, facts.LeastMessages)
		return row, nil
	}
	if !r.options.Force && same(before, x) {
		row.Outcome = factsUnchanged
		return row, r.store(ctx, t, x, facts.Merged{}, known, &row)
	}
	return row, r.extract(ctx, t, x, known, window, &row)
}

// same tells whether an extraction has nothing to add to the one before.
func same(before, now memory.Extraction) bool {
	return before.At > 0 && !before.Degraded && before.Said == now.Said && before.Last == now.Last && before.MadeBy == now.MadeBy
}

// before returns the last extraction of a session, and what is known of its
// agent.
func (r *factsRun) before(ctx context.Context, t found) (x memory.Extraction, known []facts.Known, err error) {
	if r.memory == nil {
		return x, nil, nil
	}
	x, _, err = r.memory.Extraction(ctx, memory.Source{Runtime: t.Runtime, Agent: t.Agent, Session: t.ID})
	if err != nil {
		return x, nil, err
	}
	stored, err := r.memory.Facts(ctx, memory.FactFilter{Runtime: t.Runtime, Agent: t.Agent, Superseded: true})
	for _, f := range stored {
		known = append(known, facts.Known{ID: f.ID, Superseded: f.Successor != "", Fact: facts.Fact{
			Kind: facts.Kind(f.Kind), Text: f.Text, Confidence: f.Confidence, Quote: f.Quote, Line: f.FirstLine, Time: f.CreatedAt,
			Topic: f.Topic, Value: f.Value, Instead: f.Instead,
		}})
	}
	return x, known, err
}

func (r *factsRun) extract(ctx context.Context, t found, x memory.Extraction, known []facts.Known, window *facts.Window, row *factsSession) error {
	o := facts.Options{Client: r.clientOf(t), Confidence: r.options.MinConfidence}
	made, err := facts.Extract(ctx, window.Messages(), known, o)
	if err != nil {
		return err
	}
	x.Degraded = made.Degraded
	row.Outcome, row.MadeBy, row.Degraded, row.Reason = factsExtracted, made.MadeBy, made.Degraded, made.Reason
	row.Calls, row.Tokens, row.Refused = made.Calls, made.Tokens, refusals(made.Refused)
	for i := range made.Facts {
		if made.Facts[i].Time == 0 { // a log without times has that of its file
			made.Facts[i].Time = t.ModTime.UnixMilli()
		}
	}
	return r.store(ctx, t, x, facts.Merge(made.Facts, known, r.options.most()), known, row)
}

// clientOf is the client that asks the model about a session, nil for none.
func (r *factsRun) clientOf(t found) *summarize.Client {
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

func (r *factsRun) maker(t found) string { return facts.Options{Client: r.clientOf(t)}.Maker() }

// embedFacts gives vectors to what was stored, agent by agent.
func (h *house) embedFacts(ctx context.Context, targets []found, doc factsDocument) error {
	done := map[string]bool{}
	for i, row := range doc.Sessions {
		if row.Stored == 0 || done[row.Agent] {
			continue
		}
		done[row.Agent] = true
		if _, err := h.compactor.Embedder.EmbedPending(ctx, targets[i].Ref, nil); err != nil {
			return fmt.Errorf("embed facts: %w", err)
		}
	}
	return nil
}

func timeOf(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }
