package main

import (
	"fmt"
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/tier"
)

// smallestAdapter is the adapter that the page about the architecture shows as
// the least that a runtime takes, and how long it may be at most, in lines.
const (
	smallestAdapter = "pkg/session/macstats"
	longestSmallest = 350
)

// TestSmallestAdapter holds what the page says of the length of that adapter.
func TestSmallestAdapter(t *testing.T) {
	tier.Rule(t)
	files, err := filepath.Glob(smallestAdapter + "/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	lines, code := 0, 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines += strings.Count(string(text), "\n")
		code += linesOfCode(text)
	}
	if lines >= longestSmallest {
		t.Errorf("%s has %d lines, want less than %d: what is not this runtime's own belongs into logfile or session", smallestAdapter, lines, longestSmallest)
	}
	page, err := os.ReadFile("docs/dev/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("%d lines with comments, %d of code", lines, code); !strings.Contains(string(page), want) {
		t.Errorf("docs/dev/architecture.md does not say %q of %s", want, smallestAdapter)
	}
}

// linesOfCode counts the lines on which something stands that is no comment.
func linesOfCode(text []byte) int {
	var s scanner.Scanner
	files := token.NewFileSet()
	file := files.AddFile("", files.Base(), len(text))
	s.Init(file, text, nil, 0)
	lines := map[int]bool{}
	for {
		at, what, literal := s.Scan()
		if what == token.EOF {
			return len(lines)
		}
		if what == token.SEMICOLON && literal == "\n" {
			continue
		}
		for line := range strings.Count(literal, "\n") + 1 {
			lines[file.Line(at)+line] = true
		}
	}
}
