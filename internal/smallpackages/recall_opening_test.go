package smallpackages_test

import (
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/recall"
)

// A part of a text says whose words follow where the message began before it, and
// whether they are said or shown.
func TestOpeningOfAPart(t *testing.T) {
	const text = `[Human]: The import stops at the second file, and I do not know why that is.
2026-01-10T08:58:01Z INFO  import: file 1 of 3
2026-01-10T08:58:02Z INFO  import: file 2 of 3
2026-01-10T08:58:03Z ERROR import: refused

[Agent]: The port is closed. Open it in the firewall, then start the import again.

` + "```" + `
ufw allow 5432
` + "```" + `

[Agent]: [tool call] Bash {"command": "systemctl status import"}

[Tool]: active (running)
since Tuesday`
	for at, want := range map[string]string{
		"[Human]: The import":   "",
		"I do not know":         "… [Human]: ",
		"08:58:02Z INFO":        "… [Human]: (shown) ",
		"[Agent]: The port":     "… ",
		"then start":            "… [Agent]: ",
		"allow 5432":            "… [Agent]: (shown) ",
		"systemctl status":      "… [Agent]: (shown) ",
		"since Tuesday":         "… [Tool]: ",
		"[tool call] Bash {\"c": "… [Agent]: (shown) ",
	} {
		if got := recall.Opening(text, strings.Index(text, at)); got != want {
			t.Errorf("before %q stands %q, want %q", at, got, want)
		}
	}
	if got := recall.Opening("a note without labels", 2); got != "… " {
		t.Errorf("a text that does not tell begins with %q", got)
	}
}
