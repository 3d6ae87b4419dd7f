package cmd

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/tier"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

// brokenTurns are a home with one session of a runtime, and what the end of its log
// is if its turn was broken off: in a question, in the call of a tool, or in a line.
type brokenTurns struct {
	sample     string            // below testdata, "" for none
	to         string            // where in the home it goes
	files      map[string]string // beside it
	log        string            // of the session, a pattern below the home
	more       string            // behind what the sample has of it
	strategies []session.Strategy
	ends       map[string]string // by what they are
}

// piEnds are the ends of a log of pi's format behind the entry with an id.
func piEnds(parent string) map[string]string {
	entry := `{"type":"message","id":"de000001","parentId":"` + parent + `","timestamp":"2026-05-08T10:00:00.000Z","message":`
	return map[string]string{
		"question": entry + `{"role":"user","content":[{"type":"text","text":"Are you there?"}],"timestamp":1778234400000}}` + "\n",
		"call": entry + `{"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"toolCall","id":"dead1","name":"bash","arguments":{"command":"ls"}}],` +
			`"api":"a","provider":"p","model":"m","usage":{"input":900,"output":9,"cacheRead":0,"cacheWrite":0,"totalTokens":909},"stopReason":"toolUse","timestamp":1778234400000}}` + "\n",
		"torn": `{"type":"message","id":"de000001","par`,
	}
}

// piExchange is a question and its answer behind the last entry of a log.
func piExchange() string {
	const entry = `{"type":"message","id":%q,"parentId":%q,"timestamp":"2026-05-08T09:00:00.000Z","message":{"role":%q,"content":[{"type":"text","text":%q}],` +
		`"api":"a","provider":"p","model":"m","stopReason":"stop","timestamp":1778230800000}}` + "\n"
	return fmt.Sprintf(entry, "a0000001", "LAST", "user", said("Bed", 1)) + fmt.Sprintf(entry, "a0000002", "a0000001", "assistant", said("Row", 1))
}

// said repeats a sentence with a number in it, so that there is something to cut away.
func said(of string, n int) string {
	var text strings.Builder
	for i := range 30 {
		fmt.Fprintf(&text, "%s %d.%d is looked at on a day of its own. ", of, n, i)
	}
	return text.String()
}

func lines(head string, n int, line func(i int) string) string {
	text := head
	for i := range n {
		text += line(i)
	}
	return text
}

func brokenTurnsOfAll() map[string]brokenTurns {
	return map[string]brokenTurns{
		session.RuntimeOpenClaw: {
			sample: "sample/.openclaw", to: ".openclaw", log: ".openclaw/agents/coordinator/sessions/600fa7f5*.jsonl",
			strategies: []session.Strategy{session.StrategyRotate, session.StrategyOverlay}, ends: piEnds("013e5996"),
		},
		session.RuntimePi: {
			sample: "sample/.pi", to: ".pi", log: ".pi/agent/sessions/*/*.jsonl",
			strategies: []session.Strategy{session.StrategyRotate, session.StrategyOverlay}, ends: piEnds("LAST"),
		},
		session.RuntimeOMP: {
			sample: "omp", to: ".", log: ".omp/agent/sessions/*/*.jsonl", more: piExchange(),
			strategies: []session.Strategy{session.StrategyOverlay, session.StrategyRotate, session.StrategyTrim}, ends: piEnds("a0000002"),
		},
		session.RuntimeAgent: {
			files: map[string]string{
				".agent/sessions/01JKTS6Q2N8R3Z5V7W9XYB4CDE/metadata.json": `{"id":"01JKTS6Q2N8R3Z5V7W9XYB4CDE","name":"scale nginx","messageCount":6,"source":"interactive"}`,
				".agent/sessions/01JKTS6Q2N8R3Z5V7W9XYB4CDE/session.jsonl": lines("", 6, func(i int) string {
					return fmt.Sprintf(`{"recordType":"message","schemaVersion":1,"seq":%d,"role":%q,"content":[{"type":"text","text":%q}],"timestamp":"2026-02-11T10:00:0%dZ"}`+"\n",
						i+1, []string{"user", "assistant"}[i%2], said("Manifest", i), i)
				}),
			},
			log: ".agent/sessions/*/session.jsonl", strategies: []session.Strategy{session.StrategyOverlay, session.StrategyRotate},
			ends: map[string]string{
				"question": `{"recordType":"message","schemaVersion":1,"seq":7,"role":"user","content":[{"type":"text","text":"Are you there?"}],"timestamp":"2026-02-11T10:01:00Z"}` + "\n",
				"call":     `{"recordType":"message","schemaVersion":1,"seq":7,"role":"assistant","content":[{"type":"toolCall","id":"dead1","name":"read","arguments":{"path":"x"}}],"timestamp":"2026-02-11T10:01:00Z"}` + "\n",
				"torn":     `{"recordType":"message","schemaVer`,
			},
		},
		session.RuntimeQwen: {
			sample: "qwen", to: ".", log: ".qwen/projects/*/chats/*.jsonl", strategies: []session.Strategy{session.StrategyTrim},
			ends: map[string]string{
				"question": qwenEnd("user", "real_user", `{"role":"user","parts":[{"text":"Are you there?"}]}`),
				"call":     qwenEnd("assistant", "assistant_output", `{"role":"model","parts":[{"functionCall":{"id":"dead1","name":"read_file","args":{"file_path":"x"}}}]}`),
				"torn":     `{"uuid":"d00d00ff-0000-4000-8000-000000000000","parentUuid":"d00d`,
			},
		},
		session.RuntimeCopilot: {
			sample: "copilot", to: ".copilot/session-state/5e55c0de-0000-4000-8000-00000000cafe", log: ".copilot/session-state/*/events.jsonl",
			strategies: []session.Strategy{session.StrategyTrim},
			ends: map[string]string{
				"question": copilotEnd("user.message", `{"content":"Are you there?","transformedContent":"Are you there?"}`),
				"call":     copilotEnd("assistant.message", `{"model":"clay-1","content":"","toolRequests":[{"toolCallId":"dead1","name":"view","arguments":{"path":"x"},"type":"function"}]}`),
				"torn":     `{"type":"assistant.message","data":{"mod`,
			},
		},
		session.RuntimeAnnabelle: {
			files: map[string]string{".annabelle/sessions/annabelle/8304042211.jsonl": lines(
				`{"type":"header","chatId":"8304042211","agentId":"annabelle","createdAt":"2026-02-11T01:00:00.000Z","version":1}`+"\n", 12, func(i int) string {
					return fmt.Sprintf(`{"type":"turn","user":%q,"assistant":%q,"timestamp":"2026-02-11T02:%02d:00.000Z","toolsUsed":[]}`+"\n", said("Note", i), said("Answer", i), i)
				})},
			log: ".annabelle/sessions/annabelle/*.jsonl", strategies: []session.Strategy{session.StrategyRewrite, session.StrategyRotate},
			ends: map[string]string{"torn": `{"type":"turn","user":"Are you`},
		},
		session.RuntimeMacStats: {
			files: map[string]string{".mac-stats/session/session-memory-77-20260214-093015-disks.md": lines("", 5, func(i int) string {
				return "## User\n\n" + said("Disk", i) + "\n\n## Assistant\n\n" + said("Volume", i) + "\n\n"
			})},
			log: ".mac-stats/session/*.md", strategies: []session.Strategy{session.StrategyRewrite},
			ends: map[string]string{"question": "## User\n\nAre you there?\n\n"},
		},
	}
}

