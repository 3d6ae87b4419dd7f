package cmd

import (
	"context"
	"fmt"

	"github.com/oklog/ulid/v2"

	"github.com/sessctl/sessctl/pkg/facts"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/session"
)

// store stores what is new, in one transaction, and then writes the receipt.
func (r *factsRun) store(ctx context.Context, t found, x memory.Extraction, m facts.Merged, known []facts.Known, row *factsSession) error {
	ids := make([]string, len(m.Facts))
	records := make([]memory.Fact, len(m.Facts))
	for i, f := range m.Facts {
		records[i] = factRecord(t, x, f, row.MadeBy)
		ids[i] = records[i].ID
	}
	over := supersessions(m, ids)
	row.Repeated = m.Repeated
	row.list(records, over, known)
	if r.options.DryRun || r.memory == nil || t.Agent == "" {
		if row.Outcome == factsExtracted {
			row.Outcome = factsPlanned
		}
		return nil
	}
	result, err := r.memory.PutFacts(ctx, x, records, over)
	if err != nil {
		return fmt.Errorf("store facts: %w", err)
	}
	row.Stored, row.Forgotten = result.Stored, result.Buried
	if row.Stored+row.Calls == 0 && len(over) == 0 {
		return nil
	}
	return r.writeFactsReceipt(t, row, ulid.Make().String())
}

// supersessions are the ids of what is superseded, each with that of what
// supersedes it.
func supersessions(m facts.Merged, ids []string) map[string]string {
	over := map[string]string{}
	for id, at := range m.Over {
		over[id] = ids[at]
	}
	for at, by := range m.Late {
		over[ids[at]] = by.ID
		if by.ID == "" {
			over[ids[at]] = ids[by.Index]
		}
	}
	return over
}

// factPosition is the position of facts: no piece of the log, as summaries.
const factPosition = -3

// factImportance is that of a fact that is certain (DESIGN.md, Memory).
const factImportance = 0.70

func factRecord(t found, x memory.Extraction, f facts.Fact, madeBy string) memory.Fact {
	r := memory.Record{
		ID:   memory.RecordID(t.Agent, x.Session, factPosition, "fact "+string(f.Kind), f.Text),
		Text: f.Text, Category: memory.CategoryFact, Importance: factImportance * f.Confidence, CreatedAt: f.Time,
		Runtime: t.Runtime, Agent: t.Agent, Session: x.Session, Key: t.Key, ArchivePath: t.Path, Archive: t.archive,
		FirstLine: f.Line, LastLine: f.Line, FirstByte: f.Offset, EndByte: f.End, Branch: session.Active.String(), Position: factPosition,
	}
	return memory.Fact{
		Record: r, Kind: string(f.Kind), Confidence: f.Confidence, Quote: f.Quote, Speaker: f.Speaker.String(),
		Topic: f.Topic, Value: f.Value, Instead: f.Instead, MadeBy: madeBy,
	}
}
