package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// module is one that is in the program, and the directories of its packages.
type module struct {
	name string // path and version
	root string
	dirs []string
}

// writeLicences writes the licence texts of everything that is in the programs of
// all systems into one file. A module without one is an error.
func writeLicences(ctx context.Context, dir, file string) error {
	text, err := os.ReadFile(".goreleaser.yaml")
	if err != nil {
		return err
	}
	c, err := readConfiguration(text)
	if err != nil {
		return fmt.Errorf(".goreleaser.yaml: %w", err)
	}
	modules, err := modulesOf(ctx, dir, c.Builds[0].Goos)
	if err != nil {
		return err
	}
	licences, err := licencesOf(modules)
	if err != nil {
		return err
	}
	return writeText(file, licences)
}

// writeText writes a file that everybody can read, whatever the umask is: packages
// keep its mode.
func writeText(file string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return err
	}
	return os.Chmod(file, 0o644) //nolint:gosec // see above
}

// modulesOf are the modules in the program whose main package is in dir, built for
// some systems, in order. The standard library is the first.
func modulesOf(ctx context.Context, dir string, systems []string) ([]module, error) {
	root, err := output(ctx, goProgram(), "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	library := module{name: "the Go standard library", root: root}
	found := map[string]*module{}
	for _, system := range systems {
		const each = `{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{"\t"}}{{.Dir}}{{"\t"}}{{$.Dir}}{{end}}{{end}}`
		list := exec.CommandContext(ctx, goProgram(), "list", "-deps", "-f", each, ".")
		list.Dir, list.Env, list.Stderr = dir, append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0"), os.Stderr
		out, err := list.Output()
		if err != nil {
			return nil, fmt.Errorf("list the packages of the program for %s: %w", system, err)
		}
		for line := range strings.Lines(string(out)) {
			fields := strings.Split(strings.TrimSpace(line), "\t")
			if len(fields) != 3 {
				continue // a package of this module, or of the standard library
			}
			m := found[fields[0]]
			if m == nil {
				m = &module{name: fields[0], root: fields[1]}
				found[m.name] = m
			}
			m.dirs = append(m.dirs, fields[2])
		}
	}
	modules := []module{library}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		modules = append(modules, *found[name])
	}
	return modules, nil
}

// licenceName is how files with the terms of a module are called.
var licenceName = regexp.MustCompile(`(?i)^(.*[-_.])?((un)?licen[sc]es?|copying|copyright|notice|patents)([-_.].*)?$`)

// licenceFiles are the files with the terms of what is used of a module: in its
// root, in the directories of the packages, and in those between.
func (m module) licenceFiles() (files []string, err error) {
	looked := map[string]bool{}
	for _, dir := range append([]string{m.root}, m.dirs...) {
		for ; !looked[dir] && strings.HasPrefix(dir, m.root); dir = filepath.Dir(dir) {
			looked[dir] = true
			entries, err := os.ReadDir(dir)
			if err != nil {
				return nil, err
			}
			for _, e := range entries {
				if e.Type().IsRegular() && licenceName.MatchString(e.Name()) && filepath.Ext(e.Name()) != ".go" {
					files = append(files, filepath.Join(dir, e.Name()))
				}
			}
		}
	}
	if !slices.ContainsFunc(files, func(file string) bool { return filepath.Dir(file) == m.root }) {
		return nil, fmt.Errorf("%s has no file with its licence: find out its terms before it is used", m.name)
	}
	slices.Sort(files)
	return files, nil
}

// licencesOf is one text with the terms of all modules. Terms that several have
// word for word stand there once.
func licencesOf(modules []module) ([]byte, error) {
	var texts []string
	users := map[string][]string{}
	var without error
	for _, m := range modules {
		files, err := m.licenceFiles()
		without = errors.Join(without, err)
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			text := strings.TrimSpace(strings.ReplaceAll(string(content), "\r\n", "\n"))
			if text == "" {
				return nil, fmt.Errorf("%s: %s is empty", m.name, file)
			}
			if users[text] == nil {
				texts = append(texts, text)
			}
			name, err := filepath.Rel(m.root, file)
			if err != nil {
				return nil, err
			}
			users[text] = append(users[text], m.name+": "+filepath.ToSlash(name))
		}
	}
	var all bytes.Buffer
	all.WriteString("Licences of the software in sessctl that other people wrote. Those of its data are in NOTICE.\n")
	for _, text := range texts {
		fmt.Fprintf(&all, "\n%s\n%s\n\n%s\n", strings.Repeat("-", 78), strings.Join(users[text], "\n"), text)
	}
	return all.Bytes(), without
}
