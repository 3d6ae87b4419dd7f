package smallpackages_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/report"
)

// hostile are texts that would do something if one got out as it is.
func hostile() []string {
	return []string{
		`<script>alert(1)</script>`, `</style><script>alert(2)</script>`, `</title><img src=x onerror=alert(3)>`, `"><svg onload=alert(4)>`,
		`' onmouseover='alert(5)`, `javascript:alert(6)`, `<a href="javascript:alert(7)">x</a>`, "</pre></code></details><iframe src=//evil.example>",
		"{{.Host}} ${alert(8)} `alert(9)`", "left\u202eright\u2066x", "nul\x00bell\x07\x1b[31m", "bad \xff\xfe\xc3", `<!-- <script> -->`,
		`<meta http-equiv="refresh" content="0;url=//evil.example">`, "]]><script>alert(10)</script>", "a\u2028b\u200bc\ufeffd",
	}
}

var (
	anyTag     = regexp.MustCompile(`<\s*/?([a-zA-Z][^\s/>]*)([^>]*)>`)
	quoted     = regexp.MustCompile(`"[^"]*"`)
	aliveAttr  = regexp.MustCompile(`(?i)\s(on\w+|style|srcset|src|formaction)\s*=|['"]`)
	anyAddress = regexp.MustCompile(`href="([^"]*)"`)
)

// checkDead fails if a document has anything alive in it beside our own: any tag,
// attribute or sign that only hostile text can have brought.
func checkDead(t *testing.T, document []byte) {
	t.Helper()
	if !utf8.Valid(document) {
		t.Error("the document is no UTF-8")
	}
	text := string(document)
	for _, r := range text {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x2028 || r == 0x200b || r == 0xfeff {
			t.Errorf("the document has U+%04X", r)
		}
	}
	if n := strings.Count(text, "<script"); n != 1 {
		t.Errorf("%d scripts, want our own alone", n)
	}
	known := strings.Fields("html head meta style title body svg defs pattern path circle rect line text g header h1 h2 h3 p nav ul li a main section div table caption thead tbody tr th td b span code pre details summary footer script article time dl dt dd form label input button output")
	for _, m := range anyTag.FindAllStringSubmatch(text[strings.Index(text, "</style>"):strings.LastIndex(text, "<script>")], -1) {
		if !containsString(known, m[1]) {
			t.Errorf("a tag that is not ours: %.80s", m[0])
		}
		if m[2] == "" {
			continue
		}
		if aliveAttr.MatchString(quoted.ReplaceAllString(m[2], "")) {
			t.Errorf("an attribute that is not ours: %.120s", m[0])
		}
		for _, ref := range anyAddress.FindAllStringSubmatch(m[2], -1) {
			if !strings.HasPrefix(ref[1], "#") && !strings.HasPrefix(ref[1], "./") {
				t.Errorf("a link that leads elsewhere: %s", ref[1])
			}
		}
	}
	checkPolicy(t, text)
}

// checkPolicy holds the hashes of the policy to what stands there.
func checkPolicy(t *testing.T, text string) {
	t.Helper()
	policy := between(text, `http-equiv="Content-Security-Policy" content="`, `"`)
	for name, part := range map[string]string{"style-src": between(text, "<style>", "</style>"), "script-src": between(text, "<script>", "</script>")} {
		sum := sha256.Sum256([]byte(part))
		if part == "" || !strings.Contains(policy, name+" 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'") {
			t.Errorf("%s of the policy does not allow what stands there: %s", name, policy)
		}
	}
	if !strings.HasPrefix(policy, "default-src 'none';") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") {
		t.Errorf("the policy lets something out: %s", policy)
	}
}

func between(text, from, to string) string {
	_, rest, _ := strings.Cut(text, from)
	part, _, _ := strings.Cut(rest, to)
	return part
}

func containsString(all []string, s string) bool {
	for _, x := range all {
		if x == s {
			return true
		}
	}
	return false
}

