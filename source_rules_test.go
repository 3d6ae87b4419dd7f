package main_test

import (
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"
)

func (c *checker) function(d *ast.FuncDecl) {
	if d.Name.Name == "init" && d.Recv == nil {
		c.report(d.Pos(), "init(): nothing happens before main; make it a constructor")
	}
	at := c.set.Position(d.Pos())
	_, exempt := longFunctions[at.Filename+" "+d.Name.Name]
	if lines := c.set.Position(d.End()).Line - at.Line + 1; lines > maxFunctionLines && !exempt {
		c.report(d.Pos(), "function %s has %d lines, more than %d", d.Name.Name, lines, maxFunctionLines)
	}
	if !c.program && d.Doc == nil && d.Name.IsExported() && exportedReceiver(d) {
		c.report(d.Pos(), "exported %s has no doc comment", d.Name.Name)
	}
}

// exportedReceiver says whether a function is one, or a method of an exported type.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	receiver := d.Recv.List[0].Type
	for {
		switch t := receiver.(type) {
		case *ast.StarExpr:
			receiver = t.X
		case *ast.IndexExpr:
			receiver = t.X
		case *ast.Ident:
			return t.IsExported()
		default:
			return true
		}
	}
}

func (c *checker) declaration(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			c.documented(d, s.Name, s.Doc, s.Comment)
		case *ast.ValueSpec:
			for _, name := range s.Names {
				c.documented(d, name, s.Doc, s.Comment)
			}
			if d.Tok == token.VAR && holdsState(s.Type) {
				c.report(s.Pos(), "package variable %s holds state: keep it in a value that somebody owns", s.Names[0].Name)
			}
		}
	}
}

// holdsState says whether a type is one whose values only make sense if they
// change.
func holdsState(t ast.Expr) bool {
	if t == nil {
		return false
	}
	name := types.ExprString(t)
	return strings.HasPrefix(name, "sync.") || strings.HasPrefix(name, "atomic.") || name == "bytes.Buffer" || name == "strings.Builder"
}

func (c *checker) documented(d *ast.GenDecl, name *ast.Ident, own, line *ast.CommentGroup) {
	if !c.program && name.IsExported() && d.Doc == nil && own == nil && line == nil {
		c.report(name.Pos(), "exported %s has no doc comment", name.Name)
	}
}

// assigned reports package variables that are changed after their declaration.
func (c *checker) assigned(n ast.Node) {
	switch s := n.(type) {
	case *ast.AssignStmt:
		if s.Tok != token.DEFINE {
			c.unchanged(s.Lhs...)
		}
	case *ast.IncDecStmt:
		c.unchanged(s.X)
	case *ast.RangeStmt:
		if s.Tok == token.ASSIGN {
			c.unchanged(s.Key, s.Value)
		}
	case *ast.UnaryExpr:
		if s.Op == token.AND {
			c.unchanged(s.X)
		}
	case *ast.CallExpr:
		if f, ok := s.Fun.(*ast.Ident); ok && (f.Name == "delete" || f.Name == "clear" || f.Name == "copy") {
			c.unchanged(s.Args[0])
		}
	}
}

func (c *checker) unchanged(targets ...ast.Expr) {
	for _, target := range targets {
		root := rootOf(target)
		if root == nil {
			continue
		}
		if v, ok := c.info.Uses[root].(*types.Var); ok && v.Parent() == c.scope {
			c.report(root.Pos(), "package variable %s is changed after its declaration (or its address is taken)", root.Name)
		}
	}
}

// rootOf returns the variable that an assignment to e changes, or nil. What a
// function returns belongs to nobody here.
func rootOf(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return nil
		}
	}
}

// diagnostics are files that make a file for whoever asked for it, on which
// nothing depends.
var diagnostics = map[string]bool{"cmd/profile.go": true}

// used reports calls and references that only certain packages may have.
func (c *checker) used(s *ast.SelectorExpr) {
	name := s.Sel.Name
	pkg := c.packageOf(s)
	diagnostic := diagnostics[c.set.Position(s.Pos()).Filename]
	switch {
	case pkg == "os" && name == "Exit" && c.dir != ".", pkg == "log" && strings.HasPrefix(name, "Fatal"):
		c.report(s.Pos(), "%s.%s: only main exits; return an error", path.Base(pkg), name)
	case pkg == "fmt" && strings.HasPrefix(name, "Print") && c.dir != "cmd":
		c.report(s.Pos(), "fmt.%s: stdout belongs to cmd", name)
	case (name == "WriteLease" || name == "ExchangeFilesIn") && c.dir != "pkg/durable" && c.dir != "pkg/session/logfile":
		c.report(s.Pos(), "%s: a live log is taken from its runtime by pkg/session/logfile alone", name)
	case c.dir != "pkg/durable" && !diagnostic && changesFiles(pkg, name):
		c.report(s.Pos(), "%s.%s: files are created, renamed, replaced and removed by pkg/durable alone", path.Base(pkg), name)
	}
}

// asserted reports questions for what a store can do: it says so itself.
func (c *checker) asserted(a *ast.TypeAssertExpr) {
	switch t := a.Type.(type) {
	case *ast.SelectorExpr:
		if c.packageOf(t) == module+"/pkg/session" {
			c.report(a.Pos(), "session.%s is asked for by type assertion: ask Store.Capabilities", t.Sel.Name)
		}
	case *ast.InterfaceType:
		c.report(a.Pos(), "an interface without a name is asked for by type assertion: ask Store.Capabilities, or name it")
	}
}

// packageOf returns the import path of the package that s is selected from;
// "os.Root" for its methods.
func (c *checker) packageOf(s *ast.SelectorExpr) string {
	if x, ok := s.X.(*ast.Ident); ok {
		if p, ok := c.info.Uses[x].(*types.PkgName); ok {
			return p.Imported().Path()
		}
	}
	if selection := c.info.Selections[s]; selection != nil && strings.TrimPrefix(selection.Recv().String(), "*") == "os.Root" {
		return "os.Root"
	}
	return ""
}

func changesFiles(pkg, name string) bool {
	switch pkg {
	case "os", "os.Root":
		return slices.Contains([]string{"Rename", "Remove", "RemoveAll", "Truncate", "WriteFile", "Create", "CreateTemp", "Link", "Symlink", "Mkdir", "MkdirAll", "MkdirTemp"}, name)
	case "syscall", "golang.org/x/sys/unix", "golang.org/x/sys/windows":
		return slices.Contains([]string{"Rename", "Renameat", "Renameat2", "Unlink", "Unlinkat", "Rmdir", "Truncate", "Ftruncate", "Link", "Linkat", "Symlink", "Mkdir", "Mkdirat", "MoveFile", "MoveFileEx", "ReplaceFile", "DeleteFile"}, name)
	}
	return false
}

// opened reports os.OpenFile with a flag that makes or empties a file.
func (c *checker) opened(call *ast.CallExpr) {
	s, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != "OpenFile" || len(call.Args) != 3 {
		return
	}
	if pkg := c.packageOf(s); pkg != "os" && pkg != "os.Root" || diagnostics[c.set.Position(s.Pos()).Filename] {
		return
	}
	if flags := types.ExprString(call.Args[1]); strings.Contains(flags, "O_CREATE") || strings.Contains(flags, "O_TRUNC") {
		c.report(s.Pos(), "os.OpenFile with %s: files are created by pkg/durable alone", flags)
	}
}
