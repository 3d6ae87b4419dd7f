package cmd

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/spf13/cobra"
)

// everyCommand hands out the commands that a person can run, groups among them.
func everyCommand(visit func(*cobra.Command)) {
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Hidden || c.Name() == "help" {
			return
		}
		if c.HasParent() && (c.Parent().Name() != "completion") { // the shells' own pages are cobra's
			visit(c)
		}
		for _, child := range c.Commands() {
			walk(child)
		}
	}
	root := newRootCommand(testApp(&streams{}, workspace.Run{}))
	root.InitDefaultCompletionCmd()
	walk(root)
}

// The page of every command shows how it is used, and what it shows is a command
// line that the program takes.
func TestEveryCommandHasAnExample(t *testing.T) {
	everyCommand(func(c *cobra.Command) {
		if c.Name() == "completion" {
			return
		}
		for line := range strings.Lines(c.Long) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 84 {
				t.Errorf("%s --help has a line of %d characters: %s", c.CommandPath(), n, line)
			}
		}
		if strings.TrimSpace(c.Example) == "" {
			t.Errorf("%s --help shows no example", c.CommandPath())
		}
		for line := range strings.Lines(c.Example) {
			checkExample(t, c, line)
		}
	})
}

// checkExample finds the command of an example and the flags that it is given.
func checkExample(t *testing.T, c *cobra.Command, line string) {
	t.Helper()
	for _, one := range betweenCommands.Split(line, -1) {
		checkCommandLine(t, c, one)
	}
}

var betweenCommands = regexp.MustCompile(` && |; | \| `)

func checkCommandLine(t *testing.T, c *cobra.Command, line string) {
	t.Helper()
	at := strings.LastIndex(" "+line, " sessctl ") // another program's command line may end in one of ours
	if at < 0 {
		return
	}
	line = line[at+len("sessctl "):]
	line, _, _ = strings.Cut(line, " > ")
	words := strings.Fields(line)
	if strings.HasPrefix(words[0], "-") || strings.Contains(words[0], "://") {
		return // flags of every command; a name, not the program
	}
	root := c.Root()
	root.InitDefaultHelpCmd()
	shown, rest, err := root.Find(words)
	if err != nil || shown == root {
		t.Errorf("%s --help: no command: sessctl %s", c.CommandPath(), line)
		return
	}
	if len(rest) > 0 && shown.HasSubCommands() && isWord.MatchString(rest[0]) {
		t.Errorf("%s --help: no command %s of %s: sessctl %s", c.CommandPath(), rest[0], shown.CommandPath(), line)
	}
	shown.InitDefaultHelpFlag()
	for _, word := range rest {
		name, isFlag := strings.CutPrefix(word, "--")
		name, _, _ = strings.Cut(name, "=")
		if isFlag && name != "" && shown.Flag(strings.TrimSpace(name)) == nil && shown.InheritedFlags().Lookup(name) == nil {
			t.Errorf("%s --help: no flag --%s of %s: sessctl %s", c.CommandPath(), name, shown.CommandPath(), line)
		}
	}
}

var (
	isWord     = regexp.MustCompile(`^[a-z]`)
	codeBlock  = regexp.MustCompile("(?ms)^ *```([a-z]*)\n(.*?)^ *```")
	inlineCode = regexp.MustCompile("`((?:sudo )?sessctl [^`\n]+)`")
	ofCrontab  = regexp.MustCompile(`^[*\d]\S* +\S+ +\S+ +\S+ +\S+ +`)
)

// commandLines are the lines of a page that a person is to type: those of shell
// blocks, those behind a prompt, those of a crontab, and code in a sentence.
func commandLines(text string) (all []string) {
	for _, block := range codeBlock.FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(block[2]) {
			line = strings.TrimSpace(line)
			command, prompted := strings.CutPrefix(line, "$ ")
			if !prompted && block[1] != "sh" && !ofCrontab.MatchString(line) {
				continue
			}
			if command, _, _ = strings.Cut(command, " #"); strings.Contains(" "+command, " sessctl ") {
				all = append(all, command)
			}
		}
	}
	for _, code := range inlineCode.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
		all = append(all, code[1])
	}
	return all
}

// A command line in a page is one that the program takes.
func TestEveryCommandLineOfThePages(t *testing.T) {
	lines := 0
	for _, page := range pagesOfUsers(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, command := range commandLines(string(text)) {
			lines++
			t.Run(filepath.Base(page), func(t *testing.T) { checkExample(t, newRootCommand(testApp(&streams{}, workspace.Run{})), command) })
		}
	}
	if lines < 170 {
		t.Errorf("only %d command lines", lines)
	}
}

