package main_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
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
	"pkg/archive.Entry",                 // archives/, and in the trash
	"pkg/archive/objects.sent",          // outgoing/
	"pkg/compact.Intent",                // journal/
	"pkg/compact.Receipt",               // receipts/
	"pkg/compact.SetAside",              // journal/*.set-aside
	"pkg/hooks.record",                  // hooks/<runtime>.json
	"pkg/memory.KeptSummary",            // memory-summaries/
	"pkg/memory.forgottenFile",          // memory-forgotten/
	"pkg/memory.forgottenList",          // memory-forgotten.json
	"pkg/memory.keptWords",              // memory-stored/
	"pkg/operate.RunRecord",             // runs/
	"pkg/operate.pruned",                // runs/, counted
	"pkg/operate/jobs.clockFile",        // jobs/clock
	"pkg/operate/jobs.file",             // jobs/
	"pkg/operate/monitor.State",         // monitor.json
	"pkg/operate/outbox.silence",        // outbox/targets.json
	"pkg/operate/outbox.stored",         // outbox/
	"pkg/retention.Item",                // trash/
	"pkg/retention.Line",                // audit.jsonl
	"pkg/retention.TrashedSession",      // trash/
	"pkg/retention.trust",               // clock.json
	"internal/audit.Check",              // verified.jsonl
	"internal/workspace.PinnedSessions", // pinned.json
	"internal/removal.ShrinkIntent",     // shrink/
	"internal/steps.FactsReceipt",       // facts/
	"internal/unattended.HookFailed",    // hooks/failures.jsonl
	"internal/workspace.places",         // places.json
}

// printing are the functions that are given a document, and which argument it is.
var printing = map[string]int{"printJSON": 0, "writeJSON": 2, "EmitOnce": 3, "EmitNow": 3, "PutEvent": 3}

// TestStoredIsNotPrinted holds that no document reaches a type that is stored.
func TestStoredIsNotPrinted(t *testing.T) {
	tier.Rule(t)
	p := loadProgram(t)
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
	for _, problem := range shared(kept, printed) {
		t.Error(problem)
	}
}

// shared are sentences about types that are stored and printed.
func shared(kept, printed reach) (problems []string) {
	for _, name := range slices.Sorted(maps.Keys(kept)) {
		if at, both := printed[name]; both {
			problems = append(problems, fmt.Sprintf("%s is stored (by %s) and printed (at %s): print another type, with a function that converts", name, kept[name], at))
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
	if x.Obj().Pkg() == nil || !strings.HasPrefix(x.Obj().Pkg().Path(), modulePath) {
		return
	}
	name := strings.TrimPrefix(x.Obj().Pkg().Path(), modulePath) + "." + x.Obj().Name()
	if _, isStruct := x.Underlying().(*types.Struct); isStruct && x.TypeArgs().Len() == 0 {
		if _, known := r[name]; known {
			return
		}
		r[name] = from
	}
	r.add(x.Underlying(), from)
}

// program is what the packages of the program declare, and the types of what is in
// their sources.
type program struct {
	*loader
	packages map[string]*types.Package // by path below the module
	files    map[string][]*ast.File
	info     types.Info
}

func loadProgram(t *testing.T) *program {
	t.Helper()
	p := &program{loadProduct(t), map[string]*types.Package{}, map[string][]*ast.File{}, types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Instances: map[*ast.Ident]types.Instance{},
	}}
	for _, one := range p.product {
		of, err := strings.TrimPrefix(one.ImportPath, modulePath), error(nil)
		if strings.HasPrefix(of, "pkg/session/") {
			continue // files of runtimes
		}
		if p.packages[of], p.files[of], err = p.check(one, &p.info); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// lookup returns a type by the path of its package and its name, nil for none.
func (p *program) lookup(name string) types.Type {
	dot := strings.LastIndexByte(name, '.')
	if of := p.packages[name[:dot]]; of != nil {
		if object := of.Scope().Lookup(name[dot+1:]); object != nil {
			return object.Type()
		}
	}
	return nil
}

// documents are the types of what is printed, sent and served, by where that is.
func (p *program) documents() map[string]types.Type {
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
func (p *program) document(all map[string]types.Type, call *ast.CallExpr) {
	at := p.fset.Position(call.Pos())
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
		if t := p.info.Types[call.Args[i]].Type; t.String() != modulePath+"internal/steps.FactsReceipt" { // that is written into its file
			all[where] = t
		}
	}
	if of := p.info.Instances[called].TypeArgs; called.Name == "Register" && of.Len() == 2 { // huma's: the request, the answer
		all[where] = of.At(1)
	}
}

// TestStoredIsNotPrintedCanFail shows that the check sees a stored type in a list
// of pointers below an embedded struct, and not below a field that is not printed.
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
	of, err := new(types.Config).Check(modulePath+"pkg/p", set, []*ast.File{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	kept, printed := reach{}, reach{}
	kept.add(of.Scope().Lookup("Kept").Type(), "Kept")
	printed.add(of.Scope().Lookup("document").Type(), "document")
	if got := shared(kept, printed); len(got) != 1 || !strings.HasPrefix(got[0], "pkg/p.Inner is stored (by Kept) and printed (at document)") {
		t.Errorf("%q", got)
	}
}
