package smallpackages_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/work"
)

// Actions are held to a reader that shares no code with the product: it takes a
// whole log into memory with encoding/json, knows the runtimes from
// docs/dev/formats.md, and says in one line what each call was and how it ended.

// thing is an object of JSON.
type thing = map[string]any

// made is a call as the independent reader has it.
type made struct {
	line       int
	tool, id   string
	arguments  any
	answer     *workAnswer
	answerLine int
}

// workAnswer is the result of a call.
type workAnswer struct {
	text    string
	failed  bool
	exit    *int
	details any
}

// log is what the independent reader has read so far.
type log struct {
	calls   []*made
	orphans int
}

func (l *log) call(line int, tool, id, arguments any) {
	name, _ := tool.(string)
	key, _ := id.(string)
	if text, ok := arguments.(string); ok {
		var inner any
		if json.Unmarshal([]byte(text), &inner) == nil {
			if _, object := inner.(thing); object {
				arguments = inner
			}
		}
	}
	l.calls = append(l.calls, &made{line: line, tool: name, id: key, arguments: arguments})
}

func (l *log) answer(line int, id any, a workAnswer) {
	key, _ := id.(string)
	for i := len(l.calls) - 1; i >= 0; i-- {
		if c := l.calls[i]; c.id == key && c.answer == nil {
			c.answer, c.answerLine = &a, line
			return
		}
	}
	l.orphans++
}

func object(v any) thing { o, _ := v.(thing); return o }
func list(v any) []any   { l, _ := v.([]any); return l }
func word(v any) string  { s, _ := v.(string); return s }
func yes(v any) bool     { b, _ := v.(bool); return b }

func number(v any) *int {
	if f, ok := v.(float64); ok {
		n := int(f)
		return &n
	}
	return nil
}

// said is the text of content: a string, or the texts of blocks.
func said(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	var all []string
	for _, b := range list(v) {
		if s, ok := b.(string); ok {
			all = append(all, s)
		} else if t := word(object(b)["text"]); t != "" {
			all = append(all, t)
		}
	}
	return strings.Join(all, "\n")
}

func found(pattern, text string) *int {
	if m := regexp.MustCompile(pattern).FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1])
		return &n
	}
	return nil
}

func (l *log) claude(n int, r thing) {
	if r["type"] != "user" && r["type"] != "assistant" { // copies of what was sent
		return
	}
	content := list(object(r["message"])["content"])
	for _, b := range content {
		switch b := object(b); b["type"] {
		case "tool_use":
			l.call(n, b["name"], b["id"], b["input"])
		case "tool_result":
			a := workAnswer{text: said(b["content"]), failed: yes(b["is_error"]), details: r["toolUseResult"]}
			if a.failed {
				a.exit = found(`^Exit code (\d+)`, a.text)
			}
			l.answer(n, b["tool_use_id"], a)
		}
	}
}

func (l *log) pi(n int, r thing) {
	m := object(r["message"])
	if r["recordType"] == "message" { // agent
		m = r
	}
	switch m["role"] {
	case "assistant":
		for _, b := range list(m["content"]) {
			if b := object(b); b["type"] == "toolCall" {
				l.call(n, b["name"], b["id"], b["arguments"])
			}
		}
	case "toolResult":
		a := workAnswer{text: said(m["content"]), failed: yes(m["isError"]), details: m["details"], exit: number(object(m["details"])["exitCode"])}
		if a.exit == nil && a.failed {
			a.exit = found(`\n?Command exited with code (\d+)$`, a.text)
		}
		l.answer(n, m["toolCallId"], a)
	case "bashExecution":
		l.call(n, "", "by hand", thing{"command": m["command"]})
		l.answer(n, "by hand", workAnswer{text: word(m["output"]), exit: number(m["exitCode"])})
	}
}

func (l *log) annabelle(n int, r thing) {
	for _, m := range list(r["messages"]) {
		for _, p := range list(object(m)["content"]) {
			switch p := object(p); p["type"] {
			case "tool-call":
				l.call(n, p["toolName"], p["toolCallId"], p["args"])
			case "tool-result":
				l.answer(n, p["toolCallId"], workAnswer{})
			}
		}
	}
}

