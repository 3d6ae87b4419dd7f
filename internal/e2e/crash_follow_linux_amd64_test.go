package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/crashloop"
	"github.com/sessctl/sessctl/internal/tier"
)

// An agent says one more thing while its session is archived, remembered and
// embedded: the run goes on with the longer log, and the copy, the old log and
// memory have all of it.
func TestCrashGrowthIsFollowed(t *testing.T) {
	tier.SkipSmoke(t, "it watches every call of four compactions")
	program := buildProgram(t)
	const late = `{"type":"message","id":"b0000001","parentId":"a0000017","timestamp":"2026-03-01T11:00:00.000Z","message":{"role":"assistant","content":[{"type":"text","text":"one more thing about the quince harvest"}],"stopReason":"stop"}}`
	for _, runtime := range []string{"openclaw", "pi"} {
		for _, before := range []string{"/memory/memory.db", "/journal/"} {
			t.Run(runtime+before, func(t *testing.T) {
				s := newScenario(t, program, runtime)
				said := false
				got, err := crashloop.Run(crashloop.Options{
					Args: append([]string{program}, append(s.args(), "--quiet-period", "0s")...), Env: s.env(), Dir: s.dir, Under: s.dir,
					Decide: func(c crashloop.Call) crashloop.Fault {
						if said || !s.archived() || !strings.Contains(c.Path, before) {
							return crashloop.Fault{}
						}
						said = true
						return crashloop.Fault{Hook: func() { s.append(late) }}
					},
				})
				if err != nil || got.Exit != 0 || !said {
					t.Fatalf("exit %d, %v, %v: %s", got.Exit, said, err, got.Output)
				}
				s.everyLineIsSomewhere(late)
				// pi finds a fresh session there, which is its header alone.
				if left, err := os.ReadFile(s.log); !os.IsNotExist(err) && strings.Count(string(left), "\n") != 1 {
					t.Fatalf("the log was not rotated: %v, %s", err, left)
				}
				if code, out := s.run("archives", "verify"); code != 0 {
					t.Fatalf("archives verify: exit %d: %s", code, out)
				}
				if code, out := s.run("recall", "--rank", "text", "quince harvest"); code != 0 || !strings.Contains(out, "quince") {
					t.Fatalf("recall: exit %d: %s", code, out)
				}
			})
		}
	}
}

// archived reports whether a copy of the log has its name already.
func (s *scenario) archived() bool {
	found, _ := filepath.Glob(filepath.Join(s.dir, "data/sessctl/archives/*.json")) // the pattern is right
	return len(found) > 0
}

func (s *scenario) append(line string) {
	f, err := os.OpenFile(s.log, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(line + "\n")
		_ = f.Close()
	}
	if err != nil {
		s.t.Error(err)
	}
}
