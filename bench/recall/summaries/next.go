package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/claude"
	"github.com/sessctl/sessctl/pkg/session/codex"
	"github.com/sessctl/sessctl/pkg/session/openclaw"
	"github.com/sessctl/sessctl/pkg/session/pi"
)

// realLog is a log and what happens in it.
type realLog struct {
	name  string
	bytes []byte
	store session.Store
	turns []turn
}

// turn is one thing that was said or done.
type turn struct {
	role    session.Role // RoleShell for a call of a tool
	text    string
	offset  int64 // of its record
	items   map[string]bool
	normal  string
	id      string
	summary bool   // of the runtime itself, at a compaction
	kept    string // by that: the record from which on it is
}

// What is looked at of a turn, in bytes: of one of before, and of a later one by role.
const (
	pastBytes   = 20_000
	personBytes = 600 // behind that stand pasted logs
	agentBytes  = 1500
	callBytes   = 1200
)

// writtenLogs are the logs of the written sessions.
func writtenLogs(ctx context.Context) (logs []*realLog, err error) {
	written, err := load()
	if err != nil {
		return nil, err
	}
	for _, s := range written {
		log, err := s.log()
		if err != nil {
			return nil, err
		}
		if logs, err = withLog(ctx, logs, &realLog{name: s.name, bytes: log, store: s.store()}); err != nil {
			return nil, err
		}
	}
	return logs, nil
}

// realLogs are the logs below some directories that have something to cut.
func realLogs(ctx context.Context, directories []string) (logs []*realLog, err error) {
	for _, directory := range directories {
		err := filepath.WalkDir(directory, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".jsonl" || strings.Contains(path, "subagents") {
				return err
			}
			log, err := os.ReadFile(path)
			if store := storeOf(path, log); err == nil && store != nil {
				logs, err = withLog(ctx, logs, &realLog{name: path, bytes: log, store: store})
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("look for logs: %w", err)
		}
	}
	return logs, nil
}

// withLog adds a log, unless it is too short or begins as another does.
func withLog(ctx context.Context, logs []*realLog, l *realLog) ([]*realLog, error) {
	if err := l.read(ctx); err != nil {
		return nil, fmt.Errorf("read %s: %w", l.name, err)
	}
	const leastTurns, beginning = 30, 12
	if len(l.turns) < leastTurns || slices.ContainsFunc(logs, func(other *realLog) bool {
		for i := range beginning {
			if l.turns[i].text != other.turns[i].text {
				return false
			}
		}
		return true
	}) {
		return logs, nil
	}
	return append(logs, l), nil
}

func storeOf(path string, log []byte) session.Store {
	switch session.Detect(path, log[:min(len(log), session.HeadSize)]) {
	case session.FormatClaude:
		return claude.Open(".")
	case session.FormatCodex, session.FormatCodexBare:
		return codex.Open(".")
	case session.FormatPi:
		return pi.Open(".")
	case session.FormatOpenClaw:
		return openclaw.Open(".", openclaw.Options{})
	}
	return nil
}

func (l *realLog) read(ctx context.Context) error {
	_, err := l.store.Scan(ctx, bytes.NewReader(l.bytes), session.ScanOptions{}, func(m *session.Message) error {
		if m.Branch == session.Active {
			l.take(m)
		}
		return nil
	})
	return err
}

func (l *realLog) take(m *session.Message) {
	add := func(role session.Role, text string) {
		if text = strings.TrimSpace(text); text != "" {
			text = text[:min(len(text), pastBytes)]
			l.turns = append(l.turns, turn{role, text, m.Offset, itemsOf(text), normal(text), string(m.ID), m.Compaction, string(m.FirstKept)})
		}
	}
	switch m.Role {
	case session.RoleUser, session.RoleAssistant, session.RoleToolResult, session.RoleSummary:
		add(m.Role, string(m.Said()))
	}
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == session.PartToolCall {
			add(session.RoleShell, argumentsOf(p.Text))
		}
	}
}

// argumentsOf are the arguments of a call, one a line.
func argumentsOf(raw []byte) string {
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return string(raw)
	}
	if text, is := value.(string); is {
		if json.Unmarshal([]byte(text), &value) != nil {
			return text
		}
	}
	object, _ := value.(map[string]any)
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(object)) {
		lines = append(lines, key+": "+flat(object[key]))
	}
	return strings.Join(lines, "\n")
}

func flat(value any) string {
	switch v := value.(type) {
	case string:
		return strings.TrimPrefix(v, "bash -lc ")
	case []any:
		var all []string
		for _, inner := range v {
			all = append(all, flat(inner))
		}
		return strings.TrimPrefix(strings.Join(all, " "), "bash -lc ")
	}
	return fmt.Sprint(value)
}

// cut is a place at which a log is compacted, and what comes next needs of before.
type cut struct {
	log    *realLog
	end    int // turns before it are summed up
	after  int // turns before it stay beside the summary
	native string
	past   []turn
	need   map[string]*needed
	weight float64 // of all that is needed
	args   []string
	words  map[string]bool
}

// needed is an item that comes next and stood before.
type needed struct {
	weight float64
	near   map[string]bool // plain words that stood near to it
}

