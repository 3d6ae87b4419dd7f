package e2e_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/samples"
	"github.com/sessctl/sessctl/internal/tier"
)

// A stranger is a file that is none of a runtime's, and lies where it keeps its logs.
type stranger struct {
	name string
	text []byte
	of   string // the runtime whose it is, "" for a program that is not read
	said string // of it, "" of what is nobody's
}

// says are the words of which one is said of it.
func (s stranger) says() []string {
	return strings.Split(cmp.Or(s.said, "another program may have written it|not a known session format"), "|")
}

// defaults are the places at which runtimes keep a session by default, by the number
// of its directory, or of its agent, and its own. A runtime of which sessions lie in a
// database has none.
var defaults = map[string]func(w, i int) string{
	"openclaw": func(w, i int) string { return fmt.Sprintf(".openclaw/agents/a%d/sessions/%s.jsonl", w, uuid(i)) },
	"pi": func(w, i int) string {
		return fmt.Sprintf(".pi/agent/sessions/--w%d--/2026-02-01T10-00-00-000Z_%s.jsonl", w, uuid(i))
	},
	"omp": func(w, i int) string {
		return fmt.Sprintf(".omp/agent/sessions/-w%d/2026-02-01T10-00-00-000Z_%s.jsonl", w, uuid(i))
	},
	"agent": func(_, i int) string {
		return fmt.Sprintf(".agent/sessions/01JKTS6Q2N8R3Z5V7W9XYB%04d/session.jsonl", i)
	},
	"annabelle": func(w, i int) string { return fmt.Sprintf(".annabelle/sessions/a%d/%d.jsonl", w, i+1) },
	"macstats": func(_, i int) string {
		return fmt.Sprintf(".mac-stats/session/session-memory-%d-20260214-093015-x.md", i+1)
	},
	"codex": func(_, i int) string {
		return ".codex/sessions/2026/03/01/rollout-2026-03-01T10-00-00-" + uuid(i) + ".jsonl"
	},
	"claude": func(w, i int) string { return fmt.Sprintf(".claude/projects/-w%d/%s.jsonl", w, uuid(i)) },
	"gemini": func(w, i int) string {
		return fmt.Sprintf(".gemini/tmp/w%d/chats/session-2026-03-01T10-00-%s.jsonl", w, uuid(i)[:8])
	},
	"qwen": func(w, i int) string { return fmt.Sprintf(".qwen/projects/-w%d/chats/%s.jsonl", w, uuid(i)) },
	"cline": func(_, i int) string {
		return fmt.Sprintf(".cline/data/sessions/%[1]d_a/%[1]d_a.messages.json", 1795314328912+i)
	},
	"clinetasks": func(_, i int) string {
		return fmt.Sprintf(".config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks/%d/api_conversation_history.json", 1772100000000+i)
	},
	"copilot": func(_, i int) string { return ".copilot/session-state/" + uuid(i) + "/events.jsonl" },
	"cursor": func(w, i int) string {
		return fmt.Sprintf(".cursor/projects/home-w%[1]d/agent-transcripts/%[2]s/%[2]s.jsonl", w, uuid(i))
	},
	"kimi": func(w, i int) string {
		return fmt.Sprintf(".kimi-code/sessions/w%d/%s/agents/main/wire.jsonl", w, uuid(i))
	},
	"grok": func(w, i int) string { return fmt.Sprintf(".grok/sessions/%%2Fw%d/%s/updates.jsonl", w, uuid(i)) },
	"antigravity": func(_, i int) string {
		return ".gemini/antigravity-cli/brain/" + uuid(i) + "/.system_generated/logs/transcript_full.jsonl"
	},
	"droid": func(w, i int) string { return fmt.Sprintf(".factory/sessions/-home-w%d/%s.jsonl", w, uuid(i)) },
}

func uuid(i int) string { return fmt.Sprintf("%08x-2222-4333-8444-555555555555", 0x40000000+i) }

// reads are the runtimes that go on with logs of another one, of which they are made.
var reads = map[string][]string{"pi": {"openclaw"}, "omp": {"pi", "openclaw"}, "openclaw": {"pi"}}

