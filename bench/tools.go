package main

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// The peers' scripts. They do what the product does in the way a plain script
// does it; each says what it computes.
//
//go:embed peers
var peerScripts embed.FS

// tools is where the programs are.
type tools struct {
	dir     string            // of the peers' scripts and the built product
	paths   map[string]string // by name; absent if not there
	missing []string          // peers that are not installed
	broken  []string          // parts of the product that do not build, with the error
}

// findTools builds the product, writes the peers' scripts and looks for the
// programs that run them.
func findTools(dir string) (*tools, error) {
	t := &tools{dir: filepath.Join(dir, "bin"), paths: map[string]string{}}
	if err := os.MkdirAll(t.dir, 0o700); err != nil {
		return nil, err
	}
	if err := t.writeScripts(); err != nil {
		return nil, err
	}
	t.build("sessctl", module)
	for _, name := range []string{"extract", "kernel", "scan", "vectordb"} {
		t.build(name, module+"/bench/"+name)
	}
	return t, t.findPeers()
}

const module = "github.com/sessctl/sessctl"

func (t *tools) findPeers() error {
	for _, name := range []string{"wc", "find", "python3", "node", "jq", "zstd", "sh"} {
		path, err := exec.LookPath(name)
		if errors.Is(err, exec.ErrNotFound) {
			t.missing = append(t.missing, name)
			continue
		}
		if err != nil {
			return err
		}
		t.paths[name] = realProgram(name, path)
	}
	if t.paths["zstd"] != "" { // what is run is a shell that runs it
		t.paths["zstd and sh"] = t.paths["sh"]
	}
	return nil
}

// build builds a part of the product as it is released.
func (t *tools) build(name, pkg string) {
	path := filepath.Join(t.dir, name)
	c := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, pkg)
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		t.broken = append(t.broken, fmt.Sprintf("%s: %v\n%s", name, err, out))
		return
	}
	t.paths[name] = path
}

func (t *tools) writeScripts() error {
	entries, err := peerScripts.ReadDir("peers")
	if err != nil {
		return err
	}
	for _, e := range entries {
		text, err := peerScripts.ReadFile("peers/" + e.Name())
		if err != nil {
			return err
		}
		if err := os.WriteFile(t.script(e.Name()), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (t *tools) script(name string) string { return filepath.Join(t.dir, name) }

// realProgram looks through the shims of version managers, which are shell
// scripts that would be timed as well.
func realProgram(name, path string) string {
	if name != "python3" {
		return path
	}
	out, err := exec.Command(path, "-c", "import sys; print(sys.executable, end='')").Output()
	if err != nil || len(out) == 0 {
		return path
	}
	return string(out)
}
