package e2e_test

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/crashloop"
)

// Doctor changes nothing, whatever state a killed run has left: not one
// mutating call. What it says is unfinished, doctor --fix finishes.
func TestDoctorMakesNoMutatingCall(t *testing.T) {
	program := buildProgram(t)
	total := len(newScenario(t, program, "openclaw").trace(false, nil).Calls)
	unfinished := 0
	for n := 1; n <= total; n += stride(total, 12) {
		s := newScenario(t, program, "openclaw")
		s.trace(false, at(n, crashloop.Fault{Kill: true}))
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
		}
		if code, out := s.run("doctor", "--fix"); code != 0 {
			t.Errorf("killed before call %d: doctor --fix: exit %d: %s", n, code, out)
		}
		s.nothingUnfinished(n)
		s.settles(crashChunks)
	}
	if unfinished == 0 {
		t.Error("no run was ever seen unfinished: the test sees too little")
	}
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
