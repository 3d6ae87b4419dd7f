package smallpackages_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/pkg/relocate"
)

func TestRelocateOf(t *testing.T) {
	for name, test := range map[string]struct {
		now     string
		earlier []string
		want    relocate.Moves
	}{
		"never moved":         {"/home/u/.local/share/sessctl", []string{"/home/u/.local/share/sessctl"}, nil},
		"no earlier place":    {"/data", nil, nil},
		"a relative path":     {"/data", []string{"data"}, nil},
		"a home":              {"/new/.local/share/sessctl", []string{"/old/.local/share/sessctl"}, relocate.Moves{{From: "/old/.local/share/sessctl", To: "/new/.local/share/sessctl"}, {From: "/old", To: "/new"}}},
		"the data alone":      {"/srv/memory", []string{"/home/u/.local/share/sessctl"}, relocate.Moves{{From: "/home/u/.local/share/sessctl", To: "/srv/memory"}}},
		"the top stays":       {"/x/data", []string{"/data"}, relocate.Moves{{From: "/data", To: "/x/data"}}},
		"twice":               {"/c/d/data", []string{"/a/d/data", "/b/d/data"}, relocate.Moves{{From: "/a/d/data", To: "/c/d/data"}, {From: "/b/d/data", To: "/c/d/data"}, {From: "/a", To: "/c"}, {From: "/b", To: "/c"}}},
		"into a subdirectory": {"/a/b/sessctl", []string{"/a/sessctl"}, relocate.Moves{{From: "/a/sessctl", To: "/a/b/sessctl"}, {From: "/a", To: "/a/b"}}},
	} {
		if diff := cmp.Diff(test.want, relocate.Of(test.now, test.earlier...)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// The new place counts where it can be meant, the old one where nothing moved.
func TestRelocatePath(t *testing.T) {
	root := t.TempDir()
	at := func(parts ...string) string { return filepath.Join(append([]string{root}, parts...)...) }
	for _, file := range []string{"old/store/both", "new/store/both", "old/only/file", "new/data/x", "old/data/x"} {
		if err := os.MkdirAll(filepath.Dir(at(file)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at(file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	moves := relocate.Of(at("new", "data"), at("old", "data"))
	for recorded, want := range map[string]string{
		at("old/store/both"):      at("new/store/both"),     // a copy never leads to its original
		at("old/store/gone"):      at("new/store/gone"),     // removed since, from a directory that moved
		at("old/only/file"):       at("old/only/file"),      // did not move
		at("old/only/gone"):       at("old/only/gone"),      // nor did its directory
		at("old/nowhere/deep/x"):  at("new/nowhere/deep/x"), // with its whole store
		at("older/store/both"):    at("older/store/both"),   // another directory
		at("elsewhere/x"):         at("elsewhere/x"),
		"":                        "",
		at("old/data/receipts/1"): at("new/data/receipts/1"),
	} {
		if got := moves.Path(recorded); got != want {
			t.Errorf("%s is taken to be at %s, want %s", recorded, got, want)
		}
	}
	if got := (relocate.Moves)(nil).Path("/a/b"); got != "/a/b" {
		t.Error(got)
	}
}

// Only strings that are paths change, and nothing else of the document does.
func TestRelocateJSON(t *testing.T) {
	root := t.TempDir()
	moves := relocate.Of(filepath.Join(root, "new", "data"), filepath.Join(root, "old", "data"))
	from, to := filepath.Join(root, "old"), filepath.Join(root, "new")
	if err := os.Mkdir(to, 0o700); err != nil {
		t.Fatal(err)
	}
	const document = "{ \"a\":\"FROM/x \\\"y\\\" <z>\",\n\"b\": 1e05, \"c\":[\"at FROM/x\", \"FROMs/x\", \"FROM\\u002fx\"], \"d\":\"{\\\"k\\\":\\\"FROM/x\\\"}\", \"e\": \"\\ud800\" }\n"
	want := strings.Replace(document, "\"FROM/x ", "\"TO/x ", 1)
	want = strings.Replace(want, "\"FROM\\u002fx\"", "\"TO/x\"", 1)
	fill := strings.NewReplacer("FROM", filepath.ToSlash(from), "TO", filepath.ToSlash(to)).Replace
	if diff := cmp.Diff(fill(want), string(moves.JSON([]byte(fill(document))))); diff != "" {
		t.Error(diff)
	}
	for _, odd := range []string{"", "\"", "\"" + from, "{\"a\":\"\\"} {
		if got := string(moves.JSON([]byte(odd))); got != odd {
			t.Errorf("%q became %q", odd, got)
		}
	}
}
