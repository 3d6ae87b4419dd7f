package openclaw_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/pkg/session"
)

// closedName is the name of a log that the runtime closed.
func closedName(id string) string { return id + ".jsonl.reset.2026-01-01T04-05-06.789Z" }

// refsOf are the logs of a state by their names.
func (s *state) refsOf(names ...string) (refs []session.Ref) {
	for _, name := range names {
		refs = append(refs, session.Ref{Path: filepath.Join(s.root, "agents", agent, "sessions", name)})
	}
	return refs
}

// A run trace goes with the last log of its session, and with no other.
func TestCompanions(t *testing.T) {
	s := newState(t)
	for _, name := range []string{"alone.jsonl", closedName("alone-no"), closedName("twice"), "twice.jsonl"} {
		s.log(name, transcript("x"))
	}
	for _, name := range []string{"alone.trajectory.jsonl", "alone.trajectory-path.json", "twice.trajectory.jsonl", "alone-not.trajectory.jsonl"} {
		s.log(name, "{}\n")
	}
	got := s.Companions(t.Context(), s.refsOf("alone.jsonl", closedName("alone-no"), "twice.jsonl", closedName("twice"), "no log"))
	want := []session.Companions{{Paths: []string{
		filepath.Join(s.root, "agents", agent, "sessions", "alone.trajectory-path.json"),
		filepath.Join(s.root, "agents", agent, "sessions", "alone.trajectory.jsonl"),
	}}, {}, {}, {}, {}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if elsewhere := s.Companions(t.Context(), []session.Ref{{Path: "/elsewhere/x.jsonl"}}); elsewhere[0].Err == nil {
		t.Error("the traces of a log of another store are told")
	}
}

// Five times the logs take about five times the work: each directory is read
// once, not once for each log.
func TestCompanionsOfManyLogs(t *testing.T) {
	cost := func(n int) float64 {
		s := newState(t)
		var names []string
		for i := range n {
			names = append(names, closedName(fmt.Sprintf("s%04d", i)))
			s.log(names[i], "")
		}
		refs := s.refsOf(names...)
		return testing.AllocsPerRun(3, func() { s.Companions(t.Context(), refs) })
	}
	if few, many := cost(60), cost(300); many > 8*few {
		t.Errorf("%.0f allocations for 60 logs, %.0f for 300", few, many)
	}
}
