package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/tier"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/spf13/cobra"
)

// advisedWords are sessctl and what follows in a hint up to the end of a clause.
var advisedWords = regexp.MustCompile("sessctl((?: [^\\s;,()`]+)+)")

// toFillIn is what a person has to replace in a hint, such as NAME.
var toFillIn = regexp.MustCompile("^[A-Z][A-Z-]*$")

// shortReceipt is the end of a receipt's id, see selection.ShortReceipt.
var shortReceipt = regexp.MustCompile("^[0-9a-hjkmnp-tv-z]{8}$")

// advised are the commands that a text tells a person to run as they stand: the name
// of a command with its flags and their values, and an id, which has digits.
func advised(text string) (commands []string) {
	for _, clause := range strings.Split(text, "sessctl ")[1:] {
		m := advisedWords.FindStringSubmatch("sessctl " + clause)
		if m == nil {
			continue
		}
		words := strings.Fields(m[1])
		c, rest, err := CommandTree().Find(words)
		if err != nil || !c.HasParent() || !c.Runnable() {
			continue
		}
		end := len(words) - len(rest)
		if len(rest) > 0 && (c.Name() == "run" || c.Name() == "undo" && shortReceipt.MatchString(rest[0])) {
			end++ // a profile; a receipt, of which one in twenty has no digit
		}
		for end < len(words) && (strings.HasPrefix(words[end], "-") || strings.ContainsAny(words[end], "0123456789") || strings.HasPrefix(words[end-1], "--") && takesValue(c, words[end-1])) {
			end++
		}
		if !slices.ContainsFunc(words[:min(end+1, len(words))], toFillIn.MatchString) {
			commands = append(commands, strings.Join(words[:end], " "))
		}
	}
	return commands
}

// takesValue reports whether the value of a flag is the next word.
func takesValue(c *cobra.Command, flag string) bool {
	f := c.Flag(strings.TrimPrefix(flag, "--"))
	return f != nil && f.NoOptDefVal == ""
}

// looking are the commands that tell what is wrong. That they find it is no mistake
// of the hint.
func looking(line string) bool {
	return slices.Contains([]string{"doctor", "archives verify", "memory verify", "events test"}, line)
}

// hintHome is a home, and what is asked on it.
type hintHome struct {
	home func(t *testing.T)
	asks []string
	want []string // hints that must be among them
}

// check runs what the answers advise.
func (c hintHome) check(t *testing.T) {
	c.home(t)
	var hints []string
	for _, ask := range c.asks {
		out, errs, _ := runMain(append(strings.Fields(ask), "--allow-root")...)
		hints = append(hints, advised(out+"\n"+errs)...)
	}
	slices.Sort(hints)
	hints = slices.Compact(hints)
	for _, want := range c.want {
		if !slices.Contains(hints, want) {
			t.Errorf("%q is not advised, only %q", want, hints)
		}
	}
	for _, hint := range hints {
		out, errs, code := runMain(append(strings.Fields(hint), "--allow-root")...)
		some := code == 75 && strings.Contains(out, ": compacted") && strings.Contains(out, ": busy") // what was due is done
		if code != 0 && !looking(hint) && !some && !c.waits(hint, hints, out+errs) {
			t.Errorf("sessctl %s: exit code %d\n%s%s", hint, code, out, errs)
		}
	}
}

// waits reports whether a hint cannot end with 0 yet because of something that is not
// in the hands of sessctl, and which another hint tells of.
func (c hintHome) waits(hint string, hints []string, said string) bool {
	told := func(by string) (string, bool) {
		out, errs, code := runMain(append(strings.Fields(by), "--allow-root")...)
		return out + errs, code != 0 && slices.Contains(hints, by) || by == "doctor" && slices.Contains(c.asks, by)
	}
	switch hint {
	case "events retry":
		_, refused := told("events test")
		return refused
	case "memory reindex", "memory reindex --pending":
		found, asked := told("doctor")
		return asked && strings.Contains(found, "cannot serve")
	}
	isStuck := strings.Contains(said, "is set aside") || strings.Contains(said, "an earlier change of this session is not finished")
	return isStuck && slices.Contains(hints, "doctor --give-up "+begunRun)
}