// hostileDocument has a hostile text in every place where a text can be.
func hostileDocument(s string) report.Document {
	return report.Document{
		MadeAt: s, Host: s, Version: s, Threshold: 1, Alerts: []report.Alert{{Kind: s, Subject: s, Since: s, Message: s, Advice: s}}, Pending: []report.Pending{{What: s, Count: 1, Advice: s}},
		Context: report.Context{Sessions: 1, Runtimes: []report.Share{{Runtime: s, Agent: s}}, Agents: []report.Share{{Runtime: s, Agent: s}}, List: []report.Session{{Runtime: s, Agent: s, Session: s, State: s, Last: s, Over: true}}},
		Disk:    report.Disk{Bytes: 2, Parts: []report.DiskPart{{What: s, Files: 1, Bytes: 2}}, Runtimes: []report.RuntimeDisk{{Runtime: s, Live: 2}}, Free: []report.Free{{Path: s}}},
		Growth:  report.Growth{Days: []report.Day{{Date: "2026-03-01", Known: true, Logs: 5, PutAway: 3}}},
		Purges:  []report.Purge{{Runtime: s, Agent: s, First: s, Last: s, Soon: 1}}, Saved: report.Saved{Runtimes: []report.ArchivedShare{{Runtime: s}}},
		Proof:   report.Proof{Checks: []report.Check{{At: s}}, Whole: &report.Check{At: s, Problems: 1}, Damaged: []report.Damaged{{ID: s, Path: s, Message: s}}, Looked: true},
		Runs:    report.Runs{Known: true, Outcomes: map[string]int{s: 1}, List: []report.Run{{Started: s, Profile: s, Outcome: s, Why: s}}},
		Records: report.Records{Read: true, Bytes: 1, Types: []report.TypeShare{{Runtime: s, Type: s}}, Largest: []report.Record{{Runtime: s, Agent: s, Session: s, Path: s, Type: s, What: s}}},
		Notes:   []report.Note{{Path: s, Message: s, Hint: s}},
	}
}

func TestHostileReport(t *testing.T) {
	for _, s := range hostile() {
		var b bytes.Buffer
		if err := report.WriteHTML(&b, hostileDocument(s), time.UTC); err != nil {
			t.Fatal(err)
		}
		checkDead(t, b.Bytes())
		if t.Failed() {
			t.Fatalf("with %q", s)
		}
	}
}

// TestReportCheckDead shows that what holds the pages sees what is alive.
func TestReportCheckDead(t *testing.T) {
	var b bytes.Buffer
	if err := report.WriteHTML(&b, hostileDocument("ours"), time.UTC); err != nil {
		t.Fatal(err)
	}
	for _, alive := range []string{`<iframe src="x">`, `<b onclick="x">`, `<a href="javascript:x">`, "<script>", "\u202e", "\x00", "\xff"} {
		planted := strings.Replace(b.String(), "<p>ours", alive+"<p>ours", 1)
		if planted == b.String() {
			t.Fatal("nothing was planted")
		}
		if inner := (&testing.T{}); !failsDead(inner, planted) {
			t.Errorf("%q is not seen", alive)
		}
	}
}

func failsDead(t *testing.T, document string) bool {
	checkDead(t, []byte(document))
	return t.Failed()
}

// TestReportSize: 5,000 sessions with names as long as they get, each of an agent
// of its own, and all that goes with them, stay below a megabyte.
func TestReportSize(t *testing.T) {
	name := func(i int) string { return fmt.Sprintf("%04d%s", i, strings.Repeat("n", 124)) }
	var d report.Document
	for i := range 5000 {
		if i < report.MostRows {
			d.Context.List = append(d.Context.List, report.Session{Runtime: "annabelle", Agent: name(i), Session: name(i) + name(i), Tokens: 123456789, Window: 200000, Bytes: 1 << 40, Last: "2026-03-01T10:00:00Z", State: "unsupported", Over: true})
		}
		if i < report.MostAgents {
			d.Context.Agents = append(d.Context.Agents, report.Share{Runtime: "annabelle", Agent: name(i), Sessions: 1, Over: 1, Tokens: 123456789, Bytes: 1 << 40})
		}
		if i < report.MostRuns {
			d.Runs.List = append(d.Runs.List, report.Run{Started: "2026-03-01T10:00:00Z", Profile: name(i), Outcome: "failed", Why: name(i) + name(i)})
		}
		d.Alerts = append(d.Alerts, report.Alert{Kind: "needs_compaction", Subject: name(i), Since: "2026-03-01T10:00:00Z", Message: name(i) + name(i), Advice: name(i)})
		d.Purges = append(d.Purges, report.Purge{Runtime: "claude", Agent: name(i), Sessions: 1, First: "2026-03-01T10:00:00Z", Last: "2026-03-01T10:00:00Z", Soon: 1})
		if i < report.MostDays {
			d.Growth.Days = append(d.Growth.Days, report.Day{Date: "2026-03-01", Known: true, Logs: 1 << 40, Archives: 1 << 39, Memory: 1 << 38, PutAway: 5, Freed: 5})
		}
	}
	d.Context.Sessions = 5000
	var b bytes.Buffer
	if err := report.WriteHTML(&b, d, time.UTC); err != nil {
		t.Fatal(err)
	}
	if b.Len() >= 1e6 {
		t.Errorf("the report has %d bytes", b.Len())
	}
}