func qwenEnd(kind, provenance, message string) string {
	return `{"uuid":"d00d00ff-0000-4000-8000-000000000000","parentUuid":"d00d001c-0000-4000-8000-000000000000","sessionId":"5b0c1d2e-3f40-4a51-8b62-7c83d94ea5f6",` +
		`"timestamp":"2026-05-11T06:30:00.000Z","type":"` + kind + `","provenance":"` + provenance + `","cwd":"/home/lea/bakery","version":"0.24.4","message":` + message + "}\n"
}

func copilotEnd(kind, data string) string {
	return `{"type":"` + kind + `","data":` + data + `,"id":"000000ff-0000-4000-8000-0000000000ff","timestamp":"2026-11-20T09:12:00.000Z","parentId":"00000061-0000-4000-8000-000000000061"}` + "\n"
}

// home makes the home, with the log as old as it is said to be, and returns the log.
func (b brokenTurns) home(t *testing.T, end string, age time.Duration) (log string) {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, name := range []string{"XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "CODEX_HOME", "CLAUDE_CONFIG_DIR", "GEMINI_CLI_HOME", "PI_CODING_AGENT_DIR", "OPENCLAW_STATE_DIR"} {
		t.Setenv(name, "")
	}
	t.Setenv("SESSCTL_ARCHIVE_COMPRESSION", "none")
	if b.sample != "" {
		must(t, os.CopyFS(filepath.Join(home, b.to), os.DirFS(filepath.Join(testdata, b.sample))))
	}
	if b.to != "." && strings.HasPrefix(b.to, ".copilot") {
		must(t, os.Rename(filepath.Join(home, b.to, "pottery.jsonl"), filepath.Join(home, b.to, "events.jsonl")))
	}
	for name, text := range b.files {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o700))
		must(t, os.WriteFile(filepath.Join(home, name), []byte(text), 0o600))
	}
	found, err := filepath.Glob(filepath.Join(home, b.log))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	text, err := os.ReadFile(found[0])
	must(t, err)
	text = append(text, strings.ReplaceAll(b.more+b.ends[end], "LAST", lastID(text))...)
	must(t, os.WriteFile(found[0], text, 0o600))
	old := time.Now().Add(-age)
	must(t, filepath.Walk(home, func(path string, _ os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, old, old)
	}))
	return found[0]
}

// testdata is where the samples are, also for a test that has changed its directory.
var testdata, _ = filepath.Abs(filepath.Join("..", "testdata"))

