package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
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
	title, version, day string
	failed              int
}

const triedBegin = "<!-- make accept-newest -->\n"

// triedPage writes which versions were played into a page. Of a runtime that was not
// played the row stays as it is.
func triedPage(page string, all []tried) error {
	return splice(page, triedBegin, func(old string) string { return triedTable(old, all) })
}

func triedTable(old string, all []tried) string {
	rows := map[string]string{}
	for line := range strings.Lines(old) {
		if cells := strings.Split(line, " | "); len(cells) > 3 && !strings.HasPrefix(line, "| runtime") {
			rows[strings.TrimPrefix(cells[0], "| ")] = line
		}
	}
	for _, t := range all {
		equal := "yes"
		if t.failed > 0 {
			equal = fmt.Sprintf("no: %d checks failed", t.failed)
		}
		rows[t.title] = fmt.Sprintf("| %s | %s | %s | %s |\n", t.title, t.version, t.day, equal)
	}
	var b strings.Builder
	b.WriteString("| runtime | version | tried on | requests as replayed |\n|---|---|---|---|\n")
	for _, title := range sortedKeys(rows) {
		b.WriteString(rows[title])
	}
	return b.String()
}

func sortedKeys(rows map[string]string) (names []string) {
	for name := range rows {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
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
	r.tried = append(r.tried, tried{title, p.version, time.Now().Format(time.DateOnly), failed})
}
