package openclaw_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sessctl/sessctl/pkg/session/openclaw"
)

func TestRoots(t *testing.T) {
	home := t.TempDir()
	at := func(parts ...string) string { return filepath.Join(append([]string{home}, parts...)...) }
	for _, dir := range []string{".openclaw", ".openclaw-work/agents", ".openclaw-empty", ".clawdbot", "state", "elsewhere/.openclaw", "legacy"} {
		if err := os.MkdirAll(at(filepath.FromSlash(dir)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(at(".moldbot"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		env  map[string]string
		want []string
	}{
		{nil, []string{at(".openclaw"), at(".openclaw-work"), at(".clawdbot")}},
		{map[string]string{"OPENCLAW_STATE_DIR": at("state")}, []string{at("state"), at(".openclaw"), at(".openclaw-work"), at(".clawdbot")}},
		{map[string]string{"OPENCLAW_STATE_DIR": "~/state", "CLAWDBOT_STATE_DIR": at("legacy")}, []string{at("state"), at("legacy"), at(".openclaw"), at(".openclaw-work"), at(".clawdbot")}},
		{map[string]string{"OPENCLAW_HOME": at("elsewhere")}, []string{at("elsewhere", ".openclaw"), at(".openclaw"), at(".openclaw-work"), at(".clawdbot")}},
		{map[string]string{"OPENCLAW_STATE_DIR": at(".openclaw")}, []string{at(".openclaw"), at(".openclaw-work"), at(".clawdbot")}},
		{map[string]string{"OPENCLAW_STATE_DIR": at("gone")}, []string{at(".openclaw"), at(".openclaw-work"), at(".clawdbot")}},
	} {
		got := openclaw.Roots(home, func(name string) string { return c.env[name] })
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%v:\n%s", c.env, diff)
		}
	}
	if got := openclaw.Roots("", func(string) string { return "" }); len(got) != 0 {
		t.Errorf("without a home: %v", got)
	}
}

func TestNames(t *testing.T) {
	const id = "11111111-1111-4111-8111-111111110001"
	const log = id + ".jsonl"
	for _, c := range []struct{ name, kind, live, id string }{
		{log, "live", log, id},
		{"main.jsonl", "live", "main.jsonl", "main"},
		{strings.Repeat("a", 128) + ".jsonl", "live", strings.Repeat("a", 128) + ".jsonl", strings.Repeat("a", 128)},
		{id + "-topic-42.jsonl", "topic", id + "-topic-42.jsonl", id + "-topic-42"},
		{"2026-01-10T09-00-00-000Z_" + log, "live", "2026-01-10T09-00-00-000Z_" + log, id},
		{log + ".reset.2026-01-03T04-05-06.789Z", "reset", log, id},
		{log + ".reset.2026-01-03T04-05-06Z", "reset", log, id},
		{log + ".deleted.2026-01-02T03-04-05.678Z", "deleted", log, id},
		{log + ".deleted.2026-08-21T10-11-12.131Z.zst", "deleted", log, id},
		{log + ".deleted.2026-08-21T10-11-12.131Z.0a1b2c.zst", "deleted", log, id},
		{log + ".bak.2026-01-02T03-04-05.678Z", "backup", log, id},
		{log + ".bak-4711-1768035617000", "backup", log, id},
		{log + ".bak.1768035617000", "backup", log, id},
		{log + ".bak", "backup", log, id},
		{id + ".checkpoint.22222222-2222-4222-8222-222222222222.jsonl", "checkpoint", log, id},
		{id + "-topic-42.jsonl.reset.2026-01-03T04-05-06.789Z", "reset", id + "-topic-42.jsonl", id + "-topic-42"},

		{"sessions.json", "", "", ""},
		{"sessions.json.lock", "", "", ""},
		{"sessions.json.bak.1768035617000", "", "", ""},
		{"sessions.json.4711.0b6f2a54-7f61-4d3e-9a53-0c1c2d3e4f51.tmp", "", "", ""},
		{log + ".lock", "", "", ""},
		{log + ".repair-1-2.tmp", "", "", ""},
		{id + ".trajectory.jsonl", "", "", ""},
		{id + ".trajectory-path.json", "", "", ""},
		{id + ".trajectory.jsonl.deleted.2026-01-02T03-04-05.678Z", "", "", ""},
		{".usage-cost-cache.json", "", "", ""},
		{"." + log, "", "", ""},
		{"." + log + ".sessctl-0123456789abcdef.tmp", "", "", ""},
		{"skills-prompts", "", "", ""},
		{"notes.md", "", "", ""},

		{"-1.jsonl", "odd", "", ""},
		{"a b.jsonl", "odd", "", ""},
		{".jsonl", "", "", ""},
		{strings.Repeat("a", 129) + ".jsonl", "odd", "", ""},
		{"a\n.jsonl", "odd", "", ""},
		{"é.jsonl", "odd", "", ""},
		{log + ".gz", "odd", "", ""},
		{log + ".reset.yesterday", "odd", "", ""},
		{log + "~", "odd", "", ""},
		{log + ".imported-1788220800000", "odd", "", ""},
	} {
		if kind, live, id := openclaw.Kind(c.name); kind != c.kind || live != c.live || id != c.id {
			t.Errorf("%q: %q %q %q, want %q %q %q", c.name, kind, live, id, c.kind, c.live, c.id)
		}
	}
	if _, _, id := openclaw.Kind("a-topic-x%3Ay.jsonl"); !strings.HasPrefix(id, "a-topic-x_3Ay-") {
		t.Errorf("the id of an encoded thread is %q", id)
	}
}
