package cmd

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// hintHomesThatFailed are homes on which something that others do has failed: a
// receiver of events, a run, an embedder.
func hintHomesThatFailed(b brokenTurns) map[string]hintHome {
	compacted := func(t *testing.T) {
		t.Helper()
		b.home(t, "", 30*24*time.Hour)
		succeed(t, "compact --all")
	}
	receiver := func(t *testing.T, program string) {
		t.Helper()
		t.Setenv("SESSCTL_EVENTS_COMMANDS", `[{"name": "desk", "run": ["`+program+`"]}]`)
	}
	dead := func(t *testing.T) {
		t.Helper()
		receiver(t, "/bin/false")
		compacted(t)
		bury(t)
	}
	asks := []string{"monitor", "doctor", "report", "events list", "events list --state dead", "metrics"}
	noEmbedder := func(t *testing.T) {
		t.Helper()
		t.Setenv("SESSCTL_EMBED_PROVIDER", "ollama")
		t.Setenv("SESSCTL_EMBED_MODEL", "nomic-embed-text")
		t.Setenv("SESSCTL_EMBED_BASE_URL", "http://"+noListener(t))
	}
	recalling := []string{"monitor", "doctor", "report", "recall port", "recall --rank text port", "memory stats", "memory verify", "compact --all"}
	return map[string]hintHome{
		"events that wait for a receiver": {
			home: func(t *testing.T) {
				t.Setenv("SESSCTL_EVENTS_WEBHOOKS", `[{"name": "away", "url": "http://`+noListener(t)+`/"}]`)
				compacted(t)
			},
			asks: asks,
		},
		"dead events": {home: dead, asks: asks, want: []string{"events list --state dead"}},
		"dead events of a receiver that takes again": {home: func(t *testing.T) { dead(t); receiver(t, "/bin/true") }, asks: asks, want: []string{"events list --state dead", "events retry"}},
		"a run that is unfinished": {
			home: func(t *testing.T) { compacted(t); begin(t, "") },
			asks: []string{"monitor", "doctor", "report", "sizes", "log", "clean --max-age 1d --dry-run", "compact --all"},
		},
		"a run that nobody can finish": {
			home: func(t *testing.T) { compacted(t); begin(t, "merge") },
			asks: []string{"monitor", "doctor", "report", "sizes", "log", "clean --max-age 1d --dry-run"},
			want: []string{"doctor --give-up " + begunRun},
		},
		"an embedder that is down": {
			home: func(t *testing.T) { compacted(t); noEmbedder(t) }, asks: recalling,
		},
		"an embedder that was down from the first": {
			home: func(t *testing.T) { noEmbedder(t); b.home(t, "", 30*24*time.Hour) }, asks: append([]string{"compact --all"}, recalling...),
		},
		"an embedder that is back": {
			home: func(t *testing.T) {
				noEmbedder(t)
				compacted(t)
				t.Setenv("SESSCTL_EMBED_PROVIDER", "builtin")
				t.Setenv("SESSCTL_EMBED_MODEL", "")
				t.Setenv("SESSCTL_EMBED_BASE_URL", "")
			},
			asks: recalling,
		},
	}
}

// noListener is an address where nobody listens.
func noListener(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	must(t, l.Close())
	return l.Addr().String()
}

// dataDirectory is that of the home of a test.
func dataDirectory() string { return filepath.Join(os.Getenv("HOME"), ".local", "share", "sessctl") }

// bury lets two days go by for the events that wait: the next delivery gives them up.
func bury(t *testing.T) {
	t.Helper()
	events, err := filepath.Glob(filepath.Join(dataDirectory(), "outbox", "*.json"))
	if err != nil || len(events) == 0 {
		t.Fatal(events, err)
	}
	now := time.Now().UTC()
	for _, path := range events {
		text, err := os.ReadFile(path)
		must(t, err)
		for _, day := range []time.Time{now, now.Add(-time.Minute)} { // a test may run over midnight
			text = []byte(strings.ReplaceAll(string(text), day.Format(time.DateOnly), day.AddDate(0, 0, -2).Format(time.DateOnly)))
		}
		text = []byte(strings.ReplaceAll(string(text), `"tries": 1`, `"tries": 100`))
		must(t, os.WriteFile(path, text, 0o600))
	}
	_, _, _ = runMain("events", "deliver", "--allow-root")
	if out, _, _ := runMain("events", "list", "--state", "dead", "--allow-root"); !strings.Contains(out, "dead") {
		t.Fatalf("no event is dead: %s", out)
	}
}

// begunRun is the id of a change that was begun.
const begunRun = "01KD3V00000000000000000000"

// begin leaves a change in the journal of a home, of a session that is at its place.
func begin(t *testing.T, kind string) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(os.Getenv("HOME"), ".openclaw", "agents", "librarian", "sessions", "*.jsonl"))
	if err != nil || len(logs) == 0 {
		t.Fatal(logs, err)
	}
	session := strings.TrimSuffix(filepath.Base(logs[0]), ".jsonl")
	must(t, os.MkdirAll(filepath.Join(dataDirectory(), "journal"), 0o700))
	entry := `{"schema":1,"id":"` + begunRun + `","kind":"` + kind + `","rotation":{"runtime":"openclaw","agent":"librarian","session":"` + session + `","store":"` + filepath.Join(os.Getenv("HOME"), ".openclaw") +
		`","live":"` + logs[0] + `","kept":"` + logs[0] + `.reset.2026-03-01T11-00-00.000Z","index":"` + filepath.Join(filepath.Dir(logs[0]), "sessions.json") + `","at":"2026-03-01T11:00:00Z"}}`
	must(t, os.WriteFile(filepath.Join(dataDirectory(), "journal", begunRun+".json"), []byte(entry), 0o600))
}