func (l *log) codex(n int, r thing) {
	p := object(r["payload"])
	if p == nil {
		p = r
	} else if r["type"] != "response_item" {
		return
	}
	switch kind := word(p["type"]); {
	case strings.HasSuffix(kind, "_call"):
		name, arguments := p["name"], p["arguments"]
		if name == nil {
			name = object(p["function"])["name"]
		}
		if name == nil {
			name = strings.TrimSuffix(kind, "_call")
		}
		if arguments == nil {
			arguments = p["input"]
		}
		if arguments == nil {
			arguments = p["action"]
		}
		l.call(n, name, p["call_id"], arguments)
		if kind == "web_search_call" {
			l.answer(n, p["call_id"], workAnswer{})
		}
	case strings.HasSuffix(kind, "_output"), strings.HasSuffix(kind, "_result"):
		a := workAnswer{text: said(p["output"]), exit: number(object(p["result"])["exitCode"])}
		var old struct {
			Output   string
			Metadata struct {
				Exit *int `json:"exit_code"`
			}
		}
		if json.Unmarshal([]byte(a.text), &old) == nil {
			a.text, a.exit = old.Output, old.Metadata.Exit
		} else if a.exit == nil {
			head, _, _ := strings.Cut(a.text, "Output:")
			a.exit = found(`(?m)^(?:Exit code: |Process exited with code )(-?\d+)$`, head)
		}
		l.answer(n, p["call_id"], a)
	}
}

func (l *log) gemini(n int, r thing) {
	messages := append(list(object(r["$set"])["messages"]), list(r["messages"])...)
	if len(messages) == 0 {
		messages = []any{r}
	}
	for _, m := range messages {
		for _, c := range list(object(m)["toolCalls"]) {
			c := object(c)
			if i := slices.IndexFunc(l.calls, func(x *made) bool { return x.id == word(c["id"]) }); i >= 0 {
				if l.calls[i].answer != nil {
					continue
				}
				l.calls = slices.Delete(l.calls, i, i+1) // the message was written again when the tool had run
			}
			l.call(n, c["name"], c["id"], c["args"])
			if result, display := list(c["result"]), word(c["resultDisplay"]); len(result) > 0 || display != "" {
				a := workAnswer{text: display, failed: c["status"] == "error" || c["status"] == "cancelled"}
				if len(result) > 0 {
					response := object(object(object(result[0])["functionResponse"])["response"])
					a.text = word(response["output"]) + word(response["error"])
					a.failed = a.failed || response["error"] != nil
				}
				a.exit = found(`\nExit Code: (-?\d+)`, a.text)
				l.answer(n, c["id"], a)
			}
		}
	}
}

// read takes in a log, one record after the other.
func (l *log) read(format session.Format, text []byte) {
	take := map[session.Format]func(int, thing){
		session.FormatClaude: l.claude, session.FormatPi: l.pi, session.FormatOpenClaw: l.pi, session.FormatFragment: l.pi, session.FormatAgent: l.pi,
		session.FormatAnnabelle: l.annabelle, session.FormatCodex: l.codex, session.FormatCodexBare: l.codex, session.FormatGemini: l.gemini,
	}[format]
	if format == session.FormatGeminiJSON {
		var whole thing
		if json.Unmarshal(text, &whole) == nil {
			for _, m := range list(whole["messages"]) {
				l.gemini(0, object(m))
			}
		}
		return
	}
	for i, raw := range bytes.Split(text, []byte("\n")) {
		var r thing
		if json.Unmarshal(raw, &r) == nil {
			take(i+1, r)
		}
	}
}

// kinds of the tools that the samples have, and the argument that matters.
func kindOf(tool string) (work.Kind, string) {
	switch tool {
	case "Bash", "bash", "exec", "shell_exec", "run_terminal", "shell", "run_shell_command", "":
		return work.KindCommand, "command"
	case "exec_command":
		return work.KindCommand, "cmd"
	case "read":
		return work.KindRead, "path"
	case "Read":
		return work.KindRead, "file_path"
	case "Write":
		return work.KindWrite, "file_path"
	case "write":
		return work.KindWrite, "path"
	case "Edit", "MultiEdit":
		return work.KindEdit, "file_path"
	case "edit", "edit_file":
		return work.KindEdit, "path"
	case "read_file":
		return work.KindRead, "path|file_path"
	case "Glob":
		return work.KindSearch, "pattern"
	case "web_search":
		return work.KindSearch, "query"
	}
	return "", ""
}

