package openclaw_test

import (
	"os"
	"path/filepath"
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