// strangers are the beginnings of logs by which runtimes are told, each with what
// follows them, and three files that are nobody's.
func strangers() []stranger {
	message := `{"type":"message","id":"m%[1]d","parentId":"m%[2]d","timestamp":"2026-02-01T10:00:%02[3]d.000Z","message":{"role":"%[4]s","content":[{"type":"text","text":"%[5]s"}],"stopReason":"stop"}}`
	claude := `{"type":"%[4]s","uuid":"u%[1]d","parentUuid":"u%[2]d","sessionId":"s","timestamp":"2026-02-01T10:00:%02[3]d.000Z","message":{"role":"%[4]s","content":[{"type":"text","text":"%[5]s"}]}}`
	of := func(runtime, name, header, line, said string) stranger {
		text := strings.ReplaceAll(header, `"id":"a"`, `"id":"`+name+`-1"`)
		for i := 1; i <= 40; i++ {
			text += "\n" + fmt.Sprintf(strings.ReplaceAll(line, `"sessionId":"s"`, `"sessionId":"`+name+`-1"`), i, i-1, i%60, []string{"assistant", "user"}[i%2], fmt.Sprintf("Line %d about the flour and the trays.", i))
		}
		return stranger{name: name, text: []byte(strings.TrimPrefix(text, "\n") + "\n"), of: runtime, said: said}
	}
	return []stranger{
		of("droid", "droid", `{"type":"session_start","id":"a","title":"x","version":2,"cwd":"/w"}`, message, "session of droid"),
		of("exchange", "trace", `{"type":"session","harness":"millbot","id":"a","name":"Spelt"}`, message, "format sts-trace"),
		of("pi", "pi", `{"type":"session","version":3,"id":"a","timestamp":"2026-02-01T10:00:00.000Z","cwd":"/w"}`, message, "session of pi"),
		of("omp", "omp", `{"type":"title","v":1,"title":"","updatedAt":"2026-02-01T10:00:00.000Z","pad":" "}`+"\n"+`{"type":"session","version":3,"id":"a","timestamp":"2026-02-01T10:00:00.000Z","cwd":"/w"}`, message, "session of omp"),
		of("codex", "codex", `{"timestamp":"2026-02-01T10:00:00.000Z","type":"session_meta","payload":{"id":"a","cwd":"/w"}}`,
			`{"timestamp":"2026-02-01T10:00:%02[3]d.000Z","type":"response_item","payload":{"type":"message","id":"%[1]d%[2]d","role":"%[4]s","content":[{"type":"input_text","text":"%[5]s"}]}}`, "session of codex"),
		of("claude", "claude", "", claude, "session of claude"),
		of("qwen", "qwen", "", strings.Replace(claude, `"sessionId"`, `"provenance":{"kind":"human"},"sessionId"`, 1), "session of qwen"),
		of("gemini", "gemini", `{"sessionId":"gemini-1","projectHash":"b","startTime":"2026-02-01T10:00:00.000Z","lastUpdated":"2026-02-01T10:00:00.000Z"}`,
			`{"id":"m%[1]d-%[2]d","timestamp":"2026-02-01T10:00:%02[3]d.000Z","type":"%[4]s","content":"%[5]s"}`, "session of gemini"),
		of("copilot", "copilot", `{"type":"session.start","id":"a","timestamp":"2026-02-01T10:00:00.000Z","parentId":null,"data":{"sessionId":"a"}}`,
			`{"type":"%[4]s.message","id":"%[1]d","parentId":"%[2]d","timestamp":"2026-02-01T10:00:%02[3]d.000Z","data":{"content":"%[5]s"}}`, "session of copilot"),
		of("agent", "agent", `{"recordType":"message","schemaVersion":1,"seq":0,"role":"user","content":"x"}`,
			`{"recordType":"message","schemaVersion":1,"seq":%[1]d,"timestamp":"2026-02-01T10:00:%02[3]d.000Z","role":"%[4]s","content":"%[5]s","x":%[2]d}`, "session of agent"),
		of("annabelle", "annabelle", `{"type":"header","chatId":"1","createdAt":1770000000000}`,
			`{"type":"turn","timestamp":%[1]d,"x":%[2]d%[3]d,"messages":[{"role":"%[4]s","content":"%[5]s"}]}`, "session of annabelle"),
		of("macstats", "macstats", "## User\n\nhi\n", "## User\n\n%[5]s%.0[1]d%.0[2]d%.0[3]d%.0[4]s\n\n## Assistant\n\nYes.\n", "session of macstats"),
		of("", "unknown", `{"type":"session","version":3,"id":"a","timestamp":"2026-02-01T10:00:00.000Z","cwd":"/w"}`+"\n"+fmt.Sprintf(message, 1, 0, 1, "user", "Count the sacks."),
			`{"type":"mill_%[4]s","id":"m%[1]d","parentId":"m%[2]d","n":%[3]d,"text":"%[5]s"}`, "session of pi|another program may have written it"),
		of("", "notes", "", `{"note":"%[5]s","n":%[1]d,"m":%[2]d,"s":%[3]d,"who":"%[4]s"}`, ""),
		of("", "headerless", "", `{"kind":"x","id":"m%[1]d","parentId":"m%[2]d","n":%[3]d,"message":{"role":"%[4]s","text":"%[5]s"}}`, ""),
		of("", "prose", "# Diary", "%[5]s%.0[1]d%.0[2]d%.0[3]d%.0[4]s", ""),
	}
}