// expected is a line for each action, and how many calls were none.
func (l *log) expected() (out []string, others, unreadable int) {
	for _, c := range l.calls {
		kind, key := kindOf(c.tool)
		if c.tool == "apply_patch" && !strings.Contains(fmt.Sprint(c.arguments), " File: ") {
			unreadable++
			continue
		}
		if kind == "" {
			others++
			continue
		}
		text := ""
		for k := range strings.SplitSeq(key, "|") {
			switch v := object(c.arguments)[k].(type) {
			case string:
				text = v
			case []any:
				var words []string
				for _, w := range v {
					words = append(words, word(w))
				}
				text = strings.TrimPrefix(strings.Join(words, " "), "bash -lc ")
			}
		}
		if text == "" {
			unreadable++
			continue
		}
		out = append(out, c.told(kind, text))
	}
	slices.Sort(out)
	return out, others, unreadable
}

// told is the line of one action.
func (c *made) told(kind work.Kind, text string) string {
	s := fmt.Sprintf("%d %s %s %q", c.line, kind, c.tool, flat(text))
	if c.answer == nil {
		return s + " unanswered"
	}
	s += fmt.Sprintf(" answered at %d", c.answerLine)
	failed := c.answer.failed
	if c.answer.exit != nil && kind == work.KindCommand {
		s += fmt.Sprintf(" exit %d", *c.answer.exit)
		failed = failed || *c.answer.exit != 0
	}
	if failed {
		return s + " failed"
	}
	if from, to := c.lines(kind); from > 0 {
		s += fmt.Sprintf(" lines %d-%d", from, to)
	}
	return s
}

// flat makes texts comparable that are cut, trimmed and without control
// characters.
func flat(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return string([]rune(text)[:min(len([]rune(text)), 200)])
}

// lines are those of a file that a read asked for, or an edit changed.
func (c *made) lines(kind work.Kind) (from, to int) {
	details, arguments := object(c.answer.details), object(c.arguments)
	mark := func(n int) {
		if from == 0 || n < from {
			from = n
		}
		to = max(to, n)
	}
	if file := object(details["file"]); kind == work.KindRead && number(file["numLines"]) != nil && *number(file["numLines"]) > 0 {
		return *number(file["startLine"]), *number(file["startLine"]) + *number(file["numLines"]) - 1
	}
	if kind == work.KindRead {
		offset, limit := number(arguments["offset"]), number(arguments["limit"])
		switch {
		case limit == nil && offset == nil:
			return 0, 0
		case offset == nil:
			return 1, *limit
		case limit == nil:
			return *offset, 0
		}
		return *offset, *offset + *limit - 1
	}
	if kind != work.KindEdit {
		return 0, 0
	}
	for _, h := range list(details["structuredPatch"]) {
		at := *number(object(h)["newStart"])
		for _, line := range list(object(h)["lines"]) {
			if text := word(line); strings.HasPrefix(text, "\\") {
				continue
			} else if text[0] != ' ' {
				mark(at)
			}
			if word(line)[0] != '-' {
				at++
			}
		}
	}
	for _, sign := range []string{`\+`, `-`} {
		for _, m := range regexp.MustCompile(`(?m)^`+sign+` *(\d+) `).FindAllStringSubmatch(word(details["diff"]), -1) {
			n, _ := strconv.Atoi(m[1])
			mark(n)
		}
		if from > 0 {
			break
		}
	}
	return from, to
}

