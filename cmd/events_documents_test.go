package cmd

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/operate/outbox"
)

// eventful is a home in which things happen, and a clock that is ahead.
type eventful struct {
	t     *testing.T
	home  string
	ahead time.Duration
	env   map[string]string
}

// run runs a command as the program does, and returns what it prints.
func (e *eventful) run(args ...string) string {
	e.t.Helper()
	var out, errs bytes.Buffer
	a := testApp(newStreams(strings.NewReader(""), &out, &errs), workspace.Run{Report: workspace.Report{Notes: []workspace.Note{}}, Stores: workspace.Stores{Pins: &durable.Pins{}}, Settings: workspace.Settings{Now: func() time.Time { return time.Now().Add(e.ahead) }, Getenv: func(name string) string {
		if name == "HOME" {
			return e.home
		}
		return e.env[name]
	}}})
	root := newRootCommand(a)
	root.SetArgs(args)
	root.SetOut(&out)
	root.SetErr(&errs)
	err := root.ExecuteContext(e.t.Context())
	workspace.CloseStores(a.Run)
	if code := failure.ExitCode(err); code == failure.ExitFailed && args[0] != "monitor" || code == failure.ExitUsage {
		e.t.Fatalf("%v: %v\n%s%s", args, err, out.String(), errs.String())
	}
	return out.String()
}

// growsEveryHour lets an agent's log grow for half a day, and then by much more.
func (e *eventful) growsEveryHour(log string) {
	e.t.Helper()
	line := `{"type":"custom","id":"0badcafe","parentId":null,"timestamp":"2026-03-01T10:00:00.000Z","customType":"noise","data":"` + strings.Repeat("x", 1000) + `"}` + "\n"
	for hour := range 14 {
		lines := 1
		if hour == 13 {
			lines = 200
		}
		f, err := os.OpenFile(log, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			e.t.Fatal(err)
		}
		if _, err := f.WriteString(strings.Repeat(line, lines)); err != nil {
			e.t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			e.t.Fatal(err)
		}
		e.ahead += time.Hour
		e.run("monitor")
	}
}

// masks replace what is another one at every run, and on every machine.
func (e *eventful) masks() [][2]string {
	return [][2]string{
		{regexp.QuoteMeta(e.home), "/home/me"},
		{`//[^/"]+/sessctl"`, `//build-3/sessctl"`},
		{`\b[0-9A-HJKMNP-TV-Z]{26}\b`, "01M81MG8CWQAQEEQ2MCVT7W348"},
		{`\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`, "2026-11-22T12:43:08Z"},
		{`\b20\d{6}T\d{6}Z\.[0-9a-f]{8}`, "20261122T124308Z.6a3d0645"},
		{`"(seconds|process|logs|archives|memory|free_bytes|bytes_per_hour|limit_bytes_per_hour)": [0-9.e-]+`, `"$1": 1`},
		{`\b20\d\d-\d\d-\d\d on\b`, "2026-11-22 on"},
		{`\b[0-9]+ bytes an hour`, "1 bytes an hour"},
		{`"version": "[^"]*"`, `"version": "dev"`},
		{`[0-9][0-9.,]* (B|KiB|MiB|GiB|TiB|PiB)\b`, "1 GiB"},
		{`[0-9]+ (archive|receipt)s?\b`, "1 $1"},
	}
}

// documents are the newest documents of each type, as they are sent.
func (e *eventful) documents() map[string]string {
	e.t.Helper()
	var list struct{ Events []struct{ ID, Type string } }
	if err := json.Unmarshal([]byte(e.run("events", "list", "--limit", "0", "--json")), &list); err != nil {
		e.t.Fatal(err)
	}
	found := map[string]string{}
	for _, event := range list.Events {
		if found[event.Type] != "" {
			continue
		}
		var text bytes.Buffer
		if err := json.Indent(&text, []byte(e.run("events", "show", event.ID)), "", "  "); err != nil {
			e.t.Fatal(err)
		}
		masked := text.String()
		for _, m := range e.masks() {
			masked = regexp.MustCompile(m[0]).ReplaceAllString(masked, m[1])
		}
		found[event.Type] = masked
	}
	return found
}

