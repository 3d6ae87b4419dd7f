package program

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	_ "github.com/sessctl/sessctl/cmd" // for the cache of go test: see doc.go
)

// Build builds sessctl in dir, with further flags of go build, and returns the
// path of the program. It has no symbols, like a release: that takes half the time
// to link. The error has what the compiler said.
func Build(dir string, flags ...string) (path string, err error) {
	path = filepath.Join(dir, "sessctl")
	cmd := exec.Command("go", append(append([]string{"build", "-ldflags=-s -w", "-o", path}, flags...), "github.com/sessctl/sessctl")...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build sessctl: %w\n%s", err, out)
	}
	return path, nil
}

// Once is a program that is built the first time somebody asks for it. The zero
// value is ready; it may be used by several goroutines.
type Once struct {
	once sync.Once
	dir  string
	path string
	err  error
}

// Path returns the path of the program, or the error of Build.
func (o *Once) Path() (string, error) {
	o.once.Do(func() {
		if o.dir, o.err = os.MkdirTemp("", "sessctl-program-*"); o.err == nil {
			o.path, o.err = Build(o.dir)
		}
	})
	return o.path, o.err
}

// Remove removes the program, if it was built.
func (o *Once) Remove() error { return os.RemoveAll(o.dir) }
