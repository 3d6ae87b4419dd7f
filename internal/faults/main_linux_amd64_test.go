package faults

import (
	"os"
	"testing"

	"github.com/sessctl/sessctl/internal/program"
)

var sessctl program.Once

func TestMain(m *testing.M) {
	PlayManager()
	code := m.Run()
	_ = sessctl.Remove() // a leftover in the temporary directory fails no test
	os.Exit(code)
}

// BuiltProgram builds sessctl once for all tests and returns its path.
func BuiltProgram(t *testing.T) string {
	t.Helper()
	path, err := sessctl.Path()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
