package program

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	_ "github.com/sessctl/sessctl/cmd" // for the cache of go test: see doc.go
)

// environment names the variable with the absolute path of the program under test.
// make test sets it to the one that it has just built for all packages.
const environment = "SESSCTL_PROGRAM"

// Build builds sessctl in dir, with further flags of go build, and returns the
// path of the program. It has no symbols, like a release: that takes half the time
// to link. The error has what the compiler said.
func Build(dir string, flags ...string) (path string, err error) {
	path = filepath.Join(dir, "sessctl")
	cmd := exec.Command("go", append(append([]string{"build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", path}, flags...), "github.com/sessctl/sessctl")...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build sessctl: %w\n%s", err, out)
	}
	return path, nil
}

// Once is the program under test: the one that SESSCTL_PROGRAM names, or else one
// that is built the first time somebody asks for it. The zero value is ready; it
// may be used by several goroutines.
type Once struct {
	once sync.Once
	dir  string // of what was built here
	path string
	err  error
}

// Path returns the absolute path of the program, or the error of Build. A program
// that SESSCTL_PROGRAM names must be there.
func (o *Once) Path() (string, error) {
	o.once.Do(func() {
		if given := os.Getenv(environment); given != "" {
			o.path, o.err = given, check(given)
			return
		}
		if o.dir, o.err = os.MkdirTemp("", "sessctl-program-*"); o.err == nil {
			o.path, o.err = Build(o.dir)
		}
	})
	return o.path, o.err
}

// check looks at a path that was given: tests run in directories of their own.
func check(path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("%s=%s: the path must be absolute", environment, path)
	}
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("look at the program of %s: %w", environment, err)
	}
	return nil
}

// Remove removes the program, if it was built here.
func (o *Once) Remove() error {
	if o.dir == "" {
		return nil
	}
	return os.RemoveAll(o.dir)
}
