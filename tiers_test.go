package main_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var takesAShare = regexp.MustCompile(`tier\.(?:Smoke|SkipSmoke)\(`)

// What make test takes a share of, make test-faults runs whole, or make test-floors:
// their recipes have every package that asks for the share.
func TestFaultTierHasEveryShare(t *testing.T) {
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(makefile), "\ntest-faults:")
	recipe, rest, _ := strings.Cut(rest, "\n\n")
	floors, _, _ := strings.Cut(rest, "\n\n")
	shares := packagesTakingAShare(t)
	if len(shares) < 8 || !strings.Contains(recipe, "SESSCTL_FAULTS=1") {
		t.Fatalf("shares of %v, recipe %q: this sees too little", shares, recipe)
	}
	for dir := range shares {
		if !covers(recipe, dir) && !(strings.HasPrefix(floors, "test-floors:") && covers(floors, dir)) {
			t.Errorf("make test takes a share of %s, and neither make test-faults nor make test-floors runs it", dir)
		}
	}
}

var ruleTest = regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\) \{\n\ttier\.Rule\(t\)`)

// TestRulesAreRun: what make test leaves out as a rule of the repository, make
// test-rules runs.
func TestRulesAreRun(t *testing.T) {
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^RULES = (.*)\$\$$`).FindSubmatch(makefile)
	if line == nil {
		t.Fatal("the Makefile has no RULES")
	}
	run := regexp.MustCompile(string(line[1]) + "$")
	found := 0
	for _, pattern := range []string{"*_test.go", "cmd/*_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, rule := range ruleTest.FindAllSubmatch(text, -1) {
				found++
				if !run.Match(rule[1]) {
					t.Errorf("%s: make test-rules does not run %s", file, rule[1])
				}
			}
		}
	}
	if found < 9 {
		t.Errorf("%d rules: this sees too little", found)
	}
}

// packagesTakingAShare lists the directories with a test that does less in the
// smoke share.
func packagesTakingAShare(t *testing.T) map[string]bool {
	t.Helper()
	dirs := map[string]bool{}
	err := fs.WalkDir(os.DirFS("."), ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		text, err := os.ReadFile(file)
		if takesAShare.Match(text) {
			dirs[path.Dir(file)] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}

// covers reports whether a recipe names the package in a directory, by itself or
// with all below one above it.
func covers(recipe, dir string) bool {
	words := strings.Fields(recipe)
	if dir == "bench" || strings.HasPrefix(dir, "bench/") { // a module of its own
		return strings.Contains(recipe, "\tcd bench && ") && slices.Contains(words, "./...")
	}
	if slices.Contains(words, "./...") && !strings.Contains(recipe, "\tcd ") {
		return true
	}
	if dir == "." {
		return slices.Contains(words, ".")
	}
	for above := dir; above != "."; above = path.Dir(above) {
		if slices.Contains(words, "./"+above+"/...") {
			return true
		}
	}
	return slices.Contains(words, "./"+dir)
}
