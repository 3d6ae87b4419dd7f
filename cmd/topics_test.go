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

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/workspace"
)

// runMain runs one command line in this process.
func runMain(args ...string) (out, errs string, code int) {
	var o, e bytes.Buffer
	code = Main(args, strings.NewReader(""), &o, &e)
	return o.String(), e.String(), code
}

func TestTopicsOfHelp(t *testing.T) {
	list, _, _ := runMain("help", "--all")
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
				checkExample(t, newRootCommand(testApp(&streams{}, workspace.Run{})), command)
			}
		}
	}
	if sub, _, _ := runMain("compact", "--help"); strings.Contains(sub, "Help topics") {
		t.Error("the help of a command lists the topics")
	}
	if text, _, _ := runMain("help", "memory"); !strings.Contains(text, "Available Commands:\n  export") {
		t.Error("help memory does not show the help of the command any more")
	}
	if _, errs, code := runMain("help", "exit-code"); code != failure.ExitUsage || !strings.Contains(errs, "did you mean exit-codes?") {
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

// exitConstants are the values of the constants ExitOK and so on.
func exitConstants(t *testing.T) (values []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "internal", "failure", "failure.go"), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, is := n.(*ast.ValueSpec)
		if is && len(spec.Values) == 1 && strings.HasPrefix(spec.Names[0].Name, "Exit") {
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
	inDataDir   = regexp.MustCompile(`filepath\.Join\(\w+\.DataDir\(\), "([^"]+)"[,)]`)
	toldOfFiles = regexp.MustCompile(`(?m)^  ([a-z][\w.-]+) +\S`)
)

// The files of the topic are those that the program makes in its data directory.
func TestFilesOfTheTopic(t *testing.T) {
	made := map[string]bool{"runs": true, "memory-forgotten": true, "memory-stored": true, "memory-summaries": true, "schedule-NAME.log": true} // joined elsewhere
	for _, source := range sourceFiles(t) {
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range inDataDir.FindAllSubmatch(text, -1) {
			made[string(m[1])] = true
		}
	}
	a := testApp(&streams{}, workspace.Run{Settings: workspace.Settings{Getenv: func(string) string { return "" }, Config: workspace.Config{DataDir: t.TempDir()}}})
	for _, path := range []string{a.RunsDir(), a.MemoryDir()} {
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
