package cmd

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

// A run that is stopped has printed what it has done, and prints it once.
func TestResultsArePrintedWhenDone(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		var out bytes.Buffer
		a := testApp(&streams{Out: &out}, workspace.Run{})
		a.JSON = asJSON
		all := results{app: a}
		all.add(compact.NewResult(session.Ref{Agent: "one"}, compact.Compacted, ""))
		if printed := strings.Contains(out.String(), "one: compacted"); printed == asJSON {
			t.Fatalf("JSON %v: after the first session %q", asJSON, out.String())
		}
		all.add(compact.NewResult(session.Ref{Agent: "two"}, compact.Busy, "in use"))
		if err := all.finish(selection.CompactDocument{}, &failure.Outcome{Exit: failure.ExitPartly}); asJSON != strings.Contains(out.String(), `"sessions"`) || err == nil {
			t.Fatalf("JSON %v: %v, %q", asJSON, err, out.String())
		}
		for _, name := range []string{"one", "two"} {
			if n := strings.Count(out.String(), name); n != 1 {
				t.Errorf("JSON %v: %s is there %d times:\n%s", asJSON, name, n, out.String())
			}
		}
	}
}
