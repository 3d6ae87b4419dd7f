package cmd

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/tier"
	"github.com/spf13/cobra"
)

// notRunHere are the examples that this test cannot run, by what they begin with,
// and why.
var notRunHere = map[string]string{
	"sessctl browse": "needs a terminal (TestBrowse in internal/e2e)",
	"sessctl serve":  "runs until it is stopped", "sessctl mcp": "speaks a protocol until stdin ends", "sessctl monitor --interval": "runs until it is stopped",
	"sessctl schedule": "asks or changes the timers of the system", "sessctl hook run": "needs an event on stdin",
	"sessctl archives upload": "needs object storage", "sessctl archives pull": "needs object storage", "sessctl archives verify --remote": "needs object storage", "sessctl archives prune --local-keep": "needs object storage",
	"sessctl push": "needs a shared memory", "sessctl fleet": "needs a PostgreSQL (testdata/script/fleet_*.txtar)", "sessctl status --fleet": "needs a shared memory", "sessctl recall --everywhere": "needs a shared memory",
	"sessctl memory reindex --model ollama": "needs a model server", "sessctl events retry": "needs an event that could not be delivered", "sessctl events show": "needs an event", "sessctl events test": "needs a target",
	"sessctl doctor --give-up": "needs a change that cannot be finished", "sessctl archives prune --undelete": "needs an archive in the trash", "sessctl clean --undelete": "needs a session in the trash",
	"sessctl metrics --textfile":                  "writes below /var",
	"sessctl replay-context --file fixture.jsonl": "needs a fixture and what it should give",
	"sessctl shrink":                              "needs a database of OpenCode", "sessctl memory forget --session": "asks on a terminal",
	"sessctl undo": "needs the receipt of a compaction", "sessctl resummarize": "needs a model that writes summaries", "sessctl prove --check proof.jsonl --head": "needs a head that somebody kept",
	"sessctl memory forget --agent scout": "needs an agent of that name", "sessctl memory forget --id": "needs the id of a record",
}

func whyNotRun(line string) string {
	for begin, why := range notRunHere {
		if strings.HasPrefix(line, begin) {
			return why
		}
	}
	for _, other := range []string{" --host ", "sudo "} {
		if strings.Contains(line, other) {
			return "needs another host, or root"
		}
	}
	if !strings.HasPrefix(line, "sessctl ") {
		return "is the command line of another program"
	}
	return ""
}

var wordOfShell = regexp.MustCompile(`"[^"]*"|\S+`)

// exampleWords are the arguments of an example, as a shell makes them; what
// follows a pipe or goes to a file is left out.
func exampleWords(line string, stand func(string) string) (args []string) {
	line, _, _ = strings.Cut(line, " | ")
	line, _, _ = strings.Cut(line, " > ")
	for _, word := range wordOfShell.FindAllString(line, -1)[1:] {
		args = append(args, stand(strings.Trim(word, `"`)))
	}
	return args
}

