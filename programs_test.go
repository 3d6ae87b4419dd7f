package main_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/tier"
)

// mostTestPrograms is how many test programs make test may link. Each costs 1 to 5
// CPU seconds before its first test runs, whatever has changed: a package whose
// tests need nothing that it keeps to itself is tested from the program of a
// neighbour (docs/dev/architecture.md, "How it is tested").
const mostTestPrograms = 30

// TestFewTestPrograms counts the packages that have tests, of those that make test
// runs.
func TestFewTestPrograms(t *testing.T) {
	tier.Rule(t)
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	recipe := regexp.MustCompile(`(?m)^test:.*\n\t.* test .* (\./\.\.\..*)$`).FindSubmatch(makefile)
	if recipe == nil {
		t.Fatal("make test runs no packages that this can read")
	}
	args := []string{"list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}"}
	out, err := exec.Command("go", append(args, strings.Fields(string(recipe[1]))...)...).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	programs := strings.Fields(string(out))
	if len(programs) < 10 {
		t.Fatalf("%v: this sees too little", programs)
	}
	if len(programs) > mostTestPrograms {
		t.Errorf("make test links %d test programs, more than %d:\n%s", len(programs), mostTestPrograms, strings.Join(programs, "\n"))
	}
}
