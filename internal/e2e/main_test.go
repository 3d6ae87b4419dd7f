package e2e_test

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sessctl/sessctl/internal/fakegateway"
	"github.com/sessctl/sessctl/internal/fakemanagers"
	"github.com/sessctl/sessctl/internal/program"
	"github.com/sessctl/sessctl/internal/scratch"
)

// The module, and what lies beside it, from the directory of this package.
const (
	module = "../.."
	shared = "../../../shared"
)

var sessctl program.Once

// TestMain puts programs on the path: "openclaw", through which sessctl asks the
// gateway, and "systemctl", which starts nothing.
func TestMain(m *testing.M) {
	testscript.Main(removing{m}, map[string]func(){
		"openclaw":  func() { os.Exit(fakegateway.Program(os.Args[1:], os.Stdout, os.Stderr)) },
		"systemctl": func() { os.Exit(fakemanagers.Program(os.Args, os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// removing runs tests and removes the program that they built.
type removing struct{ *testing.M }

// Run implements testscript.TestingM.
func (r removing) Run() int {
	defer func() { _ = sessctl.Remove() }() // a leftover in the temporary directory fails no test
	if err := os.Setenv("TMPDIR", scratch.Dir()); err != nil {
		return 1
	}
	return r.M.Run()
}

// buildProgram builds the program once for all tests.
func buildProgram(t *testing.T) string {
	t.Helper()
	path, err := sessctl.Path()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
