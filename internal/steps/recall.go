package steps

import (
	"context"
	"errors"
	"slices"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/summarize/state"
)

// Recall is [recall.Recall], with where the work stands for a question that is about
// nothing else: "where were we". The summary of that session is the first hit then. An
// answer such as "yes" asks memory with what the agent said last.
func Recall(ctx context.Context, run *workspace.Run, o recall.Options) (recall.Document, error) {
	if o.AsksWork() || o.Everywhere || o.Category != "" || !recall.AsksState(o.Query) {
		return recall.Recall(ctx, run, o)
	}
	brief, stateErr := Brief(ctx, run, BriefOptions{Runtime: o.Runtime, Agent: o.Agent, Session: o.Session, Runes: defaultBrief})
	if stateErr != nil {
		return recall.Recall(ctx, run, o) // it says what is wrong with the agent or the session
	}
	asked := o
	if word := brief.State.Word; word != nil && recall.Assents(o.Query) {
		asked.Query = state.Cut(word.Text, assentRunes)
	}
	doc, err := recall.Recall(ctx, run, asked)
	var f *failure.Error
	if err != nil && !(errors.As(err, &f) && f.Code == "no_memory") {
		return doc, err
	}
	if err != nil { // nothing is remembered yet
		doc = recall.Document{Schema: 1, Quoted: session.RecallStamp, Rank: o.Rank, Hits: []recall.Hit{}}
	} else if err := summaryFirst(ctx, run, o, &doc, brief.Standing); err != nil {
		return doc, err
	}
	doc.Query, doc.State = o.Query, &brief.Standing
	return doc, nil
}

// assentRunes is how much of the agent's last words a question asks with.
const assentRunes = 300

// summaryFirst puts the summary of the session before the other hits.
func summaryFirst(ctx context.Context, run *workspace.Run, o recall.Options, doc *recall.Document, of recall.Standing) error {
	o.Query = state.Cut(of.Text, assentRunes) // the words of the question are in no summary
	o.Category, o.Session, o.Agent, o.Runtime, o.Limit, o.Any, o.MinScore = memory.CategorySummary, of.Session, agentset.Set(of.Agent), of.Runtime, 1, true, 0
	summaries, err := recall.Recall(ctx, run, o)
	if err != nil || len(summaries.Hits) == 0 {
		return ctx.Err() // a session that was not compacted has none
	}
	first := summaries.Hits[0]
	rest := slices.DeleteFunc(doc.Hits, func(h recall.Hit) bool { return h.ID == first.ID })
	doc.Hits = append([]recall.Hit{first}, rest...)
	return nil
}