// A hint is tried: what a command advises on a home ends with 0 on that home.
func TestHintsWork(t *testing.T) {
	all := brokenTurnsOfAll()
	openclaw, copilot := all[session.RuntimeOpenClaw], all[session.RuntimeCopilot]
	for name, c := range map[string]hintHome{
		"a session that died in its turn": {
			home: func(t *testing.T) { openclaw.home(t, "question", 30*24*time.Hour) },
			asks: []string{"monitor", "doctor", "report", "sizes", "compact --all --dry-run"},
			want: []string{"compact --runtime openclaw --agent coordinator", "compact --all"},
		},
		"a session in its turn": {
			home: func(t *testing.T) { openclaw.home(t, "question", 2*time.Hour) },
			asks: []string{"monitor", "doctor", "report", "sizes", "compact --all", "compact --agent coordinator"},
		},
		"a session that is due": {
			home: func(t *testing.T) { openclaw.home(t, "", 30*24*time.Hour) },
			asks: []string{"monitor", "doctor", "report", "compact --all --dry-run"},
			want: []string{"compact --runtime openclaw --agent coordinator", "compact --all"},
		},
		"a lock that nobody has": {
			home: func(t *testing.T) {
				lock := filepath.Join(filepath.Dir(copilot.home(t, "", 2*time.Hour)), "inuse.999999999.lock")
				must(t, os.WriteFile(lock, nil, 0o600))
			},
			asks: []string{"monitor", "doctor", "report", "compact --all"},
		},
		"nothing to cut away": {
			home: func(t *testing.T) { all[session.RuntimeAgent].home(t, "", 30*24*time.Hour) },
			asks: []string{"compact --agent agent --force", "monitor", "report"},
			want: []string{"archive --session 01JKTS6Q2N8R3Z5V7W9XYB4CDE --remember"},
		},
		"nothing remembered yet": {
			home: func(t *testing.T) { openclaw.home(t, "", 30*24*time.Hour) },
			asks: []string{"recall port", "extract-facts --all --dry-run", "log", "archives list", "usage", "memory stats"},
		},
		"a memory that is lost": {
			home: func(t *testing.T) {
				openclaw.home(t, "", 30*24*time.Hour)
				succeed(t, "compact --all")
				must(t, os.RemoveAll(filepath.Join(os.Getenv("HOME"), ".local/share/sessctl/memory")))
			},
			asks: []string{"monitor", "doctor", "report", "recall port"},
			want: []string{"memory reindex --from-archives"},
		},
		"compacted": {
			home: func(t *testing.T) {
				openclaw.home(t, "question", 30*24*time.Hour)
				succeed(t, "compact --all")
			},
			asks: []string{"monitor", "doctor", "report", "log", "compact --all", "compact --agent coordinator"},
		},
		"a run that is overdue": {
			home: func(t *testing.T) {
				openclaw.home(t, "question", 30*24*time.Hour)
				succeed(t, "run nightly")
				runs, err := filepath.Glob(filepath.Join(os.Getenv("HOME"), ".local/share/sessctl/runs/*.json"))
				if err != nil || len(runs) != 1 {
					t.Fatal(runs, err)
				}
				year := strings.NewReplacer(time.Now().UTC().Format("2006-"), "2025-")
				text, err := os.ReadFile(runs[0])
				must(t, err)
				must(t, os.WriteFile(runs[0], []byte(year.Replace(string(text))), 0o600))
			},
			asks: []string{"monitor", "doctor", "report", "log --runs"},
			want: []string{"log", "run nightly"},
		},
		"an archive that is damaged": {
			home: func(t *testing.T) {
				openclaw.home(t, "", 30*24*time.Hour)
				succeed(t, "compact --all")
				archives, err := filepath.Glob(filepath.Join(os.Getenv("HOME"), ".openclaw/session_archive/coordinator/*.jsonl"))
				if err != nil || len(archives) == 0 {
					t.Fatal(archives, err)
				}
				must(t, os.Truncate(archives[0], 100))
			},
			asks: []string{"monitor", "doctor", "report", "log", "compact --all"},
			want: []string{"archives verify"},
		},
		"several sessions of one agent": {
			home: func(t *testing.T) { openclaw.home(t, "", 30*24*time.Hour) },
			asks: []string{"compact --agent coordinato", "compact --session 6", "archives show 1", "compact", "log --agent x", "pin", "restore 9"},
		},
		"logs that their runtime deletes soon": {
			home: func(t *testing.T) { claudePurge(t) },
			asks: []string{"monitor", "doctor", "report", "sizes"},
			want: []string{"archive --runtime claude --agent work-bakery"},
		},
	} {
		t.Run(name, c.check)
	}
	for name, c := range hintHomesThatFailed(openclaw) {
		t.Run(name, c.check)
	}
	for runtime, b := range all {
		for end := range b.ends {
			if tier.Smoke() && end != "torn" {
				continue // make test-faults tries all of them
			}
			for _, age := range []time.Duration{20 * time.Minute, 30 * 24 * time.Hour} {
				t.Run(fmt.Sprintf("%s/%s/%s", runtime, end, age), hintHome{
					home: func(t *testing.T) {
						b.home(t, end, age)
						t.Setenv("SESSCTL_COMPACTION_THRESHOLD", "10")
					},
					asks: []string{"monitor", "doctor", "report", "sizes", "compact --all --dry-run"},
				}.check)
			}
		}
	}
}

