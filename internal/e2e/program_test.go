package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/program"
)

// A program that is named is the one that is tested, or the test fails; nobody
// removes it.
func TestNamedProgram(t *testing.T) {
	named := filepath.Join(t.TempDir(), "sessctl")
	t.Setenv("SESSCTL_PROGRAM", named)
	var missing program.Once
	if path, err := missing.Path(); err == nil || !strings.Contains(err.Error(), named) {
		t.Errorf("a program that is not there: %q, %v", path, err)
	}
	if err := os.WriteFile(named, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	var given program.Once
	if path, err := given.Path(); path != named || err != nil {
		t.Errorf("%q, %v", path, err)
	}
	if err := given.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(named); err != nil {
		t.Error(err)
	}
	t.Setenv("SESSCTL_PROGRAM", "bin/sessctl")
	var relative program.Once
	if path, err := relative.Path(); err == nil || !strings.Contains(err.Error(), "absolute") {
		t.Errorf("a relative path: %q, %v", path, err)
	}
}
