package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/tier"
)

// Between packages, the compiler keeps arrows from running in circles; between the
// files of one package nobody does. A package whose files can be put in an order in
// which each uses those below it is read from the top down. mostUpward is the share
// of arrows, in percent, that may run against the best such order, in packages of
// at least fewArrows.
const (
	mostUpward = 15
	fewArrows  = 40
)

// tangled are the packages that are above that, and by how much. A number may only
// go down.
var tangled = map[string]int{
	"internal/workspace":         16,
	"pkg/durable":                19,
	"pkg/memory":                 16,
	"pkg/memory/remote/weaviate": 16,
	"pkg/session/logfile":        19,
	"pkg/session/openclaw":       21,
	"pkg/summarize":              17,
}

// TestArrowsRunDown holds how many uses between the files of a package run against
// its order.
func TestArrowsRunDown(t *testing.T) {
	tier.Rule(t)
	l := loadProduct(t)
	all, up := 0, 0
	for _, p := range l.product {
		info := types.Info{Uses: map[*ast.Ident]types.Object{}}
		if _, _, err := l.check(p, &info); err != nil {
			t.Fatal(err)
		}
		arrows := arrowsOf(info.Uses, l.fset)
		against := againstBestOrder(arrows)
		all, up = all+len(arrows), up+len(against)
		dir := strings.TrimPrefix(p.ImportPath, modulePath)
		if most := max(mostUpward, tangled[dir]); len(arrows) >= fewArrows && 100*len(against) > most*len(arrows) {
			t.Errorf("%s: %d of %d arrows between files run up, more than %d %%:\n\t%s", dir, len(against), len(arrows), most, strings.Join(against, "\n\t"))
		}
	}
	t.Logf("%d of %d arrows between files of one package run up", up, all)
}

// TestArrowsCanFail shows that a circle is seen, and a ladder is not.
func TestArrowsCanFail(t *testing.T) {
	tier.Rule(t)
	fset := token.NewFileSet()
	var files []*ast.File
	for name, text := range map[string]string{
		"a.go": "package p\ntype A struct{ b B }\nfunc (a A) Do() {}",
		"b.go": "package p\ntype B struct{ n int }\nfunc low() { var a, c int; _, _ = a, c }",
		"c.go": "package p\nfunc c(a A) { a.Do(); low() }",
	} {
		parsed, err := parser.ParseFile(fset, name, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, parsed)
	}
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	if _, err := new(types.Config).Check("p", fset, files, &info); err != nil {
		t.Fatal(err)
	}
	arrows := arrowsOf(info.Uses, fset)
	if got, want := fmt.Sprint(slices.Sorted(maps.Keys(arrows))), "[a.go -> b.go c.go -> a.go c.go -> b.go]"; got != want {
		t.Errorf("arrows %s, want %s", got, want)
	}
	if up := againstBestOrder(arrows); len(up) != 0 {
		t.Errorf("%v run up, want none", up)
	}
	arrows["b.go -> c.go"] = [2]string{"b.go", "c.go"}
	if up := againstBestOrder(arrows); len(up) != 1 {
		t.Errorf("%v run up, want one", up)
	}
}

const modulePath = "github.com/sessctl/sessctl/"

// compiled is a package's sources, and the file that has what it exports.
type compiled struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// loader checks the types of the product's packages, of which the compiler's cache
// has what they export.
type loader struct {
	fset    *token.FileSet
	imports types.Importer
	product []compiled
}

func loadProduct(t *testing.T) *loader {
	t.Helper()
	c := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles", "./cmd/...", "./internal/...", "./pkg/...")
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	l := &loader{fset: token.NewFileSet()}
	exports := map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p compiled
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if dir, own := strings.CutPrefix(p.ImportPath, modulePath); own && !isHarness(dir) {
			l.product = append(l.product, p)
		}
	}
	l.imports = importer.ForCompiler(l.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	return l
}

// isHarness reports whether a package is there for tests only.
func isHarness(dir string) bool {
	return strings.HasPrefix(dir, "internal/fake") || slices.Contains([]string{"internal/faults", "internal/e2e", "internal/packages", "internal/scriptcmd"}, dir)
}

// check reads the sources of a package, and notes the types of what is in them.
func (l *loader) check(p compiled, info *types.Info) (of *types.Package, files []*ast.File, err error) {
	for _, name := range p.GoFiles {
		parsed, err := parser.ParseFile(l.fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, nil, err
		}
		files = append(files, parsed)
	}
	of, err = (&types.Config{Importer: l.imports}).Check(p.ImportPath, l.fset, files, info)
	return of, files, err
}

// arrowsOf are the uses of what one file of a package declares in another file of
// it, as "from -> to".
func arrowsOf(uses map[*ast.Ident]types.Object, fset *token.FileSet) map[string][2]string {
	arrows := map[string][2]string{}
	for id, of := range uses {
		if !of.Pos().IsValid() {
			continue
		}
		from, to := fset.Position(id.Pos()).Filename, fset.Position(of.Pos()).Filename
		if from != to && filepath.Dir(from) == filepath.Dir(to) {
			pair := [2]string{filepath.Base(from), filepath.Base(to)}
			arrows[pair[0]+" -> "+pair[1]] = pair
		}
	}
	return arrows
}

// againstBestOrder are the arrows that run up in an order of the files in which few
// do: files that nothing uses come first, those that use nothing last, between them
// the one that uses more than it is used; then single files move while that helps.
func againstBestOrder(arrows map[string][2]string) []string {
	order := firstOrder(arrows)
	for betterOrder(order, arrows) {
	}
	at := map[string]int{}
	for i, file := range order {
		at[file] = i
	}
	var up []string
	for name, a := range arrows {
		if at[a[0]] > at[a[1]] {
			up = append(up, name)
		}
	}
	slices.Sort(up)
	return up
}

func firstOrder(arrows map[string][2]string) []string {
	surplus := map[string]int{} // arrows out of a file less those into it
	for _, a := range arrows {
		surplus[a[0]]++
		surplus[a[1]]--
	}
	order := slices.Sorted(maps.Keys(surplus))
	slices.SortStableFunc(order, func(a, b string) int { return surplus[b] - surplus[a] })
	return order
}

// betterOrder moves one file to where fewer arrows run up, and reports whether it
// found one.
func betterOrder(order []string, arrows map[string][2]string) bool {
	has := func(from, to string) int {
		if _, ok := arrows[from+" -> "+to]; ok {
			return 1
		}
		return 0
	}
	for i, file := range order {
		to, best := i, 0
		for _, step := range []int{1, -1} {
			cost := 0
			for j := i + step; j >= 0 && j < len(order); j += step {
				cost += step * (has(file, order[j]) - has(order[j], file))
				if cost < best {
					to, best = j, cost
				}
			}
		}
		if best < 0 {
			moved := slices.Insert(slices.Delete(slices.Clone(order), i, i+1), to, file)
			copy(order, moved)
			return true
		}
	}
	return false
}
