package compact_test

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

// writer is a Summarizer that counts what it hears.
type writer struct {
	heard   int
	summary func(heard int) (compact.Summary, error)
}

func (w *writer) Add(*session.Message) error { w.heard++; return nil }

func (w *writer) Summary(context.Context) (compact.Summary, error) { return w.summary(w.heard) }

// gate knows when memory's transaction is open.
type gate struct {
	compact.Rememberer
	open bool
}

func (g *gate) Remember(ctx context.Context, ref session.Ref, from compact.Origin, records iter.Seq2[compact.Record, error]) (compact.Remembered, error) {
	g.open = true
	defer func() { g.open = false }()
	return g.Rememberer.Remember(ctx, ref, from, records)
}

// A model may take minutes: it is asked when the history is stored, and not
// within memory's transaction.
func TestSummaryIsMadeOutsideTheTransaction(t *testing.T) {
	h := newWorkspace(t, 9)
	g := &gate{Rememberer: h.mind}
	h.Rememberer = g
	h.Summarizer = func(compact.SummaryOrder) compact.Summarizer {
		return &writer{summary: func(heard int) (compact.Summary, error) {
			if g.open || len(h.mind.records) == 0 || heard != 9 {
				t.Errorf("transaction open %v, %d records, %d messages heard", g.open, len(h.mind.records), heard)
			}
			return compact.Summary{Kind: "ollama", Text: "a summary", Wrote: compact.Wrote{Model: "ollama/m", Calls: 2, Tokens: 70}, Loss: compact.Loss{Identifiers: 9, Lost: 3, Indexed: 2}}, nil
		}}
	}
	result, err := h.Execute(context.Background(), h.store, h.newPlan(h.policy()), h.policy())
	if err != nil || result.Outcome != compact.Compacted || result.Summary == nil || result.Summary.Model != "ollama/m" {
		t.Fatalf("result %+v, error %v", result, err)
	}
	receipts, err := h.Receipts.List()
	if err != nil || len(receipts) != 1 {
		t.Fatalf("receipts %v, %v", receipts, err)
	}
	if r := receipts[0]; r.LLMCalls != 2 || r.LLMTokens != 70 || r.Summary.Lost != 3 || r.Summary.Identifiers != 9 || r.Summary.Indexed != 2 || r.Content.ChunksStored != 4 {
		t.Errorf("receipt %+v", r)
	}
	if r := h.mind.records["a summary"]; r.Category != compact.CategorySummary || r.LastLine != 10 {
		t.Errorf("record %+v", r)
	}
}

// A summary that cannot be made leaves the session as it is; its history is
// remembered all the same.
func TestSummaryFails(t *testing.T) {
	h := newWorkspace(t, 9)
	h.Summarizer = func(compact.SummaryOrder) compact.Summarizer {
		return &writer{summary: func(int) (compact.Summary, error) { return compact.Summary{}, errors.New("interrupted") }}
	}
	result, err := h.Execute(context.Background(), h.store, h.newPlan(h.policy()), h.policy())
	if err == nil || result.Outcome != compact.Failed || h.liveLog() != h.log || len(h.mind.records) != 3 {
		t.Errorf("result %+v, error %v, %d records", result, err, len(h.mind.records))
	}
}

// TestUpgradable: the newest summary of a session counts, and none that was
// undone.
func TestUpgradable(t *testing.T) {
	made := func(id, of string, change func(*compact.Receipt)) compact.Receipt {
		r := compact.Receipt{ID: id, Compaction: compact.Compaction{
			Runtime: "pi", Agent: "a", Session: of, Outcome: compact.Compacted,
			Archive: &compact.Archived{ID: id}, Summary: &compact.SummaryResult{Kind: "extractive", Degraded: true},
		}}
		change(&r)
		return r
	}
	same := func(*compact.Receipt) {}
	receipts := []compact.Receipt{
		made("1", "upgraded", same),
		made("2", "upgraded", func(r *compact.Receipt) {
			r.Outcome, r.Summary = compact.Resummarized, &compact.SummaryResult{Kind: "ollama", Model: "ollama/m"}
		}),
		made("3", "twice", same), made("4", "twice", same),
		made("5", "offline", func(r *compact.Receipt) { r.Summary.Degraded = false }),
		made("6", "undone", same),
		made("7", "undone", func(r *compact.Receipt) {
			r.Outcome, r.Undo, r.Summary = compact.Undone, &compact.UndoProof{Receipt: "6"}, nil
		}),
		made("8", "no archive", func(r *compact.Receipt) { r.Archive = nil }),
		made("9", "no summary", func(r *compact.Receipt) { r.Summary = nil }),
	}
	for every, want := range map[bool]string{false: "4", true: "45"} {
		got := ""
		for _, r := range compact.Upgradable(receipts, every) {
			got += r.ID
		}
		if got != want {
			t.Errorf("every %v: receipts %q, want %q", every, got, want)
		}
	}
}