// lastID is the id of the last entry of a log of pi's format.
func lastID(log []byte) (id string) {
	for line := range strings.Lines(string(log)) {
		var entry struct {
			ID string `json:"id"`
		}
		if json.Unmarshal([]byte(line), &entry) == nil && entry.ID != "" {
			id = entry.ID
		}
	}
	return id
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A session whose turn was broken off is busy for a day. Then it is compacted by
// every strategy that its runtime has: every byte is in the archive, the outcome says
// what was found, and no call stays without its result.
func TestASessionThatDiedInATurnIsCompacted(t *testing.T) {
	for runtime, b := range brokenTurnsOfAll() {
		for end := range b.ends {
			for i, strategy := range b.strategies {
				if _, calls := b.ends["call"]; tier.Smoke() && (i > 0 || calls && end != "call") {
					continue // make test-faults runs all of them
				}
				t.Run(fmt.Sprintf("%s/%s/%s", runtime, end, strategy), func(t *testing.T) {
					b.checkBusy(t, runtime, end, strategy)
					b.checkDead(t, end, strategy)
				})
			}
		}
	}
}

// compacted runs compact on the session of a log.
func (b brokenTurns) compacted(t *testing.T, log string, strategy session.Strategy) (selection.CompactedSession, int) {
	t.Helper()
	args := []string{"compact", "--session", sessionOf(t, log), "--force", "--strategy", string(strategy), "--quiet-period", "0s", "--json", "--allow-root"}
	if strategy == session.StrategyOverlay {
		args = append(args, "--keep-recent-tokens", "50")
	}
	out, errs, code := runMain(args...)
	var doc selection.CompactDocument
	if err := json.Unmarshal([]byte(out), &doc); err != nil || len(doc.Sessions) != 1 {
		t.Fatalf("exit code %d, %v\n%s%s", code, err, out, errs)
	}
	return doc.Sessions[0], code
}

// sessionOf is the id of the session of a log.
func sessionOf(t *testing.T, log string) string {
	t.Helper()
	out, _, _ := runMain("sizes", "--json", "--allow-root")
	var doc struct {
		Sessions []selection.SessionRow `json:"sessions"`
	}
	must(t, json.Unmarshal([]byte(out), &doc))
	for _, row := range doc.Sessions {
		if row.Path == log {
			return row.Session
		}
	}
	t.Fatalf("%s is not listed:\n%s", log, out)
	return ""
}

func (b brokenTurns) checkBusy(t *testing.T, runtime, end string, strategy session.Strategy) {
	t.Helper()
	age := 23 * time.Hour
	if runtime == session.RuntimeMacStats {
		age = 29 * time.Minute // the program's own bound
	}
	log := b.home(t, end, age)
	before, err := os.ReadFile(log)
	must(t, err)
	r, code := b.compacted(t, log, strategy)
	after, err := os.ReadFile(log)
	must(t, err)
	if r.Outcome != compact.Busy || code != 75 || string(before) != string(after) {
		t.Errorf("within a day: exit code %d, %s (%s), changed: %v", code, r.Outcome, r.Reason, string(before) != string(after))
	}
}

func (b brokenTurns) checkDead(t *testing.T, end string, strategy session.Strategy) {
	t.Helper()
	log := b.home(t, end, 30*24*time.Hour)
	before, err := os.ReadFile(log)
	must(t, err)
	if out, _, _ := runMain("sizes", "--json", "--allow-root"); strings.Contains(out, `"busy"`) {
		t.Errorf("sizes calls it busy:\n%s", out)
	}
	id := sessionOf(t, log)
	r, code := b.compacted(t, log, strategy)
	if r.Outcome != compact.Compacted || code != 0 || r.Archive == nil || !strings.Contains(r.Reason, "its last turn was broken off on 20") {
		t.Fatalf("exit code %d, %s (%s)", code, r.Outcome, r.Reason)
	}
	archived, err := os.ReadFile(r.Archive.Path)
	must(t, err)
	if string(archived) != string(before) {
		t.Errorf("the archive has %d bytes, the log had %d", len(archived), len(before))
	}
	if _, err := os.Lstat(log); err == nil && strategy != session.StrategyRotate {
		b.checkContinued(t, log, id, strategy)
	}
}

// checkContinued looks at a log that was made shorter in its place: what its runtime
// appends is a line of its own, and what it sends has no call without a result.
func (b brokenTurns) checkContinued(t *testing.T, log, id string, strategy session.Strategy) {
	t.Helper()
	after, err := os.ReadFile(log)
	must(t, err)
	if strategy != session.StrategyTrim && len(after) > 0 && after[len(after)-1] != '\n' {
		t.Errorf("it ends within a line: %q", after[max(0, len(after)-60):])
	}
	out, errs, code := runMain("replay-context", "--session", id, "--allow-root")
	if code != 0 || strategy != session.StrategyTrim && strings.Contains(out, "recovered from broken history") {
		t.Errorf("replay-context: exit code %d\n%s%s", code, out, errs)
	}
}
