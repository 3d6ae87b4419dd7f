package smallpackages_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/browser"
	"github.com/sessctl/sessctl/internal/program"
)

// The pages that people look at, in a real browser: no error on the console, no
// request, nothing of a session alive, nothing wider than the window, and no
// serious defect that axe-core finds. Pictures of every page at three widths, in
// light and dark, are left in the directory that SESSCTL_PAGES names, for a person
// to look at. `make accept-pages` runs it.
func TestBrowserPages(t *testing.T) {
	out := os.Getenv("SESSCTL_PAGES")
	if out == "" {
		t.Skip("make accept-pages runs it: SESSCTL_PAGES names no directory for its pictures")
	}
	chromium := browser.Find()
	if chromium == "" {
		t.Skip("there is no Chromium (on Debian: apt-get install chromium)")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	b, err := browser.Start(ctx, chromium)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	look := looker{t: t, ctx: ctx, browser: b, out: out, axe: readAxe(t)}
	for _, page := range makePages(t) {
		t.Run(page.name, func(t *testing.T) {
			look.t = t
			look.page(page)
		})
	}
}

// readAxe is axe-core, or "" where it was not installed.
func readAxe(t *testing.T) string {
	path := os.Getenv("SESSCTL_AXE")
	if path == "" {
		t.Log("axe-core is left out: SESSCTL_AXE names no axe.min.js")
		return ""
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// page is one that is looked at. It must say want.
type page struct {
	name, path, want string
	anchor           string // where it is opened
	lands            string // the name of the page that it must lead to
	whole            bool   // the picture is of all of it
	long             bool   // axe-core would take minutes, and has seen such a page
}

// looker looks at pages.
type looker struct {
	t       *testing.T
	ctx     context.Context
	browser *browser.Browser
	out     string
	axe     string
}

func (l looker) page(p page) {
	for _, width := range []int{360, 1280, 1920} {
		for _, dark := range []bool{false, true} {
			if err := l.browser.Look(l.ctx, width, dark); err != nil {
				l.t.Fatal(err)
			}
			address := "file://" + p.path
			if p.anchor != "" {
				address += "#" + p.anchor
			}
			if err := l.browser.Open(l.ctx, address); err != nil {
				l.t.Fatal(err)
			}
			l.check(p, width)
			l.picture(p, width, dark)
		}
	}
	if p.anchor == "" {
		l.printed(p)
	}
}

// paperWidth is what A4 has between its margins, in pixels.
const paperWidth = 718

// printed is what must hold of a page on paper: nothing is cut off at the edge,
// nothing is there that only a pointer can use, and it is dark on white.
func (l looker) printed(p page) {
	if err := l.browser.LookAsPrinted(l.ctx, paperWidth); err != nil {
		l.t.Fatal(err)
	}
	if err := l.browser.Open(l.ctx, "file://"+p.path); err != nil {
		l.t.Fatal(err)
	}
	var wrong []string
	l.evaluate(`[...document.querySelectorAll("table,pre,.chart")].filter(e => e.checkVisibility() && e.getBoundingClientRect().right > innerWidth + 1).map(e => "cut off: " + e.outerHTML.slice(0, 160)).slice(0, 5).concat([...document.querySelectorAll(".tools,nav,.parts")].filter(e => e.checkVisibility()).map(e => "of no use on paper: " + e.outerHTML.slice(0, 120)), getComputedStyle(document.body).backgroundColor === "rgb(255, 255, 255)" ? [] : ["the paper is dark"])`, &wrong)
	for _, what := range wrong {
		l.t.Error("printed: " + what)
	}
}

// brokenOptions are the options of commands (--agent) that stand on two lines.
const brokenOptions = `(() => {
	const broken = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), range = document.createRange();
	for (let node; node = walk.nextNode();)
		for (const option of node.data.matchAll(/(?<=^|\s)--?[a-z][-\w]*/g)) {
			range.setStart(node, option.index);
			range.setEnd(node, option.index + option[0].length);
			if (new Set([...range.getClientRects()].map(r => Math.round(r.top))).size > 1) broken.push(option[0]);
		}
	return broken;
})()`

// check is what must hold of a page that is open.
func (l looker) check(p page, width int) {
	var text string
	l.evaluate(`document.body.textContent + document.title`, &text)
	if !strings.Contains(text, p.want) {
		l.t.Errorf("the page does not say %q", p.want)
	}
	var alive []string
	l.evaluate(`[...document.querySelectorAll("iframe,img,object,embed,link,base,script[src],meta[http-equiv=refresh]")].map(e => e.outerHTML.slice(0, 120)).concat(window.pwned ? ["a script ran"] : [])`, &alive)
	if len(alive) > 0 {
		l.t.Errorf("alive: %q", alive)
	}
	var wide []string
	l.evaluate(`document.documentElement.scrollWidth <= innerWidth ? [] : [...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll")).map(e => e.outerHTML.slice(0, 120)).slice(0, 5).concat("the page scrolls sideways")`, &wide)
	if len(wide) > 0 {
		l.t.Errorf("at %d pixels: %q", width, wide)
	}
	var loose []string
	l.evaluate(`[...document.querySelectorAll("table")].filter(t => !(b => b && getComputedStyle(b).overflowX === "auto" && b.getBoundingClientRect().right <= innerWidth + 1)(t.closest(".scroll"))).map(t => t.outerHTML.slice(0, 120))`, &loose)
	if p.whole && len(loose) > 0 {
		l.t.Errorf("at %d pixels these tables do not scroll: %q", width, loose)
	}
	var broken []string
	l.evaluate(brokenOptions, &broken)
	if p.whole && len(broken) > 0 {
		l.t.Errorf("at %d pixels a line is broken within %q", width, broken)
	}
	if p.anchor != "" {
		var at string
		l.evaluate(`new Promise(r => setTimeout(() => r(location.pathname.split("/").at(-1) + " " + (document.querySelector(":target")?.id ?? "")), 300))`, &at)
		if want := p.lands + " " + p.anchor; at != want {
			l.t.Errorf("it leads to %q, want %q", at, want)
		}
	}
	if width != 1920 && !p.long {
		l.accessible()
	}
	seen := l.browser.Seen()
	if len(seen.Console) > 0 {
		l.t.Errorf("the console has %q", seen.Console)
	}
	for _, request := range seen.Requests {
		if !strings.HasPrefix(request, "file://"+filepath.Dir(p.path)+"/") {
			l.t.Errorf("a request leaves: %s", request)
		}
	}
}

// accessible fails for what axe-core calls serious or critical.
func (l looker) accessible() {
	if l.axe == "" {
		return
	}
	l.evaluate(l.axe+";0", nil)
	var found []string
	l.evaluate(`axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations.filter(v => v.impact === "serious" || v.impact === "critical").map(v => v.id + ": " + v.help + ": " + v.nodes.slice(0, 3).map(n => n.html.slice(0, 160)).join(" | ")))`, &found)
	for _, violation := range found {
		l.t.Error("axe: " + violation)
	}
}

func (l looker) evaluate(script string, result any) {
	l.t.Helper()
	if err := l.browser.Evaluate(l.ctx, script, result); err != nil {
		l.t.Fatal(err)
	}
}

// pictureHeight bounds a picture: the rest of a page looks the same.
const pictureHeight = 6000

func (l looker) picture(p page, width int, dark bool) {
	png, err := l.browser.Picture(l.ctx)
	if p.whole && err == nil {
		png, err = l.browser.WholePicture(l.ctx, pictureHeight)
	}
	if err != nil {
		l.t.Fatal(err)
	}
	name := fmt.Sprintf("%s-%d-%s.png", p.name, width, map[bool]string{true: "dark", false: "light"}[dark])
	if err := os.WriteFile(filepath.Join(l.out, name), png, 0o644); err != nil {
		l.t.Fatal(err)
	}
}

// makePages makes a home and lets sessctl write the pages of it.
func makePages(t *testing.T) []page {
	dir := t.TempDir()
	var once program.Once
	defer func() { _ = once.Remove() }() // a leftover in the temporary directory fails no test
	sessctl, err := once.Path()
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(dir, "home")
	if err := os.CopyFS(home, os.DirFS("../../testdata/sample")); err != nil {
		t.Fatal(err)
	}
	if err := rest(home); err != nil {
		t.Fatal(err)
	}
	writeSessions(t, home)
	run := func(home string, args ...string) string {
		c := exec.Command(sessctl, args...)
		c.Dir, c.Env = dir, append(os.Environ(), "HOME="+home, "XDG_DATA_HOME=", "XDG_CONFIG_HOME=", "XDG_CACHE_HOME=", "TZ=UTC")
		var errOut bytes.Buffer
		c.Stderr = &errOut
		text, err := c.Output()
		if err != nil {
			t.Fatalf("sessctl %v: %v\n%s%s", args, err, text, errOut.String())
		}
		return string(text)
	}
	empty := filepath.Join(dir, "empty")
	if err := os.Mkdir(empty, 0o755); err != nil {
		t.Fatal(err)
	}
	run(empty, "report", "--html", "empty.html")
	run(home, "compact", "--agent", "coordinator")
	run(home, "archive", "--all")
	run(home, "archives", "verify")
	run(home, "run")
	writeRuns(t, home)
	run(home, "report", "--html", "report.html")
	run(home, "archives", "show", "600fa7f5", "--html", "reader.html", "--redact")
	run(home, "archives", "show", hostileSession, "--html", "hostile.html")
	run(home, "archives", "show", largeSession, "--html", "large.html")
	pages, err := filepath.Glob(filepath.Join(dir, "large-L*.html"))
	if err != nil || len(pages) == 0 {
		t.Fatal("the large session has one page alone", err)
	}
	slices.Sort(pages)
	last := filepath.Base(pages[0])
	line, _ := strings.CutSuffix(strings.TrimPrefix(last, "large-"), ".html")
	at := func(name string) string { return filepath.Join(dir, name) }
	return []page{
		{name: "empty", path: at("empty.html"), want: "No session was found", whole: true},
		{name: "report", path: at("report.html"), want: "alert(1)", whole: true},
		{name: "reader", path: at("reader.html"), want: "coordinator"},
		{name: "line", path: at("reader.html"), want: "coordinator", anchor: "L64", lands: "reader.html", long: true},
		{name: "hostile", path: at("hostile.html"), want: "pwned"},
		{name: "large", path: at("large.html"), want: "line", anchor: line, lands: last, long: true},
	}
}

// rest makes the files of a home so old that nobody seems to write them.
func rest(home string) error {
	before := time.Now().Add(-2 * time.Hour)
	return filepath.WalkDir(home, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, before, before)
	})
}

// The ids of sessions that are made here.
const (
	hostileSession = "10000000-0000-4000-8000-000000000001"
	largeSession   = "10000000-0000-4000-8000-000000000002"
)

// writeSessions writes a session of Claude Code in which everything is hostile,
// and one that needs more than one page.
func writeSessions(t *testing.T, home string) {
	hostile := []string{
		`<script>window.pwned=1</script>`, `</style><script>window.pwned=1</script>`, `</title><img src=x onerror="window.pwned=1">`, `"><svg onload="window.pwned=1">`,
		"javascript:window.pwned=1", `<a href="javascript:window.pwned=1">x</a>`, "</pre></code></details><iframe src=//evil.example></iframe>", "left\u202eright\u2066x", "nul\x00bell\x07\x1b[31m",
		`<meta http-equiv="refresh" content="0;url=//evil.example">`, "```<script>window.pwned=1</script>\n</script>\n```", "bad\ufffd", "wide" + strings.Repeat("x", 3000),
		strings.Repeat("ten megabytes ", 750_000),
	}
	var lines [][]byte
	record := func(session string, i int, kind string, message any) {
		line, err := json.Marshal(map[string]any{
			"type": kind, "uuid": fmt.Sprintf("%s-%d", session[:8], i), "sessionId": session, "isSidechain": false, "cwd": "/work", "version": "2.1.197",
			"timestamp": time.Date(2026, 3, 1, 9, 0, i, 0, time.UTC).Format(time.RFC3339), "message": message,
		})
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, bytes.ReplaceAll(line, []byte(`bad\ufffd`), []byte("bad \xff\xfe")))
	}
	for i, s := range hostile {
		record(hostileSession, 3*i, "user", map[string]any{"role": "user", "content": s})
		record(hostileSession, 3*i+1, "assistant", map[string]any{"role": "assistant", "id": fmt.Sprint("m", i), "model": s, "content": []any{
			map[string]any{"type": "text", "text": "It says " + s}, map[string]any{"type": "tool_use", "id": fmt.Sprint("t", i), "name": s[:min(len(s), 60)], "input": map[string]any{s[:min(len(s), 60)]: s, "command": s}},
		}})
		record(hostileSession, 3*i+2, "user", map[string]any{"role": "user", "content": []any{map[string]any{"type": "tool_result", "tool_use_id": fmt.Sprint("t", i), "content": s, "is_error": true}}})
	}
	writeLog(t, home, hostileSession, lines)
	lines = nil
	for i := range 30_000 {
		record(largeSession, i, "user", map[string]any{"role": "user", "content": fmt.Sprintf("line %d: %s", i, strings.Repeat("the importer hangs ", 10))})
	}
	writeLog(t, home, largeSession, lines)
}

