package cmd

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/tier"
)

// A block of commands in a page is run on the sample home, one page after the
// other, each in a home of its own. What cannot be run has a comment above its
// block, which readers do not see and which says why; it may name one line:
//
//	<!-- not run: needs a PostgreSQL -->
//	<!-- not run `sessctl schedule install`: changes the timers of the system -->
//
// Its commands and flags are still those of the program
// (TestEveryCommandLineOfThePages). Of a block whose output depends on more than
// the sample home only the output is left out:
//
//	<!-- output of another machine: a run was killed there -->
var (
	pageBlock    = regexp.MustCompile("(?ms)((?:^<!-- [^\n]+ -->\n)*)^ *```([a-z]*)\n(.*?)^ *```")
	blockComment = regexp.MustCompile("<!-- (not run|output of another machine)(?: `([^`]+)`)?: ([^>]{8,}) -->")
)

// documentBlock is a block of a page with commands. Lines that begin with one of
// notRun are not run.
type documentBlock struct {
	text   string
	notRun []string
	shaped bool // the output is compared
}

func blocksOf(t *testing.T, page string) (blocks []documentBlock) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range pageBlock.FindAllStringSubmatch(string(text), -1) {
		isShell := m[2] == "console" || m[2] == "sh" || m[2] == "" && strings.Contains("\n"+m[3], "\nsessctl ")
		if !isShell {
			continue
		}
		block := documentBlock{text: m[3], shaped: true}
		comments := blockComment.FindAllStringSubmatch(m[1], -1)
		if len(comments) != strings.Count(m[1], "\n") {
			t.Errorf("%s: a comment above a block is not understood: %s", page, m[1])
		}
		for _, c := range comments {
			if c[1] == "not run" {
				block.notRun = append(block.notRun, c[2])
			} else {
				block.shaped = false
			}
			if !strings.Contains(m[3], c[2]) {
				t.Errorf("%s: the block has no line %q", page, c[2])
			}
		}
		blocks = append(blocks, block)
	}
	return blocks
}

// step is a command line of a block and what the page shows of its output.
type step struct {
	line  string
	shown []string
}

// steps reads a block: with prompts, what has none is output; without any prompt
// every line is a command.
func (b documentBlock) steps() (steps []step) {
	prompts := strings.Contains("\n"+b.text, "\n$ ")
	for line := range strings.Lines(b.text) {
		line = strings.TrimRight(line, "\n")
		command, prompted := strings.CutPrefix(line, "$ ")
		switch {
		case prompted || !prompts && line != "":
			steps = append(steps, step{line: strings.TrimSpace(command)})
		case prompts && len(steps) > 0:
			if last := &steps[len(steps)-1]; b.shaped {
				last.shown = append(last.shown, line)
			}
		}
	}
	return slices.DeleteFunc(steps, func(s step) bool {
		return slices.ContainsFunc(b.notRun, func(begin string) bool { return strings.HasPrefix(s.line, begin) })
	})
}

// documentHome is the home that the commands of one page change.
type documentHome struct {
	dir, archiveID, sessionID, recordID string
}

// stand returns what there is in the sample home for a name that a page uses.
func (h documentHome) stand(word string) string {
	switch {
	case word == "3f9a2c" || word == "03f7c632" || word == "ID":
		return h.archiveID
	case strings.HasPrefix(word, "4f0c"):
		return h.sessionID
	case word == "9k2x7q4m":
		return lastReceipt()
	case word == "scout":
		return "librarian"
	case word == "346fa5e60b6acfc5" || word == "9b1f0c":
		return h.recordID
	case strings.HasPrefix(word, "~/"):
		return filepath.Join(h.dir, word[2:])
	case strings.HasPrefix(word, "/tmp/"), strings.HasPrefix(word, "/srv/"):
		return filepath.Join(h.dir, "elsewhere-"+filepath.Base(word))
	}
	return word
}

// lastReceipt is the receipt of the newest compaction.
func lastReceipt() string {
	out, _, _ := runMain("log", "--allow-root")
	for line := range strings.Lines(out) {
		if fields := strings.Split(line, "\t"); len(fields) > 1 && strings.Contains(line, "compact") {
			return fields[1]
		}
	}
	return "no receipt"
}

// firstRecord is the id of a record of the memory.
func firstRecord(t *testing.T) string {
	t.Helper()
	out, _, _ := runMain("memory", "export", "--agent", "librarian", "--allow-root")
	var record struct{ ID string }
	first, _, _ := strings.Cut(out, "\n")
	if err := json.Unmarshal([]byte(first), &record); err != nil || record.ID == "" {
		t.Fatalf("%v: %s", err, first)
	}
	return record.ID
}

// endless are commands that a test would wait for.
var endless = regexp.MustCompile(`^sessctl (?:serve|mcp|schedule|push|hook run)\b|--interval|--host|--everywhere`)