func succeed(t *testing.T, line string) {
	t.Helper()
	if out, errs, code := runMain(append(strings.Fields(line), "--allow-root")...); code != 0 {
		t.Fatalf("sessctl %s: exit code %d\n%s%s", line, code, out, errs)
	}
}

// claudePurge is a home with a log that Claude Code deletes in some days.
func claudePurge(t *testing.T) {
	t.Helper()
	b := brokenTurns{
		files: map[string]string{".claude/projects/-work-bakery/45b855fd-82b2-4a6a-a585-f64ebc0e1d34.jsonl": `{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"45b855fd-82b2-4a6a-a585-f64ebc0e1d34","timestamp":"2026-05-08T10:00:00.000Z","message":{"role":"user","content":"Which bread is for Monday?"}}` + "\n" +
			`{"type":"assistant","uuid":"u2","parentUuid":"u1","sessionId":"45b855fd-82b2-4a6a-a585-f64ebc0e1d34","timestamp":"2026-05-08T10:01:00.000Z","message":{"id":"m1","role":"assistant","model":"m","content":[{"type":"text","text":"Rye."}],"stop_reason":"end_turn","usage":{"input_tokens":10,"output_tokens":2}}}` + "\n"},
		log: ".claude/projects/*/*.jsonl",
	}
	b.home(t, "", 28*24*time.Hour)
}

// The commands in some hints.
func TestAdvised(t *testing.T) {
	for text, want := range map[string][]string{
		"hint: sessctl archive --runtime claude --agent work-bakery":                                  {"archive --runtime claude --agent work-bakery"},
		"sessctl doctor says whether it answers; sessctl memory reindex --pending tries again":        {"doctor", "memory reindex --pending"},
		"compact a session first: sessctl compact --agent NAME":                                       nil,
		"make room; sessctl archives prune and sessctl clean say what may go":                         {"archives prune", "clean"},
		"as it is: sessctl archive --session 01JKTS --remember archives and remembers it":             {"archive --session 01JKTS --remember"},
		"only claude makes its sessions smaller; sessctl compact --runtime claude --agent x archives": {"compact --runtime claude --agent x"},
		"sessctl undo 9k2x7q4m":                             {"undo 9k2x7q4m"},
		"sessctl undo ID reverses a compaction":             nil,
		"another sessctl is working on this data directory": nil,
	} {
		if got := advised(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