// TestEmptyReport: a machine without anything has a report too.
// The report begins with how things are, and every table is alone in a box that
// scrolls: on a telephone nothing else moves.
func TestReportBeginsWithASentence(t *testing.T) {
	doc := hostileDocument("<i>x</i>")
	doc.Sentence = "2 things need a person, first: <b>this</b>"
	var b bytes.Buffer
	if err := report.WriteHTML(&b, doc, time.UTC); err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(b.String(), "<body")
	first := regexp.MustCompile(`<p[^>]*>([^<]*)</p>`).FindStringSubmatch(body)
	if first == nil || first[1] != "2 things need a person, first: &lt;b&gt;this&lt;/b&gt;" {
		t.Errorf("it begins with %q", first)
	}
	tables := strings.Count(body, "<table")
	boxed := len(regexp.MustCompile(`<div class="scroll" tabindex="0" role="region" aria-label="[^"]+"><table`).FindAllString(body, -1))
	if tables < 10 || boxed != tables || !strings.Contains(b.String(), ".scroll{overflow-x:auto") {
		t.Errorf("of %d tables %d are in a box that scrolls", tables, boxed)
	}
}

func TestEmptyReport(t *testing.T) {
	var b bytes.Buffer
	if err := report.WriteHTML(&b, report.Document{MadeAt: "2026-03-01T10:00:00Z", Proof: report.Proof{Looked: true}, Runs: report.Runs{Known: true}}, time.UTC); err != nil {
		t.Fatal(err)
	}
	checkDead(t, b.Bytes())
	for _, want := range []string{"No session was found", "No work is waiting", "Not known: no run of a profile", "No profile was run yet", "2026-03-01 10:00"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q", want)
		}
	}
}

