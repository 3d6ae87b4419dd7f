package main_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/tier"
)

// What can be explained in a paragraph, and what a reader keeps in his head.
const (
	maxPackageLines = 9_000
	maxTypeMethods  = 30
)

// crowded are the packages and types that are above that. A number may only go
// down; those of cmd must, as soon as less is needed.
var crowded = map[string]int{
	"cmd": 13000,
}

// rooms counts the lines of packages and the methods of their types.
type rooms struct {
	lines   map[string]int
	methods map[string]int
}

// TestRooms holds how large a package and a type may be.
func TestRooms(t *testing.T) {
	tier.Rule(t)
	r := rooms{map[string]int{}, map[string]int{}}
	for _, top := range []string{"cmd", "internal", "pkg"} {
		if err := filepath.WalkDir(top, r.visit); err != nil {
			t.Fatal(err)
		}
	}
	for _, problem := range r.problems(crowded) {
		t.Error(problem)
	}
}

func (r *rooms) visit(file string, d fs.DirEntry, err error) error {
	switch {
	case err != nil:
		return err
	case d.IsDir() && (d.Name() == "testdata" || file == "internal/faults"): // that is a harness of tests
		return filepath.SkipDir
	case d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
		return nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return r.add(filepath.ToSlash(file), string(text))
}

// add counts a file.
func (r *rooms) add(file, text string) error {
	of := path.Dir(file)
	r.lines[of] += strings.Count(text, "\n")
	parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
			r.methods[of+" "+receiverName(f.Recv.List[0].Type)]++
		}
	}
	return nil
}

func receiverName(t ast.Expr) string {
	switch x := t.(type) {
	case *ast.StarExpr:
		return receiverName(x.X)
	case *ast.IndexExpr:
		return receiverName(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}

// problems are sentences about what is too large, and about rows that allow more
// than is needed.
func (r *rooms) problems(allowed map[string]int) []string {
	var all []string
	for _, of := range []struct {
		what  string
		most  int
		sizes map[string]int
	}{{"lines", maxPackageLines, r.lines}, {"methods", maxTypeMethods, r.methods}} {
		for _, name := range slices.Sorted(maps.Keys(of.sizes)) {
			size, row := of.sizes[name], allowed[name]
			switch {
			case size > max(of.most, row):
				all = append(all, fmt.Sprintf("%s has %d %s, more than %d", name, size, of.what, max(of.most, row)))
			case strings.HasPrefix(name, "cmd") && row > size+row/20:
				all = append(all, fmt.Sprintf("%s has %d %s: its row in rooms_test.go allows %d, let it go down", name, size, of.what, row))
			}
		}
	}
	return all
}

// TestRoomsCanFail shows that the check sees what is too large.
func TestRoomsCanFail(t *testing.T) {
	tier.Rule(t)
	r := rooms{map[string]int{}, map[string]int{}}
	text := "package p\n" + strings.Repeat("func (t *T) m() {}\n", maxTypeMethods+1) + strings.Repeat("\n", maxPackageLines)
	if err := r.add("pkg/p/a.go", text); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		allowed map[string]int
		want    int
	}{
		{nil, 2},
		{map[string]int{"pkg/p T": maxTypeMethods + 1}, 1},
		{map[string]int{"pkg/p T": maxTypeMethods + 1, "pkg/p": maxPackageLines + maxTypeMethods + 2}, 0},
	} {
		if got := r.problems(test.allowed); len(got) != test.want {
			t.Errorf("%v: %q, want %d problems", test.allowed, got, test.want)
		}
	}
}
