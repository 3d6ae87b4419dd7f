// Packages builds what a release consists of from .goreleaser.yaml, without
// goreleaser: programs, archives, packages of Debian and of RPM, lists of what is
// in them and checksums. The same commit gives the same bytes.
//
//	go run ./internal/packages [-version V] [-targets linux/amd64,...] DIR
//	go run ./internal/packages -licences FILE   the licences of what is in it
//	go run ./internal/packages -manual DIR      man pages and completions
//
// It needs git, make, nfpm and cyclonedx-gomod (tools/packages/go.mod).
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	version := flag.String("version", "", "the version (default: as git describes the commit)")
	targets := flag.String("targets", "", "systems and processors, such as linux/amd64,windows/arm64 (default: all)")
	tools := flag.String("tools", "bin", "where nfpm and cyclonedx-gomod are")
	licences := flag.String("licences", "", "write the licences of all modules into this file, and stop")
	pages := flag.String("manual", "", "write man pages and completions below this directory, and stop")
	flag.Parse()
	if *pages != "" {
		if err := writeManual(*pages, *version, os.Getenv("SOURCE_DATE_EPOCH")); err != nil {
			fmt.Fprintln(os.Stderr, "packages:", err)
			os.Exit(1)
		}
		return
	}
	if *licences != "" {
		if err := writeLicences(context.Background(), ".", *licences); err != nil {
			fmt.Fprintln(os.Stderr, "packages:", err)
			os.Exit(1)
		}
		return
	}
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: packages [flags] DIR")
		os.Exit(2)
	}
	if err := run(context.Background(), *version, *targets, *tools, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "packages:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, version, targets, tools, dir string) error {
	text, err := os.ReadFile(".goreleaser.yaml")
	if err != nil {
		return err
	}
	c, err := readConfiguration(text)
	if err != nil {
		return fmt.Errorf(".goreleaser.yaml: %w", err)
	}
	r, err := newRelease(ctx, version, tools, dir)
	if err != nil {
		return err
	}
	chosen, err := chosenTargets(c.Builds[0], targets)
	if err != nil {
		return err
	}
	return r.build(ctx, c, chosen)
}

// release is what is being built, and where.
type release struct {
	version string // without v
	date    time.Time
	tools   string
	dir     string
}

func newRelease(ctx context.Context, version, tools, dir string) (release, error) {
	own, err := output(ctx, "git", "rev-parse", "--absolute-git-dir")
	if err != nil {
		return release{}, err
	}
	if filepath.Base(filepath.Dir(own)) == "worktrees" {
		return release{}, errors.New("this is a linked worktree of git, which cyclonedx-gomod cannot read: build in a clone of it")
	}
	seconds, err := output(ctx, "git", "log", "-1", "--format=%ct")
	if err != nil {
		return release{}, err
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return release{}, fmt.Errorf("the time of the commit: %w", err)
	}
	r := release{version: version, date: time.Unix(unix, 0).UTC()}
	if r.version == "" {
		if r.version, err = describedVersion(ctx, r.date); err != nil {
			return release{}, err
		}
	}
	if r.tools, err = filepath.Abs(tools); err != nil {
		return release{}, err
	}
	r.dir, err = filepath.Abs(dir)
	return r, err
}

// describedVersion is the tag of the commit, or what Go calls a commit without
// one: packages of later commits are newer.
func describedVersion(ctx context.Context, date time.Time) (string, error) {
	if tag, err := output(ctx, "git", "describe", "--tags", "--exact-match", "--match", "v*"); err == nil {
		return strings.TrimPrefix(tag, "v"), nil
	}
	commit, err := output(ctx, "git", "rev-parse", "--short=12", "HEAD")
	return "0.0.0-" + date.Format("20060102150405") + "-" + commit, err
}

// target is one system and processor.
type target struct{ os, arch string }

