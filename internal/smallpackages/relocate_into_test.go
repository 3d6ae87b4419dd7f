package smallpackages_test

import (
	"path/filepath"
	"testing"

	"github.com/sessctl/sessctl/pkg/relocate"
)

func TestRelocateInto(t *testing.T) {
	for _, c := range []struct{ dir, path, want string }{
		{"/new/.pi/agent/sessions", "/old/.pi/agent/sessions/--work--/a.jsonl", "/new/.pi/agent/sessions/--work--/a.jsonl"},
		{"/new/.pi/agent/sessions/", "/old/.pi/agent/sessions/--work--/a.jsonl", "/new/.pi/agent/sessions/--work--/a.jsonl"},
		{"/srv/sessions", "/old/.pi/agent/sessions/--work--/a.jsonl", "/srv/sessions/--work--/a.jsonl"},
		{"/new/.agent/sessions", "/sessions/lea/.agent/sessions/1/sessions/x", "/new/.agent/sessions/1/sessions/x"},
		{"/new/share/opencode", "/old/share/opencode/opencode.db#ses_1", "/new/share/opencode/opencode.db#ses_1"},
		{"/new/logs", "/old/.pi/agent/sessions/a.jsonl", ""},
		{"/new/sessions", "/old/my-sessions/a.jsonl", ""},
		{"/new/sessions", "/old/sessions", ""},
		{"/", "/old/sessions/a.jsonl", ""},
	} {
		got, ok := relocate.Into(filepath.FromSlash(c.dir), filepath.FromSlash(c.path))
		if got != filepath.FromSlash(c.want) || ok != (c.want != "") {
			t.Errorf("Into(%s, %s) = %q, %t, want %q", c.dir, c.path, got, ok, c.want)
		}
	}
}
