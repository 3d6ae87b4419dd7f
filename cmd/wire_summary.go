package cmd

import (
	"context"
	"iter"

	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/memory"
)

// noticed passes records on and notes the summary among them.
func noticed(records iter.Seq2[compact.Record, error], summary **compact.Record) iter.Seq2[compact.Record, error] {
	return func(yield func(compact.Record, error) bool) {
		for r, err := range records {
			if err == nil && r.Category == compact.CategorySummary {
				*summary = &r
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// keep keeps the summary that a model wrote beside the memory: from the archive
// only the extractive one can be made again. That one takes the place of what
// was kept of the session.
func (m memoirist) keep(ctx context.Context, s memory.Source, r compact.Record) error {
	id := memoryRecord(s, r).ID
	if r.Model == "" {
		return m.store.DropSummary(id)
	}
	return m.store.KeepSummary(ctx, memory.KeptSummary{ID: id, Runtime: s.Runtime, Agent: s.Agent, Session: s.Session, Archive: s.Archive, Model: r.Model, Text: r.Text})
}
