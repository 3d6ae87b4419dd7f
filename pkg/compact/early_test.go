package compact_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

// aloneWriter is a summarizer that asks nobody.
type aloneWriter struct{ *writer }

func (aloneWriter) Alone() {}

// untilBegun is a memory that ends its transaction only when the summary has begun.
type untilBegun struct {
	compact.Rememberer
	begun <-chan struct{}
	err   error
}

func (u *untilBegun) Remember(ctx context.Context, ref session.Ref, from compact.Origin, records iter.Seq2[compact.Record, error]) (compact.Remembered, error) {
	done, err := u.Rememberer.Remember(ctx, ref, from, records)
	select {
	case <-u.begun:
	case <-ctx.Done():
		return done, ctx.Err()
	}
	return done, errors.Join(err, u.err)
}

// A summary for which nobody is asked is made while the history is still being stored,
// has heard all of it, and has ended when the run has: also when storing failed.
func TestSummaryOfOneAloneIsMadeBesideTheStoring(t *testing.T) {
	for _, failed := range []error{nil, errors.New("the disk is full")} {
		h := newWorkspace(t, 9)
		begun, ended := make(chan struct{}), false
		h.Rememberer = &untilBegun{h.mind, begun, failed}
		h.Summarizer = func(compact.SummaryOrder) compact.Summarizer {
			return aloneWriter{&writer{summary: func(heard int) (compact.Summary, error) {
				close(begun)
				if heard != 9 {
					t.Errorf("%d messages heard", heard)
				}
				ended = true
				return compact.Summary{Kind: "extractive", Text: "a summary"}, nil
			}}}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		result, err := h.Execute(ctx, h.store, h.newPlan(h.policy()), h.policy())
		if _, kept := h.mind.records["a summary"]; !errors.Is(err, failed) || kept != (failed == nil) || !ended {
			t.Errorf("storing failed with %v: result %+v, error %v, summary kept %t, ended %t", failed, result, err, kept, ended)
		}
	}
}

// A summarizer that panics does so in the run, which its caller may answer.
func TestSummaryOfOneAlonePanics(t *testing.T) {
	h := newWorkspace(t, 9)
	h.Summarizer = func(compact.SummaryOrder) compact.Summarizer {
		return aloneWriter{&writer{summary: func(int) (compact.Summary, error) { panic("no summary") }}}
	}
	defer func() {
		if p := recover(); p != "no summary" {
			t.Errorf("the run ended with %v", p)
		}
	}()
	_, _ = h.Execute(t.Context(), h.store, h.newPlan(h.policy()), h.policy())
}
