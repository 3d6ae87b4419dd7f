package product

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Module is the path of the program's module, and of its main package.
const Module = "github.com/sessctl/sessctl"

// Root returns the directory of the program's module. It is asked for in the
// module of the benchmarks.
func Root(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", Module).Output()
	if err != nil {
		return "", fmt.Errorf("find the program's module: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// Build builds the program in a directory, as it is released but for the profile that
// the compiler goes by then: it gives functions other names, and stages are told apart by
// names. It returns its path. The error has what the compiler said.
func Build(ctx context.Context, dir string) (string, error) {
	root, err := Root(ctx)
	if err != nil {
		return "", err
	}
	path, err := filepath.Abs(filepath.Join(dir, "sessctl"))
	if err != nil {
		return "", err
	}
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, ".")
	c.Dir = root
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return path, nil
}
