package main_test

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sessctl/sessctl/internal/tier"
)

// The rules of the source that a reader relies on, held without a linter.
const (
	maxFileLines     = 800
	maxFunctionLines = 60
)

// longFunctions may be longer, each for a reason. The key is file and name.
var longFunctions = map[string]string{
	"pkg/embed/irregular.go regular": "a table of words, one line each",
}

// source is one Go file; its path is relative to the module, with slashes.
type source struct {
	path string
	text string
}

// TestSource holds the rules over every package of the repository.
func TestSource(t *testing.T) {
	tier.Rule(t)
	packages := map[string][]source{}
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" && file != "testdata" || d.Name() == "tools" || len(d.Name()) > 1 && d.Name()[0] == '.'):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(file)
		file = filepath.ToSlash(file)
		packages[path.Dir(file)] = append(packages[path.Dir(file)], source{file, string(text)})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, files := range packages {
		for _, problem := range checkSource(files) {
			t.Error(problem)
		}
	}
}

// checker goes over the files of one package.
type checker struct {
	dir      string
	program  bool // package main
	product  bool // part of what is released, as opposed to a program of the repository
	set      *token.FileSet
	info     *types.Info
	scope    *types.Scope
	problems []string
}

// checkSource returns a sentence, with file and line, for each broken rule.
func checkSource(files []source) []string {
	c := &checker{
		dir:  path.Dir(files[0].path),
		set:  token.NewFileSet(),
		info: &types.Info{Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}},
	}
	var parsed []*ast.File
	for _, f := range files {
		file, err := parser.ParseFile(c.set, f.path, f.text, parser.ParseComments)
		if err != nil {
			c.problems = append(c.problems, err.Error())
			continue
		}
		parsed = append(parsed, file)
	}
	if len(parsed) == 0 {
		return c.problems
	}
	c.program = parsed[0].Name.Name == "main"
	c.product = c.dir == "." || c.dir == "cmd" || strings.HasPrefix(c.dir, "pkg/") && !c.program
	// Types of other packages are not needed, and what they would say is
	// an error that nobody reads: only os is real.
	conf := types.Config{Importer: onlyOS{importer.ForCompiler(c.set, "gc", exported)}, Error: func(error) {}}
	pkg, _ := conf.Check(c.dir, c.set, parsed, c.info)
	c.scope = pkg.Scope()
	c.packageComment(files, parsed)
	for _, file := range parsed {
		c.file(file)
	}
	return c.problems
}

// onlyOS imports package os and nothing else.
type onlyOS struct{ next types.Importer }

// Import implements types.Importer.
func (o onlyOS) Import(path string) (*types.Package, error) {
	if path == "os" {
		return o.next.Import(path)
	}
	return nil, fs.ErrNotExist
}

// exportFile is where the go command keeps what package os exports. It is asked for
// by name: a test that was built with -trimpath does not know where Go lies.
var exportFile = sync.OnceValues(func() (string, error) {
	file, err := exec.Command("go", "list", "-export", "-f", "{{.Export}}", "os").Output()
	return strings.TrimSpace(string(file)), err
})

// exported opens what package os exports.
func exported(string) (io.ReadCloser, error) {
	name, err := exportFile()
	if err != nil {
		return nil, err
	}
	return os.Open(name)
}

func (c *checker) report(pos token.Pos, format string, args ...any) {
	at := c.set.Position(pos)
	c.problems = append(c.problems, fmt.Sprintf("%s:%d: %s", at.Filename, at.Line, fmt.Sprintf(format, args...)))
}

// packageComment: a package opens with a comment that teaches, in doc.go; a
// program may have it beside its main function.
func (c *checker) packageComment(files []source, parsed []*ast.File) {
	for i, file := range parsed {
		if file.Doc != nil && (c.program || path.Base(files[i].path) == "doc.go") {
			return
		}
	}
	c.report(parsed[0].Package, "package %s has no doc.go with a package comment", parsed[0].Name.Name)
}

