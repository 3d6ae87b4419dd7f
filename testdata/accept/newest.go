package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// newest puts the newest versions that the registry has in the place of those that
// sessctl was written for, but for the old names of a runtime.
func newest(ctx context.Context, known map[runtimeName]npmPackage) map[runtimeName]npmPackage {
	for name, p := range known {
		if !asked(name) {
			continue
		}
		out, err := exec.CommandContext(ctx, "npm", "view", p.name, "version").Output()
		version := strings.TrimSpace(string(out))
		if err != nil || version == "" {
			fmt.Printf("skipped %s: the registry does not tell its newest version: %v\n", name, err)
			continue
		}
		if version != p.version {
			fmt.Printf("newer: %s %s, accepted so far: %s\n", p.name, version, p.version)
		}
		known[name] = npmPackage{p.name, version}
	}
	return known
}

// asked reports whether the newest version of a runtime is asked for.
func asked(name runtimeName) bool {
	return name != runtimePiNewer && slices.ContainsFunc(conversations(), func(c conversed) bool { return c.needs == name })
}

// newestScenarios are what is played with them.
func newestScenarios() []scenario {
	return slices.DeleteFunc(equals(), func(s scenario) bool { return !asked(s.needs) })
}

// tried is a version that scenarios were played with, and how many checks failed.
type tried struct {
	title, version string
	failed         int
}

const triedBegin = "<!-- make accept-newest -->\n"

// triedPage writes which versions were played into a page. What was not played stays as
// it is.
func triedPage(page string, all []tried) error {
	return splice(page, triedBegin, func(old string) string { return triedTable(old, all) })
}

// triedTable is a line: "claude 2.1.332, codex 0.171.0 (not equal)".
func triedTable(old string, all []tried) string {
	versions := map[string]string{}
	for entry := range strings.SplitSeq(strings.TrimSpace(old), ", ") {
		if name, version, ok := strings.Cut(entry, " "); ok {
			versions[name] = version
		}
	}
	for _, t := range all {
		versions[t.title] = t.version
		if t.failed > 0 {
			versions[t.title] += " (not equal)"
		}
	}
	var line []string
	for _, name := range slices.Sorted(maps.Keys(versions)) {
		line = append(line, name+" "+versions[name])
	}
	return strings.Join(line, ", ") + "\n"
}

// splice replaces what stands in a page between a mark and the next end.
func splice(page, begin string, table func(old string) string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, ok := bytes.Cut(text, []byte(begin))
	old, after, ends := bytes.Cut(rest, []byte(tableEnd))
	if !ok || !ends {
		return errors.New(page + " has no place for the table")
	}
	all := string(before) + begin + table(string(old)) + tableEnd + string(after)
	return os.WriteFile(page, []byte(all), 0o644)
}

// try notes the version that a scenario was played with.
func (r *report) try(s scenario, p npmPackage, failed int) {
	title := strings.TrimSuffix(strings.TrimPrefix(s.name, "equal "), " 1.6")
	r.tried = append(r.tried, tried{title, p.version, failed})
}
