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
	if store, err := r.glimpseMemory(ctx); err == nil {
		defer store.Close()
		r.memory = store
	}
	doc, err := r.each(ctx, targets)
	return r.finishFacts(r.options, doc, err)
}

// factTargets are the sessions that are meant: what agents said to each other,
// and copies that a runtime made, are not.
func (a *app) factTargets(ctx context.Context, o factsOptions) ([]found, inventory, error) {
	switch {
	case o.File != "":
		return a.factFile(ctx, o)
	case o.Archived:
		return a.factArchives(ctx, o)
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
			row.Outcome, row.Reason, row.damaged = factsFailed, err.Error(), exitCode(err) == exitIntegrity
			if !r.global.JSON {
				_, _ = fmt.Fprintf(r.Err, "sessctl: %s: %s\n", visible(t.Path), visibleText(err.Error()))
			}
		}
		doc.Sessions = append(doc.Sessions, row)
	}
	return doc, nil
}

// look is one session on its way.
type look struct {
	found
	before, now memory.Extraction
	known       []facts.Known // of its agent
	row         factsSession
}

// one extracts the facts of one session.
func (r *factsRun) one(ctx context.Context, t found) (factsSession, error) {
	l := &look{found: t, row: newFactsSession(t)}
	if r.options.File == "" && t.archive == "" && r.now().Sub(t.ModTime) < r.options.Idle {
		l.row.Outcome, l.row.Reason = factsNotIdle, fmt.Sprintf("it changed within %s", r.options.Idle)
		return l.row, nil
	}
	if err := r.remember(ctx, l); err != nil {
		return l.row, err
	}
	l.now.Said, l.now.Last = l.before.Said, l.before.Last
	if !r.options.Force && l.before.Bytes == t.Bytes && l.before.Modified == l.now.Modified && same(l.before, l.now) {
		l.row.Outcome, l.row.Messages = factsUnchanged, l.before.Said
		return l.row, nil
	}
	err := r.read(ctx, l)
	return l.row, err
}

// read reads the log, and looks for facts if there is something new in it.
func (r *factsRun) read(ctx context.Context, l *look) error {
	window, scan, err := facts.Read(ctx, l.store, r.options.Last, func() (io.ReadCloser, error) { return r.openSession(ctx, l.found) })
	if err != nil {
		return err
	}
	if l.ID == "" && scan.SessionID != "" {
		l.now.Session, l.row.Session = scan.SessionID, scan.SessionID
	}
	l.now.Said, l.now.Last, l.row.Messages = window.Said(), window.Last(), window.Said()
	switch {
	case l.now.Said < facts.LeastMessages:
		l.row.Outcome, l.row.Reason = factsTooShort, fmt.Sprintf("%d messages, %d are needed", l.now.Said, facts.LeastMessages)
		return nil
	case !r.options.Force && same(l.before, l.now):
		l.row.Outcome = factsUnchanged
		return r.keep(ctx, l, facts.Merged{})
	}
	return r.extract(ctx, l, window)
}

// degradedPause is how long a model that did not answer, or not usably, is not
// asked about a session again, unless it has gone on.
const degradedPause = time.Hour

// same tells whether an extraction has nothing to add to the one before.
func same(before, now memory.Extraction) bool {
	tryAgain := before.Degraded && now.At-before.At >= degradedPause.Milliseconds()
	return before.At > 0 && !tryAgain && before.Said == now.Said && before.Last == now.Last && before.MadeBy == now.MadeBy
}

// remember gets the last extraction of a session, and what is known of its
// agent.
func (r *factsRun) remember(ctx context.Context, l *look) error {
	l.now = memory.Extraction{
		Runtime: l.Runtime, Agent: l.Agent, Session: l.ID, At: r.app.now().UnixMilli(), Bytes: l.Bytes, Modified: l.ModTime.UnixNano(),
		MadeBy: facts.Version + " " + facts.Options{Client: r.clientOf(l.found)}.Maker(),
	}
	if r.memory == nil {
		return nil
	}
	var err error
	if l.before, _, err = r.memory.Extraction(ctx, memory.Source{Runtime: l.Runtime, Agent: l.Agent, Session: l.ID}); err != nil {
		return err
	}
	stored, err := r.memory.Facts(ctx, memory.FactFilter{Runtime: l.Runtime, Agent: l.Agent, Superseded: true})
	for _, f := range stored {
		l.known = append(l.known, facts.Known{ID: f.ID, Superseded: f.Successor != "", Fact: facts.Fact{
			Kind: facts.Kind(f.Kind), Text: f.Text, Confidence: f.Confidence, Quote: f.Quote, Line: f.FirstLine, Time: f.CreatedAt,
			Topic: f.Topic, Value: f.Value, Instead: f.Instead,
		}})
	}
	return err
}

func (r *factsRun) extract(ctx context.Context, l *look, window *facts.Window) error {
	o := facts.Options{Client: r.clientOf(l.found), Confidence: r.options.MinConfidence, Once: r.endpoint.Provider == summarize.ProviderHermes}
	made, err := facts.Extract(ctx, window.Messages(), l.known, o)
	if err != nil {
		return err
	}
	l.now.Degraded = made.Degraded
	l.row.Outcome, l.row.MadeBy, l.row.Degraded, l.row.Reason = factsExtracted, made.MadeBy, made.Degraded, made.Reason
	l.row.Calls, l.row.Tokens, l.row.Refused = made.Calls, made.Tokens, refusals(made.Refused)
	for i := range made.Facts {
		if made.Facts[i].Time == 0 { // a log without times has that of its file
			made.Facts[i].Time = l.ModTime.UnixMilli()
		}
	}
	return r.keep(ctx, l, facts.Merge(made.Facts, l.known, r.options.most()))
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
