package memory

import (
	"slices"
	"testing"
)

func TestIdentifiers(t *testing.T) {
	got := identifiers(`why did ERR_TOKEN_TOO_LONG (see /etc/app.conf, "E0308") happen at 10.0.0.1:80 in version v1.2.3 of handleRetry for us well-known Anna`)
	want := []string{"ERR_TOKEN_TOO_LONG", "/etc/app.conf", "E0308", "10.0.0.1:80", "v1.2.3", "handleRetry"}
	if !slices.Equal(got, want) {
		t.Fatalf("%q, want %q", got, want)
	}
}

func TestHoldsWholeWordsOnly(t *testing.T) {
	for _, c := range []struct {
		text, name string
		want       bool
	}{
		{"error E0308 in main", "E0308", true},
		{"error e0308.", "E0308", true},
		{"error E03081 in main", "E0308", false},
		{"E03081 then E0308", "E0308", true},
		{"open /etc/app.conf:12", "/etc/app.conf", true},
		{"open /etc/app.config", "/etc/app.conf", false},
		{"E0308", "E0308", true},
		{"", "E0308", false},
	} {
		if got := holds(c.text, []string{"other", c.name})>>1 == 1; got != c.want {
			t.Errorf("%q holds %q: %v", c.text, c.name, got)
		}
	}
}
