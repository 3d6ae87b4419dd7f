package smallpackages_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/recall"
)

// TestHostNamed: a name that other hosts could not give to ssh is refused wherever it
// comes from, with what to set; the configured one comes first.
func TestHostNamed(t *testing.T) {
	for name, good := range map[string]bool{
		"laptop": true, "bob@gamma.example.org": true, "büro": true, strings.Repeat("x", 255): true,
		"-oProxyCommand=x": false, "two words": false, "line\nline": false, "tab\t": false, "\x1b[31m": false, "wide\u00a0": false, "turned\u202eover": false, "\xff": false, strings.Repeat("x", 256): false,
	} {
		for _, configured := range []string{"", name} {
			got, err := recall.HostNamed(configured, func() (string, error) { return name, nil })
			if good != (err == nil) || good && got != name || !good && got != "" {
				t.Errorf("%q, configured %q: %q, %v", name, configured, got, err)
			}
		}
	}
	if got, err := recall.HostNamed("laptop", func() (string, error) { return "two words", nil }); got != "laptop" || err != nil {
		t.Errorf("the configured name: %q, %v", got, err)
	}
	for _, none := range []error{nil, fs.ErrPermission} {
		if got, err := recall.HostNamed("", func() (string, error) { return "", none }); err == nil {
			t.Errorf("no name: %q", got)
		}
	}
}
