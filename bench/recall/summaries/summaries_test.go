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

// The summaries hold what they held when docs/summaries.md was written, in both
// forms, of the sessions that were looked at and of those that were not.
func TestSummaryFloor(t *testing.T) {
	all, err := load()
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range forms() {
		sums := map[bool]*tally{false: {}, true: {}}
		for _, s := range all {
			text, err := s.summary(t.Context(), form.checkpoint)
			if err != nil {
				t.Fatal(err)
			}
			sums[s.held].add(s.judge(text))
		}
		for held, least := range map[bool]struct {
			facts        int
			wrong, noise float64
		}{false: {56, 0.05, 0.10}, true: {17, 0.12, 0.10}} {
			if got := sums[held]; got.held < least.facts || share(got.wrong, got.statements) > least.wrong || share(got.noise, got.statements) > least.noise {
				t.Errorf("%s, held back is %v: %s, and the floor is %+v", form.name, held, got.row(), least)
			}
		}
	}
}

// A judge that lets everything pass is none: what is stale, advice, or said in
// passing is told from what one needs.
func TestJudge(t *testing.T) {
	s, err := parse("judged", `@ runtime pi
U: {g} Move the port.
A: {d~} The port will be 7001. Usually one takes 8080.
U: {d} no, take 7002.
A: {r} The port is 7002 now.
fact: the port
must: 7002
not: port will be 7001
`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.log(); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"## Decisions\n- no, take 7002. (line 4)\n":                                              "1 of 1 | 1 | 0.000 | 0.000",
		"## Decisions\n- no, take 7002. (line 4)\n- The port will be 7001. (line 3)\n":           "0 of 1 | 2 | 0.500 | 0.000",
		"## Decisions\n- Usually one takes 8080. (line 3)\n":                                     "0 of 1 | 1 | 1.000 | 0.000",
		"## Next steps\n- The port is 7002 now. (line 5)\n":                                      "1 of 1 | 1 | 1.000 | 0.000",
		"## Done\n- The port is 7002 now. (line 5)\n\n## Also in the log\n\n- `7001` (line 3)\n": "1 of 1 | 1 | 0.000 | 0.000",
	} {
		var got tally
		got.add(s.judge(text))
		if got.row() != want {
			t.Errorf("%q: %s, not %s", text, got.row(), want)
		}
	}
}

// The rules find the durable facts that they found when docs/facts.md was
// written, and hardly anything else.
func TestFactsFloor(t *testing.T) {
	all, err := load()
	if err != nil {
		t.Fatal(err)
	}
	sums := map[bool]*extracted{false: {}, true: {}}
	for _, s := range all {
		x, err := s.extract(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		sums[laterHalf(s)].plus(x)
	}
	for held, x := range sums {
		if share(x.right, x.made) < 0.9 || share(x.reached, x.wanted) < 0.65 {
			t.Errorf("held back is %v: %s, and the floors are a precision of 0.9 and a recall of 0.65", held, x.row())
		}
	}
}
