package workspace

import (
	"context"
	"iter"

	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/session"
)

// Withdraw implements compact.Withdrawer.
func (m MemoryAdapter) Withdraw(ctx context.Context, ref session.Ref, from []string, summary bool) (int, error) {
	w := memory.Withdrawal{
		Runtime: ref.Runtime, Agent: ref.Agent, Session: ref.ID, From: from,
		Categories: []string{compact.CategoryHistory, compact.CategorySummary},
	}
	if summary {
		w.Regardless = []string{compact.CategorySummary}
	}
	return m.Store.Withdraw(ctx, w)
}

// WithdrawAlone implements compact.Withdrawer.
func (m MemoryAdapter) WithdrawAlone(ctx context.Context, ref session.Ref, made compact.Made) (int, error) {
	source := memory.Source{Runtime: ref.Runtime, Agent: ref.Agent, Session: ref.ID}
	var ids [3]map[string]bool
	for i, records := range []iter.Seq2[compact.Record, error]{made.Own, made.Beside, made.Others} {
		ids[i] = map[string]bool{}
		for r, err := range records {
			if err != nil {
				return 0, err
			}
			ids[i][MemoryRecord(source, r).ID] = true
		}
	}
	return m.Store.WithdrawAlone(ctx, source, memory.Made{Own: ids[0], Beside: ids[1], Others: ids[2]})
}
