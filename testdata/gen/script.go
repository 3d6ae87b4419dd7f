package main

import (
	"strconv"
	"strings"
	"time"
)

// act is one file of a story.
type act struct {
	topic string
	items []item
}

// item is one step: "@kind argument => exit code" and the lines below it.
type item struct {
	kind string
	arg  string
	exit int
	body string
}

// parse reads a story file.
func parse(text string) []item {
	var items []item
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "@"); ok {
			items = append(items, header(strings.TrimSpace(rest)))
			continue
		}
		if len(items) > 0 {
			items[len(items)-1].body += line
		}
	}
	for i := range items {
		items[i].body = strings.TrimRight(items[i].body, "\n")
	}
	return items
}

func header(line string) item {
	kind, arg, _ := strings.Cut(line, " ")
	it := item{kind: kind, arg: arg}
	if before, code, ok := cutLast(arg, " => "); ok {
		if n, err := strconv.Atoi(code); err == nil {
			it.arg, it.exit = before, n
		}
	}
	return it
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// tool tells whether the item is a call of a tool.
func (it item) tool() bool {
	switch it.kind {
	case "exec", "read", "write", "edit", "fetch", "search", "message":
		return true
	}
	return false
}

// clock reads the argument of @at. The shop's clock is two hours before UTC
// in summer, one in winter; the stories cross that day.
func clock(arg string) time.Time {
	t, err := time.Parse("2006-01-02 15:04", arg)
	if err != nil {
		panic("story: " + err.Error())
	}
	summer := time.Date(2026, 3, 29, 2, 0, 0, 0, time.UTC)
	if t.Before(summer) {
		return t.Add(-time.Hour)
	}
	return t.Add(-2 * time.Hour)
}

// hunk splits the body of @edit into what goes and what comes.
func hunk(body string) (before, after string) {
	var old, now []string
	for line := range strings.Lines(body) {
		line = strings.TrimRight(line, "\n")
		if rest, ok := strings.CutPrefix(line, "-"); ok {
			old = append(old, rest)
		} else if rest, ok := strings.CutPrefix(line, "+"); ok {
			now = append(now, rest)
		}
	}
	return strings.Join(old, "\n"), strings.Join(now, "\n")
}