// run runs a command line of a page and says what is wrong with how it ended.
func (h documentHome) run(s step, before int) (problem, out string, code int) {
	line, _, _ := strings.Cut(s.line, " #")
	if line = strings.TrimSpace(line); line == "echo $?" {
		if want := strings.Join(s.shown, ""); want != fmt.Sprint(before) {
			return fmt.Sprintf("the page says %s, it is %d", want, before), "", before
		}
		return "", fmt.Sprintln(before), before
	}
	for one := range strings.SplitSeq(line, " && ") {
		if !strings.HasPrefix(one, "sessctl ") {
			return "is no command of sessctl: say above the block why it is not run", "", 0
		}
		if endless.MatchString(one) {
			return "runs until it is stopped: say so above the block", "", 0
		}
		var errs string
		args := append(exampleWords(one, h.stand), "--allow-root")
		out, errs, code = runMain(args...)
		if strings.Contains(errs, "there is no terminal to ask on") { // a person says yes
			out, errs, code = runMain(append(args, "--yes")...)
		}
		_, file, written := strings.Cut(one, " > ")
		if written && code == failure.ExitOK {
			if err := os.WriteFile(h.stand(strings.TrimSpace(file)), []byte(out), 0o600); err != nil {
				return err.Error(), out, code
			}
		}
		out += errs
		if nothing := strings.HasPrefix(one, "sessctl recall ") && strings.Contains(errs, "nothing found"); code != failure.ExitOK && !nothing {
			return fmt.Sprintf("exit code %d", code), out, code
		}
	}
	return "", out, code
}

// changing are parts of output that differ from machine to machine and day to day.
var changing = regexp.MustCompile(`/home/\w+|\b[0-9a-f]{6,}(?:-[0-9a-f]{4,})*|\d[\d,.]*`)

// shape is a line of output without what changes, its columns one blank apart; it
// ends where the page leaves something out.
func (h documentHome) shape(line string) string {
	line = strings.Join(strings.Fields(strings.ReplaceAll(line, h.dir, "/home/lea")), " ")
	line, _, _ = strings.Cut(line, "...")
	return strings.TrimSpace(changing.ReplaceAllString(line, "0"))
}

// notShown is the first line of a page that the program has not printed, "" if all
// were, in their order.
func (h documentHome) notShown(shown []string, out string) string {
	var printed []string
	for line := range strings.Lines(out) {
		printed = append(printed, h.shape(line))
	}
	for _, line := range shown {
		want := h.shape(line)
		for len(printed) > 0 && !(printed[0] == want || strings.Contains(line, "...") && strings.HasPrefix(printed[0], want)) {
			printed = printed[1:]
		}
		if len(printed) == 0 {
			return cmp.Or(strings.TrimSpace(line), "an empty line")
		}
	}
	return ""
}

// TestDocumentedCommands runs what the pages tell a person to type.
func TestDocumentedCommands(t *testing.T) {
	tier.Rule(t)
	pages := pagesOfUsers(t)
	blocks := map[string][]documentBlock{}
	for _, page := range pages {
		blocks[page] = blocksOf(t, page)
	}
	home, archiveID, sessionID := sampleHome(t)
	for _, dir := range []string{".claude/projects", ".codex/sessions"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	logs, err := filepath.Glob(filepath.Join(home, ".openclaw/agents/librarian/sessions/*.jsonl"))
	if err != nil || len(logs) == 0 {
		t.Fatal(logs, err)
	}
	for _, name := range []string{"old.jsonl", "fixture.jsonl"} { // logs that the page about replaying names
		if err := os.Link(logs[0], filepath.Join(home, name)); err != nil {
			t.Fatal(err)
		}
	}
	recordID := firstRecord(t)
	ran, seen := 0, map[string]bool{} // what another page has told is not run again
	for _, page := range pages {
		var steps []step
		for _, block := range blocks[page] {
			for _, s := range block.steps() {
				once := len(s.shown) == 0 && !changesSessions.MatchString(s.line)
				if !once || !seen[s.line] {
					steps = append(steps, s)
				}
				seen[s.line] = true
			}
		}
		if len(steps) > 0 {
			ran += len(steps)
			t.Run(filepath.Base(page), func(t *testing.T) {
				runSteps(t, documentHome{dir: copyOfHome(t, home), archiveID: archiveID, sessionID: sessionID, recordID: recordID}, steps)
			})
		}
	}
	if ran < 75 {
		t.Errorf("only %d command lines were run", ran)
	}
}

// copyOfHome makes a home as another one is, with the times of its logs.
func copyOfHome(t *testing.T, home string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(home)); err != nil {
		t.Fatal(err)
	}
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		was, err := os.Stat(filepath.Join(home, below))
		if err != nil {
			return err
		}
		if err := os.Chmod(path, was.Mode()); err != nil {
			return err
		}
		return os.Chtimes(path, was.ModTime(), was.ModTime())
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", dir)
	t.Chdir(dir)
	return dir
}

func runSteps(t *testing.T, home documentHome, steps []step) {
	t.Helper()
	code := failure.ExitOK
	for _, s := range steps {
		var problem, out string
		problem, out, code = home.run(s, code)
		if problem != "" {
			t.Errorf("%s: %s\n%.1500s", s.line, problem, out)
		} else if line := home.notShown(s.shown, out); line != "" && !strings.HasPrefix(s.line, "echo ") {
			t.Errorf("%s: the page shows a line that is not printed: %s\n%.2500s", s.line, line, out)
		}
	}
}
