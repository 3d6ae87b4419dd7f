package main_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/tier"
)

// foreign finds what nobody outside the place where this was written can look
// up: papers, numbered requests, and directories beside the repository.
var foreign = regexp.MustCompile(`\bresearch/|[Ss]eeds? ?00\d|S7[._]\d|\bDESIGN(?:\.md|:)|\b(?:pitfalls|complaints|behaviours|real-runtimes|memory-store)\.md`)

// beside finds a directory that only tests may look for, which skip without it.
var beside = regexp.MustCompile(`\.\./shared\b`)

// workplace finds a path of the machine on which this was written. What ends in
// such a path, as in pkg/, is another one.
var workplace = regexp.MustCompile(`(?:^|[^\w./~$})-])/wor` + `k/\S*`)

// A citation is a page, or a page and where in it.
var (
	citedPage     = regexp.MustCompile(`\bdocs/[a-z/-]+\.md`)
	citedHeading  = regexp.MustCompile(`\b(docs/[a-z/-]+\.md), "([^"]+)"`)
	citedDecision = regexp.MustCompile(`\bdocs/dev/decisions\.md ((?:D\d+(?:, | and | to )?)+)`)
	citedFaults   = regexp.MustCompile(`\bfaults? (\d+)(?: (?:to|and) (\d+))? of docs/dev/reliability\.md`)
	decisionName  = regexp.MustCompile(`D\d+`)
)

// TestSourceCitesTheRepository holds comments and pages to what a reader of the
// repository has.
func TestSourceCitesTheRepository(t *testing.T) {
	tier.Rule(t)
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if file != "." && strings.HasPrefix(d.Name(), ".") || file == "bin" || file == "dist" {
				return filepath.SkipDir // what was built
			}
			return nil
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if found := ofWorkplace(raw); found != nil && file != ".git" { // where a worktree says where it is from
			t.Errorf("%s names %.80q: take a neutral path, such as /home/lea", file, found)
		}
		text, err := citing(file)
		if err != nil {
			return err
		}
		for _, problem := range citations(os.DirFS("."), text, !strings.HasSuffix(file, "_test.go") && !strings.HasSuffix(file, ".txtar")) {
			t.Errorf("%s %s", file, problem)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// ofWorkplace returns the first path of the workplace that a file names, nil for
// none.
func ofWorkplace(text []byte) []byte {
	if !bytes.Contains(text, []byte("/wor"+"k/")) {
		return nil
	}
	return workplace.Find(text)
}

// citing returns what a file says to its reader, each paragraph in one line:
// a whole page, the comments of a Go file (and the names of its functions), of a
// script or a makefile, "" for other files.
func citing(file string) (string, error) {
	page := filepath.Ext(file) == ".md"
	script := filepath.Ext(file) == ".txtar" || filepath.Ext(file) == ".sh" || filepath.Ext(file) == ".yml" || filepath.Base(file) == "Makefile"
	switch {
	case filepath.Ext(file) == ".go":
		return goComments(file)
	case !page && !script:
		return "", nil
	}
	text, err := os.ReadFile(file)
	if err != nil || page {
		return unwrapped(string(text)), err
	}
	var comments strings.Builder
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "#"); ok {
			comments.WriteString(rest)
		}
	}
	return unwrapped(comments.String()), nil
}

func goComments(file string) (string, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	var comments strings.Builder
	for _, group := range parsed.Comments {
		comments.WriteString(unwrapped(group.Text()) + "\n")
	}
	for _, declaration := range parsed.Decls { // names of tests cite too
		if f, ok := declaration.(*ast.FuncDecl); ok {
			comments.WriteString(f.Name.Name + "\n")
		}
	}
	return comments.String(), nil
}

// unwrapped joins the lines of each paragraph, so that a citation may be
// broken anywhere.
func unwrapped(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		paragraphs[i] = strings.Join(strings.Fields(p), " ")
	}
	return strings.Join(paragraphs, "\n")
}

// citations returns what is wrong with the citations of a text. Directories
// beside the repository may be named if strict is false.
func citations(repository fs.FS, text string, strict bool) (problems []string) {
	for _, cited := range foreign.FindAllString(text, -1) {
		problems = append(problems, "cites "+cited+", which is not in the repository")
	}
	if strict {
		for _, cited := range beside.FindAllString(text, -1) {
			problems = append(problems, "names "+cited+", which is not in the repository")
		}
	}
	for _, page := range citedPage.FindAllString(text, -1) {
		if _, err := fs.Stat(repository, page); err != nil {
			problems = append(problems, "cites "+page+", which is not there")
		}
	}
	for _, m := range citedHeading.FindAllStringSubmatch(text, -1) {
		if !hasLine(repository, m[1], `#+ `+regexp.QuoteMeta(m[2])) {
			problems = append(problems, "cites "+m[1]+" for a heading \""+m[2]+"\" that it does not have")
		}
	}
	for _, m := range citedDecision.FindAllStringSubmatch(text, -1) {
		for _, number := range decisionName.FindAllString(m[1], -1) {
			if !hasLine(repository, "docs/dev/decisions.md", "## "+number+" .+") {
				problems = append(problems, "cites docs/dev/decisions.md for "+number+", which it does not have")
			}
		}
	}
	for _, m := range citedFaults.FindAllStringSubmatch(text, -1) {
		for _, number := range m[1:] {
			if number != "" && !hasLine(repository, "docs/dev/reliability.md", `\| `+number+` \|.*`) {
				problems = append(problems, "cites docs/dev/reliability.md for fault "+number+", which it does not have")
			}
		}
	}
	return problems
}

// hasLine reports whether a page has a line of the form.
func hasLine(repository fs.FS, page, form string) bool {
	text, err := fs.ReadFile(repository, page)
	return err == nil && regexp.MustCompile(`(?m)^`+form+`$`).Match(text)
}

// Each way to cite something that is not there is found.
func TestForeignCitationsAreFound(t *testing.T) {
	repository := os.DirFS(".")
	for text, want := range map[string]int{
		"see docs/dev/formats.md, \"pi\", and docs/dev/decisions.md D7 and D13": 0,
		"faults 8 to 11 of docs/dev/reliability.md":                             0,
		"measured (research/" + "recall.md section 2)":                          1,
		"the constants of seed " + "002":                                        1,
		"func TestSeed" + "003Thresholds":                                       1,
		"func TestS7" + "_3WholeHistory (S7" + ".3)":                            2,
		"(DESIGN" + ".md, Memory)":                                              1,
		"files of ../shared" + "/samples":                                       1,
		"docs/nothing.md":                                                       1,
		"docs/dev/formats.md, \"cobol\"":                                        1,
		"docs/dev/decisions.md D7 and D99":                                      1,
		"fault 99 of docs/dev/reliability.md":                                   1,
	} {
		if got := citations(repository, unwrapped(text), true); len(got) != want {
			t.Errorf("%q: %d problems, want %d: %q", text, len(got), want, got)
		}
	}
	for text, want := range map[string]bool{"cd /wor" + "k/main": true, "\"/wor" + "k/a\"": true, "pkg/work/testdata": false, "~/work/a": false} {
		if got := ofWorkplace([]byte(text)); (got != nil) != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	if got := citations(repository, "../shared"+"/samples", false); len(got) != 0 {
		t.Errorf("a test may look beside the repository: %q", got)
	}
}