// sampleHome is a home with the bundled sessions, as old as demo.sh makes them,
// and all of them archived and remembered.
func sampleHome(t *testing.T) (home, archiveID, sessionID string) {
	t.Helper()
	home = t.TempDir()
	if err := os.CopyFS(home, os.DirFS(filepath.Join("..", "testdata", "sample"))); err != nil {
		t.Fatal(err)
	}
	old := time.Date(2026, 6, 1, 9, 0, 0, 0, time.UTC)
	err := filepath.Walk(home, func(path string, _ os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, old, old)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	for _, name := range []string{"XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "CODEX_HOME", "CLAUDE_CONFIG_DIR", "GEMINI_CLI_HOME", "PI_CODING_AGENT_DIR", "OPENCLAW_STATE_DIR"} {
		t.Setenv(name, "")
	}
	t.Chdir(home)
	if _, errs, code := runMain("archive", "--all", "--remember", "--allow-root"); code != 0 {
		t.Fatalf("archive: %d\n%s", code, errs)
	}
	list, _, _ := runMain("archives", "list", "--agent", "coordinator", "--allow-root")
	for row := range strings.Lines(list) {
		if strings.Contains(row, "600fa7f5") { // the log of 683 lines
			archiveID, _, _ = strings.Cut(row, "\t")
		}
	}
	return home, archiveID, "12969c36"
}

// Every example of every command does, on the sample home, what a person who types
// it expects: it ends with 0, or recall has found nothing, which is no mistake of
// the example.
func TestEveryExampleRuns(t *testing.T) {
	tier.Rule(t)
	home, archiveID, sessionID := sampleHome(t)
	for _, runtime := range []string{".claude/projects", ".codex/sessions", ".pi/agent/sessions", "project"} {
		if err := os.MkdirAll(filepath.Join(home, runtime), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	log, err := filepath.Glob(filepath.Join(home, ".openclaw/agents/coordinator/sessions/12969c36*.jsonl"))
	if err != nil || len(log) != 1 {
		t.Fatal(log, err)
	}
	text, err := os.ReadFile(log[0])
	if err == nil {
		err = errors.Join(os.WriteFile(filepath.Join(home, "session.jsonl"), text, 0o600), os.WriteFile(filepath.Join(home, "trajectory.json"), []byte(trajectory), 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	stand := func(word string) string {
		switch {
		case word == "3f9a2c":
			return archiveID
		case strings.HasPrefix(word, "4f0c"):
			return sessionID
		case strings.HasPrefix(word, "~/"):
			return filepath.Join(home, word[2:])
		case strings.HasPrefix(word, "/tmp/"):
			return filepath.Join(home, "elsewhere-"+filepath.Base(word))
		}
		return word
	}
	lines := examplesToRun()
	for _, line := range lines {
		_ = os.Remove(filepath.Join(home, "memories.jsonl")) // that of the example before
		if !strings.Contains(line, "--check") {
			_ = os.Remove(filepath.Join(home, "proof.jsonl"))
		}
		out, errs, code := runMain(append(exampleWords(line, stand), "--allow-root")...)
		if nothing := strings.HasPrefix(line, "sessctl recall ") && strings.Contains(errs, "nothing found"); code != failure.ExitOK && !nothing {
			t.Errorf("%s: exit code %d\n%.300s%.500s", line, code, out, errs)
		}
	}
	if len(lines) < 70 {
		t.Errorf("only %d examples", len(lines))
	}
}

// changesSessions begin the examples after which others find no session any more.
var changesSessions = regexp.MustCompile(`^sessctl (compact|run|clean|archives prune)\b`)

// examplesToRun are all examples once; those that change sessions come last.
func examplesToRun() (lines []string) {
	var last []string
	everyCommand(func(c *cobra.Command) {
		for line := range strings.Lines(c.Root().Example + "\n" + c.Example) {
			line = strings.TrimSpace(line)
			switch {
			case line == "" || whyNotRun(line) != "" || slices.Contains(lines, line) || slices.Contains(last, line):
			case changesSessions.MatchString(line):
				last = append(last, line)
			default:
				lines = append(lines, line)
			}
		}
	})
	return append(lines, last...)
}

// A line of the list that no example begins with is left over.
func TestExamplesThatAreNotRun(t *testing.T) {
	var all []string
	everyCommand(func(c *cobra.Command) {
		for line := range strings.Lines(c.Example) {
			all = append(all, strings.TrimSpace(line))
		}
	})
	for begin, why := range notRunHere {
		if why == "" || !slices.ContainsFunc(all, func(line string) bool { return strings.HasPrefix(line, begin) }) {
			t.Errorf("no example begins with %q", begin)
		}
	}
}

// trajectory is a file that was handed on.
const trajectory = `{"schema_version": "ATIF-v1.7", "agent": {"name": "millbot", "version": "1"}, "steps": [{"step_id": 1, "source": "user", "message": "Count."}]}
`
