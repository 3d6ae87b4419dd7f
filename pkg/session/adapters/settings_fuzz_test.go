package adapters_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/fakestatedb"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/claude"
	"github.com/sessctl/sessctl/pkg/session/cline"
	"github.com/sessctl/sessctl/pkg/session/hermes"
)

// FuzzSettingsOfRuntimes: whatever stands in the settings, indexes and locks beside
// the sessions of a runtime, the sessions are listed, and none is said to be
// deleted by the runtime at a time that nobody could have meant.
func FuzzSettingsOfRuntimes(f *testing.F) {
	const deep = 20_000
	for _, text := range []string{
		"", "{}", "[]", "null", "{", "\xef\xbb\xbf{}", `{"cleanupPeriodDays":0}`, `{"cleanupPeriodDays":-0.0}`, `{"cleanupPeriodDays":1e-300}`, `{"cleanupPeriodDays":1e308}`, `{"cleanupPeriodDays":"7"}`,
		"sessions: {retention_days: .nan}", "sessions: {retention_days: .inf}", "sessions: {retention_days: -.inf}", "sessions: [", "sessions: {auto_prune: maybe}", "a: &a [*a]", "a: &a [x,x]\nb: &b [*a,*a]\n",
		`{"sessions":{"x":null}}`, `{"sessions":[]}`, `{"pid":1,"startedAt":"x"}`, `{"pid":-1,"acquiredAt":"0001-01-01T00:00:00Z"}`, `{"cwd":1,"status":[]}`,
		strings.Repeat("[", deep), strings.Repeat(`{"sessions":`, deep) + "1" + strings.Repeat("}", deep), strings.Repeat("- ", deep), strings.Repeat("? ", deep),
	} {
		f.Add([]byte(text))
	}
	type place struct {
		store session.Store
		files []string
		least int // sessions
	}
	var places []place
	home := f.TempDir()
	must := func(err error) {
		if err != nil {
			f.Fatal(err)
		}
	}
	put := func(text string, below ...string) string {
		path := filepath.Join(append([]string{home}, below...)...)
		must(os.MkdirAll(filepath.Dir(path), 0o700))
		must(os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	log := put(`{"type":"user","uuid":"u","parentUuid":null,"sessionId":"s","timestamp":"2026-05-04T06:12:31.114Z","message":{"role":"user","content":"hi"}}`+"\n", ".claude", "projects", "-w", "s.jsonl")
	root := filepath.Dir(filepath.Dir(filepath.Dir(log)))
	places = append(places, place{claude.Open(root), []string{filepath.Join(root, "settings.json")}, 1})
	must(os.MkdirAll(filepath.Join(home, ".hermes"), 0o700))
	must(fakestatedb.Told(filepath.Join(home, ".hermes", "state.db"), 30).Close())
	places = append(places, place{hermes.Open(filepath.Join(home, ".hermes")), []string{put("", ".hermes", "config.yaml")}, 2})
	root = filepath.Join(home, ".cline")
	must(os.CopyFS(root, os.DirFS(ours)))
	sessions, hub := filepath.Join(root, "data", "sessions"), filepath.Join(root, "data", "locks", "hub")
	must(os.MkdirAll(hub, 0o700))
	places = append(places, place{cline.Open(root), []string{
		filepath.Join(sessions, "sessions.index.json"), filepath.Join(sessions, id, id+".json"), filepath.Join(sessions, id, id+".compaction.json"), filepath.Join(hub, "production.json"),
	}, 1})
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, p := range places {
			for _, file := range p.files {
				if err := os.WriteFile(file, text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			listing, err := p.store.List(t.Context())
			if err != nil || len(listing.Refs) < p.least {
				t.Errorf("%s: %q: %d sessions, %v", p.store.Runtime(), text, len(listing.Refs), err)
			}
			for _, ref := range listing.Refs {
				_, _ = p.store.Tail(t.Context(), ref) // an output has none
				if !ref.Expires.IsZero() && (ref.Expires.Year() < 2000 || ref.Expires.After(ref.ModTime.Add(101*365*24*time.Hour))) {
					t.Errorf("%s: %q: goes at %s", p.store.Runtime(), text, ref.Expires)
				}
			}
		}
	})
}
