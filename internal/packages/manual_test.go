package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sessctl/sessctl/cmd"
)

var (
	roffFont   = regexp.MustCompile(`\\f[BIRP]|\\fC`)
	roffEscape = strings.NewReplacer(`\-`, "-", `\&`, "", `\\`, `\`, `\(aq`, "'", `\(dq`, `"`, `\e`, `\`)
)

// manualText reads the manual of a day, by path.
func manualText(t *testing.T, day time.Time) map[string]string {
	t.Helper()
	files, err := manual{version: "v1.2.3", date: day}.files()
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, f := range files {
		texts[f.path] = string(f.text)
	}
	return texts
}

// Every command and every topic has a page that has every word of its help: what
// is made of it on the way to a page swallows none.
func TestManPagesHaveEveryWordOfTheHelp(t *testing.T) {
	pages := manualText(t, time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC))
	check := func(path string, texts ...string) {
		page := roffEscape.Replace(roffFont.ReplaceAllString(pages[path], ""))
		has := map[string]bool{}
		for word := range strings.FieldsSeq(page) {
			has[word] = true
		}
		for _, word := range strings.Fields(strings.Join(texts, " ")) {
			if word = strings.ReplaceAll(word, "`", ""); !has[word] {
				t.Errorf("%s lacks %q", path, word)
			}
		}
	}
	everyCommand(cmd.CommandTree(), func(c *cobra.Command) {
		texts := []string{c.Short, c.Long, c.Example}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) { texts = append(texts, f.Usage) })
		check("man/man1/"+strings.ReplaceAll(c.CommandPath(), " ", "-")+".1", texts...)
	})
	check("man/man1/sessctl.1", cmd.CommandTree().Long)
	for _, topic := range cmd.Topics() {
		check("man/man7/sessctl-"+topic.Name+".7", topic.Short, topic.Text)
		if !strings.Contains(pages["man/man1/sessctl.1"], "sessctl-"+topic.Name+"(7)") {
			t.Errorf("sessctl(1) does not name the page of the topic %s", topic.Name)
		}
	}
}

// The manual is made again byte for byte: its date is given, or there is none.
func TestManualIsReproducible(t *testing.T) {
	first, again := manualText(t, time.Time{}), manualText(t, time.Time{})
	dated := manualText(t, time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC))
	for path, text := range first {
		if again[path] != text {
			t.Errorf("%s differs", path)
		}
		if strings.HasPrefix(path, "man/") && (strings.Contains(text, "0001") || !strings.Contains(dated[path], `"Mar 2026"`)) {
			t.Errorf("%s has another date than the one that was given:\n%.120s\n%.120s", path, text, dated[path])
		}
	}
	if len(first) < 60 {
		t.Errorf("only %d files", len(first))
	}
}

func TestManualIsWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "share")
	if err := writeManual(dir, "v1.2.3", "1772582400"); err != nil { // 2026-03-04
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"man/man1/sessctl-archives-show.1": `"Mar 2026" "sessctl v1.2.3"`, "man/man7/sessctl-files.7": `"Mar 2026" "sessctl v1.2.3"`,
		"bash-completion/completions/sessctl": "complete ", "zsh/site-functions/_sessctl": "#compdef sessctl",
		"fish/vendor_completions.d/sessctl.fish": "complete -c sessctl", "powershell/sessctl.ps1": "Register-ArgumentCompleter",
	} {
		path = filepath.Join(dir, filepath.FromSlash(path))
		if text, err := os.ReadFile(path); err != nil || !bytes.Contains(text, []byte(want)) {
			t.Errorf("%s has no %q (%v)", path, want, err)
		}
		if info, err := os.Stat(path); err == nil && info.Mode().Perm() != 0o644 {
			t.Errorf("%s has mode %v: a package would have it too", path, info.Mode())
		}
	}
	if err := writeManual(dir, "v1.2.3", "today"); err == nil || !strings.Contains(err.Error(), "SOURCE_DATE_EPOCH") {
		t.Error(err)
	}
}

// everyCommand visits the commands below one that are in its help, without the
// shells' own pages, which are cobra's.
func everyCommand(c *cobra.Command, visit func(*cobra.Command)) {
	for _, child := range c.Commands() {
		if child.Hidden || child.Name() == "help" {
			continue
		}
		visit(child)
		if child.Name() != "completion" {
			everyCommand(child, visit)
		}
	}
}