// known are the samples beside the module that are of one runtime, or of none that is read.
func known(t *testing.T) (all []stranger) {
	for dir, of := range map[string]string{
		"samples/agent-ulid": "agent", "samples/annabelle": "annabelle", "samples/claude-code": "claude", "samples/codex": "codex", "samples/gemini-cli": "gemini",
		"samples/mac-stats": "macstats", "samples/openclaw": "openclaw", "samples/pi": "pi", "samples-unread": "",
		"samples-newer/claude-code-2.1.330": "claude", "samples-newer/cline-3.0.65": "cline", "samples-newer/codex-0.169.0": "codex", "samples-newer/copilot-1.0.102": "copilot",
		"samples-newer/gemini-cli-0.61.0": "gemini", "samples-newer/omp-18.2.3": "omp", "samples-newer/openclaw-2026.7.1": "openclaw", "samples-newer/openclaw-2026.9.6": "openclaw",
		"samples-newer/pi-0.73.1": "pi", "samples-newer/qwen-0.24.4": "qwen",
	} {
		root := samples.Beside(t, dir)
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || slices.Contains([]string{".py", ".sqlite", ".db", ".jpg"}, filepath.Ext(path)) {
				return err
			}
			text, err := os.ReadFile(path)
			if len(bytes.TrimSpace(text)) > 0 {
				all = append(all, stranger{name: path, text: text, of: of})
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// Whatever lies where a runtime keeps its sessions by default, no command changes a
// byte of what is not this runtime's, and one that is asked for it by name says what
// it is.
func TestStrangersStay(t *testing.T) {
	program := buildProgram(t)
	for runtime := range defaults {
		for _, apart := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s apart %v", runtime, apart), func(t *testing.T) {
				t.Parallel()
				h := invade(t, program, runtime, strangers(), apart)
				h.stay(t)
				if apart {
					h.areNamed(t)
				}
			})
		}
	}
}

// The same of every file that is beside the module.
func TestSamplesOfOthersStay(t *testing.T) {
	tier.SkipSmoke(t, "it runs every command in 14 homes of 300 files, and each night in 28")
	all := known(t)
	program := buildProgram(t)
	for k, runtime := range slices.Sorted(maps.Keys(defaults)) {
		for n, apart := range []bool{true, false} {
			if !tier.Long() && k%2 != n {
				continue
			}
			t.Run(fmt.Sprintf("%s apart %v", runtime, apart), func(t *testing.T) {
				t.Parallel()
				invade(t, program, runtime, all, apart).stay(t)
			})
		}
	}
}

// invaded is a home with strangers in the places of a runtime.
type invaded struct {
	program, home, runtime string
	all                    []stranger
	paths                  []string
}

