package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/samples"
	"github.com/sessctl/sessctl/internal/tier"
	"github.com/sessctl/sessctl/pkg/session"
)

// The sheets can be met: what a fact asks for stands in the log, every label has
// a place there, and the sessions are as long as real ones.
func TestSheets(t *testing.T) {
	all, err := load()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 36 {
		t.Fatalf("%d sessions, not 36", len(all))
	}
	for _, s := range all {
		log, err := s.log()
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(log), "\n"); n < 50 || n > 500 {
			t.Errorf("%s has %d records, not 50 to 500", s.name, n)
		}
		if len(s.facts) != 10 {
			t.Errorf("%s has %d facts, not 10", s.name, len(s.facts))
		}
		s.checkFacts(t)
	}
}

func (s *script) checkFacts(t *testing.T) {
	t.Helper()
	for _, w := range s.facts {
		inLog := slices.ContainsFunc(s.events, func(e event) bool {
			text := e.text() + e.target + " " + strings.Join(e.output, " ")
			return !e.filler && !slices.ContainsFunc(w.must, func(p *regexp.Regexp) bool { return !found(p, text) })
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

// The summaries hold what they held when docs/dev/summaries.md was written, in both
// forms, less one fact of sixty.
func TestSummaryFloor(t *testing.T) {
	tier.SkipSmoke(t, "it summarises 36 sessions twice")
	all, err := load()
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range forms() {
		sums := map[string]*tally{}
		for _, s := range all {
			j, err := s.judged(t.Context(), form.checkpoint)
			if err != nil {
				t.Fatal(err)
			}
			if sums[s.set] == nil {
				sums[s.set] = &tally{}
			}
			sums[s.set].add(j)
		}
		for name, least := range summaryFloors() {
			if got := sums[name]; got.held < least.facts || share(got.wrong, got.statements) > least.wrong || share(got.noise, got.statements) > least.noise {
				t.Errorf("%s, %s: %s, and the floor is %+v", form.name, name, got.row(), least)
			}
		}
	}
}

// summaryFloor is the least number of facts that the summaries of a set hold, and
// the largest shares of what is wrong and what is noise.
type summaryFloor struct {
	facts        int
	wrong, noise float64
}

func summaryFloors() map[string]summaryFloor {
	return map[string]summaryFloor{
		"one":   {38, 0.10, 0.245},
		"two":   {43, 0.11, 0.23},
		"three": {37, 0.15, 0.18},
		"four":  {40, 0.14, 0.22},
		"five":  {42, 0.09, 0.27},
		"six":   {40, 0.11, 0.16},
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
U: {d~1} The host is ada.
A: {f} Its disk is full.
U: {d1} Take the host bob.
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
		"## Decisions\n- no, take 7002. [4]\n":                                         "1 of 1 | 1 | 0.000 | 0.000",
		"## Decisions\n- no, take 7002. [4]\n- The port will be 7001. [3]\n":           "0 of 1 | 2 | 0.500 | 0.000",
		"## Decisions\n- Usually one takes 8080. [3]\n":                                "0 of 1 | 1 | 1.000 | 0.000",
		"## Next steps\n- The port is 7002 now. [5]\n":                                 "1 of 1 | 1 | 1.000 | 0.000",
		"## Done\n- The port is 7002 now. [5]\n\n## Also in the log\n\n- `7001` [3]\n": "1 of 1 | 1 | 0.000 | 0.000",
		"## Decisions\n- The host is ada. → line 8: Take the host bob. [6]\n":          "0 of 1 | 1 | 0.000 | 0.000",
		"## Decisions\n- The host is ada. → line 7: Its disk is full. [6]\n":           "0 of 1 | 1 | 1.000 | 0.000",
	} {
		var got tally
		got.add(s.judge(text))
		if got.row() != want {
			t.Errorf("%q: %s, not %s", text, got.row(), want)
		}
	}
}

// The summary has as much of what was done next as docs/summaries.md says, less what a
// log of twenty makes, and more than the end of the log has: in logs beside the
// project, or else in the written sessions.
func TestNextFloor(t *testing.T) {
	tier.SkipUnlessLong(t, "it summarises logs at a hundred places")
	logs, err := realLogs(t.Context(), samples.Matching(t, "samples", "samples-newer", "eval/technical-dev*/sessions"))
	least := map[int]gauges{2000: {0.31, 0.35, 0.19}, 4000: {0.43, 0.51, 0.31}, 10000: {0.56, 0.67, 0.50}}
	if len(logs) == 0 && err == nil {
		logs, err = writtenLogs(t.Context())
		least = map[int]gauges{2000: {0.50, 0.82, 0.31}, 4000: {0.61, 0.92, 0.58}, 10000: {0.66, 0.96, 0.85}}
	}
	if err != nil {
		t.Fatal(err)
	}
	table, err := compare(t.Context(), logs, recaller{})
	if err != nil {
		t.Fatal(err)
	}
	for size, floor := range least {
		r := table.row(builtIn, size)
		if r.items.value() < floor.items || r.args.value() < floor.args || r.words.value() < floor.words {
			t.Errorf("at %d: %.2f, %.2f, %.2f, and the floor is %+v", size, r.items.value(), r.args.value(), r.words.value(), floor)
		}
	}
	if whole := table.row(wholeLog, 0).items.value(); whole < 0.95 {
		t.Errorf("the whole log holds %.2f of what is needed: the measure is wrong", whole)
	}
}
