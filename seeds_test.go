package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/tier"
)

// TestSeeds: every requirement of the page about the seeds holds by a test that exists,
// or has its reason.
func TestSeeds(t *testing.T) {
	tier.Rule(t)
	page, err := os.ReadFile("docs/dev/seeds.md")
	if err != nil {
		t.Fatal(err)
	}
	known := writtenTests(t)
	problems, rows := unheld(string(page), known)
	for _, problem := range problems {
		t.Error(problem)
	}
	if rows < 80 {
		t.Errorf("only %d rows", rows)
	}
	for _, row := range []string{"| a | holds | `TestNobodyWrote` |", "| a | holds | nothing |", "| a | otherwise | |", "| a | perhaps | `TestSeeds` |", "| a | holds | `nobody.txtar` |"} {
		if problems, _ := unheld(row, known); len(problems) == 0 {
			t.Errorf("taken: %s", row)
		}
	}
}

// unheld are the rows that no test holds and that give no reason, and how many rows
// there are.
func unheld(page string, known map[string]bool) (problems []string, rows int) {
	named := regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w*|\\w+\\.txtar)`")
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 5 || strings.Trim(cells[2], " -") == "" {
			continue
		}
		rows++
		verdict, why := strings.TrimSpace(cells[2]), strings.TrimSpace(cells[3])
		tests := named.FindAllStringSubmatch(why, -1)
		if why == "" || verdict == "holds" && len(tests) == 0 || verdict != "holds" && verdict != "otherwise" && verdict != "not" && verdict != "untested" {
			problems = append(problems, "neither held nor explained: "+line)
		}
		for _, test := range tests {
			if !known[test[1]] {
				problems = append(problems, "there is no "+test[1])
			}
		}
	}
	return problems, rows
}

// writtenTests are the functions and the scripts that test.
func writtenTests(t *testing.T) map[string]bool {
	t.Helper()
	known := testNames(t)
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatal(scripts, err)
	}
	for _, script := range scripts {
		known[filepath.Base(script)] = true
	}
	return known
}
