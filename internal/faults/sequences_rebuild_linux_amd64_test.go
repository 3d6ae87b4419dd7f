package faults

import (
	"cmp"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/tier"
	"pgregory.net/rapid"
)

// After any commands, memory reindex --from-archives raises no exit code of the commands
// that judge: what remembering stored, what a rebuild makes of it and what verify expects
// are one thing, also for what was forgotten, pruned, cut under another limit or grown by
// half a chunk.
func TestRebuildRaisesNoAlarm(t *testing.T) {
	program := BuiltProgram(t)
	choice := map[string]string{"rapid.checks": "2", "rapid.steps": "10", "rapid.seed": "3", "rapid.nofailfile": "true"}
	runtimes := []string{"agent", "pi", "openclaw"}
	switch {
	case tier.Long():
		choice["rapid.checks"], choice["rapid.steps"] = "60", "20"
		if seed := tier.Seed(); seed != "" {
			choice["rapid.seed"] = strconv.FormatUint(uint64(draw(seed, "rebuild")), 10)
		}
	case !tier.Smoke():
		choice["rapid.checks"], choice["rapid.steps"] = "10", "14"
	default:
		runtimes = runtimes[:1]
	}
	flag.Visit(func(f *flag.Flag) { delete(choice, f.Name) })
	for name, value := range choice {
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	for _, runtime := range runtimes {
		t.Run(runtime, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) { newSequence(t, program, runtime).playRebuilds() })
		})
	}
}

// playRebuilds is a sequence with growth and rebuilds between its commands.
func (s *sequence) playRebuilds() {
	limited := filepath.Join(s.home.Dir, "limited.yaml")
	s.must(os.WriteFile(limited, []byte("memory: {output_limit: 30}\n"), 0o600))
	grow := func(t *rapid.T) {
		s.append(t, s.live())
		s.ready()
		s.must(s.home.must([]int{0, 3}, "archive", "--all", "--remember"))
	}
	s.t.Repeat(map[string]func(*rapid.T){
		"grow": grow, "grow again": grow,
		"prune": func(t *rapid.T) {
			s.run(strings.Fields("archives prune --max-age 0s --force --keep 0 --yes --grace 0s")...)
		},
		"forget":  func(t *rapid.T) { s.forget(t) },
		"limit":   func(t *rapid.T) { s.rebuild("--config", limited) },
		"command": func(t *rapid.T) { s.run(s.draw(t)...) },
		"rebuild": func(t *rapid.T) { s.rebuild() },
	})
	s.rebuild()
}

// forget removes everything, or one message of those that were said last.
func (s *sequence) forget(t *rapid.T) {
	if n := rapid.IntRange(0, 6).Draw(t, "back"); n > 0 {
		s.run("memory", "forget", "--text", "message "+strconv.Itoa(s.written-n)+" about", "--yes")
		return
	}
	s.run("memory", "forget", "--agent", cmp.Or(s.agent(), "a"), "--yes")
}

// judged are the exit codes of the commands that judge.
func (s *sequence) judged() (codes []int, said string) {
	for _, judge := range []string{"archives verify", "memory verify", "doctor"} {
		code, out, err := s.home.Run(strings.Fields(judge)...)
		s.must(err)
		codes, said = append(codes, code), said+judge+":\n"+out
	}
	return codes, said
}

// rebuild makes memory again, and compares what is said of it with what was said before.
func (s *sequence) rebuild(options ...string) {
	s.ready()
	before, _ := s.judged()
	s.run(append([]string{"memory", "reindex", "--from-archives"}, options...)...)
	after, said := s.judged()
	if slices.ContainsFunc([]int{0, 1, 2}, func(i int) bool { return after[i] > before[i] }) {
		s.t.Fatalf("memory reindex --from-archives raised the exit codes %v to %v:\n%.2000s", before, after, said)
	}
}