// withoutDocument are the commands that print no document of their own with
// --json, and why.
var withoutDocument = map[string]string{
	"archives show": "prints a log", "archives": "prints its help", "completion": "prints a script", "config": "prints its help", "hook": "prints its help", "memory": "prints its help", "events": "prints its help", "schedule": "prints its help", "fleet": "prints its help",
	"memory export": "prints JSON Lines", "replay-context": "prints what --format says",
	"browse": "is a screen", "mcp": "speaks a protocol of its own", "serve": "runs until it is stopped", "metrics": "prints what Prometheus reads",
	"schedule install": "changes the system", "schedule remove": "changes the system", "schedule status": "asks the system",
	"hook run": "speaks the runtimes' protocols",
}

// argumentsOf are what a command needs to run on the samples.
var argumentsOf = map[string][]string{
	"archive": {"--all", "--remember"}, "compact": {"--all", "--dry-run"}, "recall": {"port"}, "clean": {"--max-age", "365d", "--dry-run"},
	"archives prune": {"--max-age", "365d", "--dry-run"}, "restore": {"ARCHIVE", "--dry-run"}, "undo": {"RECEIPT", "--dry-run"}, "resummarize": {"--all"}, "memory forget": {"--agent", "librarian", "--dry-run"}, "memory redact": {"--dry-run"},
	"prove": {"--output", "PROOF"}, "memory reindex": {"--pending"}, "extract-facts": {"--agent", "librarian", "--dry-run"}, "run": {"nightly", "--dry-run"},
	"continue": {"nobody", "--in", "pi"}, "fleet join": {"LINE"}, "fleet remove": {"nobody", "--yes"}, "hook install": {"claude", "--dry-run"}, "hook remove": {"claude", "--dry-run"},
}

// With --json every command prints one document with "schema": 1, on stdout, or as
// an error on stderr.
func TestEveryDocumentHasASchema(t *testing.T) {
	home := t.TempDir()
	if err := os.CopyFS(home, os.DirFS(filepath.Join("..", "testdata", "sample"))); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	for _, name := range []string{"XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "CODEX_HOME", "CLAUDE_CONFIG_DIR", "GEMINI_CLI_HOME", "PI_CODING_AGENT_DIR", "OPENCLAW_STATE_DIR"} {
		t.Setenv(name, "")
	}
	run := func(args ...string) (out, errs string, code int) {
		var o, e bytes.Buffer
		code = Main(args, strings.NewReader(""), &o, &e)
		return o.String(), e.String(), code
	}
	if _, errs, code := run("archive", "--all", "--remember", "--allow-root"); code != 0 {
		t.Fatalf("archive: %d\n%s", code, errs)
	}
	archives, _, _ := run("archives", "list", "--allow-root")
	receipts, err := filepath.Glob(filepath.Join(home, ".local/share/sessctl/receipts/*.json"))
	if err != nil || len(receipts) == 0 {
		t.Fatal(receipts, err)
	}
	everyCommand(func(c *cobra.Command) {
		_, path, _ := strings.Cut(c.CommandPath(), " ")
		if withoutDocument[path] != "" {
			return
		}
		args := append(strings.Fields(path), "--json", "--allow-root")
		for _, arg := range argumentsOf[path] {
			switch arg {
			case "ARCHIVE":
				arg, _, _ = strings.Cut(archives, "\t")
			case "RECEIPT":
				arg = receipts[0]
			case "PROOF":
				arg = filepath.Join(home, "proof.jsonl")
			}
			args = append(args, arg)
		}
		out, errs, code := run(args...)
		document := cmp.Or(out, errs)
		var read struct{ Schema *int }
		if err := json.Unmarshal([]byte(document), &read); err != nil || read.Schema == nil || *read.Schema != 1 {
			t.Errorf("sessctl %s: exit code %d, no document with schema 1 (%v):\n%.400s%.400s", strings.Join(args, " "), code, err, out, errs)
		}
		if code == failure.ExitUsage && c.Parent().Name() != "events" && path != "resummarize" && path != "continue" && path != "fleet join" { // there are none here, and no model
			t.Errorf("sessctl %s is not how it is used:\n%s", strings.Join(args, " "), errs)
		}
	})
}
