package compact_test

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

// mixed is a store with sessions that are files, which it rotates, and
// sessions in a database, which only its runtime changes.
type mixed struct {
	*store
	text string // of every session in the database
}

func (m mixed) Capabilities() session.Capabilities {
	c := m.store.Capabilities()
	c.Source = m
	return c
}

func (m mixed) OpenLog(context.Context, session.Ref) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(m.text)), nil
}

// annotated writes summaries beside what is in its database.
type annotated struct{ mixed }

func (a annotated) Capabilities() session.Capabilities {
	c := a.mixed.Capabilities()
	c.Annotator = a
	return c
}

func (annotated) PlanAnnotation(context.Context, session.ShortenRequest) (session.Annotation, error) {
	return session.Annotation{}, nil
}
func (annotated) Annotate(context.Context, session.Annotation) error { return nil }

func TestStrategiesOf(t *testing.T) {
	m := mixed{store: &store{}}
	for _, c := range []struct {
		store session.Store
		kind  session.Kind
		want  []session.Strategy
	}{
		{m, session.KindLive, []session.Strategy{session.StrategyRotate}},
		{m, session.KindOrphan, []session.Strategy{session.StrategyRotate}},
		{m, session.KindStored, []session.Strategy{session.StrategyNone}},
		{m, session.KindDatabase, []session.Strategy{session.StrategyNone}},
		{annotated{m}, session.KindStored, []session.Strategy{session.StrategyAnnotate}},
	} {
		if diff := cmp.Diff(c.want, c.store.Capabilities().StrategiesOf(session.Ref{Kind: c.kind})); diff != "" {
			t.Errorf("%s: %s", c.kind, diff)
		}
	}
}

// The kind of a session decides where its bytes come from: the database for one
// in it, whatever file has the name that it has for people.
func TestExecuteOfAMixedStore(t *testing.T) {
	for kind, rotated := range map[session.Kind]bool{session.KindStored: false, session.KindLive: true} {
		t.Run(string(kind), func(t *testing.T) {
			h := newWorkspace(t, 5)
			m := mixed{store: h.store, text: strings.Replace(h.log, "\n", "\n\n", 1)}
			ref := h.ref
			ref.Kind = kind
			want := h.log
			if kind == session.KindStored {
				ref.Path, want = h.ref.Path+"#stored", m.text
			}
			plan, err := compact.NewPlan(t.Context(), m, ref, h.policy(), h.Now())
			if err != nil || plan.Outcome != compact.Planned {
				t.Fatalf("%+v, %v", plan, err)
			}
			if planned := plan.Result().Bytes; planned != int64(len(want)) {
				t.Errorf("the plan is about %d bytes, the run archives %d", planned, len(want))
			}
			done, err := h.Execute(t.Context(), m, plan, h.policy())
			if err != nil || done.Archive == nil || h.archive.copies[done.Archive.ID] != want {
				t.Fatalf("%+v, %v", done, err)
			}
			_, err = os.Lstat(h.ref.Path)
			if (done.Outcome == compact.Compacted) != rotated || os.IsNotExist(err) != rotated {
				t.Errorf("%+v, the log: %v", done, err)
			}
		})
	}
}

// A session of which there is nothing to sum up is archived and remembered, and
// gets no summary beside its messages.
func TestAnnotateWithNothingToSumUp(t *testing.T) {
	for empty, want := range map[bool]compact.Outcome{true: compact.Partial, false: compact.Failed} {
		h := newWorkspace(t, 5)
		h.Summarizer = func(compact.SummaryOrder) compact.Summarizer {
			return &writer{summary: func(int) (compact.Summary, error) {
				return compact.Summary{Kind: "extractive", Text: "# Session summary", Empty: empty}, nil
			}}
		}
		store := annotated{mixed{store: h.store, text: h.log}}
		ref := h.ref
		ref.Kind = session.KindStored
		plan, err := compact.NewPlan(t.Context(), store, ref, h.policy(), h.Now())
		if err != nil || plan.Strategy != session.StrategyAnnotate {
			t.Fatalf("%+v, %v", plan, err)
		}
		done, err := h.Execute(t.Context(), store, plan, h.policy())
		if _, kept := h.mind.records["# Session summary"]; done.Outcome != want || kept == empty || done.SummaryEmpty != empty || (err == nil) != empty {
			t.Errorf("empty %t: %+v, remembered %t, %v", empty, done, kept, err)
		}
	}
}
