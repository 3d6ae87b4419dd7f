package session

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// valuesFor are values for the verbs of a sentence.
func valuesFor(sentence string) (values []any) {
	for i := range len(sentence) - 1 {
		switch sentence[i : i+2] {
		case "%d":
			values = append(values, 7)
		case "%s", "%v":
			values = append(values, "work")
		}
	}
	return values
}

// TestReasonsAreTold goes over the table: every sentence with values in it leads
// back to its own reason, also behind what was being done.
func TestReasonsAreTold(t *testing.T) {
	for r, row := range reasons {
		text := r.Text(valuesFor(row.sentence)...)
		if text == "" || strings.Contains(text, "%!") {
			t.Errorf("%s says %q", r, text)
		}
		for _, said := range []string{text, "starts fresh: " + text} {
			if got := ReasonOf(said); got != r {
				t.Errorf("%q is of %q, want %q", said, got, r)
			}
		}
	}
	for _, other := range []string{"", "permission denied", "open /a: no such file"} {
		if got := ReasonOf(other); got != "" {
			t.Errorf("%q is of %q", other, got)
		}
	}
	if got := ReasonOf("this session cannot be changed: /a.jsonl: " + ReasonClosed.Text()); got != ReasonClosed {
		t.Errorf("a reason behind a path is %q", got)
	}
}

// literals are the places of a file where a reason is written out instead of taken
// from the table, or gets another number of values than its sentence has.
func literals(file string, text any, names map[string]Reason) (found []string, err error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	report := func(at ast.Node, what string) { found = append(found, set.Position(at.Pos()).String()+": "+what) }
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.CompositeLit:
			if name := nameOf(x.Type); name != "BusyError" && name != "Ref" {
				return true
			}
			for _, e := range x.Elts {
				if kv, ok := e.(*ast.KeyValueExpr); ok && nameOf(kv.Key) == "Reason" && worded(kv.Value) {
					report(kv, "a reason that is not in the table")
				}
			}
		case *ast.AssignStmt:
			for i, left := range x.Lhs {
				if len(x.Rhs) == len(x.Lhs) && (reasonOf(left) || passesOver(x.Rhs)) && worded(x.Rhs[i]) {
					report(x, "a reason that is not in the table")
				}
			}
		case *ast.CallExpr:
			if takesReason(x) && worded(x.Args[len(x.Args)-1]) {
				report(x, "a reason that is not in the table")
			}
			if n, ok := valuesWanted(x, names); ok && n != len(x.Args) {
				report(x, "the sentence has another number of values")
			}
		}
		return true
	})
	return found, nil
}

func nameOf(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	}
	return ""
}

// reasonOf says whether the reason of a reference, a busy session or a verdict is set.
func reasonOf(e ast.Expr) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != "Reason" {
		return false
	}
	of := nameOf(s.X)
	return of == "ref" || of == "busy" || of == "v"
}

// passesOver says whether an assignment sets an outcome with which nothing is done.
func passesOver(right []ast.Expr) bool {
	switch nameOf(right[0]) {
	case "Busy", "NothingToDo", "Unsupported", "BelowThreshold":
		return true
	}
	return false
}

// takesReason says whether the last argument of a call is a reason.
func takesReason(c *ast.CallExpr) bool {
	switch nameOf(c.Fun) {
	case "busy", "refuse", "freeze", "stop", "Located", "MarkKept", "Unsupported", "NewResult":
		return len(c.Args) > 0
	}
	return false
}

// worded says whether an expression has words of its own.
func worded(e ast.Expr) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok && nameOf(c.Fun) == "Text" {
			return false
		}
		l, ok := n.(*ast.BasicLit)
		found = found || ok && l.Kind == token.STRING && strings.ContainsFunc(l.Value, func(r rune) bool { return r >= 'a' && r <= 'z' })
		return true
	})
	return found
}

// valuesWanted is how many values the sentence of a call such as
// ReasonX.Text(values) has.
func valuesWanted(c *ast.CallExpr, names map[string]Reason) (int, bool) {
	s, ok := c.Fun.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != "Text" {
		return 0, false
	}
	r, known := names[nameOf(s.X)]
	return len(valuesFor(reasons[r].sentence)), known
}

// reasonNames are the reasons by the names of their constants.
func reasonNames(t *testing.T) map[string]Reason {
	names := map[string]Reason{}
	parsed, err := parser.ParseFile(token.NewFileSet(), "reasons.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && nameOf(v.Type) == "Reason" {
			code, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			names[v.Names[0].Name] = Reason(code)
		}
		return true
	})
	return names
}

// TestReasonsAreInTheTable goes over the source: no reason is written out where a
// session is passed over, and each sentence gets its values.
func TestReasonsAreInTheTable(t *testing.T) {
	names := reasonNames(t)
	if len(names) != len(reasons) {
		t.Errorf("%d reasons have a name, %d a sentence", len(names), len(reasons))
	}
	for _, top := range []string{"pkg/session", "pkg/compact", "pkg/retention", "internal/selection", "internal/removal", "internal/steps", "internal/workspace", "internal/audit", "cmd"} {
		err := filepath.WalkDir(filepath.Join("..", "..", filepath.FromSlash(top)), func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
				return err
			}
			found, err := literals(file, nil, names)
			for _, f := range found {
				t.Error(f)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestReasonLiteralsAreSeen shows that the check can fail.
func TestReasonLiteralsAreSeen(t *testing.T) {
	names := reasonNames(t)
	for text, want := range map[string]int{
		`_ = &session.BusyError{Path: "x", Reason: "it is busy"}`:                               1,
		`_ = session.Ref{Reason: fmt.Sprintf("it is %d", 1)}`:                                   1,
		`ref.State, ref.Reason = 1, "it is busy"`:                                               1,
		`busy.Reason += "and more"`:                                                             1,
		`_ = p.stop(Busy, "it is "+name)`:                                                       1,
		`_ = c.busy("it is busy")`:                                                              1,
		`_ = logfile.Unsupported("path", "it is no log")`:                                       1,
		`r.result.Outcome, r.result.Reason = Busy, "it was moved"`:                              1,
		`_ = session.ReasonGrew.Text()`:                                                         1,
		`_ = session.ReasonTorn.Text(1)`:                                                        1,
		`_ = &session.BusyError{Path: "x", Reason: session.ReasonGrew.Text(1)}`:                 0,
		`_ = c.busy(session.ReasonFileAt.Text("a"))`:                                            0,
		`ref.Reason = ""`:                                                                       0,
		`_ = workspace.Mode{Reason: "archive"}; _ = p.stop(Busy, reason.Error()+"; "+p.Reason)`: 0,
	} {
		found, err := literals("a.go", "package p\nfunc f() { "+text+" }\n", names)
		if err != nil || len(found) != want {
			t.Errorf("%s: %q, %v, want %d", text, found, err, want)
		}
	}
}
