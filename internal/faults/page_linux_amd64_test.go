package faults_test

import (
	"os"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/faults"
)

// The page about reliability names every row of the table: with its figures, or
// among those that came after them.
func TestThePageNamesEveryRow(t *testing.T) {
	page, err := os.ReadFile("../../docs/dev/reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range faults.Commands() {
		if !strings.Contains(string(page), "\n| "+c.Name+" |") {
			t.Errorf("docs/dev/reliability.md does not name the row %q", c.Name)
		}
	}
}
