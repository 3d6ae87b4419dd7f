package cmd

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/spf13/cobra"
)

// A page for users tells of every word of an error, so that a program can tell them apart.
func TestEveryErrorCodeIsInThePage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "json.md"))
	if err != nil {
		t.Fatal(err)
	}
	codes := errorCodes(t)
	if len(codes) < 30 {
		t.Errorf("only %d codes: %v", len(codes), codes)
	}
	for code := range codes {
		if !bytes.Contains(page, []byte("`"+code+"`")) {
			t.Errorf("docs/json.md lacks the code %s", code)
		}
	}
}

// errorCodes are the codes that the failures of this package are made with.
func errorCodes(t *testing.T) map[string]bool {
	t.Helper()
	codes := map[string]bool{}
	set := token.NewFileSet()
	for _, name := range sourceFiles(t) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if code := codeIn(n); code != "" {
				codes[code] = true
			}
			return true
		})
	}
	return codes
}

// sourceFiles are the files of the command line and of the rooms below it.
func sourceFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, room := range rooms() {
		more, err := filepath.Glob(filepath.Join(room, "*.go"))
		if err != nil || len(more) == 0 {
			t.Fatal(room, err)
		}
		files = append(files, more...)
	}
	return files
}

// rooms are the directories of what the command line is made of.
func rooms() (all []string) {
	for _, name := range []string{"wording", "failure", "workspace", "selection", "audit", "removal", "recall", "steps", "unattended", "doctor", "front/web", "front/mcptool", "front/tui", "front/pages"} {
		all = append(all, filepath.Join("..", "internal", name))
	}
	return all
}

// codeIn is the code that a field of a literal or an assignment gives, or "".
func codeIn(n ast.Node) string {
	var value ast.Expr
	prefix := ""
	switch n := n.(type) {
	case *ast.KeyValueExpr:
		key, isName := n.Key.(*ast.Ident)
		if !isName || !strings.EqualFold(key.Name, "code") && !strings.EqualFold(key.Name, "noun") {
			return ""
		}
		if strings.EqualFold(key.Name, "noun") {
			prefix = "unknown_"
		}
		value = n.Value
	case *ast.AssignStmt:
		if field, ok := n.Lhs[0].(*ast.SelectorExpr); !ok || !strings.EqualFold(field.Sel.Name, "code") {
			return ""
		}
		value = n.Rhs[0]
	}
	text, ok := value.(*ast.BasicLit)
	if !ok {
		return ""
	}
	code, _ := strconv.Unquote(text.Value)
	return prefix + code
}

// documentNamed are the headings of the page, and the names that a line begins with.
var documentNamed = regexp.MustCompile("(?m)^(?:## .*|(?:`[a-z -]+`(?:, | and )?)+)")

// Every command that prints a document has a place in the page of documents.
func TestEveryDocumentIsInThePage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "json.md"))
	if err != nil {
		t.Fatal(err)
	}
	told := string(bytes.Join(documentNamed.FindAll(page, -1), []byte("\n")))
	everyCommand(func(c *cobra.Command) {
		_, path, _ := strings.Cut(c.CommandPath(), " ")
		_, without := withoutDocument[path]
		if without && !strings.HasPrefix(path, "schedule ") {
			return
		}
		if !strings.Contains(told, "`"+path+"`") && !strings.Contains(told, "`"+path+" --json`") {
			t.Errorf("docs/json.md does not have the document of sessctl %s", path)
		}
	})
}