// cuts are the places at which a log is cut: at five parts of it, before a message of a
// person or behind a result, and where its runtime compacted. Of what is before a cut,
// so many bytes stay.
func (l *realLog) cuts(keep int) (all []*cut) {
	for _, percent := range []int{20, 35, 50, 65, 80} {
		at := len(l.turns) * percent / 100
		for at < len(l.turns) && l.turns[at].role != session.RoleUser && l.turns[at-1].role != session.RoleToolResult {
			at++
		}
		c := &cut{log: l, end: at, after: at}
		for size := 0; size < keep && c.end > 0; {
			c.end--
			size += len(l.turns[c.end].text)
		}
		all = c.among(all)
	}
	for i := range l.turns {
		if t := &l.turns[i]; keep == 0 && t.summary && len(t.text) > leastNative {
			c := &cut{log: l, end: i, after: i, native: t.text}
			if first := slices.IndexFunc(l.turns[:i], func(x turn) bool { return x.id == t.kept }); t.kept != "" && first >= 0 {
				c.end = first
			}
			all = c.among(all)
		}
	}
	return all
}

// leastNative is how long a summary of a runtime is at least that is one, in bytes.
const leastNative = 300

// among adds a cut to others if something is needed of before it.
func (c *cut) among(all []*cut) []*cut {
	const leastPast, leastNeed = 15, 4
	turns := c.log.turns
	for c.end > 0 && c.end < len(turns) && turns[c.end].offset == turns[c.end-1].offset { // not within a record
		c.end--
	}
	if c.end < leastPast || c.end >= len(turns) {
		return all
	}
	if c.look(); len(c.need) < leastNeed {
		return all
	}
	return append(all, c)
}

// look finds out what comes next needs.
func (c *cut) look() {
	events := map[string]int{}
	for _, t := range c.log.turns[:c.end] {
		if t.role != session.RoleSummary {
			c.past = append(c.past, t)
			for item := range t.items {
				events[item]++
			}
		}
	}
	shown := map[string]bool{}
	for _, t := range c.log.turns[c.end:c.after] {
		if !t.summary {
			maps.Copy(shown, t.items)
		}
	}
	c.need, c.words = map[string]*needed{}, map[string]bool{}
	c.follow(events, shown)
	for item, n := range c.need {
		for _, t := range c.past {
			if t.items[item] {
				places(item, t.normal, func(at int) bool {
					maps.Copy(n.near, plainWords(around(t.normal, at, len(item))))
					return true
				})
			}
		}
		c.weight += n.weight
	}
	c.rareWords()
}

// follow goes over the next calls and messages: needed is what they have of before and
// nothing has shown since.
func (c *cut) follow(events map[string]int, shown map[string]bool) {
	left := map[session.Role]int{session.RoleUser: 5, session.RoleAssistant: 5, session.RoleShell: 10}
	most := map[session.Role]int{session.RoleUser: personBytes, session.RoleAssistant: agentBytes, session.RoleShell: callBytes}
	n := float64(len(c.past))
	later := ""
	for _, t := range c.log.turns[c.after:] {
		if left[t.role] > 0 {
			left[t.role]--
			text := t.text[:min(len(t.text), most[t.role])]
			if t.role == session.RoleShell {
				text = withoutBodies(t.text)
				c.arguments(text, later)
			} else {
				maps.Copy(c.words, plainWords(normal(text)))
			}
			for item := range itemsOf(text) {
				if df := float64(events[item]); df > 0 && df <= n/2 && !shown[item] && c.need[item] == nil {
					c.need[item] = &needed{math.Log1p(n/df) / math.Log1p(n), map[string]bool{}}
				}
			}
		}
		if t.role == session.RoleUser || t.role == session.RoleToolResult {
			maps.Copy(shown, t.items)
			later += t.normal + "\n"
		}
	}
}

// bodies are arguments that hold what a file is to have.
var bodies = regexp.MustCompile(`(?s)(?:^|\n)(?:old_string|new_string|content|newString|oldString|new_text|old_text|edits|newText|oldText): .*?(\n\w+: |$)`)

func withoutBodies(text string) string {
	text = bodies.ReplaceAllString(text, "$1")
	return text[:min(len(text), callBytes)]
}

// arguments notes whole arguments of a call that stood word for word before, and not
// since.
func (c *cut) arguments(text, later string) {
	for line := range strings.Lines(normal(text)) {
		key, value, found := strings.Cut(line, ": ")
		value = strings.TrimSpace(value)
		if !found || strings.IndexFunc(key, func(r rune) bool { return !inWord(r) }) >= 0 || len(value) < 6 || len(value) > 160 || strings.Trim(value, "0123456789.") == "" || strings.Contains(later, value) || slices.Contains(c.args, value) {
			continue
		}
		if slices.ContainsFunc(c.past, func(t turn) bool { return strings.Contains(t.normal, value) }) {
			c.args = append(c.args, value)
		}
	}
}

// rareWords leaves the words that few turns of before have.
func (c *cut) rareWords() {
	events := map[string]int{}
	for _, t := range c.past {
		for w := range plainWords(t.normal) {
			events[w]++
		}
	}
	maps.DeleteFunc(c.words, func(w string, _ bool) bool {
		return events[w] == 0 || float64(events[w]) > max(3, float64(len(c.past))/20)
	})
}
