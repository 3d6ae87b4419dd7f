package main_test

import (
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
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/tier"
)

// stored are the types that files of the data directory are written from. What is
// printed, sent as an event or served is made of other types: a field that somebody
// wants to see is not stored by that, and one that is stored is no promise to anybody.
var stored = []string{
	"pkg/archive.Entry",               // archives/, and in the trash
	"pkg/archive/objects.sent",        // outgoing/
	"pkg/compact.Intent",              // journal/
	"pkg/compact.Receipt",             // receipts/
	"pkg/compact.SetAside",            // journal/*.set-aside
	"pkg/hooks.record",                // hooks/<runtime>.json
	"pkg/memory.KeptSummary",          // memory-summaries/
	"pkg/memory.forgottenFile",        // memory-forgotten/
	"pkg/memory.forgottenList",        // memory-forgotten.json
	"pkg/memory.keptWords",            // memory-stored/
	"pkg/operate.RunRecord",           // runs/
	"pkg/operate.pruned",              // runs/, counted
	"pkg/operate/jobs.clockFile",      // jobs/clock
	"pkg/operate/jobs.file",           // jobs/
	"pkg/operate/monitor.State",       // monitor.json
	"pkg/operate/outbox.stored",       // outbox/
	"pkg/retention.Item",              // trash/
	"pkg/retention.Line",              // audit.jsonl
	"pkg/retention.TrashedSession",    // trash/
	"pkg/retention.trust",             // clock.json
	"internal/removal.PinnedSessions", // pinned.json
	"internal/removal.ShrinkIntent",   // shrink/
	"internal/steps.FactsReceipt",     // facts/
	"internal/unattended.HookFailed",  // hooks/failures.jsonl
	"internal/workspace.places",       // places.json
	"pkg/report.Check",                // verified.jsonl
}

// alsoPrinted are stored types that are still printed. A row may only go.
var alsoPrinted = []string{
	"internal/removal.PinnedSession",
	"internal/unattended.HookFailed",
	"pkg/operate/jobs.Failure", "pkg/operate/jobs.Job", "pkg/operate/jobs.Result",
	"pkg/operate/outbox.Delivery", "pkg/operate/outbox.Event",
	"pkg/report.Check",
}

// printing are the functions that are given a document, and which argument it is.
var printing = map[string]int{"printJSON": 0, "writeJSON": 2, "EmitOnce": 3, "EmitNow": 3, "PutEvent": 3}

// TestStoredIsNotPrinted holds that no document reaches a type that is stored.
func TestStoredIsNotPrinted(t *testing.T) {
	tier.Rule(t)
	p, err := loadProgram()
	if err != nil {
		t.Fatal(err)
	}
	kept, roots := reach{}, p.documents()
	for _, name := range stored {
		if p.lookup(name) == nil {
			t.Errorf("there is no type %s", name)
			continue
		}
		kept.add(p.lookup(name), name)
	}
	if len(roots) < 45 {
		t.Errorf("only %d documents were found", len(roots))
	}
	printed := reach{}
	for _, at := range slices.Sorted(maps.Keys(roots)) {
		printed.add(roots[at], at)
	}
	for _, problem := range shared(kept, printed, alsoPrinted) {
		t.Error(problem)
	}
}

// shared are sentences about types that are stored and printed, and about rows of
// exceptions that are not needed.
func shared(kept, printed reach, except []string) (problems []string) {
	for _, name := range slices.Sorted(maps.Keys(kept)) {
		at, both := printed[name]
		switch allowed := slices.Contains(except, name); {
		case both && !allowed:
			problems = append(problems, fmt.Sprintf("%s is stored (by %s) and printed (at %s): print another type, with a function that converts", name, kept[name], at))
		case !both && allowed:
			problems = append(problems, name+" is printed no more: its row in stored_test.go goes")
		}
	}
	return problems
}

// reach are struct types of the module, by name, each with what reaches it first.
type reach map[string]string

// add goes over a type and what encoding/json would find in it.
func (r reach) add(t types.Type, from string) {
	switch x := types.Unalias(t).(type) {
	case *types.Pointer:
		r.add(x.Elem(), from)
	case *types.Slice:
		r.add(x.Elem(), from)
	case *types.Array:
		r.add(x.Elem(), from)
	case *types.Map:
		r.add(x.Elem(), from)
	case *types.Named:
		r.addNamed(x, from)
	case *types.Struct:
		for i := range x.NumFields() {
			if f := x.Field(i); (f.Exported() || f.Embedded()) && reflect.StructTag(x.Tag(i)).Get("json") != "-" {
				r.add(f.Type(), from)
			}
		}
	}
}

