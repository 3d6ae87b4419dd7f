package e2e_test

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/crashloop"
	"github.com/sessctl/sessctl/internal/tier"
)

// Doctor changes nothing, whatever state a killed run has left: not one
// mutating call. What it says is unfinished, doctor --fix finishes.
func TestDoctorMakesNoMutatingCall(t *testing.T) {
	tier.SkipSmoke(t, "it kills 13 compactions")
	program := buildProgram(t)
	total := len(newScenario(t, program, "openclaw").trace(false, nil).Calls)
	// How often memory is written differs from run to run, so a number is now
	// this call and now that. The first kill is told by what its call does: where
	// the log is to move, the run has begun and is not finished.
	points := []int{0}
	for n := 1; n <= total; n += stride(total, 12) {
		points = append(points, n)
	}
	unfinished := 0
	for _, n := range points {
		s := newScenario(t, program, "openclaw")
		s.trace(false, func(c crashloop.Call) crashloop.Fault {
			moves := n == 0 && strings.HasPrefix(c.Name, "rename") && c.Path == s.log
			return crashloop.Fault{Kill: moves || c.N == n}
		})
		got, err := crashloop.Run(crashloop.Options{Args: []string{program, "doctor"}, Env: s.env(), Dir: s.dir, Under: s.dir})
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Calls) > 0 || got.Killed {
			t.Fatalf("killed before call %d: %v\n%s", n, got.Calls, got.Output)
		}
		if got.Exit == 4 {
			t.Errorf("killed before call %d: taken for damaged:\n%s", n, got.Output)
		}
		if strings.Contains(got.Output, "is not finished") {
			unfinished++
		} else if n == 0 {
			t.Errorf("killed where the log was to move: not said to be unfinished:\n%s", got.Output)
		}
		if code, out := s.run("doctor", "--fix"); code != 0 {
			t.Errorf("killed before call %d: doctor --fix: exit %d: %s", n, code, out)
		}
		s.nothingUnfinished(n)
		s.settles(crashChunks)
	}
	t.Logf("%d of %d runs were unfinished", unfinished, len(points))
}

// nothingUnfinished checks what doctor says after --fix.
func (s *scenario) nothingUnfinished(n int) {
	s.t.Helper()
	cmd := exec.Command(s.program, "doctor", "--json")
	cmd.Env = s.env()
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("killed before call %d, fixed: doctor: %v\n%s", n, err, out)
	}
	var doc doctorFindings
	if err := json.Unmarshal(out, &doc); err != nil {
		s.t.Fatal(err)
	}
	for _, f := range doc.Findings {
		if f.Severity == "warning" || f.Severity == "problem" || f.Check == "leftovers" && f.Severity != "ok" {
			s.t.Errorf("killed before call %d, fixed: %+v", n, f)
		}
	}
}

type doctorFindings struct {
	Findings []struct{ Severity, Check, Path, Message string }
}