var yamlBlock = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```")

// An example of a configuration is one that the program takes: its keys, its
// profiles, its schedules, its quiet hours and the words that have only some values.
func TestEveryExampleOfTheConfiguration(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	t.Setenv("HOME", t.TempDir())
	examples := 0
	for _, page := range pagesOfUsers(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range yamlBlock.FindAllSubmatch(text, -1) {
			examples++
			if problem := configurationProblem(t, file, block[1]); problem != "" {
				t.Errorf("%s:\n%s%s", page, block[1], problem)
			}
		}
	}
	if examples < 12 {
		t.Errorf("only %d examples", examples)
	}
}

func TestExamplesOfTheConfigurationCanFail(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	t.Setenv("HOME", t.TempDir())
	for _, text := range []string{
		"nosuch: 1\n", "archive:\n  compression: foo\n", "profiles:\n  nightly:\n    steps: [compact, nosuch]\n", "profiles:\n  often:\n    steps: [clean]\n",
		"monitor:\n  quiet_hours: 22:00-07:00\n", "serve:\n  time_zone: Europe/Nowhere\n", "serve:\n  schedules:\n    - {profile: nightly, cron: daily}\n", "events:\n  commands:\n    - {name: a, exec: [b]}\n",
	} {
		if configurationProblem(t, file, []byte(text)) == "" {
			t.Errorf("%q passes", text)
		}
	}
}

// TestConfigurationErrorsNameTheLine: whatever cannot be used is told with where
// it stands, in words of the configuration.
func TestConfigurationErrorsNameTheLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	t.Setenv("HOME", t.TempDir())
	for text, want := range map[string]string{
		"serve:\n  schedules:\n    - {profile: nightly, cron: '@daily'}\n    - {profile: nightly, corn: '@daily'}\n": ":4: serve.schedules: entry 2: unknown key corn",
		"serve:\n  schedules: [nightly]\n":                                       ":2: serve.schedules: entry 1: it is not a mapping of profile and cron",
		"serve:\n  schedules:\n    - profile: nightly\n      cron: 0 0 31 2 *\n": `:4: serve.schedules: entry 1, profile nightly: "0 0 31 2 *": no such date ever comes`,
		"serve:\n  schedules:\n    - profile: nigthly\n      cron: '@daily'\n":   `:3: serve.schedules: entry 1: there is no profile "nigthly"`,
		"serve:\n\n  time_zone: Europe/Nowhere\n":                                ":3: serve.time_zone: unknown time zone Europe/Nowhere",
		"monitor:\n\n  compact: 7\n":                                             `:3: monitor.compact takes true or false, not "7"`,
		"monitor:\n\n  quiet_hours: 22:00-07:00\n":                               `:3: monitor.quiet_hours: quiet hours "22:00-07:00": the time zone is missing`,
		"monitor:\n\n  disk_limit: much\n":                                       `:3: monitor.disk_limit: "much" is not a size`,
		"monitor:\n  growth:\n    factor: -1\n":                                  ":3: monitor.growth.factor must not be -1",
		"\nworkers: 1.5\n":                                                       `:2: workers takes a whole number, not "1.5"`,
	} {
		if got := configurationProblem(t, file, []byte(text)); got != file+want {
			t.Errorf("%s\n got %s\nwant %s", text, got, file+want)
		}
	}
}

func pagesOfUsers(t *testing.T) (pages []string) {
	t.Helper()
	for _, root := range []string{"docs", "contrib"} {
		err := filepath.WalkDir(filepath.Join("..", root), func(path string, d fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".md") {
				pages = append(pages, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return append(pages, filepath.Join("..", "README.md"))
}

// configurationProblem is what the program says of a configuration, "" if it can
// be used.
func configurationProblem(t *testing.T, file string, text []byte) string {
	t.Helper()
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	a := testApp(newStreams(strings.NewReader(""), &out, &errs), workspace.Run{Report: workspace.Report{Notes: []workspace.Note{}}, Settings: workspace.Settings{Now: time.Now, Getenv: func(string) string { return "" }}})
	a.Global.ConfigFile = file
	a.Global.DataDir = filepath.Dir(file)
	a.Global.Workers = 1
	c := &cobra.Command{}
	c.InheritedFlags() // gives it those of the root, as parsing does
	if err := a.configured(c); err != nil {
		return err.Error()
	}
	_, archiveErr := a.OpenArchive()
	if err := errors.Join(append(unusableSettings(a), archiveErr)...); err != nil {
		return err.Error()
	}
	return ""
}

var checkOfDoctor = regexp.MustCompile(`\{"([a-z ]+)", d\.(?:examine|alone)`)

// Every check of doctor is explained in its page.
func TestEveryCheckOfDoctorIsInThePage(t *testing.T) {
	source, err := os.ReadFile(filepath.Join("..", "internal", "doctor", "examine.go"))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join("..", "docs", "doctor.md"))
	if err != nil {
		t.Fatal(err)
	}
	checks := checkOfDoctor.FindAllSubmatch(source, -1)
	if len(checks) < 12 {
		t.Errorf("only %d checks", len(checks))
	}
	for _, check := range checks {
		if !bytes.Contains(page, []byte("\n| `"+string(check[1])+"` |")) {
			t.Errorf("docs/doctor.md does not explain the check %s", check[1])
		}
	}
}

var rowOfMessage = regexp.MustCompile("(?m)^\\| `([^`]+)` \\|")

// A message that the page explains is one that the program has.
func TestMessagesOfThePageAreThoseOfTheProgram(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "troubleshoot.md"))
	if err != nil {
		t.Fatal(err)
	}
	source := sourceOfProgram(t)
	messages := rowOfMessage.FindAllSubmatch(page, -1)
	if len(messages) < 35 {
		t.Errorf("only %d messages", len(messages))
	}
	for _, m := range messages {
		noun, isUnknown := bytes.CutPrefix(m[1], []byte("unknown "))
		made := isUnknown && bytes.Contains(source, append([]byte(`Noun: "`), noun...))
		if !made && !bytes.Contains(source, bytes.ReplaceAll(m[1], []byte(`"`), []byte(`\"`))) {
			t.Errorf("nothing says %q", m[1])
		}
	}
}

// sourceOfProgram is the source of the commands and packages, without tests.
func sourceOfProgram(t *testing.T) (source []byte) {
	t.Helper()
	for _, root := range append(rooms(), ".", filepath.Join("..", "pkg")) {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			source = append(source, text...)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return source
}
