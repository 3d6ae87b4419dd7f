package archive_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/archive"
	"pgregory.net/rapid"
)

func TestSafeName(t *testing.T) {
	long := strings.Repeat("x", archive.MaxName)
	unchanged := []string{"coordinator", "a", "7c9e6679-7425-40de-944b-e07fc1f90ae7", "01HZX5", "a.b_c-d", "_x", long, "console", "com10", "COM"}
	for _, id := range unchanged {
		if got := archive.SafeName(id); got != id {
			t.Errorf("%q became %q", id, got)
		}
	}
	changed := map[string]string{
		"a/b": "a_b-", "../x": "_x-", "": "", "..": "", "-rf": "rf-", ".hidden": "hidden-", "a.": "a-",
		"é": "__-", "nul": "nul-", "Aux.log": "Aux.log-", "com1": "com1-", "LPT9.x": "LPT9.x-",
		long + "y": long[:archive.MaxName-9] + "-",
	}
	for id, start := range changed {
		if id == "é" {
			start = "_-"
		}
		got := archive.SafeName(id)
		if !regexp.MustCompile("^"+regexp.QuoteMeta(start)+"[0-9a-f]{8}$").MatchString(got) || len(got) > archive.MaxName {
			t.Errorf("%q became %q, want %q and a hash", id, got, start)
		}
	}
}

// Whatever the id, its name is one plain file name, and no other id has it.
func TestSafeNameProperty(t *testing.T) {
	plain := regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)
	id := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-c./_: -]{0,4}`), rapid.StringMatching(`[A-Za-z0-9._-]{120,140}`))
	rapid.Check(t, func(t *rapid.T) {
		a, b := id.Draw(t, "a"), id.Draw(t, "b")
		name := archive.SafeName(a)
		if !plain.MatchString(name) || strings.HasSuffix(name, ".") {
			t.Fatalf("%q became %q", a, name)
		}
		if a != b && name == archive.SafeName(b) {
			t.Fatalf("%q and %q both became %q", a, b, name)
		}
	})
}

// Ids in the catalogue and in receipts must stay the same for ever.
func TestIDIsStable(t *testing.T) {
	hash := strings.Repeat("ab", 32)
	if got, want := archive.ID(meta("s1"), hash), "de7eed99350d2666"; got != want {
		t.Errorf("id is %s, want %s", got, want)
	}
	seen := map[string]archive.Meta{}
	for _, m := range []archive.Meta{
		{Runtime: "r", Agent: "a", Session: "s"}, {Runtime: "ra", Agent: "", Session: "s"}, {Runtime: "r", Agent: "as", Session: ""},
		{Runtime: "r", Agent: "A", Session: "s"}, {Runtime: "r", Agent: "a", Session: "S"}, {Runtime: "r1:a", Session: "s"},
	} {
		id := archive.ID(m, hash)
		if other, ok := seen[id]; ok {
			t.Errorf("%+v and %+v have one id", m, other)
		}
		seen[id] = m
	}
	m := meta("s1")
	m.Key, m.Source, m.Reason, m.Kind = "", "", "", ""
	if archive.ID(m, hash) != archive.ID(meta("s1"), hash) {
		t.Error("the id should not depend on where or why")
	}
}