// chosenTargets are the targets of a build that are asked for; all if none is.
func chosenTargets(b build, asked string) (targets []target, err error) {
	for _, system := range b.Goos {
		for _, arch := range b.Goarch {
			targets = append(targets, target{system, arch})
		}
	}
	if asked == "" {
		return targets, nil
	}
	var chosen []target
	for name := range strings.SplitSeq(asked, ",") {
		system, arch, _ := strings.Cut(name, "/")
		t := target{system, arch}
		if !slices.Contains(targets, t) {
			return nil, fmt.Errorf("%s is not among the targets of .goreleaser.yaml", name)
		}
		chosen = append(chosen, t)
	}
	return chosen, nil
}

// build makes everything in an empty directory.
func (r release) build(ctx context.Context, c configuration, targets []target) error {
	if err := os.RemoveAll(r.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return err
	}
	programs, err := os.MkdirTemp("", "sessctl-packages-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(programs)
	for _, hook := range c.Before.Hooks {
		if err := r.hook(ctx, hook); err != nil {
			return err
		}
	}
	for _, t := range targets {
		if err := r.target(ctx, c, t, filepath.Join(programs, t.os+"_"+t.arch)); err != nil {
			return fmt.Errorf("%s/%s: %w", t.os, t.arch, err)
		}
	}
	return r.checksums(c.Checksum.NameTemplate)
}

func (r release) hook(ctx context.Context, hook string) error {
	line, err := r.render(hook, target{})
	if err != nil {
		return err
	}
	words := strings.Fields(line)
	return r.command(ctx, "", nil, words[0], words[1:]...)
}

// target makes all that there is for one target.
func (r release) target(ctx context.Context, c configuration, t target, dir string) error {
	program, err := r.program(ctx, c.Builds[0], t, dir)
	if err != nil {
		return err
	}
	if err := r.archive(c.Archives[0], t, program); err != nil {
		return err
	}
	if err := r.bom(ctx, c.SBOMs[0], t); err != nil {
		return err
	}
	if t.os != "linux" {
		return nil
	}
	return r.packages(ctx, c.NFPMs[0], t, program)
}

// program builds the program.
func (r release) program(ctx context.Context, b build, t target, dir string) (string, error) {
	name := b.Binary
	if t.os == "windows" {
		name += ".exe"
	}
	path := filepath.Join(dir, name)
	linker, err := r.render(strings.Join(b.Ldflags, " "), t)
	if err != nil {
		return "", err
	}
	arguments := slices.Concat([]string{"build"}, b.Flags, []string{"-ldflags", linker, "-o", path, b.Main})
	environment := append(slices.Clone(b.Env), "GOOS="+t.os, "GOARCH="+t.arch)
	return path, r.command(ctx, "", environment, goProgram(), arguments...)
}

// bom writes the list of the modules of a program, in the form of CycloneDX.
func (r release) bom(ctx context.Context, s sbom, t target) error {
	document, err := r.render(s.Documents[0], t)
	if err != nil {
		return err
	}
	var environment, arguments []string
	for _, text := range s.Env {
		rendered, err := r.render(text, t)
		if err != nil {
			return err
		}
		environment = append(environment, rendered)
	}
	source, err := os.Getwd()
	if err != nil {
		return err
	}
	for _, text := range s.Args {
		switch text {
		case "$document":
			text = document
		case "..": // seen from dist
			text = source
		}
		arguments = append(arguments, text)
	}
	return r.command(ctx, r.dir, environment, filepath.Join(r.tools, s.Cmd), arguments...)
}

// command runs a program and shows what it says.
func (r release) command(ctx context.Context, dir string, environment []string, name string, arguments ...string) error {
	c := exec.CommandContext(ctx, name, arguments...)
	c.Dir = dir
	c.Env = append(os.Environ(), "SOURCE_DATE_EPOCH="+strconv.FormatInt(r.date.Unix(), 10))
	c.Env = append(c.Env, environment...)
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", filepath.Base(name), strings.Join(arguments, " "), err)
	}
	return nil
}

func goProgram() string { return cmp.Or(os.Getenv("GO"), "go") }

func output(ctx context.Context, name string, arguments ...string) (string, error) {
	c := exec.CommandContext(ctx, name, arguments...)
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(arguments, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