func writeLog(t *testing.T, home, session string, lines [][]byte) {
	dir := filepath.Join(home, ".claude", "projects", "-work-pages")
	path := filepath.Join(dir, session+".jsonl")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(bytes.Join(lines, []byte("\n")), '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
	before := time.Now().Add(-26 * 24 * time.Hour) // soon the runtime deletes it
	if err := os.Chtimes(path, before, before); err != nil {
		t.Fatal(err)
	}
}

// writeRuns writes records of runs of before, one of which failed with a hostile
// reason, and leaves some days out.
func writeRuns(t *testing.T, home string) {
	dir := filepath.Join(home, ".local", "share", "sessctl", "runs")
	for day := 1; day <= 40; day++ {
		if day%11 == 0 {
			continue
		}
		at := time.Now().UTC().AddDate(0, 0, -day).Truncate(time.Second)
		outcome, reason := "ok", ""
		if day%9 == 4 {
			outcome, reason = "failed", `<script>alert(1)</script> no space left on device`
		}
		id := fmt.Sprintf("01K%023d", 1000-day)
		line, err := json.Marshal(map[string]any{
			"schema": 1, "id": id, "version": "x", "profile": "nightly", "started_at": at, "finished_at": at.Add(time.Minute), "seconds": 60.2, "outcome": outcome, "reason": reason,
			"bytes_after": map[string]any{"logs": (60 - day) << 20, "archives": (50 - day) << 18, "memory": (50 - day) << 17}, "steps": []any{},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, id+".json"), line, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
