package cmd

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var (
	roffFont   = regexp.MustCompile(`\\f[BIRP]|\\fC`)
	roffEscape = strings.NewReplacer(`\-`, "-", `\&`, "", `\\`, `\`, `\(aq`, "'", `\(dq`, `"`, `\e`, `\`)
)

// manualText reads the manual of a day, by path.
func manualText(t *testing.T, day time.Time) map[string]string {
	t.Helper()
	files, err := manualFiles(day)
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
	everyCommand(func(c *cobra.Command) {
		texts := []string{c.Short, c.Long, c.Example}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) { texts = append(texts, f.Usage) })
		check("man/man1/"+strings.ReplaceAll(c.CommandPath(), " ", "-")+".1", texts...)
	})
	check("man/man1/sessctl.1", newRootCommand(testApp(&streams{}, invocation{})).Long)
	for _, topic := range topics() {
		check("man/man7/sessctl-"+topic.name+".7", topic.short, topic.text())
		if !strings.Contains(pages["man/man1/sessctl.1"], "sessctl-"+topic.name+"(7)") {
			t.Errorf("sessctl(1) does not name the page of the topic %s", topic.name)
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
	t.Setenv("SOURCE_DATE_EPOCH", "1772582400") // 2026-03-04
	if out, errs, code := runMain("manual", dir, "--dry-run"); code != 0 || !strings.Contains(out, "sessctl-compact.1") || exists(dir) {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	if _, errs, code := runMain("manual", dir); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	for path, want := range map[string]string{
		"man/man1/sessctl-archive-show.1": `"Mar 2026"`, "man/man7/sessctl-files.7": `"Mar 2026"`,
		"bash-completion/completions/sessctl": "complete ", "zsh/site-functions/_sessctl": "#compdef sessctl",
		"fish/vendor_completions.d/sessctl.fish": "complete -c sessctl", "powershell/sessctl.ps1": "Register-ArgumentCompleter",
	} {
		if text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(path))); err != nil || !bytes.Contains(text, []byte(want)) {
			t.Errorf("%s has no %q (%v)", path, want, err)
		}
	}
	t.Setenv("SOURCE_DATE_EPOCH", "today")
	if _, errs, code := runMain("manual", dir); code != exitUsage || !strings.Contains(errs, "SOURCE_DATE_EPOCH") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// runMain runs one command line in this process.
func runMain(args ...string) (out, errs string, code int) {
	var o, e bytes.Buffer
	code = Main(args, strings.NewReader(""), &o, &e)
	return o.String(), e.String(), code
}

func TestTopicsOfHelp(t *testing.T) {
	list, _, _ := runMain("help")
	offered, _, _ := runMain("__complete", "help", "")
	for _, topic := range topics() {
		if !strings.Contains(list, "\n  "+topic.name+" ") || !strings.Contains(list, topic.short) {
			t.Errorf("help does not list %s", topic.name)
		}
		if !strings.Contains("\n"+offered, "\n"+topic.name+"\t") && !strings.Contains("\n"+offered, "\n"+topic.name+"\n") {
			t.Errorf("the shells do not offer %s", topic.name)
		}
		text, errs, code := runMain("help", topic.name)
		if code != 0 || !strings.HasPrefix(text, topic.name+": "+topic.short) || strings.Contains(text, "{{") {
			t.Errorf("help %s: exit code %d\n%s%s", topic.name, code, text, errs)
		}
		for line := range strings.Lines(topic.text()) {
			if len(line) > 81 {
				t.Errorf("%s has a line of %d characters: %s", topic.name, len(line), line)
			}
			if strings.HasPrefix(line, "  sessctl ") {
				command, _, _ := strings.Cut(strings.TrimSpace(line), "   ")
				checkExample(t, newRootCommand(testApp(&streams{}, invocation{})), command)
			}
		}
	}
	if sub, _, _ := runMain("compact", "--help"); strings.Contains(sub, "Help topics") {
		t.Error("the help of a command lists the topics")
	}
	if text, _, _ := runMain("help", "memory"); !strings.Contains(text, "Available Commands:\n  export") {
		t.Error("help memory does not show the help of the command any more")
	}
	if _, errs, code := runMain("help", "exit-code"); code != exitUsage || !strings.Contains(errs, "did you mean exit-codes?") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// The exit codes of the topic are those of the program.
func TestExitCodesOfTheTopic(t *testing.T) {
	want := exitConstants(t)
	told, _ := topicNamed("exit-codes")
	var got []string
	for _, m := range regexp.MustCompile(`(?m)^  (\d+) `).FindAllStringSubmatch(told.text(), -1) {
		got = append(got, m[1])
	}
	if slices.Sort(got); !slices.Equal(got, want) || len(want) < 8 {
		t.Errorf("the topic tells of %v, the program ends with %v", got, want)
	}
}

// exitConstants are the values of the constants exitOK and so on.
func exitConstants(t *testing.T) (values []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "root.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, is := n.(*ast.ValueSpec)
		if is && len(spec.Values) == 1 && strings.HasPrefix(spec.Names[0].Name, "exit") {
			if value, is := spec.Values[0].(*ast.BasicLit); is && value.Kind == token.INT {
				values = append(values, value.Value)
			}
		}
		return true
	})
	slices.Sort(values)
	return values
}

var (
	inDataDir   = regexp.MustCompile(`filepath\.Join\(a\.dataDir\(\), "([^"]+)"[,)]`)
	toldOfFiles = regexp.MustCompile(`(?m)^  ([a-z][\w.-]+) +\S`)
)

// The files of the topic are those that the program makes in its data directory.
func TestFilesOfTheTopic(t *testing.T) {
	made := map[string]bool{"runs": true, "memory-forgotten": true, "memory-stored": true, "memory-summaries": true, "schedule-NAME.log": true} // joined elsewhere
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range sources {
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range inDataDir.FindAllSubmatch(text, -1) {
			made[string(m[1])] = true
		}
	}
	a := testApp(&streams{}, invocation{settings: settings{getenv: func(string) string { return "" }, config: config{DataDir: t.TempDir()}}})
	for _, path := range []string{a.runsDir(), a.memoryDir()} {
		if !made[filepath.Base(path)] {
			t.Errorf("%s is made, and not in the list of this test", path)
		}
	}
	topic, _ := topicNamed("files")
	told := map[string]bool{}
	for _, m := range toldOfFiles.FindAllStringSubmatch(topic.text(), -1) {
		told[m[1]] = true
	}
	for _, lost := range []struct {
		in, other map[string]bool
		what      string
	}{{made, told, "is not in the topic"}, {told, made, "is in the topic, and nothing makes it"}} {
		for name := range lost.in {
			if !lost.other[name] {
				t.Errorf("%s %s", name, lost.what)
			}
		}
	}
	if len(told) < 20 {
		t.Error(fmt.Sprint("only ", told))
	}
}
