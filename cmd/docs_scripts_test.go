package cmd

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/tier"
	"github.com/sessctl/sessctl/internal/workspace"
)

// What no test of pages can run a script does, or several do; so is said above a block.
var (
	scripted = regexp.MustCompile(`testdata/script/\w+\.txtar do(es)? it -->`)
	scriptOf = regexp.MustCompile(`testdata/script/\w+\.txtar`)
)

// TestEveryScriptOfThePages holds that a script which stands above a block has the
// commands of the block.
func TestEveryScriptOfThePages(t *testing.T) {
	tier.Rule(t)
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil || len(pages) < 20 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	known := 0
	for _, page := range pages {
		for _, b := range scriptedBlocks(t, page) {
			text := ""
			for _, script := range b.scripts {
				one, err := os.ReadFile(filepath.Join("..", script))
				if err != nil {
					t.Error(err)
				}
				text += string(one)
			}
			for _, command := range b.commands {
				known++
				if !strings.Contains(text, command) {
					t.Errorf("%s: no script of %s has %q", page, b.scripts, command)
				}
			}
		}
	}
	if known < 40 {
		t.Errorf("only %d commands were compared", known)
	}
}

// scriptedBlock is a block of a page and the scripts that do what it shows.
type scriptedBlock struct{ scripts, commands []string }

func scriptedBlocks(t *testing.T, page string) (blocks []scriptedBlock) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	root := newRootCommand(testApp(&streams{}, workspace.Run{}))
	for _, block := range pageBlock.FindAllStringSubmatch(string(text), -1) {
		if !scripted.MatchString(block[1]) {
			continue
		}
		b := scriptedBlock{scripts: scriptOf.FindAllString(block[1], -1)}
		for _, line := range (documentBlock{text: block[3], shaped: true}).steps() {
			_, words, called := strings.Cut(line.line, "sessctl ")
			if command, _, err := root.Find(strings.Fields(words)); called && err == nil && command != root {
				b.commands = append(b.commands, command.CommandPath())
			}
		}
		blocks = append(blocks, b)
	}
	return blocks
}