// TestEventDocuments holds the whole document of every type, as a receiver gets it,
// and that the pages name every field of its data. SESSCTL_UPDATE_GOLDEN=1 writes
// the documents anew.
func TestEventDocuments(t *testing.T) {
	e := &eventful{t: t, home: t.TempDir(), env: map[string]string{"SESSCTL_MONITOR_GROWTH_FLOOR": "64KiB", "SESSCTL_ARCHIVE_COMPRESSION": "none"}}
	for _, from := range []string{"sample", "claude"} {
		if err := os.CopyFS(e.home, os.DirFS(filepath.Join("..", "testdata", from))); err != nil {
			t.Fatal(err)
		}
	}
	log := one(t, filepath.Join(e.home, ".pi/agent/sessions/*/*.jsonl"))
	claude := one(t, filepath.Join(e.home, ".claude/projects/*/*.jsonl"))
	for path, ago := range map[string]time.Duration{log: 2 * time.Hour, claude: 25 * 24 * time.Hour} {
		if err := os.Chtimes(path, time.Now().Add(-ago), time.Now().Add(-ago)); err != nil {
			t.Fatal(err)
		}
	}
	e.env["SESSCTL_MONITOR_DISK_LIMIT"] = "1000000GiB"
	e.run("monitor") // needs_compaction, disk.low, purge.soon
	e.env["SESSCTL_MONITOR_DISK_LIMIT"] = "0"
	e.ahead = 2 * time.Hour // nobody is at work
	e.run("run")            // run.finished, session.compacted
	e.growsEveryHour(log)
	if err := os.Remove(one(t, filepath.Join(e.home, ".openclaw/session_archive/coordinator/600fa7f5-*.jsonl"))); err != nil {
		t.Fatal(err)
	}
	for _, path := range all(t, filepath.Join(e.home, ".openclaw/agents/coordinator/sessions/600fa7f5-*")) { // of which it could be made again
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	e.run("monitor") // archive.damaged
	found := e.documents()
	e.run("run") // run.failed, archive.damaged of a run
	after := e.documents()
	found[outbox.RunFailed], found[outbox.ArchiveDamaged+".run"] = after[outbox.RunFailed], after[outbox.ArchiveDamaged]
	for name, text := range found {
		path := filepath.Join("testdata", "events", name+".json")
		if os.Getenv(updateGolden) != "" {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(path); err != nil || string(want) != text {
			t.Errorf("%s (%v): it is\n%s", path, err, text)
		}
		namesFields(t, name, text)
	}
	for _, name := range []string{outbox.NeedsCompaction, outbox.Compacted, outbox.RunFinished, outbox.RunFailed, outbox.ArchiveDamaged, outbox.DiskLow, outbox.PurgeSoon, outbox.GrowthUnusual} {
		if found[name] == "" {
			t.Errorf("nothing made a %s: %v", name, e.run("events", "list", "--limit", "0"))
		}
	}
}

// namesFields checks that a page of events names every field of the data of an
// event.
func namesFields(t *testing.T, name, document string) {
	t.Helper()
	var event struct{ Data map[string]json.RawMessage }
	if err := json.Unmarshal([]byte(document), &event); err != nil {
		t.Fatal(name, err)
	}
	var pages string
	for _, page := range []string{"events.md", "monitor.md", "json.md"} {
		text, err := os.ReadFile(filepath.Join("..", "docs", page))
		if err != nil {
			t.Fatal(err)
		}
		pages += string(text)
	}
	for field := range event.Data {
		if !slices.ContainsFunc([]string{"`" + field + "`", `"` + field + `"`}, func(as string) bool { return strings.Contains(pages, as) }) {
			t.Errorf("no page names the field %s of %s", field, name)
		}
	}
}

func one(t *testing.T, pattern string) string {
	t.Helper()
	found := all(t, pattern)
	if len(found) != 1 {
		t.Fatalf("%s: %v", pattern, found)
	}
	return found[0]
}

func all(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return found
}