func (r reach) addNamed(x *types.Named, from string) {
	if x.Obj().Pkg() == nil || !strings.HasPrefix(x.Obj().Pkg().Path(), module+"/") {
		return
	}
	name := strings.TrimPrefix(x.Obj().Pkg().Path(), module+"/") + "." + x.Obj().Name()
	if _, isStruct := x.Underlying().(*types.Struct); isStruct && x.TypeArgs().Len() == 0 {
		if _, known := r[name]; known {
			return
		}
		r[name] = from
	}
	r.add(x.Underlying(), from)
}

// loaded are the packages of the program that know documents or files, with types.
type loaded struct {
	set      *token.FileSet
	packages map[string]*types.Package // by path below the module
	files    map[string][]*ast.File
	info     *types.Info
}

// loadProgram reads them. What they import comes from what the compiler has kept.
func loadProgram() (*loaded, error) {
	list := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}\t{{.Dir}}\t{{join .GoFiles \" \"}}", "./cmd")
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, err.(*exec.ExitError).Stderr)
	}
	p := &loaded{token.NewFileSet(), map[string]*types.Package{}, map[string][]*ast.File{}, &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Instances: map[*ast.Ident]types.Instance{},
	}}
	export := map[string]string{}
	conf := types.Config{Importer: importer.ForCompiler(p.set, "gc", func(of string) (io.ReadCloser, error) { return os.Open(export[of]) })}
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		export[fields[0]] = fields[1]
		if of, ours := strings.CutPrefix(fields[0], module+"/"); ours && !strings.HasPrefix(of, "pkg/session/") {
			if err := p.load(conf, of, fields[2], strings.Fields(fields[3])); err != nil {
				return nil, err
			}
		}
	}
	return p, nil
}

func (p *loaded) load(conf types.Config, of, dir string, names []string) error {
	for _, name := range names {
		file, err := parser.ParseFile(p.set, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		p.files[of] = append(p.files[of], file)
	}
	var err error
	p.packages[of], err = conf.Check(module+"/"+of, p.set, p.files[of], p.info)
	return err
}

// lookup returns a type by the path of its package and its name, nil for none.
func (p *loaded) lookup(name string) types.Type {
	dot := strings.LastIndexByte(name, '.')
	if of := p.packages[name[:dot]]; of != nil {
		if object := of.Scope().Lookup(name[dot+1:]); object != nil {
			return object.Type()
		}
	}
	return nil
}

// documents are the types of what is printed, sent and served, by where that is.
func (p *loaded) documents() map[string]types.Type {
	all := map[string]types.Type{}
	for of, files := range p.files {
		for _, file := range files {
			ast.Inspect(file, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok && (of == "cmd" || strings.HasPrefix(of, "internal/")) {
					p.document(all, call)
				}
				return true
			})
		}
	}
	return all
}

// document notes what a call prints, or what it lets the server answer.
func (p *loaded) document(all map[string]types.Type, call *ast.CallExpr) {
	at := p.set.Position(call.Pos())
	where := fmt.Sprintf("%s:%d", filepath.Base(at.Filename), at.Line)
	var called *ast.Ident
	switch f := call.Fun.(type) {
	case *ast.Ident:
		called = f
	case *ast.SelectorExpr:
		called = f.Sel
	default:
		return
	}
	if i, prints := printing[called.Name]; prints && i < len(call.Args) {
		if t := p.info.Types[call.Args[i]].Type; t.String() != module+"/internal/steps.FactsReceipt" { // that is written into its file
			all[where] = t
		}
	}
	if of := p.info.Instances[called].TypeArgs; called.Name == "Register" && of.Len() == 2 { // huma's: the request, the answer
		all[where] = of.At(1)
	}
}

// TestStoredIsNotPrintedCanFail shows that the check sees a stored type in a list
// of pointers below an embedded struct, and a row that is not needed.
func TestStoredIsNotPrintedCanFail(t *testing.T) {
	tier.Rule(t)
	text := `package p
type Kept struct{ Inner Inner }
type Inner struct{ N int }
type document struct{ embedded; Hidden Kept ` + "`json:\"-\"`" + ` }
type embedded struct{ List map[string][]*Inner }`
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "p.go", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	of, err := new(types.Config).Check(module+"/pkg/p", set, []*ast.File{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	kept, printed := reach{}, reach{}
	kept.add(of.Scope().Lookup("Kept").Type(), "Kept")
	printed.add(of.Scope().Lookup("document").Type(), "document")
	if got := shared(kept, printed, []string{"pkg/p.Kept"}); len(got) != 2 || !strings.HasPrefix(got[0], "pkg/p.Inner is stored") || !strings.HasPrefix(got[1], "pkg/p.Kept is printed no more") {
		t.Errorf("%q", got)
	}
}
