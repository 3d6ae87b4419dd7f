package cmd

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A block of commands in a page is run on the sample home, one page after the
// other, each in a home of its own. Above a block that cannot be run stands a
// comment, which readers do not see, that says why:
//
//	<!-- not run: needs a PostgreSQL -->
//
// Its commands and flags are still those of the program
// (TestEveryCommandLineOfThePages). Of a block whose output depends on more than
// the sample home only the output is left out:
//
//	<!-- output of another machine: a run was killed there -->
var pageBlock = regexp.MustCompile("(?ms)(?:^<!-- (not run|output of another machine): ([^>]+) -->\n)?^ *```([a-z]*)\n(.*?)^ *```")

// shellBlocks are the languages of blocks with commands: those without a language
// have some if a line begins with sessctl.
var shellBlocks = map[string]bool{"console": true, "sh": true}

// documentBlock is a block of a page.
type documentBlock struct {
	page, text     string
	notRun, shaped bool // shaped: the output is compared
}

func blocksOf(t *testing.T, page string) (blocks []documentBlock) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range pageBlock.FindAllStringSubmatch(string(text), -1) {
		if !shellBlocks[m[3]] && (m[3] != "" || !strings.Contains("\n"+m[4], "\nsessctl ")) {
			continue
		}
		if m[1] != "" && len(m[2]) < 10 {
			t.Errorf("%s: %q is no reason", page, m[2])
		}
		blocks = append(blocks, documentBlock{page: filepath.Base(page), text: m[4], notRun: m[1] == "not run", shaped: m[1] == ""})
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
			last := &steps[len(steps)-1]
			last.shown = append(last.shown, line)
		}
	}
	return steps
}

// documentHome is the home that the commands of one page change.
type documentHome struct {
	dir, archiveID, sessionID string
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
	case strings.HasPrefix(word, "~/"):
		return filepath.Join(h.dir, word[2:])
	case strings.HasPrefix(word, "/tmp/"), strings.HasPrefix(word, "/srv/"):
		return filepath.Join(h.dir, "elsewhere-"+filepath.Base(word))
	}
	return word
}

func lastReceipt() string {
	out, _, _ := runMain("log", "--json", "--allow-root")
	var log struct {
		Receipts []struct {
			ID string `json:"id"`
		} `json:"receipts"`
	}
	if json.Unmarshal([]byte(out), &log) != nil || len(log.Receipts) == 0 {
		return "no receipt"
	}
	return log.Receipts[0].ID
}

var assignment = regexp.MustCompile(`^[A-Z_]+=\S* `)

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
		var errs string
		args := append(exampleWords(one, h.stand), "--allow-root")
		out, errs, code = runMain(args...)
		if strings.Contains(errs, "there is no terminal to ask on") { // a person says yes
			out, errs, code = runMain(append(args, "--yes")...)
		}
		_, file, written := strings.Cut(one, " > ")
		if written && code == exitOK {
			if err := os.WriteFile(h.stand(strings.TrimSpace(file)), []byte(out), 0o600); err != nil {
				return err.Error(), out, code
			}
		}
		out += errs
		if nothing := strings.HasPrefix(one, "sessctl recall ") && strings.Contains(errs, "nothing found"); code != exitOK && !nothing {
			return fmt.Sprintf("exit code %d", code), out, code
		}
	}
	return "", out, code
}

// changing are parts of output that differ from machine to machine and day to day.
var changing = regexp.MustCompile(`(?:/[\w.+@-]+)+/\.local|\b[0-9a-f]{6,}(?:-[0-9a-f]{4,})*|\d[\d,.]*`)

// shape is a line of output without what changes, its columns one blank apart; it
// ends where the page leaves something out.
func shape(line string) string {
	line = strings.Join(strings.Fields(line), " ")
	line, _, _ = strings.Cut(line, "...")
	return strings.TrimSpace(changing.ReplaceAllString(line, "0"))
}

// notShown is the first line of a page that the program has not printed, "" if all
// were, in their order.
func notShown(shown []string, out string) string {
	var printed []string
	for line := range strings.Lines(out) {
		printed = append(printed, shape(line))
	}
	for _, line := range shown {
		want := shape(line)
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
	pages := pagesOfUsers(t)
	blocks := map[string][]documentBlock{}
	for _, page := range pages {
		blocks[page] = blocksOf(t, page)
	}
	home, archiveID, sessionID := sampleHome(t)
	for _, dir := range []string{".claude", ".codex"} {
		if err := os.Mkdir(filepath.Join(home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	ran := 0
	for _, page := range pages {
		var steps []step
		for _, block := range blocks[page] {
			if block.notRun {
				continue
			}
			for _, s := range block.steps() {
				if !block.shaped {
					s.shown = nil
				}
				steps = append(steps, s)
			}
		}
		if len(steps) > 0 {
			ran += len(steps)
			t.Run(filepath.Base(page), func(t *testing.T) {
				runSteps(t, documentHome{dir: copyOfHome(t, home), archiveID: archiveID, sessionID: sessionID}, steps)
			})
		}
	}
	if ran < 90 {
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
	code := exitOK
	for _, s := range steps {
		var problem, out string
		problem, out, code = home.run(s, code)
		if problem != "" {
			t.Errorf("%s: %s\n%.1500s", s.line, problem, out)
		} else if line := notShown(s.shown, out); line != "" && !strings.HasPrefix(s.line, "echo ") {
			t.Errorf("%s: the page shows a line that is not printed: %s\n%.2500s", s.line, line, out)
		}
	}
}
