package cmd

import (
	"context"
	"fmt"

	"github.com/oklog/ulid/v2"

	"github.com/sessctl/sessctl/pkg/facts"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/session"
)

// keep stores what is new, in one transaction, and then writes the receipt.
func (r *factsRun) keep(ctx context.Context, l *look, m facts.Merged) error {
	ids := make([]string, len(m.Facts))
	records := make([]memory.Fact, len(m.Facts))
	for i, f := range m.Facts {
		records[i] = l.record(f)
		ids[i] = records[i].ID
	}
	over := supersessions(m, ids)
	l.row.Repeated = m.Repeated
	l.row.list(records, over, l.known)
	if r.options.DryRun || r.memory == nil || l.Agent == "" {
		if l.row.Outcome == factsExtracted {
			l.row.Outcome = factsPlanned
		}
		return nil
	}
	result, err := r.memory.PutFacts(ctx, l.now, records, over)
	if err != nil {
		return fmt.Errorf("store facts: %w", err)
	}
	l.row.Stored, l.row.Forgotten = result.Stored, result.Buried
	if l.row.Stored+l.row.Calls == 0 && len(over) == 0 {
		return nil
	}
	return r.writeFactsReceipt(l.found, &l.row, ulid.Make().String())
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

// record is a fact as it goes to memory.
func (l *look) record(f facts.Fact) memory.Fact {
	r := memory.Record{
		ID:   memory.RecordID(l.Agent, l.now.Session, factPosition, "fact "+string(f.Kind), f.Text),
		Text: f.Text, Category: memory.CategoryFact, Importance: factImportance * f.Confidence, CreatedAt: f.Time,
		Runtime: l.Runtime, Agent: l.Agent, Session: l.now.Session, Key: l.Key, ArchivePath: l.Path, Archive: l.archive,
		FirstLine: f.Line, LastLine: f.Line, FirstByte: f.Offset, EndByte: f.End, Branch: session.Active.String(), Position: factPosition,
	}
	return memory.Fact{
		Record: r, Kind: string(f.Kind), Confidence: f.Confidence, Quote: f.Quote, Speaker: f.Speaker.String(),
		Topic: f.Topic, Value: f.Value, Instead: f.Instead, MadeBy: f.MadeBy,
	}
}

// linkFacts gives facts of a log the archive that the log is in now. Logs of
// openclaw and pi are only appended to; others may have been written again
// since.
func (m memoirist) linkFacts(ctx context.Context, ref session.Ref, source memory.Source, size int64) error {
	appended := ref.Runtime == session.RuntimeOpenClaw || ref.Runtime == session.RuntimePi
	_, err := m.store.LinkFacts(ctx, source, ref.Path, size, appended)
	return err
}