// invade makes a home. The strangers lie each in a directory of its own, or together in
// one: of those one is the newest, which stays for another reason.
func invade(t *testing.T, program, runtime string, all []stranger, apart bool) *invaded {
	t.Helper()
	h := &invaded{program: program, home: t.TempDir(), runtime: runtime}
	for _, s := range all {
		if s.of == runtime || slices.Contains(reads[runtime], s.of) {
			continue
		}
		i, w := len(h.all), 0
		if apart {
			w = i
		}
		path := filepath.Join(h.home, defaults[runtime](w, i))
		h.all, h.paths = append(h.all, s), append(h.paths, path)
		ancient(t, path, s.text)
		switch {
		case runtime == "openclaw" && apart: // together, no index names them
			ancient(t, filepath.Join(filepath.Dir(path), "sessions.json"), fmt.Appendf(nil, `{"agent:a%d:main":{"sessionId":%q,"updatedAt":1}}`, w, uuid(i)))
		case runtime == "openclaw":
			ancient(t, filepath.Join(filepath.Dir(path), "sessions.json"), []byte("{}"))
		case runtime == "agent":
			ancient(t, filepath.Join(filepath.Dir(path), "metadata.json"), []byte(`{"messageCount":3}`))
		}
	}
	return h
}

// stay runs every command that changes files over all of them.
func (h *invaded) stay(t *testing.T) {
	t.Helper()
	clean := []string{"clean", "--max-age", "25h", "--force", "--yes"}
	changing := [][]string{clean, {"archive", "--all", "--remember"}}
	if !tier.Smoke() {
		changing = append(changing, []string{"shrink", "sessions", "journal", "deleted", "vacuum"}, []string{"run", "nightly"})
	}
	for _, strategy := range strategies() {
		changing = append(changing, append([]string{"compact", "--all", "--force"}, by(strategy)...))
	}
	for _, args := range append(changing, clean) {
		said, exit := runIn(t, h.program, h.home, args...)
		if !slices.Contains([]int{0, 1, 3, 75}, exit) || strings.Contains(said, "panic") {
			t.Errorf("%v: exit %d: %s", args, exit, said)
		}
		h.check(t, args)
	}
}

// check fails if a byte of them is not what it was.
func (h *invaded) check(t *testing.T, after []string) {
	t.Helper()
	for i, s := range h.all {
		if now, err := os.ReadFile(h.paths[i]); err != nil || !bytes.Equal(now, s.text) {
			t.Errorf("%v has changed %s in a place of %s: %v", after, s.name, h.runtime, err)
			ancient(t, h.paths[i], s.text)
		}
	}
}

// areNamed asks for each of them by name.
func (h *invaded) areNamed(t *testing.T) {
	t.Helper()
	named := []string{""}
	if !tier.Smoke() {
		named = strategies()
	}
	listed := sessionsAt(t, h.program, h.home)
	for i, s := range h.all {
		id := listed[h.paths[i]]
		if id == "" {
			continue // what is not listed cannot be named
		}
		for _, strategy := range named {
			args := append([]string{"compact", "--session", id, "--force"}, by(strategy)...)
			said, exit := runIn(t, h.program, h.home, args...)
			h.check(t, args)
			if exit != 1 {
				t.Errorf("%s in a place of %s: %v: exit %d: %s", s.name, h.runtime, args, exit, said)
			}
			if strategy == "" && !slices.ContainsFunc(s.says(), func(words string) bool { return strings.Contains(said, words) }) {
				t.Errorf("%s in a place of %s: %v does not say %q: %s", s.name, h.runtime, args, s.says(), said)
			}
		}
	}
}

// The database of another program is not changed either, wherever it lies.
func TestDatabasesOfOthersStay(t *testing.T) {
	kinds := map[string]string{
		"samples-newer/opencode-1.18.33/.local/share/opencode/opencode.db": "opencode", "samples-newer/kilo-7.7.7/.local/share/kilo/kilo.db": "kilo",
		"samples-newer/hermes-0.16.0/.hermes/state.db": "hermes", "samples-unread/crush/home/mill/.crush/crush.db": "", "samples-unread/zed/home/.local/share/zed/threads/threads.db": "",
		"samples/openclaw/derived-sqlite-2026.8/agents/main/agent/openclaw-agent.sqlite": "openclaw",
	}
	program := buildProgram(t)
	for runtime, place := range map[string]string{
		"opencode": ".local/share/opencode/opencode.db", "kilo": ".local/share/kilo/kilo.db", "hermes": ".hermes/state.db", "goose": ".local/share/goose/sessions/sessions.db",
		"openclaw": ".openclaw/agents/main/agent/openclaw-agent.sqlite", "cline": ".cline/data/sessions/sessions.db",
	} {
		for name, of := range kinds {
			if pair := runtime + of; of == runtime || pair == "kiloopencode" || pair == "opencodekilo" {
				continue // Kilo is made of OpenCode
			}
			t.Run(runtime+" "+filepath.Base(name), func(t *testing.T) {
				t.Parallel()
				text, err := os.ReadFile(samples.Beside(t, name))
				if err != nil {
					t.Fatal(err)
				}
				home := t.TempDir()
				h := &invaded{program: program, home: home, runtime: runtime, all: []stranger{{name: name, text: text}}, paths: []string{filepath.Join(home, place)}}
				ancient(t, h.paths[0], text)
				for _, args := range [][]string{
					{"shrink", "sessions", "journal", "deleted", "vacuum", "--older-than", "25h"}, {"compact", "--all", "--force"},
					{"clean", "--max-age", "25h", "--force", "--yes"}, {"archive", "--all", "--remember"},
				} {
					said, exit := runIn(t, program, home, args...)
					if !slices.Contains([]int{0, 1, 3, 75}, exit) || strings.Contains(said, "panic") {
						t.Errorf("%v: exit %d: %s", args, exit, said)
					}
					h.check(t, args)
				}
			})
		}
	}
}