// inWords is the same line of what the product made.
func inWords(a *work.Action) string {
	text := a.Command + a.Query
	if text == "" {
		text = a.Path
	}
	s := fmt.Sprintf("%d %s %s %q", a.Call.FirstLine, a.Kind, a.Tool, flat(text))
	if !a.Answered {
		return s + " unanswered"
	}
	s += fmt.Sprintf(" answered at %d", a.Result.FirstLine)
	if a.HasExit {
		s += fmt.Sprintf(" exit %d", a.Exit)
	}
	switch {
	case a.Failed:
		s += " failed"
	case a.Span.From > 0:
		s += fmt.Sprintf(" lines %d-%d", a.Span.From, a.Span.To)
	}
	return s
}

func TestWorkLikeAnIndependentReader(t *testing.T) {
	actions, files := 0, map[session.Format]int{}
	for _, path := range sampleLogs(t) {
		text := plain(t, path)
		format := session.Detect(path, text[:min(len(text), session.HeadSize)])
		s := scanners()[format]
		if s == nil {
			continue
		}
		var all []*work.Action
		r := work.NewReader(func(a *work.Action) error {
			all = append(all, a)
			return nil
		})
		_, err := s.Scan(context.Background(), bytes.NewReader(text), session.ScanOptions{Details: true}, r.Add)
		if errors.Is(err, session.ErrUnknownFormat) {
			continue
		}
		counts, closed := r.Close()
		if err = errors.Join(err, closed); err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		var l log
		l.read(format, text)
		var got []string
		for _, a := range all {
			if format == session.FormatGeminiJSON { // a document has no lines that tell
				a.Call.FirstLine, a.Result.FirstLine = 0, 0
			}
			got = append(got, inWords(a))
			checkBounds(t, a)
		}
		slices.Sort(got)
		want, others, unreadable := l.expected()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (%s): -reader +sessctl\n%s", path, format, diff)
		}
		if counts.Calls != len(l.calls) || counts.Others != others || counts.Unreadable != unreadable || counts.Orphans != l.orphans {
			t.Errorf("%s: %+v; the reader has %d calls, %d others, %d unreadable, %d orphans", path, counts, len(l.calls), others, unreadable, l.orphans)
		}
		l.checkErrors(t, path, all)
		if len(l.calls) > 0 {
			files[format]++
		}
		actions += len(all)
	}
	t.Logf("%d actions; files with calls: %v", actions, files)
	for _, format := range slices.Sorted(maps.Keys(files)) {
		if actions < 500 || len(files) < 7 {
			t.Errorf("too little was compared: %s", format)
		}
	}
}

// checkErrors: error lines are lines of the result.
func (l *log) checkErrors(t *testing.T, path string, all []*work.Action) {
	t.Helper()
	texts := map[int]string{}
	for _, c := range l.calls {
		if c.answer != nil {
			texts[c.answerLine] += flatAll(c.answer.text + " " + fmt.Sprint(c.answer.details))
		}
	}
	for _, a := range all {
		for _, e := range a.Errors {
			if whole := texts[a.Result.FirstLine]; whole != "" && !strings.Contains(e, "[redacted]") && !strings.Contains(whole, strings.TrimSuffix(flatAll(e), "…")) {
				t.Errorf("%s:%d: %q is not in the result", path, a.Result.FirstLine, e)
			}
		}
	}
}

// flatAll leaves only what can be seen.
func flatAll(text string) string { return strings.Join(strings.Fields(text), "") }

// sampleLogs are the samples beside the repository; the test is skipped without
// them. Damaged ones only must not make anything panic.
func sampleLogs(t *testing.T) (paths []string) {
	t.Helper()
	for _, dir := range []string{"samples", "samples-newer"} {
		dir = filepath.Join("..", "..", "..", "shared", dir)
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.Name() == "_malformed":
				return filepath.SkipDir
			case strings.HasSuffix(filepath.ToSlash(path), "jazzyalex/small.jsonl"): // made up: most ids in them are one and the same
			case d.Type().IsRegular() && strings.Contains(d.Name(), ".json"):
				paths = append(paths, path)
			}
			return nil
		})
		if err != nil {
			t.Skip("no samples beside the repository: ", err)
		}
	}
	return paths
}

func plain(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil && bytes.HasPrefix(text, []byte("\x28\xb5\x2f\xfd")) {
		var r *zstd.Decoder
		if r, err = zstd.NewReader(nil); err == nil {
			text, err = r.DecodeAll(text, nil)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return text
}
