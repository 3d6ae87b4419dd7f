package facts_test

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/facts"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/agent"
	"github.com/sessctl/sessctl/pkg/session/annabelle"
	"github.com/sessctl/sessctl/pkg/session/claude"
	"github.com/sessctl/sessctl/pkg/session/openclaw"
	"github.com/sessctl/sessctl/pkg/session/pi"
)

// The floors that the rules are held to on our labelled sessions. What the
// figures were when this was written is in docs/fact-quality.md.
const (
	precisionFloor = 0.95
	recallFloor    = 0.85
)

// labelled is one session, and the facts that a person found in it.
type labelled struct {
	File    string  `json:"file"`
	Runtime string  `json:"runtime"`
	Set     string  `json:"set"`
	Facts   []label `json:"facts"`
}

type label struct {
	Kinds []string `json:"kinds"` // any of them is right
	Has   []string `json:"has"`   // words that its text must have
	Line  int      `json:"line"`
}

func (l label) fits(f facts.Fact) bool {
	missing := slices.ContainsFunc(l.Has, func(word string) bool { return !strings.Contains(strings.ToLower(f.Text), strings.ToLower(word)) })
	return !missing && l.Line == f.Line && slices.Contains(l.Kinds, string(f.Kind))
}

func storeOf(t *testing.T, runtime string) session.Store {
	t.Helper()
	root := t.TempDir()
	switch runtime {
	case "pi":
		return pi.Open(root)
	case "openclaw":
		return openclaw.Open(root, openclaw.Options{})
	case "annabelle":
		return annabelle.Open(root, annabelle.Options{})
	case "claude":
		return claude.Open(root)
	case "agent":
		return agent.Open(root, agent.Options{})
	}
	t.Fatalf("no runtime %q", runtime)
	return nil
}

func readLabels(t *testing.T) []labelled {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "labelled", "labels.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []labelled
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func window(t *testing.T, l labelled) *facts.Window {
	t.Helper()
	w, _, err := facts.Read(t.Context(), storeOf(t, l.Runtime), 0, func() (io.ReadCloser, error) {
		return os.Open(filepath.Join("testdata", "labelled", l.File))
	})
	if err != nil {
		t.Fatalf("%s: %v", l.File, err)
	}
	return w
}

// TestPrecision measures the rules on the labelled sessions: how many of the
// facts are right, and how many of those that are there were found.
func TestPrecision(t *testing.T) {
	type tally struct{ made, right, wanted int }
	sets := map[string]*tally{"a": {}, "b": {}, "c": {}, "all": {}}
	for _, l := range readLabels(t) {
		found, _ := facts.Offline(window(t, l).Messages(), facts.DefaultConfidence)
		left := slices.Clone(l.Facts)
		for _, f := range found {
			i := slices.IndexFunc(left, func(x label) bool { return x.fits(f) })
			if i >= 0 {
				left = slices.Delete(left, i, i+1)
			} else {
				t.Logf("%s line %d, wrong: %s %.2f %s", l.File, f.Line, f.Kind, f.Confidence, f.Text)
			}
		}
		for _, x := range left {
			t.Logf("%s line %d, missed: %v %v", l.File, x.Line, x.Kinds, x.Has)
		}
		for _, set := range []string{l.Set, "all"} {
			sets[set].made += len(found)
			sets[set].right += len(l.Facts) - len(left)
			sets[set].wanted += len(l.Facts)
		}
	}
	for _, set := range []string{"a", "b", "c", "all"} {
		s := sets[set]
		precision, recall := float64(s.right)/float64(s.made), float64(s.right)/float64(s.wanted)
		t.Logf("set %s: %d facts made, %d right (precision %.3f), %d to be found (recall %.3f)", set, s.made, s.right, precision, s.wanted, recall)
		if set == "all" && (precision < precisionFloor || recall < recallFloor) {
			t.Errorf("precision %.3f (floor %.2f), recall %.3f (floor %.2f)", precision, precisionFloor, recall, recallFloor)
		}
	}
}
