package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/session"
)

// The sheets can be met: what a fact asks for stands in the log, every label has
// a place there, and the sessions are as long as real ones.
func TestSheets(t *testing.T) {
	all, err := load()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 8 {
		t.Fatalf("%d sessions, not 8", len(all))
	}
	for _, s := range all {
		log, err := s.log()
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(log), "\n"); n < 100 || n > 500 {
			t.Errorf("%s has %d records, not 100 to 500", s.name, n)
		}
		if len(s.facts) != 10 {
			t.Errorf("%s has %d facts, not 10", s.name, len(s.facts))
		}
		for _, l := range s.labels {
			if len(s.linesOf(l)) == 0 {
				t.Errorf("%s: no record has %q", s.name, l.at)
			}
		}
		s.checkFacts(t)
	}
}

func (s *script) checkFacts(t *testing.T) {
	t.Helper()
	for _, w := range s.facts {
		inLog := slices.ContainsFunc(s.events, func(e event) bool {
			text := e.text()
			return !e.filler && !slices.ContainsFunc(w.must, func(p string) bool { return !found(p, text) })
		})
		if !inLog {
			t.Errorf("%s: no record says %q", s.name, w.fact)
		}
	}
}

// The readers of the runtimes understand the logs: they see everybody's words
// and every call, answered.
func TestLogsAreRead(t *testing.T) {
	all, err := load()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		people, calls, results := 0, 0, 0
		err := s.scan(t.Context(), func(m *session.Message) error {
			switch m.Role {
			case session.RoleUser:
				people++
			case session.RoleToolResult:
				results++
			}
			for _, p := range m.Parts {
				if p.Kind == session.PartToolCall {
					calls++
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		wantPeople, wantCalls := 0, 0
		for _, e := range s.events {
			switch e.kind {
			case said:
				wantPeople++
			case called:
				wantCalls++
			}
		}
		if people != wantPeople || calls != wantCalls || results != wantCalls {
			t.Errorf("%s: %d messages of people, %d calls and %d results, not %d and %d", s.name, people, calls, results, wantPeople, wantCalls)
		}
	}
}