func (c *checker) file(file *ast.File) {
	if ast.IsGenerated(file) {
		return
	}
	if lines := c.set.File(file.FileStart).LineCount(); lines > maxFileLines {
		c.report(file.Package, "the file has %d lines, more than %d: split it by subject", lines, maxFileLines)
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			c.function(d)
		case *ast.GenDecl:
			c.declaration(d)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		c.assigned(n)
		if selector, ok := n.(*ast.SelectorExpr); ok && c.product {
			c.used(selector)
		}
		if assertion, ok := n.(*ast.TypeAssertExpr); ok && c.product {
			c.asserted(assertion)
		}
		if call, ok := n.(*ast.CallExpr); ok && c.product && c.dir != "pkg/durable" {
			c.opened(call)
		}
		return true
	})
}

// TestSourceCanFail shows that each rule sees what it must not let through, and
// lets a clean package through.
func TestSourceCanFail(t *testing.T) {
	const doc = "// Package p is a fixture.\npackage p\n"
	for _, c := range []struct {
		name, path, text string
		want             string // part of the only problem; "" for none
	}{
		{"clean", "pkg/p/a.go", "package p\n\nvar table = [2]int{1, 2}\n\n// Get gets.\nfunc Get(table []int) { table[0] = 1 }\n", ""},
		{"init", "pkg/p/a.go", "package p\n\nfunc init() {}\n", "pkg/p/a.go:3: init()"},
		{"exit", "pkg/p/a.go", "package p\n\nimport \"os\"\n\nfunc f() { os.Exit(1) }\n", "pkg/p/a.go:5: os.Exit"},
		{"fatal", "pkg/p/a.go", "package p\n\nimport \"log\"\n\nfunc f() { log.Fatalf(\"x\") }\n", "pkg/p/a.go:5: log.Fatalf"},
		{"print", "pkg/p/a.go", "package p\n\nimport \"fmt\"\n\nfunc f() { fmt.Println() }\n", "pkg/p/a.go:5: fmt.Println"},
		{"own name os", "pkg/p/a.go", "package p\n\ntype t struct{}\n\nfunc (t) Remove() {}\n\nfunc f(os t) { os.Remove() }\n", ""},
		{"rename", "pkg/p/a.go", "package p\n\nimport \"os\"\n\nfunc f() error { return os.Rename(\"a\", \"b\") }\n", "pkg/p/a.go:5: os.Rename"},
		{"rename under another name", "pkg/p/a.go", "package p\n\nimport system \"os\"\n\nvar move = system.Rename\n", "pkg/p/a.go:5: os.Rename"},
		{"rename in durable", "pkg/durable/a.go", "package p\n\nimport \"os\"\n\nvar move = os.Rename\n", ""},
		{"remove through a root", "pkg/p/a.go", "package p\n\nimport \"os\"\n\nfunc f(r *os.Root) error { return r.Remove(\"a\") }\n", "pkg/p/a.go:5: os.Root.Remove"},
		{"lease", "pkg/p/a.go", "package p\n\nfunc f(s interface{ WriteLease() }) { s.WriteLease() }\n", "pkg/p/a.go:3: WriteLease"},
		{"lease in logfile", "pkg/session/logfile/a.go", "package logfile\n\nfunc f(s interface{ WriteLease() }) { s.WriteLease() }\n", ""},
		{"unlink", "pkg/p/a.go", "package p\n\nimport \"syscall\"\n\nfunc f() error { return syscall.Unlink(\"a\") }\n", "pkg/p/a.go:5: syscall.Unlink"},
		{"create", "pkg/p/a.go", "package p\n\nimport \"os\"\n\nfunc f() { os.OpenFile(\"a\", os.O_RDWR|os.O_CREATE, 0o600) }\n", "pkg/p/a.go:5: os.OpenFile"},
		{"open", "pkg/p/a.go", "package p\n\nimport \"os\"\n\nfunc f() { os.OpenFile(\"a\", os.O_RDONLY, 0) }\n", ""},
		{"store asserted", "pkg/p/a.go", "package p\n\nimport \"github.com/sessctl/sessctl/pkg/session\"\n\nfunc f(s any) { _ = s.(session.Rotator) }\n", "pkg/p/a.go:5: session.Rotator"},
		{"unnamed interface asserted", "pkg/p/a.go", "package p\n\nfunc f(s any) { _, _ = s.(interface{ Close() }) }\n", "pkg/p/a.go:3: an interface without a name"},
		{"other type asserted", "pkg/p/a.go", "package p\n\nfunc f(s any) { _ = s.(string) }\n", ""},
		{"assigned", "pkg/p/a.go", "package p\n\nvar n int\n\nfunc f() { n = 1 }\n", "pkg/p/a.go:5: package variable n"},
		{"counted", "pkg/p/a.go", "package p\n\nvar n struct{ m []int }\n\nfunc f() { n.m[0]++ }\n", "pkg/p/a.go:5: package variable n"},
		{"address", "pkg/p/a.go", "package p\n\nvar n int\n\nfunc f() *int { return &n }\n", "pkg/p/a.go:5: package variable n"},
		{"deleted", "pkg/p/a.go", "package p\n\nvar m map[int]int\n\nfunc f() { delete(m, 1) }\n", "pkg/p/a.go:5: package variable m"},
		{"shadowed", "pkg/p/a.go", "package p\n\nvar n int\n\nfunc f() { n := 1; n++ }\n", ""},
		{"state", "pkg/p/a.go", "package p\n\nimport \"sync\"\n\nvar once sync.Once\n", "pkg/p/a.go:5: package variable once"},
		{"no comment", "pkg/p/a.go", "package p\n\nfunc F() {}\n", "pkg/p/a.go:3: exported F"},
		{"no comment on a constant", "pkg/p/a.go", "package p\n\nconst C = 1\n", "pkg/p/a.go:3: exported C"},
		{"group comment", "pkg/p/a.go", "package p\n\n// The numbers.\nconst (\n\tC = 1\n\tD = 2\n)\n", ""},
		{"method of a hidden type", "pkg/p/a.go", "package p\n\ntype t struct{}\n\nfunc (t) String() string { return \"\" }\n", ""},
		{"long function", "pkg/p/a.go", "package p\n\nfunc f() {" + strings.Repeat("\n", maxFunctionLines) + "}\n", "pkg/p/a.go:3: function f has 61 lines"},
		{"function at the limit", "pkg/p/a.go", "package p\n\nfunc f() {" + strings.Repeat("\n", maxFunctionLines-1) + "}\n", ""},
		{"long file", "pkg/p/a.go", "package p\n" + strings.Repeat("\n", maxFileLines), "pkg/p/a.go:1: the file has 801 lines"},
		{"file at the limit", "pkg/p/a.go", "package p\n" + strings.Repeat("\n", maxFileLines-1), ""},
		{"generated", "pkg/p/a.go", "// Code generated by x. DO NOT EDIT.\n\npackage p\n" + strings.Repeat("\n", maxFileLines), ""},
		{"not Go", "pkg/p/a.go", "package p\n\nfunc {\n", "pkg/p/a.go:3:6: expected"},
	} {
		got := checkSource([]source{{path.Dir(c.path) + "/doc.go", doc}, {c.path, c.text}})
		switch {
		case c.want == "" && len(got) > 0:
			t.Errorf("%s: %q, want no problem", c.name, got)
		case c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)):
			t.Errorf("%s: %q, want one problem with %q", c.name, got, c.want)
		}
	}
	if got := checkSource([]source{{"pkg/p/a.go", "package p\n"}}); len(got) != 1 || !strings.Contains(got[0], "has no doc.go") {
		t.Errorf("package without doc.go: %q", got)
	}
}