// writePages collects pages.
func writePages(t *testing.T, limit int, messages ...report.Message) (map[string]string, []report.Range) {
	t.Helper()
	files := map[string]string{}
	p, err := report.NewPages("session.html", report.Head{Agent: "a", Session: "s", Archive: "0123456789abcdef"}, limit, time.UTC, func(name string, write func(io.Writer) error) error {
		var b bytes.Buffer
		err := write(&b)
		files[name] = b.String()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range messages {
		if err := p.Add(m); err != nil {
			t.Fatal(err)
		}
	}
	ranges, err := p.Close()
	if err != nil {
		t.Fatal(err)
	}
	return files, ranges
}

func TestReportHostilePages(t *testing.T) {
	for _, s := range hostile() {
		var all []report.Message
		for i, role := range []string{"user", "assistant", "tool_result", "summary", "injected", "shell", "system"} {
			var parts []report.Part
			for _, kind := range []report.PartKind{report.PartText, report.PartThinking, report.PartCall, report.PartImage, report.PartCommand, report.PartUnsent} {
				parts = append(parts, report.Part{Kind: kind, Name: s, Text: s, Size: 7}, report.Part{Kind: kind, Name: s, Text: "```" + s + "\n" + s + "\n```\n@@ -1 +1 @@\n-" + s + "\n+" + s, Size: 7}, report.Part{Kind: kind, Name: s, Text: `{"old_string":"x","new_string":"` + s + `"}`, Size: 7})
			}
			all = append(all, report.Message{Line: i + 1, Role: role, Label: s, Tool: s, Time: s, Failed: true, Exit: s, Error: s, Parts: parts})
		}
		files, _ := writePages(t, 0, all...)
		checkDead(t, []byte(files["session.html"]))
		if t.Failed() {
			t.Fatalf("with %q", s)
		}
	}
}

// TestReportPagesSplit: a large session becomes several pages, and the page of every
// line is found by names alone.
func TestReportPagesSplit(t *testing.T) {
	var all []report.Message
	for line := 1; line <= 400; line += 2 {
		all = append(all, report.Message{Line: line, Role: "user", Label: "Human", Parts: []report.Part{{Kind: report.PartText, Text: fmt.Sprintf("word%d ", line) + strings.Repeat("x", 300)}}})
	}
	files, ranges := writePages(t, 20_000, all...)
	if len(ranges) < 4 || len(ranges) != len(files) {
		t.Fatalf("%d pages, %d files", len(ranges), len(files))
	}
	for _, m := range all {
		best, name := 0, ""
		for file := range files {
			if first, ok := report.PageLine("session.html", file); ok && first <= m.Line && first > best {
				best, name = first, file
			}
		}
		if !strings.Contains(files[name], fmt.Sprintf(`id="L%d"`, m.Line)) || !strings.Contains(files[name], fmt.Sprintf("word%d ", m.Line)) {
			t.Fatalf("line %d is not on %s", m.Line, name)
		}
	}
	first := files["session.html"]
	for _, r := range ranges[1:] {
		if !strings.Contains(first, `data-line="`+fmt.Sprint(r.First)+`" href="./`+r.Name+`"`) {
			t.Errorf("the first page does not lead to %s", r.Name)
		}
	}
	if !strings.Contains(files[ranges[1].Name], `rel="next" href="./`+ranges[2].Name+`"`) {
		t.Error("the second page does not lead to the third")
	}
	for name, page := range files { // a search that finds nothing here may find it there
		if !strings.Contains(page, " data-others hidden>") || !strings.Contains(page, "Search this page") {
			t.Errorf("%s does not say that the other pages are not searched", name)
		}
	}
}

func TestReportPageLine(t *testing.T) {
	for name, want := range map[string]int{
		"a.html": 1, "a-L20.html": 20, "a-L020.html": 0, "a-L.html": 0, "a-L-3.html": 0, "ab.html": 0, "a-L20.html.tmp": 0, "b-L20.html": 0,
	} {
		line, ok := report.PageLine("a.html", name)
		if ok != (want > 0) || ok && line != want {
			t.Errorf("%s: %d, %v", name, line, ok)
		}
	}
	if name := report.PageName("a.html", 7); name != "a-L7.html" {
		t.Error(name)
	}
}

// TestReportMessageIsSet: code, diffs and arguments are set as such, and what tools said
// is folded.
func TestReportMessageIsSet(t *testing.T) {
	files, _ := writePages(t, 0,
		report.Message{Line: 3, LastLine: 5, Role: "assistant", Label: "Agent", Parts: []report.Part{
			{Kind: report.PartText, Text: "See `main.go`:\r\n\r\n```go\nfunc main() {}\n```\nand\n~~~\nnever closed"},
			{Kind: report.PartCall, Name: "edit", Text: `{"path":"main.go","old_string":"a\nb","new_string":"a\nc","deep":{"x":1}}`},
			{Kind: report.PartCall, Name: "odd", Text: `not json`},
		}},
		report.Message{Line: 6, Role: "tool_result", Label: "Tool", Tool: "exec", Exit: "1", Failed: true, Parts: []report.Part{{Kind: report.PartText, Text: "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new"}}},
		report.Message{Line: 6, Role: "tool_result", Label: "Tool", Parts: []report.Part{{Kind: report.PartText, Text: "second of the line"}}},
		report.Message{Line: 7, Role: "user", Label: "Human"},
	)
	page := html.UnescapeString(files["session.html"])
	for _, want := range []string{
		`<article class="m assistant" id="L3">`, `<a id="L4"></a><a id="L5"></a>`, "See <code>main.go</code>:", `<pre tabindex="0" data-lang="go"><code>func main() {}</code></pre>`,
		"<code>never closed</code>", `<summary><b>edit</b> <code>main.go</code></summary>`, `<span class="del">-b`, `<span class="add">+c`, `<dt>deep</dt><dd><code>{"x":1}</code>`,
		"<code>not json</code>", `<article class="m tool_result failed" id="L6">`, `<summary><b>output, 5 lines</b>`, `<span class="add">+new`, `<article class="m tool_result">`,
		"Nothing to read", "Search this session",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.Count(page, `id="L6"`) != 1 {
		t.Error("an anchor stands twice")
	}
}
