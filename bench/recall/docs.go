package main

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	leastSection = 300  // bytes of a section that is worth finding
	mostSection  = 3300 // so that it fits one chunk
)

// loadDocs makes one conversation of sections of the module cache's Markdown:
// every section is a session of one message, and headings that stand only once
// are the questions.
func loadDocs(limit int) (conversation, error) {
	c := conversation{name: "docs"}
	out, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		return c, fmt.Errorf("find the module cache: %w", err)
	}
	paths, err := markdownFiles(strings.TrimSpace(string(out)))
	if err != nil {
		return c, err
	}
	headings, seen := map[string]int{}, map[string]bool{}
	var kept []section
	for _, path := range paths {
		for _, s := range sections(path) {
			if len(s.body) < leastSection || seen[s.body] {
				continue
			}
			seen[s.body] = true
			headings[strings.ToLower(s.heading)]++
			if len(kept) < limit {
				kept = append(kept, s)
			}
		}
	}
	clock := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, s := range kept {
		c.sessions = append(c.sessions, []turn{{id: fmt.Sprint(i), text: s.body, time: clock.Add(time.Duration(i) * time.Minute)}})
		if headings[strings.ToLower(s.heading)] == 1 && len(terms(s.heading)) >= 2 {
			c.questions = append(c.questions, question{text: s.heading, evidence: []place{{i, 0}}})
		}
	}
	return c, nil
}

// markdownFiles lists the Markdown files below a directory in their order,
// without change logs.
func markdownFiles(root string) (paths []string, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name := strings.ToLower(path)
		switch {
		case err != nil:
			return nil // what cannot be read is left out
		case d.IsDir() && path == filepath.Join(root, "cache"):
			return filepath.SkipDir
		case !d.IsDir() && strings.HasSuffix(name, ".md") && !strings.Contains(name, "change"):
			paths = append(paths, path)
		}
		return nil
	})
	return paths, err
}

// section is a part of a Markdown file.
type section struct{ heading, body string }

// sections cuts a Markdown file at its headings.
func sections(path string) (all []section) {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	scanner := bufio.NewScanner(f)
	scanner.Buffer(nil, 1<<20)
	var heading string
	var body strings.Builder
	end := func() {
		if text := strings.TrimSpace(strings.ToValidUTF8(body.String(), "")); heading != "" && text != "" {
			all = append(all, section{heading, text[:min(len(text), mostSection)]})
		}
		body.Reset()
	}
	code := false
	for scanner.Scan() {
		line := scanner.Text()
		if strings.HasPrefix(line, "```") {
			code = !code
		}
		if !code && strings.HasPrefix(line, "#") {
			end()
			heading = strings.TrimSpace(strings.Trim(line, "# `"))
			continue
		}
		body.WriteString(line + "\n")
	}
	end()
	return all
}