// A stranger that lies where a log was is replaced by none: not by an undo, and not
// by the archived log.
func TestStrangersAreNotReplaced(t *testing.T) {
	program := buildProgram(t)
	own, droid := map[string]stranger{}, strangers()[0]
	for _, s := range strangers() {
		own[s.name] = s
	}
	own["openclaw"] = own["pi"]
	for _, runtime := range []string{"openclaw", "pi", "omp", "agent", "annabelle", "macstats"} {
		t.Run(runtime, func(t *testing.T) {
			t.Parallel()
			h := invade(t, program, runtime, []stranger{{name: "own", text: own[runtime].text}}, true)
			said, exit := runIn(t, program, h.home, "compact", "--all", "--force", "--strategy", "rotate", "--json")
			var done struct {
				Sessions []struct {
					Outcome, Receipt string
					Archive          struct{ ID string }
				}
			}
			if err := json.Unmarshal([]byte(said[strings.Index(said, "{"):]), &done); err != nil || exit != 0 || len(done.Sessions) != 1 || done.Sessions[0].Outcome != "compacted" {
				t.Fatalf("exit %d: %s", exit, said)
			}
			h.all = []stranger{droid}
			for _, args := range [][]string{
				{"undo", done.Sessions[0].Receipt, "--force"},
				{"restore", done.Sessions[0].Archive.ID, "--force"},
			} {
				ancient(t, h.paths[0], droid.text)
				said, exit := runIn(t, program, h.home, args...)
				h.check(t, args)
				if exit != 1 || !strings.Contains(said, droid.said) {
					t.Errorf("%v: exit %d: %s", args, exit, said)
				}
			}
		})
	}
}

// strategies are all by which a session can be compacted, "" for the runtime's own.
func strategies() []string { return []string{"", "overlay", "rotate", "rewrite", "trim"} }

// by are the options that choose a strategy, "" the one of the runtime.
func by(strategy string) []string {
	switch strategy {
	case "":
		return nil
	case "overlay", "rewrite":
		return []string{"--strategy", strategy, "--keep-recent-tokens", "25"}
	}
	return []string{"--strategy", strategy}
}

// ancient plants a file that nobody has used for long.
func ancient(t *testing.T, path string, text []byte) {
	t.Helper()
	plant(t, path, text)
	old := time.Now().Add(-40 * 24 * time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
}

// runIn runs the program in a home, and returns what it says and its exit code.
func runIn(t *testing.T, program, home string, args ...string) (said string, exit int) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	if _, ok := err.(*exec.ExitError); err != nil && !ok {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// sessionsAt are the ids of the sessions of a home, by the paths of their logs.
func sessionsAt(t *testing.T, program, home string) map[string]string {
	t.Helper()
	cmd := exec.Command(program, "sizes", "--all", "--json")
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	out, err := cmd.Output()
	var listed struct {
		Sessions []struct{ Session, Path string }
	}
	if jsonErr := json.Unmarshal(out, &listed); jsonErr != nil {
		t.Fatal(err, jsonErr)
	}
	ids := map[string]string{}
	for _, s := range listed.Sessions {
		ids[s.Path] = s.Session
	}
	return ids
}
